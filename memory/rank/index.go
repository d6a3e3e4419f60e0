package rank

import (
	"cmp"
	"context"
	"slices"
)

// Index is a Source in memory over documents that do not change. It is safe for concurrent use.
type Index struct {
	entries  []*Entry
	lengths  []float32
	postings map[string][]posting
	places   map[place]int32
	stats    Stats
}

// posting says how often a term occurs in a document, fields weighed.
type posting struct {
	doc int32
	tf  float32
}

type place struct {
	group string
	pos   int
}

// NewIndex returns an index of documents. Where two have the same group and place, the later one is the neighbour.
func NewIndex(docs []Doc) *Index {
	entries := make([]*Entry, len(docs))
	for i, d := range docs {
		entries[i] = NewEntry(d)
	}
	return IndexOf(entries)
}

// IndexOf returns an index of documents whose terms are known.
func IndexOf(entries []*Entry) *Index {
	return indexOf(entries, &tuned)
}

func indexOf(entries []*Entry, p *params) *Index {
	x := &Index{entries: entries, lengths: make([]float32, len(entries)), postings: map[string][]posting{}, places: map[place]int32{}}
	total := 0.0
	for i, e := range entries {
		n := e.length(p)
		x.lengths[i] = float32(n)
		total += n
		for f, terms := range e.Terms {
			for _, t := range terms {
				list := x.postings[t]
				if last := len(list) - 1; last >= 0 && list[last].doc == int32(i) {
					list[last].tf += float32(p.weight[f])
				} else {
					x.postings[t] = append(list, posting{int32(i), float32(p.weight[f])})
				}
			}
		}
		if e.Group != "" {
			x.places[place{e.Group, e.Pos}] = int32(i)
		}
	}
	x.stats = Stats{Docs: len(entries)}
	if len(entries) > 0 {
		x.stats.Length = total / float64(len(entries))
	}
	return x
}

// Stats implements Source.
func (x *Index) Stats(context.Context) (Stats, error) { return x.stats, nil }

// Frequencies implements Source.
func (x *Index) Frequencies(_ context.Context, terms []string) ([]int, error) {
	out := make([]int, len(terms))
	for i, t := range terms {
		out[i] = len(x.postings[t])
	}
	return out, nil
}

// Match implements Source.
func (x *Index) Match(_ context.Context, terms []string, limit int) ([]*Entry, error) {
	scores := make([]float32, len(x.entries))
	var hit []int32
	for _, t := range terms {
		list := x.postings[t]
		idf := float32(idf(x.stats.Docs, len(list)))
		for _, p := range list {
			if scores[p.doc] == 0 {
				hit = append(hit, p.doc)
			}
			norm := float32(1)
			if x.stats.Length > 0 {
				norm = float32(1-tuned.b) + float32(tuned.b)*x.lengths[p.doc]/float32(x.stats.Length)
			}
			scores[p.doc] += idf * p.tf / (p.tf + float32(tuned.k1)*norm)
		}
	}
	return x.best(hit, scores, limit), nil
}

// best returns the entries with the highest scores; ties go to the newer one, then by id, so that the order in which the
// index was filled decides nothing.
func (x *Index) best(hit []int32, scores []float32, limit int) []*Entry {
	order := func(a, b int32) int {
		if c := cmp.Compare(scores[b], scores[a]); c != 0 {
			return c
		}
		x, y := x.entries[a], x.entries[b]
		return cmp.Or(cmp.Compare(y.Time, x.Time), cmp.Compare(x.ID, y.ID))
	}
	hit = top(hit, limit, order)
	out := make([]*Entry, len(hit))
	for i, d := range hit {
		out[i] = x.entries[d]
	}
	return out
}

// top returns the first limit of a list in order, by a heap whose root is the worst one kept.
func top[T any](list []T, limit int, order func(a, b T) int) []T {
	limit = max(limit, 0)
	if len(list) > limit {
		kept := list[:limit]
		sink := func(i int) {
			for {
				worst := i
				for c := 2*i + 1; c <= 2*i+2 && c < limit; c++ {
					if order(kept[c], kept[worst]) > 0 {
						worst = c
					}
				}
				if worst == i {
					return
				}
				kept[i], kept[worst] = kept[worst], kept[i]
				i = worst
			}
		}
		for i := limit/2 - 1; i >= 0; i-- {
			sink(i)
		}
		for _, v := range list[limit:] {
			if limit > 0 && order(v, kept[0]) < 0 {
				kept[0] = v
				sink(0)
			}
		}
		list = kept
	}
	slices.SortFunc(list, order)
	return list
}

// Adjacent implements Source.
func (x *Index) Adjacent(_ context.Context, of []*Entry) ([]*Entry, error) {
	out := make([]*Entry, 0, 2*len(of))
	seen := make(map[int32]bool, 2*len(of))
	for _, e := range of {
		if e.Group == "" {
			continue
		}
		for _, pos := range [2]int{e.Pos - 1, e.Pos + 1} {
			if i, ok := x.places[place{e.Group, pos}]; ok && !seen[i] {
				seen[i] = true
				out = append(out, x.entries[i])
			}
		}
	}
	return out, nil
}

// Embedded implements Nearest: an entry has its vector from the beginning.
func (x *Index) Embedded(context.Context, []*Entry) ([]*Entry, error) { return nil, nil }

// Nearest implements Nearest, by comparing with every vector.
func (x *Index) Nearest(_ context.Context, vector []float32, limit int) ([]*Entry, error) {
	scores := make([]float32, len(x.entries))
	var hit []int32
	for i, e := range x.entries {
		if len(e.Vector) == len(vector) && len(vector) > 0 {
			scores[i] = float32(Cosine(e.Vector, vector))
			hit = append(hit, int32(i))
		}
	}
	return x.best(hit, scores, limit), nil
}
