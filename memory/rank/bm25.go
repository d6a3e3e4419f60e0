package rank

import "math"

// idf weighs a term by how rare it is. It is never negative.
func idf(docs, with int) float64 {
	if with <= 0 {
		return 0
	}
	return math.Log(1 + (max(float64(docs-with), 0)+.5)/(float64(with)+.5))
}

// score gives every row what it earns by itself: BM25 over its fields (the counts are weighed before they saturate, so
// that a word in title and body does not count twice in full), more when it holds much of the query, when the words
// stand together, and when it is of the time that is asked about.
func (r *ranking) score() {
	all := 0.0
	weights := make([]float64, len(r.terms))
	var known [256]bool // most terms of a document are not asked for: this tells it without a look into the map
	for i, t := range r.terms {
		weights[i] = r.weights[i] * r.idf[i]
		all += weights[i]
		known[trait(t)] = true
	}
	counts := make([]float64, len(weights))
	for _, s := range r.rows {
		clear(counts)
		for f, terms := range s.Terms {
			for _, t := range terms {
				if !known[trait(t)] {
					continue
				}
				if i, ok := r.slots[t]; ok {
					counts[i] += r.weight[f]
				}
			}
		}
		norm := 1.0
		if r.stats.Length > 0 {
			norm = 1 - r.b + r.b*s.length(r.params)/r.stats.Length
		}
		s.own = 0
		got := 0.0
		for i, n := range counts {
			if n > 0 {
				s.own += weights[i] * n * (1 + r.k1) / (n + r.k1*norm)
				got += weights[i]
			}
		}
		s.match = got > 0
		if all > 0 {
			s.own *= 1 + r.coverage*got/all
		}
		if s.match {
			s.own += r.proximity * r.together(s.Entry, weights, &known)
		}
		if r.when > 0 && tellsTime(s.Entry) {
			s.own *= 1 + r.when
		}
		if len(r.spans) > 0 {
			s.own *= 1 + r.date*inside(r.spans, s.Time)
		}
		s.score = s.own
	}
}

// trait is a byte that tells most terms apart.
func trait(t string) byte {
	if t == "" {
		return 0
	}
	return t[0]*7 + t[len(t)-1]*31 + byte(len(t))*59
}

// together is what query words earn in the body that stand near one another: the weight of the lesser one, by the square
// of the distance, saturated.
func (r *ranking) together(e *Entry, weights []float64, known *[256]bool) (sum float64) {
	last, at := -1, 0
	for pos, t := range e.Terms[Body] {
		if !known[trait(t)] {
			continue
		}
		i, ok := r.slots[t]
		if !ok {
			continue
		}
		if d := float64(pos - at); last >= 0 && last != i && pos-at <= r.reach {
			sum += min(weights[i], weights[last]) / (d * d)
		}
		last, at = i, pos
	}
	return sum / (1 + sum/5)
}
