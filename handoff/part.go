package handoff

import (
	"cmp"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/internal/schema"
)

// Part is a field of a state that Distil may shorten: Newest, ByPriority or Text.
type Part struct{ field field }

// Count adds what is left out of the part, items or bytes, to a number in the state, so that the successor can be told.
// The number counts for the size, and grows from generation to generation. Several parts may share one.
func (p Part) Count(total *int) Part { return Part{&counted{field: p.field, total: total}} }

// Newest keeps the last of the items that fit. One that is too large for the room that is left does not keep out older
// ones that still fit.
func Newest[T any](items *[]T) Part {
	return Part{&list[T]{items: items, order: func(all []T) []int {
		order := make([]int, len(all))
		for i := range order {
			order[i] = len(all) - 1 - i
		}
		return order
	}}}
}

// ByPriority keeps the items with the highest priority that fit, in the order they stand in; among equals the first ones.
// One that is too large for the room that is left does not keep out less important ones that still fit.
func ByPriority[T any, P cmp.Ordered](items *[]T, priority func(T) P) Part {
	return Part{&list[T]{items: items, order: func(all []T) []int {
		order := make([]int, len(all))
		priorities := make([]P, len(all))
		for i, item := range all {
			order[i], priorities[i] = i, priority(item)
		}
		slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(priorities[b], priorities[a]) })
		return order
	}}}
}

// Text keeps the beginning of a text, as Cut does.
func Text(text *string) Part { return Part{&prose{text: text}} }

// A field takes its content out of the state and puts back what fits.
type field interface {
	// empty takes everything out.
	empty() (undo func())
	// amount is how much was taken out.
	amount() int
	// fill puts back what fits and says how much is left out. The state fits before and after, unless there is an error.
	fill(size func() (int, error), bytes int) (left int, err error)
}

type list[T any] struct {
	items *[]T
	order func([]T) []int // indexes, the most important first
	all   []T
}

func (l *list[T]) empty() func() {
	l.all = *l.items
	*l.items = l.all[:0:0] // nil stays nil
	return func() { *l.items = l.all }
}

func (l *list[T]) amount() int { return len(l.all) }

// fill measures the whole state once for the first item, which may bring a field's name with it, and once in the end;
// between, an item costs its own JSON and a comma.
func (l *list[T]) fill(size func() (int, error), bytes int) (left int, err error) {
	if len(l.all) == 0 {
		return 0, nil
	}
	base, err := size()
	if err != nil {
		return 0, err
	}
	kept := make([]bool, len(l.all))
	var chosen []int
	used, frame := base, -1 // frame is what the list costs besides its items and commas
	for _, i := range l.order(l.all) {
		raw, err := schema.Encode(&l.all[i])
		if err != nil {
			return 0, err
		}
		if frame < 0 {
			*l.items = l.all[i : i+1 : i+1]
			one, err := size()
			if err != nil {
				return 0, err
			}
			frame = max(one-base-len(raw), 0)
		}
		cost := frame + len(raw)
		if len(chosen) > 0 {
			cost = 1 + len(raw)
		}
		if used+cost <= bytes {
			used, kept[i], chosen = used+cost, true, append(chosen, i)
		}
	}
	for {
		l.put(kept, len(chosen))
		n, err := size()
		if err != nil {
			return 0, err
		}
		if n <= bytes || len(chosen) == 0 {
			return len(l.all) - len(chosen), nil
		}
		// A MarshalJSON of the state makes more of its items than they are.
		kept[chosen[len(chosen)-1]] = false
		chosen = chosen[:len(chosen)-1]
	}
}

func (l *list[T]) put(kept []bool, n int) {
	if n == len(l.all) {
		*l.items = l.all
		return
	}
	some := l.all[:0:0]
	for i, item := range l.all {
		if kept[i] {
			some = append(some, item)
		}
	}
	*l.items = some
}

type prose struct {
	text *string
	all  string
}

func (p *prose) empty() func() {
	was := *p.text
	p.all = strings.ToValidUTF8(was, string(utf8.RuneError))
	*p.text = ""
	return func() { *p.text = was }
}

func (p *prose) amount() int { return len(p.all) }

func (p *prose) fill(size func() (int, error), bytes int) (left int, err error) {
	fits := func(text string) bool {
		*p.text = text
		n, failed := size()
		if failed != nil {
			err = failed
		}
		return n <= bytes
	}
	if fits(p.all) || err != nil {
		return 0, err
	}
	places := grapheme.Places(p.all)
	n := sort.Search(len(places), func(i int) bool { return !fits(grapheme.Head(p.all, places[i])) })
	if err != nil {
		return 0, err
	}
	end := 0
	if n > 0 {
		end = places[n-1]
	}
	*p.text = grapheme.Head(p.all, end)
	return len(p.all) - end, nil
}

// counted has in total all that it took out until it is filled, so that the number never gets longer than it was when
// the state was measured.
type counted struct {
	field
	total *int
}

func (c *counted) empty() func() {
	undo, was := c.field.empty(), *c.total
	*c.total += c.amount()
	return func() {
		undo()
		*c.total = was
	}
}

func (c *counted) fill(size func() (int, error), bytes int) (int, error) {
	left, err := c.field.fill(size, bytes)
	*c.total -= c.amount() - left
	return left, err
}
