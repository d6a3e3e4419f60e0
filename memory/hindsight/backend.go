package hindsight

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn/memory"
)

// Local is the store that the server follows: *sqlite.Store of package memory/sqlite is one.
type Local interface {
	memory.Store
	// Due hands out projections whose time has come, and holds them.
	Due(ctx context.Context, hold time.Duration, limit int) ([]memory.Projection, error)
	// Settle says what became of one.
	Settle(ctx context.Context, p memory.Projection, v memory.Verdict) error
}

// Backend is a store whose banks are recalled from the server. What is kept goes into the local store, which stays the source of
// truth, and with it, in the same transaction, into the queue of what the server has yet to be told. It is safe for
// concurrent use.
type Backend struct {
	Local
	Client *Client
}

// kept is what a projection's body holds.
type kept struct {
	Content string            `json:"content"`
	Context string            `json:"context,omitempty"`
	Tags    []string          `json:"tags,omitempty"`
	Meta    map[string]string `json:"metadata,omitempty"`
	Time    time.Time         `json:"time"`
}

// Keep stores an item and queues it for the server: a document of its own, by the operation's id.
func (b *Backend) Keep(ctx context.Context, s memory.Saved) error {
	op := s.Operation(time.Now())
	body := kept{Content: s.Text, Tags: s.Tags, Time: s.Time, Meta: map[string]string{"run": s.Origin.Run, "path": s.Origin.Path, "workflow": s.Workflow}}
	item := memory.Ref{Lane: memory.NoteLane}
	switch {
	case len(op.Digests) > 0:
		body.Context, body.Time, item.Namespace, item.ID = "digest", op.Digests[0].Time, op.Digests[0].Namespace, op.Digests[0].ID
	default:
		body.Context, body.Time, item.Namespace, item.ID = "note", op.Notes[0].Time, op.Notes[0].Namespace, op.Notes[0].ID
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("hindsight: the record of %s: %w", s.ID, err)
	}
	op.Projections = []memory.Projection{{ID: item.ID, Document: document(s.Bank, item.ID), Item: item, Body: raw}}
	_, err = b.Apply(ctx, s.ID, op)
	return err
}

// document names a bank's document in the queue, and placeOf takes the name apart.
func document(bank, id string) string { return bank + "\n" + id }

func placeOf(document string) (bank, id string) {
	bank, id, _ = strings.Cut(document, "\n")
	return bank, id
}

// Recall asks the server about what it was told, and the local store about the rest: facts, messages, and notes that nobody
// has kept by Keep, rules among them. Their rows are interleaved by rank, the server's first. A row of a note that does not
// count here any more, because it was rejected, superseded or retired, is dropped: the server is not told of that. When it
// does not answer, what the local store finds comes with the error: it is less, and the report says why.
func (b *Backend) Recall(ctx context.Context, q memory.Query) (memory.Found, error) {
	got, err := b.Client.Recall(ctx, q.Bank, Query{Text: q.Text, Filter: q.Filter, Budget: string(q.Budget)})
	if err != nil {
		local, _ := b.Local.Recall(context.WithoutCancel(ctx), q)
		local.Arms = append([]string{"local"}, local.Arms...)
		return local, err
	}
	local, err := b.Local.Recall(ctx, q)
	found := memory.Found{Arms: append([]string{"hindsight"}, local.Arms...), Candidates: len(got.Rows) + got.Dropped + local.Candidates, Dropped: map[string]int{}}
	maps.Copy(found.Dropped, local.Dropped)
	if got.Dropped > 0 {
		found.Dropped["tags"] += got.Dropped
	}
	var rows [2][]memory.Row
	for _, r := range got.Rows {
		item := itemOf(r)
		counts, failed := b.counts(ctx, q, item)
		if failed != nil {
			return found, failed
		}
		if !counts {
			found.Dropped["no longer counts"]++
			continue
		}
		rows[0] = append(rows[0], memory.Row{ID: "hindsight " + r.ID, Lane: r.Context, Item: item, Text: r.Text, Score: r.Score, Tags: r.Tags, Time: r.Mentioned})
	}
	for _, r := range local.Rows {
		if !memory.Kept(r.Item.ID) {
			rows[1] = append(rows[1], r)
		}
	}
	for rank := range max(len(rows[0]), len(rows[1])) {
		for _, list := range rows {
			if rank < len(list) && (q.Limit <= 0 || len(found.Rows) < q.Limit) {
				found.Rows = append(found.Rows, list[rank])
			}
		}
	}
	return found, err
}

// itemOf is the note that Keep told the server of, and which a row is of. Zero if the row is of something else.
func itemOf(r Row) memory.Ref {
	workflow := r.Metadata["workflow"]
	if workflow == "" || !memory.Kept(r.Document) {
		return memory.Ref{}
	}
	return memory.Ref{Namespace: memory.Namespace{Kind: memory.WorkflowKind, ID: workflow}, Lane: memory.NoteLane, ID: r.Document}
}

// counts says whether a note counts for who asks. What is unknown here was kept by another store, and counts.
func (b *Backend) counts(ctx context.Context, q memory.Query, item memory.Ref) (bool, error) {
	if item == (memory.Ref{}) {
		return true, nil
	}
	n, err := b.GetNote(ctx, item.Namespace, item.ID)
	switch {
	case errors.Is(err, memory.NotFound):
		return true, nil
	case err != nil:
		return false, err
	case n.Status == memory.Accepted && !n.Superseded && n.Valid.Covers(time.Now()):
		return true, nil
	}
	// What supersedes it may be of a branch that the reader is not shown.
	list, err := b.Notes(ctx, memory.Scope{Bank: q.Bank, Namespace: item.Namespace, Tags: q.Filter, Run: n.Origin.Run, Path: n.Origin.Path})
	return slices.ContainsFunc(list, func(of memory.Note) bool { return of.ID == n.ID }), err
}

// Primers are the pinned notes of the local store, and mental models of the server for ids that it has not.
func (b *Backend) Primers(ctx context.Context, bank string, ids []string, filter memory.Filter) (map[string]memory.Primer, error) {
	primers, err := b.Local.Primers(ctx, bank, ids, filter)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := primers[id]; ok {
			continue
		}
		m, ok, err := b.Client.Model(ctx, bank, id)
		if err != nil {
			return primers, err
		}
		if ok && m.Content != "" {
			primers[id] = memory.Primer{Bank: bank, ID: id, Text: m.Content}
		}
	}
	return primers, nil
}

// Outbox is the queue of a Projector over the local store.
func (b *Backend) Outbox() Queue { return outbox{b.Local} }

// outboxHold is how long a projector may take with an item before another one may have it.
const outboxHold = time.Minute

type outbox struct{ local Local }

func (o outbox) Due(ctx context.Context, limit int) ([]Item, error) {
	list, err := o.local.Due(ctx, outboxHold, limit)
	if err != nil {
		return nil, err
	}
	items := make([]Item, 0, len(list))
	for _, p := range list {
		item := Item{OperationID: p.ID, Version: p.Version, Op: Retain, Attempts: p.Tries, Claim: p.Claim, Until: p.Due}
		item.Bank, item.Document = placeOf(p.Document)
		if p.Delete {
			item.Op = Delete
		} else {
			var k kept
			if err := json.Unmarshal(p.Body, &k); err != nil {
				if err := o.local.Settle(ctx, p, memory.Verdict{Dead: true, Failed: true, Why: "it can't be read: " + err.Error()}); err != nil {
					return items, err
				}
				continue
			}
			item.Content, item.Context, item.Tags, item.Metadata, item.Time = k.Content, k.Context, k.Tags, k.Meta, k.Time
		}
		items = append(items, item)
	}
	return items, nil
}

func (o outbox) settle(ctx context.Context, i Item, v memory.Verdict) error {
	return o.local.Settle(ctx, memory.Projection{ID: i.OperationID, Claim: i.Claim}, v)
}

func (o outbox) Done(ctx context.Context, i Item) error {
	return o.settle(ctx, i, memory.Verdict{Done: true})
}

func (o outbox) Later(ctx context.Context, i Item, at time.Time) error {
	return o.settle(ctx, i, memory.Verdict{At: at})
}

func (o outbox) Fail(ctx context.Context, i Item, cause error, at time.Time) error {
	return o.settle(ctx, i, memory.Verdict{At: at, Failed: true, Why: cause.Error()})
}

func (o outbox) Dead(ctx context.Context, i Item, cause error) error {
	return o.settle(ctx, i, memory.Verdict{Dead: true, Failed: true, Why: cause.Error()})
}
