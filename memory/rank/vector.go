package rank

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// VectorFloor is the relevance floor, in place of Effort.Floor, where vectors are in the scores: every row is a little
// near to every query.
const VectorFloor = .3

// nearest adds the documents whose vectors are nearest to that of the query.
func (r *ranking) nearest(ctx context.Context) error {
	source, ok := r.src.(Nearest)
	if !ok || len(r.query.Vector) == 0 {
		return nil
	}
	found, err := source.Nearest(ctx, r.query.Vector, r.query.Effort.Candidates())
	if err != nil {
		return err
	}
	r.add(found)
	return nil
}

// embed gives the rows that were found by their words, or beside others, their vectors.
func (r *ranking) embed(ctx context.Context) error {
	source, ok := r.src.(Nearest)
	if !ok || len(r.query.Vector) == 0 {
		return nil
	}
	var bare []*Entry
	for _, s := range r.rows {
		if s.Vector == nil {
			bare = append(bare, s.Entry)
		}
	}
	if len(bare) == 0 {
		return nil
	}
	found, err := source.Embedded(ctx, bare)
	for _, e := range found {
		r.byID[e.ID].Entry = e
	}
	return err
}

// vectors mixes the cosine in. Mixing ranks (RRF) lowered recall in trials, because it lets a weak arm count as much as a
// strong one; so both scores are taken as parts of their maximum, and the cosine is weighed. A row that has no vector
// yet is taken to be as near as its words are.
func (r *ranking) vectors() {
	if len(r.query.Vector) == 0 {
		return
	}
	slices.SortFunc(r.rows, func(a, b *scored) int { return cmp.Compare(a.ID, b.ID) }) // sums depend on the order
	cosines := make([]float64, len(r.rows))
	most, usual, n := 0.0, 0.0, 0.0
	for i, s := range r.rows {
		most = max(most, s.own)
		if len(s.Vector) == len(r.query.Vector) {
			cosines[i] = Cosine(s.Vector, r.query.Vector)
			usual += cosines[i]
			n++
		}
	}
	// Any two texts are a little alike: what counts is how much nearer a row is than the mean of the candidates. (The 10
	// keeps the mean of a handful of rows low: they may all be near.)
	usual = max(usual/(n+10), 0)
	nearest := 0.0
	for i, s := range r.rows {
		if !s.match && cosines[i] < r.near {
			cosines[i] = 0
		}
		cosines[i] = max(cosines[i]-usual, 0)
		nearest = max(nearest, cosines[i])
	}
	if nearest == 0 {
		return
	}
	r.arm("vectors")
	r.mixed = true
	for i, s := range r.rows {
		if most > 0 {
			s.own /= most
		}
		if len(s.Vector) == len(r.query.Vector) {
			s.own += r.semantic * cosines[i] / nearest
		} else {
			s.own += r.semantic * s.own
		}
	}
}

// Cosine returns the cosine of the angle between two vectors, and 0 when their lengths differ or one of them is all
// zeros.
func Cosine(a, b []float32) float64 {
	if len(a) != len(b) {
		return 0
	}
	// Four sums at once: the processor need not wait for one addition before the next.
	var dot, aa, bb [4]float32
	i := 0
	for ; i+4 <= len(a); i += 4 {
		x, y := a[i:i+4:i+4], b[i:i+4:i+4]
		for k := range 4 {
			dot[k] += x[k] * y[k]
			aa[k] += x[k] * x[k]
			bb[k] += y[k] * y[k]
		}
	}
	for ; i < len(a); i++ {
		dot[0] += a[i] * b[i]
		aa[0] += a[i] * a[i]
		bb[0] += b[i] * b[i]
	}
	d, x, y := sum(dot), sum(aa), sum(bb)
	if x == 0 || y == 0 {
		return 0
	}
	return d / math.Sqrt(x*y)
}

func sum(v [4]float32) float64 {
	return float64(v[0]) + float64(v[1]) + float64(v[2]) + float64(v[3])
}
