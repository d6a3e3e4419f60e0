package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
)

// Recall answers a query from one bank: the filter is applied in the database, before anything is ranked; package rank
// decides the order. Accepted notes and digests, facts, and messages of threads in the bank are looked at, as they are now.
func (s *Store) Recall(ctx context.Context, q memory.Query) (memory.Found, error) {
	src := &source{store: s, scope: memory.Scope{Bank: q.Bank, Tags: q.Filter}, items: map[string]memory.Item{}, held: map[string][]int64{}}
	ask := rank.Query{Text: bounded(q.Text), Now: s.clock().UnixMilli(), Effort: effortOf(q.Budget), Limit: q.Limit}
	if s.embedder != nil && ask.Effort == rank.High {
		vectors, err := s.embedder.Embed(ctx, []string{q.Text})
		if err != nil {
			return memory.Found{}, fmt.Errorf("embedding the query: %w", err)
		}
		ask.Vector = vectors[0]
	}
	result, err := rank.Rank(ctx, src, ask)
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
		item := src.items[r.ID]
		found.Rows = append(found.Rows, memory.Row{ID: item.Ref.String(), Lane: laneOf(item), Text: textOf(item), Score: r.Score, Tags: item.Tags, Time: item.Time})
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

// Primers returns the texts of the primers that the bank has, by id: see memory.CurrentPrimer. What a run wrote has to pass
// the filter, and supersedes for the readers who are shown it alone.
func (s *Store) Primers(ctx context.Context, bank string, ids []string, filter memory.Filter) (map[string]string, error) {
	texts := map[string]string{}
	for _, id := range ids {
		p, err := s.primer(ctx, bank, id, filter)
		switch {
		case errors.Is(err, memory.NotFound):
		case err != nil:
			return nil, err
		default:
			texts[id] = p.Text
		}
	}
	return texts, nil
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

// What a query looks for: by at least so many rare words, and so many of what holds them at a time.
const (
	fewestRare   = 2
	matchedItems = 200
)

// Bounds of what is counted: the items that hold a term, and those of a bank.
const (
	counted = 300
	large   = 5_000
)

// maxQuery bounds the words of a query. Of a longer one the longest words are taken: they are the rare ones, most of the time.
const maxQuery = 64

// rankedText bounds how much of a text is ranked: a large value is found by its beginning.
const rankedText = 16 << 10

// source serves a scope to package rank. It lives for one query.
type source struct {
	store *Store
	scope memory.Scope
	items map[string]memory.Item
	// docs is how many items the bank has; held are those that hold a term, if they are not too many.
	docs int
	held map[string][]int64
}

// entry takes an item apart for ranking and keeps it for the answer.
func (s *source) entry(i memory.Item) *rank.Entry {
	d := rank.Doc{ID: fmt.Sprint(i.No), Title: i.Title, Body: i.Text, Time: i.Time.UnixMilli()}
	if len(d.Body) > rankedText {
		d.Body = strings.ToValidUTF8(d.Body[:rankedText], "")
	}
	switch {
	case i.Lane == memory.MessageLane:
		d.Group, d.Pos, d.Speaker = "thread "+i.Namespace.String()+" "+i.Thread, int(i.Seq), string(i.Role)
	case i.Origin.Run != "":
		d.Group, d.Pos = "task "+i.Origin.Run+" "+i.Origin.Path, int(i.No)
	}
	s.items[d.ID] = i
	return rank.NewEntry(d)
}

func (s *source) entries(items []memory.Item) []*rank.Entry {
	list := make([]*rank.Entry, len(items))
	for i, item := range items {
		list[i] = s.entry(item)
	}
	return list
}

// Stats counts the bank's documents: from large on, a bank counts as that large. They count as equally long: their lengths are in
// no index of one bank.
func (s *source) Stats(ctx context.Context) (rank.Stats, error) {
	err := s.store.read(ctx, func(l *look) error {
		return l.QueryRow("SELECT count(*) FROM (SELECT 1 FROM mem_items WHERE bank = ? LIMIT ?)", s.scope.Bank, large).Scan(&s.docs)
	})
	return rank.Stats{Docs: s.docs}, err
}

// Frequencies counts in the bank, whatever the tags: what another branch has makes words common for this one too, and no
// other bank does. It is the rare words that decide; those that more than counted items hold count as equally frequent.
func (s *source) Frequencies(ctx context.Context, terms []string) ([]int, error) {
	held, err := s.store.holding(ctx, s.scope.Bank, terms)
	counts := make([]int, len(terms))
	for i, term := range terms {
		if counts[i] = len(held[i]); counts[i] >= counted {
			counts[i] = max(counted, s.docs/12)
			continue
		}
		s.held[term] = held[i]
	}
	return counts, err
}

// Match takes the items that hold the rare words: those that hold the most and the rarest of them. Only where there are hardly
// any does the index rank what holds the frequent ones: that takes time in proportion to the bank.
func (s *source) Match(ctx context.Context, terms []string, limit int) ([]*rank.Entry, error) {
	weights := map[int64]float64{}
	rare := 0
	for _, term := range terms {
		numbers, known := s.held[term]
		if !known {
			continue
		}
		if len(numbers) > 0 {
			rare++
		}
		for _, no := range numbers {
			weights[no] += math.Log(1 + float64(s.docs)/float64(len(numbers)))
		}
	}
	if rare < fewestRare && rare < len(terms) || s.store.ring.current != "" {
		items, err := s.store.Candidates(ctx, s.scope, terms, limit)
		return s.entries(items), err
	}
	numbers := slices.SortedFunc(maps.Keys(weights), func(a, b int64) int {
		return cmp.Or(cmp.Compare(weights[b], weights[a]), cmp.Compare(b, a))
	})
	var found []memory.Item
	for len(numbers) > 0 && len(found) < limit {
		n := min(len(numbers), max(limit, matchedItems))
		items, err := s.store.numbered(ctx, s.scope, numbers[:n])
		if err != nil {
			return nil, err
		}
		found, numbers = append(found, items...), numbers[n:]
	}
	return s.entries(found[:min(limit, len(found))]), nil
}

func (s *source) Adjacent(ctx context.Context, of []*rank.Entry) ([]*rank.Entry, error) {
	items := make([]memory.Item, len(of))
	for i, e := range of {
		items[i] = s.items[e.ID]
	}
	beside, err := s.store.beside(ctx, s.scope, items)
	return s.entries(beside), err
}

// Nearest compares all vectors of the scope with the query's.
func (s *source) Nearest(ctx context.Context, vector []float32, limit int) ([]*rank.Entry, error) {
	type near struct {
		ref    memory.Ref
		cosine float64
		values []float32
	}
	var best []near
	less := func(a, b near) int {
		switch {
		case a.cosine > b.cosine:
			return -1
		case a.cosine < b.cosine:
			return 1
		}
		return strings.Compare(a.ref.String(), b.ref.String())
	}
	err := s.store.Vectors(ctx, s.scope, s.store.embedder.Model(), func(v memory.Vector) error {
		if len(v.Values) != len(vector) {
			return nil
		}
		n := near{v.Ref, rank.Cosine(v.Values, vector), nil}
		if len(best) == limit && less(n, best[limit-1]) >= 0 {
			return nil
		}
		n.values = slices.Clone(v.Values)
		at, _ := slices.BinarySearchFunc(best, n, less)
		if best = slices.Insert(best, at, n); len(best) > limit {
			best = best[:limit]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	var list []*rank.Entry
	for _, n := range best {
		item, err := s.store.Item(ctx, n.ref)
		if errors.Is(err, memory.NotFound) { // gone meanwhile
			continue
		}
		if err != nil {
			return nil, err
		}
		e := s.entry(item)
		e.Vector = n.values
		list = append(list, e)
	}
	return list, nil
}

// holding lists the bank's items in the index that hold each term, the first counted of them.
func (s *Store) holding(ctx context.Context, bank string, terms []string) (numbers [][]int64, err error) {
	numbers = make([][]int64, len(terms))
	err = s.read(ctx, func(l *look) error {
		for i, term := range terms {
			expression := match([]string{term}, bankToken(bank))
			if s.ring.current != "" || expression == "" {
				continue
			}
			var list string
			err := l.QueryRow("SELECT json_group_array(no) FROM (SELECT rowid AS no FROM mem_fts WHERE mem_fts MATCH ? LIMIT ?)", expression, counted).Scan(&list)
			if err == nil {
				err = json.Unmarshal([]byte(list), &numbers[i])
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return numbers, err
}

// numbered returns those of the items that are in the scope, in the order of the numbers.
func (s *Store) numbered(ctx context.Context, scope memory.Scope, numbers []int64) (list []memory.Item, err error) {
	order := make(map[int64]int, len(numbers))
	for i, no := range numbers {
		order[no] = i
	}
	wanted, err := json.Marshal(numbers)
	if err != nil {
		return nil, err
	}
	err = s.read(ctx, func(l *look) error {
		where, args, err := l.within(scope)
		if err != nil {
			return err
		}
		records, err := l.all("SELECT "+recordColumns+" FROM json_each(?) j CROSS JOIN mem_items i ON i.no = j.value CROSS JOIN mem_spaces p ON p.no = i.space WHERE "+where,
			slices.Concat([]any{l.now, string(wanted)}, args)...)
		for _, r := range records {
			list = append(list, r.item(0))
		}
		return err
	})
	slices.SortFunc(list, func(a, b memory.Item) int { return order[a.No] - order[b.No] })
	return list, err
}

// beside returns the messages right before and after the given ones, in the scope, in one query.
func (s *Store) beside(ctx context.Context, scope memory.Scope, items []memory.Item) (list []memory.Item, err error) {
	var wanted []string
	var places []any
	for _, i := range items {
		if i.Lane == memory.MessageLane {
			wanted = append(wanted, "(?, -1), (?, 1)")
			places = append(places, i.No, i.No)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	err = s.read(ctx, func(l *look) error {
		where, args, err := l.within(scope)
		if err != nil {
			return err
		}
		records, err := l.all("WITH want (no, by) AS (VALUES "+strings.Join(wanted, ", ")+") SELECT "+recordColumns+
			" FROM want CROSS JOIN mem_items m ON m.no = want.no CROSS JOIN mem_items i ON i.thread = m.thread AND i.folded = 0"+
			" AND i.seq = m.seq + want.by AND i.lane = 'message' CROSS JOIN mem_spaces p ON p.no = i.space WHERE "+where,
			slices.Concat(places, []any{l.now}, args)...)
		seen := map[int64]bool{}
		for _, r := range records {
			if !seen[r.no] {
				seen[r.no] = true
				list = append(list, r.item(0))
			}
		}
		return err
	})
	return list, err
}

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
	_ rank.Source     = (*source)(nil)
	_ rank.Nearest    = (*source)(nil)
)
