package core

import (
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
	case cairn.KindContinueAsNew:
		m.memo.failed = append(m.memo.failed, n)
	case cairn.KindSequence, cairn.KindAspects:
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

// enter makes a try active, in the phase the state has it in.
func (m *Machine) enter(n *node) {
	n.active = true
	m.await(n)
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

// await makes a try that has a Finally one of the things that its surroundings wait for.
func (m *Machine) await(n *node) {
	if n.try.Finally != nil && !n.entered {
		n.entered = true
		m.bump(n, 1)
	}
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
