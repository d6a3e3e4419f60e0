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
	src := &source{store: s, scope: memory.Scope{Bank: q.Bank, Tags: q.Filter}, items: map[string]memory.Item{}, held: map[string]int{}}
	ask := rank.Query{Text: q.Text, Now: s.clock().UnixMilli(), Effort: effortOf(q.Budget), Limit: q.Limit}
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

// Primers returns the texts of the primers that the bank has, by id.
func (s *Store) Primers(ctx context.Context, bank string, ids []string) (map[string]string, error) {
	texts := map[string]string{}
	for _, id := range ids {
		p, err := s.Primer(ctx, bank, id)
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

// What a query looks for in the index: at least so many terms, and as many more as bring so many times the candidates.
const (
	fewestTerms = 3
	matchFactor = 3
)

// counted bounds the counting of what holds a term: from there on it is estimated.
const counted = 500

// rankedText bounds how much of a text is ranked: a large value is found by its beginning.
const rankedText = 16 << 10

// source serves a scope to package rank. It lives for one query.
type source struct {
	store *Store
	scope memory.Scope
	items map[string]memory.Item
	// held is how many of the bank's items hold a term, as far as it was asked.
	held map[string]int
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

// Stats counts the bank's documents. They count as equally long: their lengths are in no index of one bank.
func (s *source) Stats(ctx context.Context) (rank.Stats, error) {
	n, err := s.store.holding(ctx, s.scope.Bank, []string{""})
	return rank.Stats{Docs: n[0]}, err
}

// Frequencies counts in the bank, whatever the tags: what another branch has makes words common for this one too, and no
// other bank does.
func (s *source) Frequencies(ctx context.Context, terms []string) ([]int, error) {
	counts, err := s.store.holding(ctx, s.scope.Bank, terms)
	for i, term := range terms {
		s.held[term] = counts[i]
	}
	return counts, err
}

func (s *source) Match(ctx context.Context, terms []string, limit int) ([]*rank.Entry, error) {
	items, err := s.store.Candidates(ctx, s.scope, s.telling(terms, limit), limit)
	return s.entries(items), err
}

// telling are the rarest of the terms, as many as bring a few times the limit: what holds only the frequent ones is not
// among the best, and to look at all of it takes time in proportion to the bank.
func (s *source) telling(terms []string, limit int) []string {
	rare := slices.Clone(terms)
	slices.SortStableFunc(rare, func(a, b string) int { return s.held[a] - s.held[b] })
	brought := 0
	for i, term := range rare {
		if brought += s.held[term]; i >= fewestTerms && brought > matchFactor*limit {
			return rare[:i]
		}
	}
	return rare
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

// holding counts the bank's items in the index that hold each term; "" is any. In an encrypted file there is no index, and
// every term counts as held by one.
func (s *Store) holding(ctx context.Context, bank string, terms []string) (counts []int, err error) {
	counts = make([]int, len(terms))
	err = s.read(ctx, func(l *look) error {
		for i, term := range terms {
			if s.ring.current != "" {
				counts[i] = 1
				continue
			}
			expression := fmt.Sprintf(`scope : "%s"`, bankToken(bank))
			if term != "" {
				if expression = match([]string{term}, bankToken(bank)); expression == "" {
					continue
				}
			}
			// Where there are more, the first of them are taken to be spread as all are.
			var n, last, end int
			err := l.QueryRow("SELECT count(*), coalesce(max(rowid), 0), coalesce((SELECT max(no) FROM mem_items), 0) FROM"+
				" (SELECT rowid FROM mem_fts WHERE mem_fts MATCH ? LIMIT ?)", expression, counted).Scan(&n, &last, &end)
			if err != nil {
				return err
			}
			if counts[i] = n; n == counted {
				counts[i] = max(n, int(int64(n)*int64(end)/int64(max(last, 1))))
			}
		}
		return nil
	})
	return counts, err
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
	place := memory.Place{Namespace: memory.Namespace{Kind: memory.WorkflowKind, ID: k.Workflow}, Bank: k.Bank, Tags: k.Tags}
	var op memory.Operation
	if k.Digest {
		if k.Time.IsZero() {
			k.Time = s.clock()
		}
		op.Digests = []memory.Digest{{Place: place, Text: k.Text, Time: k.Time, Origin: k.Origin}}
	} else {
		op.Notes = []memory.Note{{Place: place, Body: k.Text, Time: k.Time, Origin: k.Origin, Status: memory.Accepted}}
	}
	_, err := s.Apply(ctx, k.ID, op)
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
