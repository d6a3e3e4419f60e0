package core

import (
	"cmp"
	"slices"

	"github.com/cairnrun/cairn"
)

// What of a plan is active follows from the state and the tree alone, never from the order in which they came about:
// a plan made anew must go on exactly as one that was kept.
//
//   - A settled node is not active.
//   - Of a sequence, the first child that is not settled is active, and each later one that something has begun in: a
//     render may put new work before what runs already.
//   - Of a capped parallel, see arrange.
//   - Of a loop, the body; of a try, the part of its phase.

// wire computes, from the state, how far the nodes below n have come: settled, begun, left and busy. Nothing is
// active yet.
func (m *Machine) wire(n *node) {
	n.busy, n.left, n.begun, n.resumed = 0, 0, false, false
	for _, c := range n.children {
		m.wire(c)
		n.busy += c.busy
		n.begun = n.begun || c.begun
		if !c.settled {
			n.left++
		}
	}
	n.next = 0
	for n.next < len(n.children) && n.children[n.next].settled {
		n.next++
	}
	switch n.kind {
	case cairn.KindTask:
		if t := m.state.Tasks[n.path]; t != nil {
			n.begun = true
			if t.Status == TaskRunning {
				n.busy = 1
			}
		}
	case cairn.KindLoop:
		n.begun = n.begun || m.state.Loops[n.path] != nil
	case cairn.KindTry:
		n.begun = n.begun || m.state.Tries[n.path] != nil
	}
	n.settled = n.untaken || m.done(n)
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
		return t != nil && t.Phase == PhaseDone && t.Pending == nil
	}
	return n.left == 0
}

// bump changes the number of busy things in a node and all around it.
func (m *Machine) bump(n *node, by int) {
	if by == 0 {
		return
	}
	closed := false
	for p := n; p != nil; p = p.parent {
		p.busy += by
		closed = closed || p.closed
		if p.busy == 0 && p.closed {
			m.check(p.parent)
		}
	}
	for p := n; closed && p != nil && p.busy == 0; p = p.parent { // nothing more comes of these
		for _, w := range p.waiters {
			m.offer(w)
		}
	}
}

// begin notes that something has happened in a node.
func begin(n *node) {
	for ; n != nil && !n.begun; n = n.parent {
		n.begun = true
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

// activate says that it is a node's turn: it, or what is first in it, may start.
func (m *Machine) activate(n *node) {
	if n.kind == kindPart {
		n.active = true
		m.proceed(n)
		if n.left == 0 {
			m.finished(n)
		}
		return
	}
	if n.settled || n.active {
		return
	}
	n.active = true
	switch n.kind {
	case cairn.KindTask:
		m.offer(n)
	case cairn.KindSequence:
		m.proceed(n)
	case cairn.KindBranch, cairn.KindScope:
		for _, c := range n.children {
			m.activate(c)
		}
	case cairn.KindParallel:
		m.arrange(n)
	case cairn.KindLoop:
		if l := m.state.Loops[n.path]; l != nil && l.Exhausted {
			m.memo.failed = append(m.memo.failed, n)
			return
		}
		m.activate(n.children[0])
	case cairn.KindTry:
		if st := m.state.Tries[n.path]; st != nil && st.Phase == PhaseDone {
			m.memo.failed = append(m.memo.failed, n)
			return
		}
		m.enter(n)
	}
}

// deactivate takes back that it is a node's turn.
func (m *Machine) deactivate(n *node) {
	n.walk(func(n *node) bool {
		n.active, n.resumed = false, false
		m.exit(n)
		return true
	})
}

// proceed activates the first child of a sequence that is not settled, and, the first time, later ones that something
// has begun in.
func (m *Machine) proceed(n *node) {
	for n.next < len(n.children) && n.children[n.next].settled {
		n.next++
	}
	if n.next == len(n.children) {
		return
	}
	m.activate(n.children[n.next])
	if !n.begun || n.resumed {
		return
	}
	n.resumed = true
	for _, c := range n.children[n.next+1:] {
		if c.begun {
			m.activate(c)
		}
	}
}

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

// exit takes a try out of what its surroundings wait for.
func (m *Machine) exit(n *node) {
	if n.entered {
		n.entered = false
		m.bump(n, -1)
	}
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
		if st == nil {
			return true
		}
		if !n.settled && st.Phase != PhaseDone {
			m.enter(n)
		}
		return false
	})
}

// offer puts a task on the list of ready ones, if it can start. One that waits for a moment gets its timer.
func (m *Machine) offer(n *node) {
	if n.listed || n.dropped || !n.active || n.settled || !n.free() {
		return
	}
	switch t := m.state.Tasks[n.path]; {
	case t == nil || t.Status == TaskCancelled:
	case t.Status == TaskRunning:
		return
	case t.Status == TaskGaveUp: // and nobody has been told: the run was blocked, or the task stood in a try that is gone
		m.memo.failed = append(m.memo.failed, n)
		return
	case t.At > 0:
		m.command(Command{Kind: SetTimer, Path: n.path, At: t.At})
		return
	}
	m.memo.ready.push(n)
}

// free says that nothing a task comes After is still to come.
func (n *node) free() bool {
	return !slices.ContainsFunc(n.targets, func(t *node) bool { return !t.over(n) })
}

// over says that nothing more comes of a node, as far as a task that waits for it can see: it, or something around
// it, is settled; or it belongs to a part of a try before the one that the waiting task stands in; or both stand in a
// part that is closed, where only a Finally goes on, and the node is in none.
func (n *node) over(waits *node) bool {
	goesOn := n.busy > 0
	for p := n; p != nil; p = p.parent {
		if p.settled || p.closed && !goesOn && waits.within(p) {
			return true
		}
		goesOn = goesOn || p.isFinally() && !p.closed
		if try := p.parent; p.kind == kindPart && try != nil && try.kind == cairn.KindTry {
			for w := waits; w != nil; w = w.parent {
				if w.parent == try && w.index > p.index {
					return true
				}
			}
		}
	}
	return false
}

// settle says that a node is finished, and tells what is around it.
func (m *Machine) settle(n *node) {
	if n.settled {
		return
	}
	was := n.active
	n.settled, n.active = true, false
	for _, c := range n.children {
		if c.kind == kindPart {
			c.active = false
		}
	}
	m.release(n)
	p := n.parent
	p.left--
	switch p.kind {
	case cairn.KindParallel:
		if was {
			p.open--
		}
		if p.active {
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

// unsettle takes back that a part is finished, and all around it that was finished with it: a render has added to it.
// Then it starts, if that is its turn.
func (m *Machine) unsettle(n *node) {
	for n.settled && !m.done(n) {
		n.settled = false
		p := n.parent
		if p == nil || p.kind == cairn.KindLoop || p.kind == cairn.KindTry {
			if n.active && !n.closed {
				m.activate(n)
			}
			return
		}
		p.left++
		p.next = min(p.next, n.index)
		if p.active && !p.settled {
			m.reopen(p, n)
			return
		}
		n = p
	}
}

// reopen deals with a child of an active node that is not settled any more.
func (m *Machine) reopen(p, n *node) {
	switch p.kind {
	case cairn.KindSequence, kindPart:
		for _, c := range p.children[n.index+1:] {
			if c.active && !c.begun {
				m.deactivate(c)
			}
		}
		if n.begun || p.next == n.index {
			m.activate(n)
		}
	case cairn.KindParallel:
		if p.max > 0 {
			m.arrange(p)
			return
		}
		m.activate(n)
	default:
		m.activate(n)
	}
}

// release offers the tasks that waited for a node, or for something in it that will not run any more.
func (m *Machine) release(n *node) {
	n.walk(func(c *node) bool {
		for _, w := range c.waiters {
			m.offer(w)
		}
		return true
	})
}

// shut closes a part: nothing in it starts any more, what runs is cancelled, what waits is forgotten, and each try in
// it that has a Finally goes there, with why as the failure that goes outward.
func (m *Machine) shut(part *node, reason string, why *cairn.Failure) {
	part.closed, part.active = true, false
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
	m.release(part)
}

// shutTry closes a try inside of a closed part; it says whether to look into it. One that is not active and has not
// begun is left alone: there is nothing to clean up.
func (m *Machine) shutTry(n *node, reason string, why *cairn.Failure) bool {
	st := m.state.Tries[n.path]
	switch {
	case n.settled || !n.active && !n.begun || st != nil && st.Phase == PhaseDone:
		return false
	case st != nil && st.Phase == PhaseFinally:
		if !n.active {
			m.enter(n)
		}
		return false
	case n.try.Finally == nil && st == nil:
		n.active = false
		return true
	}
	if st == nil || !st.Closing {
		m.decide(Decision{Kind: Closed, Path: n.path, Failure: why})
	}
	n.active = true
	if n.try.Finally != nil && !n.entered {
		n.entered = true
		m.bump(n, 1)
	}
	m.shut(n.children[phasePart(st)], reason, why)
	m.check(n)
	return false
}

// stop cancels a task's running attempt, and forgets one that was to follow.
func (m *Machine) stop(path, reason string) {
	switch t := m.state.Tasks[path]; {
	case t == nil:
	case t.Status == TaskRunning && t.Stopping == "":
		m.decide(Decision{Kind: Cancelling, Path: path, Reason: reason})
		m.command(Command{Kind: CancelTask, Path: path})
	case t.Status == TaskWaiting:
		if t.At > 0 {
			m.command(Command{Kind: ClearTimer, Path: path})
		}
		m.decide(Decision{Kind: Settled, Path: path, Reason: reason})
		m.touched(path, t)
	}
}
