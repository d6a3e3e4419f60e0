package rank

import (
	"cmp"
	"context"
	"slices"
)

// feedback lets the best rows name further terms and looks again (RM3; Abdul-Jaleel and others, 2004): a term counts by
// its share of the rows, the rows by their scores, and the query keeps lambda of the weight. Terms are weighed by how
// rare they are, too, and speakers name none: both would bring what is frequent anyway.
func (r *ranking) feedback(ctx context.Context) error {
	best := top(slices.Clone(r.rows), r.feedbackDocs, order)
	total := 0.0
	for _, s := range best {
		total += s.score
	}
	if total == 0 {
		return nil
	}
	var names []string
	mass := map[string]float64{}
	for _, s := range best {
		n := s.length(r.params)
		for f, terms := range s.Terms {
			if f == int(Speaker) {
				continue
			}
			for _, t := range terms {
				if _, ok := mass[t]; !ok {
					names = append(names, t)
				}
				mass[t] += r.weight[f] / n * s.score / total
			}
		}
	}
	heavier := func(a, b string) int { return cmp.Or(cmp.Compare(mass[b], mass[a]), cmp.Compare(a, b)) }
	names = top(names, 4*r.feedbackTerms, heavier) // each costs the source a count
	frequencies, err := r.src.Frequencies(ctx, names)
	if err != nil {
		return err
	}
	for i, t := range names {
		mass[t] *= idf(r.stats.Docs, frequencies[i])
	}
	names = top(names, r.feedbackTerms, heavier)
	sum := 0.0
	for _, t := range names {
		sum += mass[t]
	}
	if sum == 0 {
		return nil
	}
	asked := len(r.terms)
	for i := range r.weights {
		r.weights[i] *= r.lambda
	}
	var fresh []string
	for _, t := range names {
		w := (1 - r.lambda) * mass[t] / sum * float64(asked)
		if i, ok := r.slots[t]; ok {
			r.weights[i] += w
			continue
		}
		fresh = append(fresh, t)
		r.weights = append(r.weights, w)
	}
	r.arm("feedback")
	r.trace.Feedback = fresh
	if len(fresh) == 0 {
		return nil
	}
	return r.search(ctx, fresh)
}
