package handoff

import (
	"fmt"
	"slices"

	"github.com/cairnrun/cairn/internal/schema"
)

// Distil shortens parts of a state until the state, as JSON, has at most so many bytes.
//
//	s := Distilled{Goal: goal, Learnings: learnings, Log: log, Done: done}
//	left, err := handoff.Distil(&s, 4096,
//		handoff.Text(&s.Goal),
//		handoff.ByPriority(&s.Learnings, Learning.Weight).Count(&s.Forgotten),
//		handoff.Newest(&s.Log),
//	)
//
// The parts are given with the most important first: each takes what fits of it before the next one is asked, and what is
// no part stays whole. To keep one part from taking all, bound it beforehand, with Cut or Last, or with a Distil of the
// part alone: Distil(&s.Log, 1024, Newest(&s.Log)).
//
// It returns how much of each part is left out: items, of a Text bytes. A state that fits is not changed, so distilling
// again changes nothing. Equal states give equal results. Where two sizes give different results, the most important
// item or piece of text in which they differ is kept by the larger one.
//
// The size is that of the JSON that Cairn stores: compact, without HTML escapes. A state that has no JSON form, or does not
// fit even with all parts empty, is an error and stays as it was. Slices are replaced, never written to.
func Distil[S any](state *S, bytes int, parts ...Part) (left []int, err error) {
	size := func() (int, error) {
		raw, err := schema.Encode(state)
		return len(raw), err
	}
	left = make([]int, len(parts))
	whole, err := size()
	if err != nil {
		return nil, err
	}
	if whole <= bytes {
		return left, nil
	}
	var undo []func()
	defer func() {
		if err != nil {
			left = nil
			for _, u := range slices.Backward(undo) {
				u()
			}
		}
	}()
	for _, p := range parts {
		undo = append(undo, p.field.empty())
	}
	least, err := size()
	if err != nil {
		return nil, err
	}
	if least > bytes {
		return nil, fmt.Errorf("the state has %d bytes as JSON, %d with its %d parts empty, and may have %d: make more of it a part, or allow more",
			whole, least, len(parts), bytes)
	}
	for i, p := range parts {
		if left[i], err = p.field.fill(size, bytes); err != nil {
			return nil, err
		}
	}
	return left, nil
}
