package sqlite

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/rank"
)

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

// rankedText bounds how much of a text is ranked: a large value is found by its beginning.
const rankedText = 16 << 10

// source serves a scope to package rank, from one look at the file. It lives for one query.
type source struct {
	store *Store
	look  *look
	scope memory.Scope
	items map[string]*known
	// erasures are those that the look sees, see warm.
	erasures int64
	// size is how many items the bank has, docs the same but at most large, and numbers how many the file has given.
	size, numbers int64
	docs          int
	// held are the items that hold a term, if they are not too many.
	held map[string][]int64
	// opened is the whole bank, of an encrypted file, by number.
	opened map[int64]*known
}

// begin reads what is about the bank as a whole.
func (s *source) begin() error {
	var erasures []byte
	err := s.look.QueryRow(`SELECT coalesce((SELECT items FROM mem_banks WHERE bank = ?), 0), coalesce((SELECT max(no) FROM mem_items), 0),
		coalesce((SELECT value FROM mem_meta WHERE name = 'erasures'), x'')`, s.scope.Bank).Scan(&s.size, &s.numbers, &erasures)
	if err != nil {
		return err
	}
	s.docs, s.erasures = int(min(s.size, large)), counter(erasures)
	s.store.warm.meet(s.erasures)
	return nil
}

// entryOf takes an item apart for ranking.
func entryOf(i memory.Item) *rank.Entry {
	d := rank.Doc{ID: strconv.FormatInt(i.No, 10), Title: i.Title, Body: i.Text, Time: i.Time.UnixMilli()}
	if len(d.Body) > rankedText {
		d.Body = strings.ToValidUTF8(d.Body[:rankedText], "")
	}
	switch {
	case i.Lane == memory.MessageLane:
		d.Group, d.Pos, d.Speaker = "thread "+i.Namespace.String()+" "+i.Thread, int(i.Seq), string(i.Role)
	case i.Origin.Run != "":
		d.Group, d.Pos = "task "+i.Origin.Run+" "+i.Origin.Path, int(i.No)
	}
	return rank.NewEntry(d)
}

// entries keeps items for the answer.
func (s *source) entries(list []*known) []*rank.Entry {
	entries := make([]*rank.Entry, len(list))
	for i, k := range list {
		entries[i] = k.entry
		s.items[k.entry.ID] = k
	}
	return entries
}

// Stats counts the bank's documents: from large on, a bank counts as that large. They count as equally long: their lengths are in
// no index of one bank.
func (s *source) Stats(context.Context) (rank.Stats, error) { return rank.Stats{Docs: s.docs}, nil }

// Frequencies counts in the bank, whatever the tags: what another branch has makes words common for this one too, and no
// other bank does. It is the rare words that decide; those that more than counted items hold count as equally frequent.
func (s *source) Frequencies(_ context.Context, terms []string) ([]int, error) {
	held, err := s.holding(terms)
	if err != nil {
		return nil, err
	}
	counts := make([]int, len(terms))
	for i, term := range terms {
		if counts[i] = len(held[i]); counts[i] >= counted {
			counts[i] = max(counted, s.docs/12)
			continue
		}
		s.held[term] = held[i]
	}
	return counts, nil
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
	if rare < fewestRare && rare < len(terms) {
		list, err := s.weighed(terms, limit)
		return s.entries(list), err
	}
	numbers := heaviest(weights)
	var found []*known
	for len(numbers) > 0 && len(found) < limit {
		n := min(len(numbers), max(limit, matchedItems))
		list, err := s.numbered(numbers[:n])
		if err != nil {
			return nil, err
		}
		found, numbers = append(found, list...), numbers[n:]
	}
	return s.entries(found[:min(limit, len(found))]), nil
}

// heaviest lists items by weight, newer ones first among equals.
func heaviest(weights map[int64]float64) []int64 {
	type weighted struct {
		no     int64
		weight float64
	}
	list := make([]weighted, 0, len(weights))
	for no, weight := range weights {
		list = append(list, weighted{no, weight})
	}
	slices.SortFunc(list, func(a, b weighted) int { return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(b.no, a.no)) })
	numbers := make([]int64, len(list))
	for i, w := range list {
		numbers[i] = w.no
	}
	return numbers
}

func (s *source) Adjacent(_ context.Context, of []*rank.Entry) ([]*rank.Entry, error) {
	list, err := s.beside(of)
	return s.entries(list), err
}

// Embedded reads the vectors of documents that were found otherwise.
func (s *source) Embedded(_ context.Context, of []*rank.Entry) (list []*rank.Entry, err error) {
	numbers, byNo := make([]int64, len(of)), make(map[int64]*rank.Entry, len(of))
	for i, e := range of {
		if numbers[i], err = strconv.ParseInt(e.ID, 10, 64); err != nil {
			return nil, err
		}
		byNo[numbers[i]] = e
	}
	err = s.look.vectors(s.scope, s.store.embedder.Model(), numbers, func(v memory.Vector) error {
		with := *byNo[v.No] // others share the entry
		with.Vector = slices.Clone(v.Values)
		list = append(list, &with)
		return nil
	})
	return list, err
}

// Nearest compares all vectors of the scope with the query's.
func (s *source) Nearest(_ context.Context, vector []float32, limit int) ([]*rank.Entry, error) {
	type near struct {
		ref    memory.Ref
		no     int64
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
	err := s.look.vectors(s.scope, s.store.embedder.Model(), nil, func(v memory.Vector) error {
		if len(v.Values) != len(vector) {
			return nil
		}
		n := near{v.Ref, v.No, rank.Cosine(v.Values, vector), nil}
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
	numbers, values := make([]int64, len(best)), make(map[string][]float32, len(best))
	for i, n := range best {
		numbers[i], values[strconv.FormatInt(n.no, 10)] = n.no, n.values
	}
	found, err := s.numbered(numbers)
	if err != nil {
		return nil, err
	}
	list := s.entries(found)
	for i, e := range list {
		with := *e
		with.Vector = values[e.ID]
		list[i] = &with
	}
	return list, nil
}

// array is a list of numbers in JSON.
func array(numbers []int64) string {
	list := []byte{'['}
	for i, no := range numbers {
		if i > 0 {
			list = append(list, ',')
		}
		list = strconv.AppendInt(list, no, 10)
	}
	return string(append(list, ']'))
}

// weighed returns what the index, or without one the scope's items, score best.
func (s *source) weighed(terms []string, limit int) (list []*known, err error) {
	if s.store.ring.current != "" {
		items, err := s.look.scored(s.scope, terms, limit)
		for _, i := range items {
			list = append(list, newKnown(mark{no: i.No}, i))
		}
		return list, err
	}
	rows, err := s.look.ranked(s.scope, terms, limit, markColumns)
	if err != nil || rows == nil {
		return nil, err
	}
	return s.known(rows, func(m *mark) []any {
		var score float64 // package rank gives its own
		return []any{&m.no, &m.version, &m.hash, &score}
	})
}

// numbered returns those of the items that are in the scope, in the order of the numbers.
func (s *source) numbered(numbers []int64) ([]*known, error) {
	where, args, err := s.look.within(s.scope)
	if err != nil {
		return nil, err
	}
	rows, err := s.look.Query("SELECT "+markColumns+" FROM json_each(?) j CROSS JOIN mem_items i ON i.no = j.value CROSS JOIN mem_spaces p ON p.no = i.space WHERE "+where,
		slices.Concat([]any{array(numbers)}, args)...)
	if err != nil {
		return nil, err
	}
	list, err := s.known(rows, marked)
	order := make(map[int64]int, len(numbers))
	for i, no := range numbers {
		order[no] = i
	}
	slices.SortFunc(list, func(a, b *known) int { return order[a.no] - order[b.no] })
	return list, err
}

// beside returns the messages right before and after the given ones, in the scope, in one query.
func (s *source) beside(of []*rank.Entry) ([]*known, error) {
	var wanted []string
	var places []any
	for _, e := range of {
		if i := s.items[e.ID].item; i.Lane == memory.MessageLane {
			wanted = append(wanted, "(?, -1), (?, 1)")
			places = append(places, i.No, i.No)
		}
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	where, args, err := s.look.within(s.scope)
	if err != nil {
		return nil, err
	}
	rows, err := s.look.Query("WITH want (no, by) AS (VALUES "+strings.Join(wanted, ", ")+") SELECT "+markColumns+
		" FROM want CROSS JOIN mem_items m ON m.no = want.no CROSS JOIN mem_items i ON i.thread = m.thread AND i.folded = 0"+
		" AND i.seq = m.seq + want.by AND i.lane = 'message' CROSS JOIN mem_spaces p ON p.no = i.space WHERE "+where,
		slices.Concat(places, args)...)
	if err != nil {
		return nil, err
	}
	return s.known(rows, marked)
}

const markColumns = "i.no, i.version, i.hash"

func marked(m *mark) []any { return []any{&m.no, &m.version, &m.hash} }

// known returns the items whose marks are the rows, each once, and reads those that no recall has read before.
func (s *source) known(rows *dbfile.Rows, dest func(*mark) []any) ([]*known, error) {
	defer rows.Close()
	var marks []mark
	seen := map[int64]bool{}
	for rows.Next() {
		var m mark
		if err := rows.Scan(dest(&m)...); err != nil {
			return nil, err
		}
		if !seen[m.no] {
			seen[m.no] = true
			marks = append(marks, m)
		}
	}
	if err := rows.Close(); err != nil {
		return nil, err
	}
	list := s.store.warm.take(marks)
	var missing []int64
	for i, m := range marks {
		if list[i] == nil {
			list[i] = s.opened[m.no]
		}
		if list[i] == nil {
			missing = append(missing, m.no)
		}
	}
	if len(missing) == 0 {
		return list, nil
	}
	fresh, err := s.look.recalled(missing)
	if err != nil {
		return nil, err
	}
	s.store.warm.keep(s.erasures, fresh)
	by := make(map[int64]*known, len(fresh))
	for _, k := range fresh {
		by[k.no] = k
	}
	for i, m := range marks {
		if list[i] == nil {
			list[i] = by[m.no]
		}
	}
	return list, nil
}

// recalled reads of items what recall tells and ranks them by, whatever they may be seen by: the look has asked before.
func (l *look) recalled(numbers []int64) (list []*known, err error) {
	rows, err := l.Query(`SELECT i.no, i.version, i.hash, i.lane, p.kind, p.id, i.thread, iif(i.thread = 0, '', (SELECT h.name FROM mem_items h WHERE h.no = i.thread)), i.name,
			(SELECT json_group_array(t.tag ORDER BY t.tag) FROM mem_tags t WHERE t.item = iif(i.thread = 0, i.no, i.thread)),
			i.seal, i.title, i.body, i.at, i.run, i.path, i.type, i.seq
		FROM json_each(?) j CROSS JOIN mem_items i ON i.no = j.value CROSS JOIN mem_spaces p ON p.no = i.space`, array(numbers))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var r record
		var tags, seal string
		err := rows.Scan(&r.no, &r.version, &r.hash, &r.lane, &r.ns.Kind, &r.ns.ID, &r.thread, &r.within, &r.name, &tags,
			&seal, &r.title, &r.body, &r.at, &r.origin.Run, &r.origin.Path, &r.kind, &r.seq)
		if err != nil {
			return nil, err
		}
		if err := r.decode(tags, &r.tags); err != nil {
			return nil, err
		}
		if err := l.unseal(&r, seal); err != nil {
			return nil, err
		}
		list = append(list, newKnown(mark{r.no, r.version, r.hash}, r.item(0)))
	}
	return list, rows.Close()
}

var (
	_ rank.Source  = (*source)(nil)
	_ rank.Nearest = (*source)(nil)
)
