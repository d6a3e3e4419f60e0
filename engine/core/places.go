package core

import (
	"cmp"
	"slices"

	"github.com/cairnrun/cairn"
)

// arrange opens children of a parallel, as many as Max allows: those with something in progress keep their place,
// then come those that something has been done in, then the others; by priority, then in order.
func (m *Machine) arrange(p *node) {
	p.open, p.order, p.contended = 0, nil, false
	if p.max <= 0 {
		for _, c := range p.children {
			m.activate(c)
		}
		return
	}
	type place struct {
		n    *node
		rank int
	}
	var places []place
	began := 0
	for _, c := range p.children {
		if c.settled {
			continue
		}
		rank := 2
		if c.begun {
			began++
			if rank = 1; m.holds(c) {
				rank = 0
			}
		}
		places = append(places, place{c, rank})
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(a.rank-b.rank, cmp.Compare(b.n.priority(), a.n.priority()))
	})
	p.contended = began > p.max
	for _, at := range places {
		if at.rank == 0 || p.open < p.max {
			p.open++
			m.activate(at.n)
			continue
		}
		if at.n.active {
			m.deactivate(at.n)
		}
		p.order = append(p.order, at.n)
	}
}

// fill opens the next children of a capped parallel.
func (m *Machine) fill(p *node) {
	for len(p.order) > 0 && p.open < p.max {
		c := p.order[0]
		p.order = p.order[1:]
		if !c.settled && !c.active {
			p.open++
			m.activate(c)
		}
	}
}

// rearrange looks anew at the capped parallels around a node whose work has paused: what a render has added to a
// finished child may come first.
func (m *Machine) rearrange(n *node) {
	for ; n != nil && n.parent != nil; n = n.parent {
		if p := n.parent; p.contended && p.active && !n.settled {
			m.arrange(p)
		}
	}
}

// holds says that an attempt runs below a node, or follows after a pause.
func (m *Machine) holds(n *node) (yes bool) {
	n.walk(func(n *node) bool {
		if n.kind == cairn.KindTask {
			t := m.state.Tasks[n.path]
			yes = yes || t != nil && (t.Status == TaskRunning || t.Status == TaskWaiting)
		}
		return !yes && n.begun
	})
	return yes
}

func (n *node) priority() int {
	if n.task != nil {
		return n.task.Policy.Priority
	}
	return 0
}
