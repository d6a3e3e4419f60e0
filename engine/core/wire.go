package core

import "github.com/cairnrun/cairn"

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
			n.begun = !t.Kept // what was done in another run does not bring its surroundings' turn forward
			if t.Status == TaskRunning {
				n.busy = 1
			}
		}
	case cairn.KindLoop:
		n.begun = n.begun || m.state.Loops[n.path] != nil
	case cairn.KindTry:
		n.begun = n.begun || m.state.Tries[n.path] != nil
	case cairn.KindContinueAsNew:
		n.begun = m.state.Handoffs[n.path] != nil
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
	case cairn.KindContinueAsNew:
		return false // what comes after it is the successor's
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

// check puts the owner of a part, a loop or a try, on the list of composites to look at after rendering. The root's part has
// no owner: finish looks at it in every step.
func (m *Machine) check(n *node) {
	if n != nil && !n.queued {
		n.queued = true
		m.memo.checks = append(m.memo.checks, n)
	}
}
