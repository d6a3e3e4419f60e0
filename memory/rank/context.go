package rank

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// surround adds the documents beside those that are there: they become candidates by it.
func (r *ranking) surround(ctx context.Context) error {
	entries := make([]*Entry, 0, len(r.rows))
	for _, s := range r.rows {
		if s.Group != "" && !s.asked {
			entries = append(entries, s.Entry)
			s.asked = true
		}
	}
	if len(entries) == 0 {
		return nil
	}
	found, err := r.src.Adjacent(ctx, entries)
	if err != nil {
		return err
	}
	before := len(r.rows)
	r.add(found)
	for _, s := range r.rows[before:] {
		s.asked = true // not the neighbours of neighbours
	}
	return nil
}

// smooth adds to each row a part of what its neighbours earn: a message is about what was said just before, an answer
// above all about its question, and a thread, document or task in which much fits is more likely the place.
func (r *ranking) smooth() {
	numbers := map[string]int{}
	groups := make([]int, len(r.rows)) // of each row
	var scores [][]float64             // of each group
	at := make(map[[2]int]*scored, len(r.rows))
	for i, s := range r.rows {
		if s.Group == "" {
			continue
		}
		n, ok := numbers[s.Group]
		if !ok {
			n = len(scores)
			numbers[s.Group] = n
			scores = append(scores, nil)
		}
		groups[i] = n
		scores[n] = append(scores[n], s.own)
		at[[2]int{n, s.Pos}] = s
	}
	means := make([]float64, len(scores))
	for n := range scores {
		for _, v := range top(scores[n], r.best, func(a, b float64) int { return cmp.Compare(b, a) }) {
			means[n] += v / float64(r.best)
		}
	}
	for i, s := range r.rows {
		if s.Group == "" {
			s.score = s.own * (1 + r.alone)
			continue
		}
		beside := func(distance int) *scored { return at[[2]int{groups[i], s.Pos + distance}] }
		s.score = s.own + r.group*means[groups[i]]
		if p := beside(-1); p != nil && asks(p.Body) {
			s.score += r.question * p.own
		} else if p != nil {
			s.score += r.previous * p.own
		}
		if n := beside(1); n != nil {
			s.score += r.next * n.own
		}
		if p := beside(-2); p != nil {
			s.score += r.far[0] * p.own
		}
		if n := beside(2); n != nil {
			s.score += r.far[1] * n.own
		}
	}
}

// asks says whether a text ends as a question.
func asks(text string) bool {
	text = strings.TrimRight(text, " \t\r\n\"'”’)*_")
	return slices.ContainsFunc([]string{"?", "？", "؟"}, func(sign string) bool { return strings.HasSuffix(text, sign) })
}
