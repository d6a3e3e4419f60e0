package core

import (
	"fmt"

	"github.com/cairnrun/cairn"
)

// advance moves loops, tries and the root on, as far as their parts are done. It reports whether anything moved.
func (m *Machine) advance() (moved bool) {
	checks := m.memo.checks
	m.memo.checks = nil
	for _, n := range checks {
		n.queued = false
		if n.dropped || n.parent == nil || !n.active || n.settled {
			continue
		}
		switch n.kind {
		case cairn.KindLoop:
			moved = m.advanceLoop(n) || moved
		case cairn.KindTry:
			moved = m.advanceTry(n) || moved
		}
	}
	return moved
}

// advanceLoop asks Until about a finished iteration, and goes on or ends.
func (m *Machine) advanceLoop(n *node) bool {
	st := m.state.Loops[n.path]
	if !n.children[0].settled || st != nil && st.Exhausted {
		return false
	}
	i := 0
	if st != nil {
		i = st.Iteration
	}
	stop := false
	if n.loop.Until != nil {
		m.view(cairn.Iteration(n.path, i), nil, func(v *cairn.View) { stop = n.loop.Until(v) })
	}
	switch {
	case stop:
		m.decide(Decision{Kind: Verdict, Path: n.path, I: i, Yes: true})
		m.settle(n)
	case n.loop.Max != cairn.Unbounded && i+1 >= n.loop.Max:
		last := n.loop.OnMax == cairn.ReturnLast
		m.decide(Decision{Kind: Exhausted, Path: n.path, I: i, Yes: last})
		if last {
			m.settle(n)
			break
		}
		m.raise(n, &cairn.Failure{Code: cairn.LoopExhausted, Path: n.path, Permanent: true,
			Message: fmt.Sprintf("%d iterations, and Until has not been true", i+1)})
	default:
		m.decide(Decision{Kind: Verdict, Path: n.path, I: i})
		part := n.children[0]
		part.scope = cairn.Iteration(n.path, i+1)
		m.memo.mark(part.cell)
	}
	return true
}

// advanceTry goes from body to catch to finally to done.
func (m *Machine) advanceTry(n *node) bool {
	st := m.state.Tries[n.path]
	part := n.children[phasePart(st)]
	closing := st != nil && st.Closing
	if closing && part.busy > 0 || !closing && !part.settled {
		return false
	}
	phase := PhaseBody
	if st != nil {
		phase = st.Phase
	}
	switch {
	case phase == PhaseBody && closing && m.catches(n, st.Pending):
		m.mountPhase(n, PhaseCatch)
	case phase != PhaseFinally && n.try.Finally != nil:
		m.mountPhase(n, PhaseFinally)
	default:
		m.leave(n)
	}
	return true
}

// catches says whether a try's Catch is for the failure. Inside of a part that is closed itself nothing is caught: the
// failure that closed it is already on its way.
func (m *Machine) catches(n *node, f *cairn.Failure) bool {
	return n.try.Catch != nil && n.try.Only.Has(f.Code) && m.open(n)
}

// open says that nothing around a node is closed, up to the Finally it stands in: that always runs.
func (m *Machine) open(n *node) bool {
	for n = n.parent; n != nil; n = n.parent {
		if n.closed {
			return false
		}
		if n.kind == kindPart && n.parent != nil && n.parent.kind == cairn.KindTry && n.index == finallyPart {
			return true
		}
	}
	return true
}

// mountPhase enters a try's phase; the next round renders its part.
func (m *Machine) mountPhase(n *node, phase Phase) {
	m.decide(Decision{Kind: Entered, Path: n.path, Phase: phase})
	part := n.children[phasePart(m.state.Tries[n.path])]
	part.active = true
	m.memo.mark(part.cell)
}

// leave ends a try: what it did not catch goes outward.
func (m *Machine) leave(n *node) {
	var pending *cairn.Failure
	if st := m.state.Tries[n.path]; st != nil {
		pending = st.Pending
	}
	m.decide(Decision{Kind: Entered, Path: n.path, Phase: PhaseDone})
	if n.entered {
		n.entered = false
		m.bump(n, -1)
	}
	if pending == nil {
		m.settle(n)
		return
	}
	n.active = false
	if m.open(n) {
		m.raise(n, pending)
	}
}

// raise takes a failure outward to the first try around it, or to the root. Where the part it comes from is closed
// already an earlier failure is on its way, and this one stays with its task.
func (m *Machine) raise(from *node, f *cairn.Failure) {
	for n := from.parent; n != nil; n = n.parent {
		if n.closed {
			return
		}
		if n.kind != kindPart || n.parent == nil || n.parent.kind != cairn.KindTry {
			continue
		}
		try := n.parent
		if st := m.state.Tries[try.path]; st != nil {
			f = caused(f, st)
		}
		m.decide(Decision{Kind: Closed, Path: try.path, Failure: f})
		m.shut(n, "failure around it", around(f))
		return
	}
	m.decide(Decision{Kind: Failing, Failure: f})
	m.shut(m.memo.root, "failure around it", around(f))
}

// caused hangs the failure that a failing Catch or Finally replaces below the one that replaces it.
func caused(f *cairn.Failure, st *Try) *cairn.Failure {
	cause := st.Pending
	if st.Phase == PhaseCatch {
		cause = st.Caught
	}
	if cause == nil || f.Cause != nil {
		return f
	}
	out := *f
	out.Cause = cause
	return &out
}

// around is the failure that tries inside of a closed part take outward.
func around(f *cairn.Failure) *cairn.Failure {
	return &cairn.Failure{Code: cairn.Cancelled, Message: "because of " + f.Error(), Permanent: true}
}
