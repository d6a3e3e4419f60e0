package core

import (
	"slices"

	"github.com/cairnrun/cairn"
)

// wire computes, from the state, how far the nodes below n have come: settled, left and busy. Nothing is active yet.
func (m *Machine) wire(n *node) {
	n.busy, n.left = 0, 0
	for _, c := range n.children {
		m.wire(c)
		n.busy += c.busy
		if !c.settled {
			n.left++
		}
	}
	n.next = 0
	for n.next < len(n.children) && n.children[n.next].settled {
		n.next++
	}
	n.settled = n.untaken || m.done(n)
	if n.kind == cairn.KindTask {
		if t := m.state.Tasks[n.path]; t != nil && t.Status == TaskRunning {
			n.busy = 1
		}
	}
}

// done says whether a node is finished, its children being known.
func (m *Machine) done(n *node) bool {
	switch n.kind {
	case cairn.KindTask:
		return m.state.Tasks[n.path].settled()
	case cairn.KindLoop:
		l := m.state.Loops[n.path]
		return l != nil && l.Done
	case cairn.KindTry:
		t := m.state.Tries[n.path]
		return t != nil && t.Phase == PhaseDone
	}
	return n.left == 0
}

// bump changes the number of busy things in a node and all around it.
func (m *Machine) bump(n *node, by int) {
	if by == 0 {
		return
	}
	for ; n != nil; n = n.parent {
		n.busy += by
		if n.busy == 0 && n.closed {
			m.check(n.parent)
		}
	}
}

// check puts a loop, a try or, for nil, the root on the list of composites to look at after rendering.
func (m *Machine) check(n *node) {
	if n == nil {
		n = m.memo.root
	}
	if !n.queued {
		n.queued = true
		m.memo.checks = append(m.memo.checks, n)
	}
}

// activate says that all before a node is finished: it, or what is first in it, may start.
func (m *Machine) activate(n *node) {
	if n.settled && n.kind != kindPart {
		return
	}
	n.active = true
	switch n.kind {
	case cairn.KindTask:
		m.offer(n)
	case cairn.KindSequence, kindPart:
		m.proceed(n)
		if n.kind == kindPart && n.left == 0 {
			m.finished(n)
		}
	case cairn.KindBranch, cairn.KindScope:
		for _, c := range n.children {
			m.activate(c)
		}
	case cairn.KindParallel:
		n.open, n.order = 0, nil
		m.fill(n)
	case cairn.KindLoop:
		m.activate(n.children[0])
	case cairn.KindTry:
		m.enter(n)
	}
}

// proceed activates the first child of a sequence that is not settled.
func (m *Machine) proceed(n *node) {
	for n.next < len(n.children) && n.children[n.next].settled {
		n.next++
	}
	if n.next < len(n.children) && !n.children[n.next].active {
		m.activate(n.children[n.next])
	}
}

// fill opens children of a parallel, as many as Max allows: those in progress keep their place, then by priority.
func (m *Machine) fill(n *node) {
	if n.order == nil {
		n.order = slices.Clone(n.children)
		slices.SortStableFunc(n.order, func(a, b *node) int {
			if by := b.busy - a.busy; n.max > 0 && by != 0 && (a.busy == 0 || b.busy == 0) {
				return by
			}
			return b.priority() - a.priority()
		})
	}
	for len(n.order) > 0 && (n.max == 0 || n.open < n.max) {
		c := n.order[0]
		n.order = n.order[1:]
		if !c.settled && !c.active {
			n.open++
			m.activate(c)
		}
	}
}

func (n *node) priority() int {
	if n.task != nil {
		return n.task.Policy.Priority
	}
	return 0
}

// enter makes a try active, in the phase the state has it in.
func (m *Machine) enter(n *node) {
	n.active = true
	if n.try.Finally != nil && !n.entered {
		n.entered = true
		m.bump(n, 1)
	}
	st := m.state.Tries[n.path]
	part := n.children[phasePart(st)]
	if st != nil && st.Closing {
		part.closed = true
		m.revive(part)
	} else {
		m.activate(part)
	}
	m.check(n)
}

// phasePart is the position of the part that a try's phase mounts.
func phasePart(st *Try) int {
	switch {
	case st == nil || st.Phase == PhaseBody:
		return bodyPart
	case st.Phase == PhaseCatch:
		return catchPart
	}
	return finallyPart
}

// revive makes the tries of a closed part active again that had met a failure or were in their Finally: these go on.
func (m *Machine) revive(part *node) {
	part.walk(func(n *node) bool {
		if n.kind != cairn.KindTry || n == part {
			return true
		}
		st := m.state.Tries[n.path]
		if st == nil || n.settled {
			return st == nil
		}
		m.enter(n)
		return false
	})
}

// offer puts a task on the list of ready ones, if it can start. One that waits for a moment gets its timer.
func (m *Machine) offer(n *node) {
	if n.listed || n.dropped || !n.active || n.settled || slices.ContainsFunc(n.targets, func(t *node) bool { return !t.over() }) {
		return
	}
	switch t := m.state.Tasks[n.path]; {
	case t == nil || t.Status == TaskCancelled:
	case t.Status == TaskRunning:
		return
	case t.Status == TaskGaveUp: // while the run was blocked: nobody has been told
		m.raise(n, failure(n.path, t))
		return
	case t.At > m.state.Time:
		m.command(Command{Kind: SetTimer, Path: n.path, At: t.At})
		return
	}
	m.memo.ready.push(n)
}

// over says that nothing more comes of a node: it, or something around it, is settled.
func (n *node) over() bool {
	for ; n != nil; n = n.parent {
		if n.settled {
			return true
		}
	}
	return false
}

// settle says that a node is finished, and tells what is around it.
func (m *Machine) settle(n *node) {
	if n.settled {
		return
	}
	n.settled = true
	m.release(n)
	p := n.parent
	p.left--
	switch p.kind {
	case cairn.KindParallel:
		if p.open--; p.active {
			m.fill(p)
		}
	case cairn.KindSequence, kindPart:
		if p.active {
			m.proceed(p)
		}
	}
	if p.left == 0 {
		switch p.kind {
		case kindPart:
			m.finished(p)
		case cairn.KindSequence, cairn.KindParallel, cairn.KindBranch:
			m.settle(p)
		}
	}
}

// finished tells the owner of a part that all in it is settled.
func (m *Machine) finished(part *node) {
	part.settled = true
	owner := part.parent
	if owner == nil || owner.kind != cairn.KindScope {
		m.check(owner)
		return
	}
	if !owner.settled {
		owner.left = 0
		m.settle(owner)
	}
}

// unsettle takes back that a node is finished: a render has added to it.
func (m *Machine) unsettle(n *node) {
	for n.settled && !m.done(n) {
		n.settled = false
		p := n.parent
		if p == nil || p.kind == cairn.KindLoop || p.kind == cairn.KindTry {
			return
		}
		p.left++
		p.next = min(p.next, n.index)
		if p.kind == cairn.KindParallel && p.active {
			p.open++
		}
		n = p
	}
}

// release offers the tasks that waited for a node, or for something in it that will not run any more.
func (m *Machine) release(n *node) {
	n.walk(func(c *node) bool {
		for _, w := range c.waiters {
			m.offer(w)
		}
		return c == n && n.kind != cairn.KindTask || c != n
	})
}

// shut closes a part: nothing in it starts any more, what runs is cancelled, and each try in it that has a Finally
// goes there, with why as the failure that goes outward.
func (m *Machine) shut(part *node, reason string, why *cairn.Failure) {
	part.closed = true
	for _, c := range part.children {
		c.walk(func(n *node) bool {
			switch n.kind {
			case cairn.KindTask:
				n.active = false
				m.stop(n.path, reason)
				return false
			case cairn.KindTry:
				return m.shutTry(n, reason, why)
			}
			n.active = false
			return true
		})
	}
	if part.busy == 0 {
		m.check(part.parent)
	}
}

// shutTry closes a try inside of a closed part; it says whether to look into it.
func (m *Machine) shutTry(n *node, reason string, why *cairn.Failure) bool {
	st := m.state.Tries[n.path]
	if !n.active || n.settled || st != nil && st.Phase == PhaseFinally {
		return false
	}
	if n.try.Finally == nil && st == nil {
		n.active = false
		return true
	}
	if st == nil || !st.Closing {
		m.decide(Decision{Kind: Closed, Path: n.path, Failure: why})
	}
	m.shut(n.children[phasePart(st)], reason, why)
	m.check(n)
	return false
}

// stop cancels a task's running attempt.
func (m *Machine) stop(path, reason string) {
	if t := m.state.running[path]; t != nil && t.Stopping == "" {
		m.decide(Decision{Kind: Cancelling, Path: path, Reason: reason})
		m.command(Command{Kind: CancelTask, Path: path})
	}
}
