package core

import "github.com/cairnrun/cairn"

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
	case cairn.KindSequence, cairn.KindAspects, kindPart:
		if p.active {
			m.proceed(p)
		}
	}
	if p.left == 0 {
		switch p.kind {
		case kindPart:
			m.finished(p)
		case cairn.KindSequence, cairn.KindParallel, cairn.KindBranch, cairn.KindAspects:
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
	case cairn.KindSequence, cairn.KindAspects, kindPart:
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
