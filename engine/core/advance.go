package core

import (
	"fmt"
	"slices"

	"github.com/cairnrun/cairn"
)

// maxTurns is how many iterations a loop may go through in one step: only one of them can have done any work.
const maxTurns = 1000

// advance moves loops and tries on, as far as their parts are done. It reports whether anything moved.
func (m *Machine) advance() (moved bool) {
	failed := m.memo.failed
	m.memo.failed = nil
	for _, n := range failed {
		if n.dropped || !n.active || n.settled {
			continue
		}
		if moved = true; n.kind == cairn.KindContinueAsNew {
			m.handOn(n)
		} else {
			m.raise(n, m.failureOf(n))
		}
	}
	for _, n := range m.memo.checks {
		n.queued = false
	}
	// What becomes due on the way waits for the next round, after what it follows from has been rendered.
	due := slices.DeleteFunc(m.memo.checks, func(n *node) bool { return !m.due(n) })
	m.memo.checks = nil
	// The order does not depend on which was due first; the inner ones come before those around them.
	slices.SortFunc(due, func(a, b *node) int {
		switch {
		case a == b:
			return 0
		case a.within(b) || !b.within(a) && a.before(b):
			return -1
		}
		return 1
	})
	for _, n := range due {
		switch {
		case !m.due(n):
			continue
		case n.kind == cairn.KindLoop:
			m.advanceLoop(n)
		default:
			m.advanceTry(n)
		}
		moved = true
	}
	return moved
}

// due says that a loop's iteration is finished, or the part of a try's phase.
func (m *Machine) due(n *node) bool {
	if n.dropped || !n.active || n.settled {
		return false
	}
	switch n.kind {
	case cairn.KindLoop:
		st := m.state.Loops[n.path]
		return n.children[0].settled && (st == nil || !st.Exhausted)
	case cairn.KindTry:
		st := m.state.Tries[n.path]
		part := n.children[phasePart(st)]
		if st != nil && st.Closing {
			return part.busy == 0
		}
		return part.settled && (st == nil || st.Phase != PhaseDone)
	}
	return false
}

// within says that a node stands in another, or is it.
func (n *node) within(o *node) bool {
	for n != nil && n != o {
		n = n.parent
	}
	return n == o
}

// failureOf is what a node has failed with.
func (m *Machine) failureOf(n *node) *cairn.Failure {
	switch n.kind {
	case cairn.KindLoop:
		return exhausted(n.path, m.state.Loops[n.path].Iteration)
	case cairn.KindTry:
		return m.state.Tries[n.path].Pending
	}
	return failure(n.path, m.state.Tasks[n.path])
}

func exhausted(path string, i int) *cairn.Failure {
	return &cairn.Failure{Code: cairn.LoopExhausted, Path: path, Permanent: true,
		Message: fmt.Sprintf("%d iterations, and Until has not been true", i+1)}
}

// advanceLoop asks Until about a finished iteration, and goes on or ends.
func (m *Machine) advanceLoop(n *node) {
	i := m.state.iteration(n.path)
	stop := false
	if n.loop.Until != nil {
		m.view(cairn.Iteration(n.path, i), nil, func(v *cairn.View) { stop = n.loop.Until(v) })
	}
	begin(n)
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
		m.raise(n, exhausted(n.path, i))
	case m.skipping(n) != "":
		m.decide(Decision{Kind: Exhausted, Path: n.path, I: i, Yes: true, Reason: m.skipping(n)})
		m.settle(n)
	case m.passOn(n, i):
	default:
		if n.turned != m.state.Frame {
			n.turned, n.turns = m.state.Frame, 0
		}
		if n.turns++; n.turns > maxTurns {
			panic(noFixpoint(fmt.Sprintf("the loop %s went through %d iterations that had nothing to do", n.path, maxTurns)))
		}
		m.decide(Decision{Kind: Verdict, Path: n.path, I: i})
		part := n.children[0]
		part.scope = cairn.Iteration(n.path, i+1)
		m.memo.mark(part.cell)
	}
}

// advanceTry goes from body to catch to finally to done.
func (m *Machine) advanceTry(n *node) {
	st := m.state.Tries[n.path]
	phase := PhaseBody
	if st != nil {
		phase = st.Phase
	}
	switch {
	case phase == PhaseBody && st != nil && st.Closing && m.catches(n, st.Pending):
		m.mountPhase(n, PhaseCatch)
	case phase != PhaseFinally && n.try.Finally != nil:
		m.mountPhase(n, PhaseFinally)
	default:
		m.leave(n)
	}
}

// catches says whether a try's Catch is for the failure. A handoff is none that can be caught. Inside of a part that is closed itself nothing is caught: the
// failure that closed it is already on its way.
func (m *Machine) catches(n *node, f *cairn.Failure) bool {
	return n.try.Catch != nil && !m.state.handed(f) && n.try.Only.Has(f.Code) && m.open(n)
}

// open says that nothing around a node is closed, up to the Finally it stands in: that always runs.
func (m *Machine) open(n *node) bool {
	for n = n.parent; n != nil; n = n.parent {
		if n.closed {
			return false
		}
		if n.isFinally() {
			return true
		}
	}
	return true
}

func (n *node) isFinally() bool {
	return n.kind == kindPart && n.parent != nil && n.parent.kind == cairn.KindTry && n.index == finallyPart
}

// mountPhase enters a try's phase; the next round renders its part.
func (m *Machine) mountPhase(n *node, phase Phase) {
	begin(n)
	m.deactivate(n.children[phasePart(m.state.Tries[n.path])])
	m.decide(Decision{Kind: Entered, Path: n.path, Phase: phase})
	part := n.children[phasePart(m.state.Tries[n.path])]
	part.active = true
	m.memo.mark(part.cell)
}

// leave ends a try: what it did not catch goes outward.
func (m *Machine) leave(n *node) {
	var pending *cairn.Failure
	broken := false // in its Finally
	if st := m.state.Tries[n.path]; st != nil {
		pending, broken = st.Pending, st.Phase == PhaseFinally && st.Closing
	}
	begin(n)
	m.decide(Decision{Kind: Entered, Path: n.path, Phase: PhaseDone})
	m.exit(n)
	if pending == nil {
		m.settle(n)
		return
	}
	m.deactivate(n)
	switch {
	case m.open(n):
		m.raise(n, pending)
	case broken:
		m.replaceHandoff(n, pending)
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
		if !try.active { // what is around it is closed, and it has no Finally to go to
			return
		}
		if st := m.state.Tries[try.path]; st != nil {
			f = caused(f, st)
		}
		m.decide(Decision{Kind: Closed, Path: try.path, Failure: f})
		m.shut(n, manner(f), around(f))
		return
	}
	m.decide(Decision{Kind: Failing, Failure: f})
	m.shut(m.memo.root, manner(f), around(f))
}

// manner is what a failure does to what runs beside it. A breached budget lets it end, and so does a handoff: it is paid for.
func manner(f *cairn.Failure) string {
	if f.Code == cairn.BudgetExceeded || f.Code == HandingOn {
		return Draining
	}
	return "failure around it"
}

// caused hangs the failure that a failing Catch or Finally replaces below the one that replaces it, after the causes
// that one has itself.
func caused(f *cairn.Failure, st *Try) *cairn.Failure {
	cause := st.Pending
	if st.Phase == PhaseCatch {
		cause = st.Caught
	}
	if cause == nil {
		return f
	}
	out := *f
	if out.Cause = cause; f.Cause != nil {
		out.Cause = caused(f.Cause, st)
	}
	return &out
}

// around is the failure that tries inside of a closed part take outward.
func around(f *cairn.Failure) *cairn.Failure {
	return &cairn.Failure{Code: cairn.Cancelled, Message: "because of " + f.Error(), Permanent: true}
}
