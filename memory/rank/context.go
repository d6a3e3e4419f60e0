package rank

import (
	"cmp"
	"context"
	"slices"
	"strings"
)

// context adds to each row a part of what its neighbours earn: a message is about what was said just before, an answer
// above all about its question, and a thread, document or task in which much fits is more likely the place. Documents
// beside a candidate become candidates by it.
func (r *ranking) context(ctx context.Context) error {
	entries := make([]*Entry, 0, len(r.rows))
	for _, s := range r.rows {
		if s.Group != "" {
			entries = append(entries, s.Entry)
		}
	}
	if len(entries) > 0 {
		found, err := r.src.Adjacent(ctx, entries)
		if err != nil {
			return err
		}
		r.add(found)
	}
	at := make(map[place]*scored, len(r.rows))
	groups := map[string][]float64{}
	for _, s := range r.rows {
		if s.Group != "" {
			at[place{s.Group, s.Pos}] = s
			groups[s.Group] = append(groups[s.Group], s.own)
		}
	}
	means := make(map[string]float64, len(groups))
	for g, scores := range groups {
		for _, v := range top(scores, r.best, func(a, b float64) int { return cmp.Compare(b, a) }) {
			means[g] += v / float64(r.best)
		}
	}
	own := func(s *scored, distance int) float64 {
		if n := at[place{s.Group, s.Pos + distance}]; n != nil {
			return n.own
		}
		return 0
	}
	for _, s := range r.rows {
		if s.Group == "" {
			s.score = s.own * (1 + r.alone)
			continue
		}
		previous := r.previous
		if p := at[place{s.Group, s.Pos - 1}]; p != nil && asks(p.Body) {
			previous = r.question
		}
		s.score = s.own + previous*own(s, -1) + r.next*own(s, 1) + r.far[0]*own(s, -2) + r.far[1]*own(s, 2) + r.group*means[s.Group]
	}
	return nil
}

// asks says whether a text ends as a question.
func asks(text string) bool {
	text = strings.TrimRight(text, " \t\r\n\"'”’)*_")
	return slices.ContainsFunc([]string{"?", "？", "؟"}, func(sign string) bool { return strings.HasSuffix(text, sign) })
}
