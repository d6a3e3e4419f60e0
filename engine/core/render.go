package core

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cairnrun/cairn"
)

// maxRounds is how often a scope may render before anything starts, or it is taken for one that never comes to rest.
const maxRounds = 100

// fixpoint renders what is dirty and moves composites on, until neither gives more to do.
func (m *Machine) fixpoint() {
	m.memo.fixpoint++
	for {
		m.renderDirty()
		if !m.advance() && len(m.memo.dirty) == 0 {
			return
		}
	}
}

func noFixpoint(what string) error {
	return &cairn.Error{Code: cairn.NoFixpoint, Message: what, Next: "look for a loop whose body mounts nothing to do"}
}

// renderDirty renders the outermost dirty scopes, in tree order. All are cleared before the first is built: what one
// gives up another may take.
func (m *Machine) renderDirty() {
	mo := m.memo
	if len(mo.dirty) == 0 {
		return
	}
	dirty := slices.DeleteFunc(mo.dirty, func(c *cell) bool { return !c.dirty || c.part.dropped || c.part.dirtyAround() })
	mo.dirty = nil
	slices.SortFunc(dirty, func(a, b *cell) int {
		switch {
		case a == b:
			return 0
		case a.part.before(b.part):
			return -1
		}
		return 1
	})
	gone := []string{}
	for _, c := range dirty {
		if c.fixpoint != mo.fixpoint {
			c.fixpoint, c.rounds = mo.fixpoint, 0
		}
		if c.rounds++; c.rounds > maxRounds {
			panic(noFixpoint(fmt.Sprintf("after %d renders of scope %q each still changes what the next one reads", maxRounds, c.part.scope)))
		}
		gone = append(gone, m.clear(c.part)...)
	}
	mo.ready.purge()
	for _, c := range dirty {
		m.build(c.part)
	}
	m.complete()
	m.rewire(dirty)
	for _, path := range gone {
		m.left(path)
	}
}

// dirtyAround says that a render around the part's own is due anyway.
func (n *node) dirtyAround() bool {
	for n = n.parent; n != nil; n = n.parent {
		if n.cell != nil && n.cell.dirty {
			return true
		}
	}
	return false
}

// clear unmounts what is in a part and returns the paths.
func (m *Machine) clear(part *node) (gone []string) {
	mo := m.memo
	for _, c := range part.children {
		c.walk(func(n *node) bool {
			n.dropped = true
			if n.cell != nil {
				mo.forget(n.cell)
			}
			if n.path != "" {
				mo.unmount(n)
				gone = append(gone, n.path)
			}
			for _, w := range n.waiters {
				if !w.dropped {
					mo.unresolved = append(mo.unresolved, w)
				}
			}
			return true
		})
	}
	part.children = nil
	return gone
}

// complete ends a round of builds: names are resolved, mistakes reported, lines counted.
func (m *Machine) complete() {
	mo := m.memo
	fresh := mo.fresh
	for _, n := range mo.unresolved {
		if !n.dropped && n.counted { // it stayed while what it waits for was rendered anew
			n.counted = false
			mo.discount(n)
			fresh = append(fresh, n)
		}
	}
	m.resolve()
	m.keyed()
	m.prices(mo.fresh)
	m.aimless(mo.fresh)
	m.conflicts(mo.fresh)
	for _, n := range fresh {
		mo.count(n)
	}
	mo.fresh = nil
	if len(mo.mistakes) > 0 {
		panic(mistakes(mo.mistakes))
	}
}

// mistakes makes one error of all that is wrong with a tree.
func mistakes(all []error) error {
	code := cairn.CodeOf(all[0], cairn.InvalidTree)
	joined := errors.Join(all...)
	return &cairn.Error{Code: code, Message: strconv.Itoa(len(all)) + " mistake(s) in the tree", Err: joined, Next: "mend the workflow's code"}
}

// rewire computes how far parts rendered anew have come and starts them, if it is their turn. All are computed before
// the first is started: what follows from one may reach into another.
func (m *Machine) rewire(dirty []*cell) {
	var grown, shrunk, same []*node
	for _, c := range dirty {
		part := c.part
		was := part.settled
		m.bump(part, -part.busy)
		m.wire(part)
		busy := part.busy
		part.busy = 0
		m.bump(part, busy)
		switch {
		case was && !part.settled:
			grown = append(grown, part)
		case !was && part.settled:
			shrunk = append(shrunk, part)
		default:
			same = append(same, part)
		}
	}
	for _, part := range grown {
		part.settled = true
		m.unsettle(part)
	}
	for _, part := range shrunk {
		m.finished(part)
	}
	for _, part := range same {
		if part.active && !part.closed {
			m.activate(part)
		}
	}
	for _, c := range dirty {
		part := c.part
		for _, n := range part.children {
			m.release(n)
		}
		if m.inClosed(part) {
			m.revive(part)
		}
		m.rearrange(part)
	}
	for _, n := range m.memo.restless { // what they wait for may be less than before
		m.offer(n)
	}
	m.memo.restless = nil
}

// inClosed says that a part is closed, or stands in one that is.
func (m *Machine) inClosed(part *node) bool {
	return part.closed || !part.isFinally() && !m.open(part)
}

// left deals with a path that a render no longer has, or has on the side of a branch not taken: what runs is cancelled
// and discarded, what waits is forgotten.
func (m *Machine) left(path string) {
	t := m.state.Tasks[path]
	if n := m.memo.nodes[path]; t == nil || n != nil && !n.untaken {
		return
	}
	m.stop(path, Unmounted)
}

// restore makes the memo from the state. With check, the plan must be the one the last frame had.
// Closed says that the run was failing or being cancelled as of that frame.
func (m *Machine) restore(check, closed bool) {
	m.bind()
	s := m.state
	m.memo = newMemo()
	mo := m.memo
	mo.input = parseDigest(s.InputHash)
	mo.root = &node{kind: kindPart}
	mo.root.cell = &cell{part: mo.root, render: m.render, reads: map[read]struct{}{}}
	m.restoring = check || s.Structure != "" && s.Adopted != s.Frame
	m.build(mo.root)
	m.restoring = false
	m.complete()
	if check && mo.structure.String() != s.Structure {
		panic(&cairn.Error{Code: cairn.CodeChanged, Message: "the code renders another structure than the last frame has",
			Next: "resume with the code that wrote it, adopt the new structure, or decide with View.Patched"})
	}
	if check || s.Structure != "" {
		mo.noted()
	}
	mo.restless = nil // all are offered that can be
	m.wire(mo.root)
	if closed {
		mo.root.closed = true
		m.revive(mo.root)
	} else {
		m.activate(mo.root)
	}
	if check {
		// A rendered frame ends where nothing is due: what activating has put on the list is not.
		for _, n := range mo.checks {
			n.queued = false
		}
		mo.checks, mo.failed = nil, nil
		return
	}
	m.recheck()
	for _, path := range s.startedPaths() {
		m.left(path)
	}
}

// recheck lists every composite: which of them are due is not known.
func (m *Machine) recheck() {
	m.memo.root.walk(func(n *node) bool {
		if n.kind == cairn.KindLoop || n.kind == cairn.KindTry {
			m.check(n)
		}
		return true
	})
}
