package hindsight

import (
	"context"
	"encoding/json"
	"fmt"
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

// Recall asks the server. When it does not answer, what the local store finds comes with the error: it is less, and the report
// says why.
func (b *Backend) Recall(ctx context.Context, q memory.Query) (memory.Found, error) {
	got, err := b.Client.Recall(ctx, q.Bank, Query{Text: q.Text, Filter: q.Filter, Budget: string(q.Budget)})
	if err != nil {
		local, _ := b.Local.Recall(context.WithoutCancel(ctx), q)
		local.Arms = append([]string{"local"}, local.Arms...)
		return local, err
	}
	found := memory.Found{Arms: []string{"hindsight"}, Candidates: len(got.Rows) + got.Dropped}
	if got.Dropped > 0 {
		found.Dropped = map[string]int{"tags": got.Dropped}
	}
	for _, r := range got.Rows {
		if q.Limit > 0 && len(found.Rows) == q.Limit {
			break
		}
		found.Rows = append(found.Rows, memory.Row{ID: "hindsight " + r.ID, Lane: r.Context, Text: r.Text, Score: r.Score, Tags: r.Tags, Time: r.Mentioned})
	}
	return found, nil
}

// Primers are the pinned notes of the local store, and mental models of the server for ids that it has not.
func (b *Backend) Primers(ctx context.Context, bank string, ids []string, filter memory.Filter) (map[string]string, error) {
	texts, err := b.Local.Primers(ctx, bank, ids, filter)
	if err != nil {
		return nil, err
	}
	for _, id := range ids {
		if _, ok := texts[id]; ok {
			continue
		}
		m, ok, err := b.Client.Model(ctx, bank, id)
		if err != nil {
			return texts, err
		}
		if ok && m.Content != "" {
			texts[id] = m.Content
		}
	}
	return texts, nil
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
