package core

import (
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/cairnrun/cairn"
)

// maxRounds is how often one step may render before it is taken for one that never comes to rest.
const maxRounds = 100

// fixpoint renders what is dirty and moves composites on, until neither gives more to do.
func (m *Machine) fixpoint() {
	if m.memo.watchers[read{kind: readTime}] != nil {
		m.memo.touch(read{kind: readTime})
	}
	for range maxRounds {
		m.renderDirty()
		if !m.advance() && len(m.memo.dirty) == 0 {
			return
		}
	}
	panic(&cairn.Error{Code: cairn.NoFixpoint, Message: fmt.Sprintf("after %d rounds each render still changes what the next one reads", maxRounds),
		Next: "look for a loop whose body mounts nothing to do"})
}

// renderDirty renders the outermost dirty scopes, in tree order.
func (m *Machine) renderDirty() {
	mo := m.memo
	if len(mo.dirty) == 0 {
		return
	}
	dirty := slices.DeleteFunc(mo.dirty, func(c *cell) bool { return !c.dirty || c.part.dropped || c.part.dirtyAround() })
	mo.dirty = nil
	slices.SortFunc(dirty, func(a, b *cell) int {
		if a.part.before(b.part) {
			return -1
		}
		return 1
	})
	gone := []string{}
	for _, c := range dirty {
		gone = append(gone, m.clear(c.part)...)
		m.build(c.part)
	}
	m.complete()
	for _, c := range dirty {
		m.rewire(c.part)
	}
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
		if !n.dropped && !slices.Contains(fresh, n) { // it stayed while what it waits for was rendered anew
			mo.structure.sub(n.structure)
			mo.policy.sub(n.policy)
			l := n.line()
			mo.note(n.path, &l)
			fresh = append(fresh, n)
		}
	}
	m.resolve()
	m.shadows()
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

// rewire computes how far a part rendered anew has come and starts it, if its turn has come.
func (m *Machine) rewire(part *node) {
	was := part.settled
	m.bump(part, -part.busy)
	m.wire(part)
	busy := part.busy
	part.busy = 0
	m.bump(part, busy)
	for _, c := range part.children {
		c.walk(func(n *node) bool {
			for _, w := range n.waiters {
				m.offer(w)
			}
			return true
		})
	}
	switch {
	case part.closed || !part.active:
		m.revive(part)
	default:
		if was && !part.settled {
			part.settled = true
			m.unsettlePart(part)
		}
		m.activate(part)
	}
}

// unsettlePart takes back that a part's scope is finished.
func (m *Machine) unsettlePart(part *node) {
	part.settled = false
	if owner := part.parent; owner != nil && owner.kind == cairn.KindScope && owner.settled {
		owner.left = 1
		m.unsettle(owner)
	}
}

// left deals with a path that a render no longer has: what runs is cancelled and discarded, what waits is forgotten.
func (m *Machine) left(path string) {
	t := m.state.Tasks[path]
	if t == nil || m.memo.nodes[path] != nil {
		return
	}
	switch t.Status {
	case TaskRunning:
		if t.Stopping == "" {
			m.decide(Decision{Kind: Cancelling, Path: path, Reason: Unmounted})
			m.command(Command{Kind: CancelTask, Path: path})
		}
	case TaskWaiting:
		m.decide(Decision{Kind: Settled, Path: path, Reason: Unmounted})
	}
}

// restore makes the memo from the state. With check, the plan must be the one the last frame had.
func (m *Machine) restore(check bool) {
	m.bind()
	s := m.state
	m.memo = newMemo()
	mo := m.memo
	mo.input = parseDigest(s.InputHash)
	if h, err := m.schema(m.def.Output); err == nil {
		mo.schemas[m.def.Result] = h
	}
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
	clear(mo.changed)
	mo.touched = nil
	if !check && s.Structure == "" {
		mo.full = false
		mo.root.walk(func(n *node) bool {
			if n.path != "" {
				mo.note(n.path, nil)
			}
			return true
		})
	}
	m.wire(mo.root)
	mo.root.active = true
	if s.Failure != nil || s.Cancelling != nil {
		mo.root.closed = true
		m.revive(mo.root)
	} else {
		m.activate(mo.root)
	}
	m.recheck()
	for path, t := range s.Tasks {
		if t.Status == TaskRunning || t.Status == TaskWaiting {
			if mo.nodes[path] == nil {
				m.left(path)
			}
		}
	}
}

// recheck lists every composite: which of them were due when the memo was dropped is not known.
func (m *Machine) recheck() {
	m.memo.root.walk(func(n *node) bool {
		if n.kind == cairn.KindLoop || n.kind == cairn.KindTry {
			m.check(n)
		}
		return true
	})
}
