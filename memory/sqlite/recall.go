package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
)

// Recall answers a query from one bank: the filter is applied in the database, before anything is ranked; package rank
// decides the order. Accepted notes and digests, facts, and messages of threads in the bank are looked at, as they are now.
func (s *Store) Recall(ctx context.Context, q memory.Query) (memory.Found, error) {
	ask := rank.Query{Text: bounded(q.Text), Now: s.clock().UnixMilli(), Effort: effortOf(q.Budget), Limit: q.Limit}
	if s.embedder != nil && ask.Effort == rank.High {
		vectors, err := s.embedder.Embed(ctx, []string{q.Text})
		if err != nil {
			return memory.Found{}, fmt.Errorf("embedding the query: %w", err)
		}
		ask.Vector = vectors[0]
	}
	src := &source{store: s, scope: memory.Scope{Bank: q.Bank, Tags: q.Filter}, items: map[string]*known{}, held: map[string][]int64{}}
	var result rank.Result
	err := s.read(ctx, func(l *look) (err error) {
		src.look = l
		if err = src.begin(); err == nil {
			result, err = rank.Rank(ctx, src, ask)
		}
		return err
	})
	if err != nil {
		return memory.Found{}, err
	}
	found := memory.Found{Arms: result.Trace.Arms, Candidates: result.Trace.Candidates}
	for why, n := range result.Trace.Dropped {
		if found.Dropped == nil {
			found.Dropped = map[string]int{}
		}
		found.Dropped[string(why)] = n
	}
	for _, r := range result.Rows {
		item := src.items[r.ID].item
		found.Rows = append(found.Rows, memory.Row{ID: item.Ref.String(), Lane: laneOf(item), Item: item.Ref, Text: textOf(item), Score: r.Score,
			Tags: slices.Clone(item.Tags), Time: item.Time})
	}
	return found, nil
}

// bounded is a query of at most maxQuery words.
func bounded(text string) string {
	terms := rank.QueryTerms(text)
	if len(terms) <= maxQuery {
		return text
	}
	long := slices.Clone(terms)
	slices.SortStableFunc(long, func(a, b string) int { return len(b) - len(a) })
	keep := map[string]bool{}
	for _, term := range long[:maxQuery] {
		keep[term] = true
	}
	return strings.Join(slices.DeleteFunc(terms, func(term string) bool { return !keep[term] }), " ")
}

// Primers returns the primers that the bank has, by id: see memory.CurrentPrimer. What a run wrote has to pass
// the filter, and supersedes for the readers who are shown it alone.
func (s *Store) Primers(ctx context.Context, bank string, ids []string, filter memory.Filter) (map[string]memory.Primer, error) {
	primers := map[string]memory.Primer{}
	for _, id := range ids {
		p, err := s.primer(ctx, bank, id, filter)
		switch {
		case errors.Is(err, memory.NotFound):
		case err != nil:
			return nil, err
		default:
			primers[id] = p
		}
	}
	return primers, nil
}

func effortOf(b memory.Budget) rank.Effort {
	switch b {
	case memory.Low:
		return rank.Low
	case memory.High:
		return rank.High
	}
	return rank.Mid
}

// laneOf is what a row says it is.
func laneOf(i memory.Item) string {
	if i.Lane == memory.NoteLane && i.Type == memory.Episodic {
		return "digest"
	}
	return string(i.Lane)
}

// textOf is an item as a reader who knows nothing else of it understands it.
func textOf(i memory.Item) string {
	switch {
	case i.Lane == memory.MessageLane:
		return string(i.Role) + ": " + i.Text
	case i.Title != "":
		return i.Title + ": " + i.Text
	}
	return i.Text
}

// maxQuery bounds the words of a query. Of a longer one the longest words are taken: they are the rare ones, most of the time.
const maxQuery = 64

// Keep stores an item, once per ID: a digest, or an accepted note of the workflow that has learnt it. A note that is there
// already is kept once, whoever learns it again, unless it is given another time.
func (s *Store) Keep(ctx context.Context, k memory.Saved) error {
	_, err := s.Apply(ctx, k.ID, k.Operation(s.clock()))
	return err
}

// Embed makes up to limit vectors that are missing or stale, of items in the scope, with the store's embedder, and says how
// many. Without an embedder there is nothing to do.
func (s *Store) Embed(ctx context.Context, scope memory.Scope, limit int) (made int, err error) {
	if s.embedder == nil {
		return 0, nil
	}
	items, err := s.Unembedded(ctx, scope, s.embedder.Model(), limit)
	if err != nil || len(items) == 0 {
		return 0, err
	}
	texts := make([]string, len(items))
	for i, item := range items {
		texts[i] = textOf(item)
	}
	values, err := s.embedder.Embed(ctx, texts)
	if err != nil {
		return 0, fmt.Errorf("embedding %d items: %w", len(items), err)
	}
	vectors := make([]memory.Vector, len(items))
	for i, item := range items {
		vectors[i] = memory.Vector{Ref: item.Ref, No: item.No, Model: s.embedder.Model(), Hash: item.Hash, Values: values[i]}
	}
	return s.PutVectors(ctx, vectors)
}

var (
	_ memory.Recaller = (*Store)(nil)
	_ memory.Keeper   = (*Store)(nil)
)
