package core

import "github.com/cairnrun/cairn"

// Draining is the reason of an attempt that nothing comes after: its part is closed, but what it gives is paid for and
// counts. It is not told to stop.
const Draining = "draining"

// shut closes a part: nothing in it starts any more, what runs is cancelled, or drained, as the reason says, what waits is
// forgotten, and each try in it that has a Finally goes there, with why as the failure that goes outward.
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
	m.await(n)
	m.shut(n.children[phasePart(st)], reason, why)
	m.check(n)
	return false
}

// stop cancels a task's running attempt, and forgets one that was to follow. One that drains can still be cancelled.
func (m *Machine) stop(path, reason string) {
	switch t := m.state.Tasks[path]; {
	case t == nil:
	case t.Status == TaskRunning && (t.Stopping == "" || t.Stopping == Draining && reason != Draining):
		m.decide(Decision{Kind: Cancelling, Path: path, Reason: reason})
		if reason != Draining {
			m.command(Command{Kind: CancelTask, Path: path})
		}
	case t.Status == TaskWaiting:
		if t.At > 0 {
			m.command(Command{Kind: ClearTimer, Path: path})
		}
		m.decide(Decision{Kind: Settled, Path: path, Reason: reason})
		m.touched(path, t)
	}
}
