package core

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// conflicts reports sub-agents that may change one directory, or one inside of the other, and could run at once: nothing in
// the tree nor an After or Fork puts one before the other. Only the tasks that name a directory are looked at, and only
// when one of them is new.
func (m *Machine) conflicts(fresh []*node) {
	mo := m.memo
	mo.writers = slices.DeleteFunc(mo.writers, func(n *node) bool { return n.dropped })
	before := len(mo.writers)
	for _, n := range fresh {
		if n.task != nil && len(n.task.Writes) > 0 && !n.untaken && !n.dropped && !slices.Contains(mo.writers[before:], n) {
			mo.writers = append(mo.writers, n)
		}
	}
	var g *order
	for i := before; i < len(mo.writers); i++ {
		n := mo.writers[i]
		if m.past(n) {
			continue
		}
		for _, o := range mo.writers[:i] {
			dir, both := shared(n.task.Writes, o.task.Writes)
			if !both || m.past(o) || !n.alongside(o) {
				continue
			}
			if g == nil {
				g = ordered(mo.root)
			}
			if g.leads(o, n) || g.leads(n, o) {
				continue
			}
			mo.mistake(cairn.WriterConflict, n.path, fmt.Sprintf("it may change things in %s, and so may %s, and the two could run at once: "+
				"put one after the other, give each a directory of its own, or let one only read", dir, o.path))
			break // one is enough to say
		}
	}
}

// past says that a task has an outcome and does not run again.
func (m *Machine) past(n *node) bool {
	t := m.state.Tasks[n.path]
	return t.settled() || t != nil && t.Status == TaskGaveUp
}

// shared finds a directory of one list that is also one of the other, or inside of one, or around one.
func shared(a, b []string) (dir string, ok bool) {
	for _, x := range a {
		for _, y := range b {
			if x = path.Clean(x); insideOf(x, path.Clean(y)) {
				return x, true
			}
			if insideOf(path.Clean(y), x) {
				return path.Clean(y), true
			}
		}
	}
	return "", false
}

// insideOf says that a clean directory is another, or below it. Nobody knows where one with a way up leads, nor how a
// relative one and an absolute one lie to each other: they are taken for different.
func insideOf(dir, around string) bool {
	switch {
	case dir == around:
		return true
	case around == ".":
		return !path.IsAbs(dir) && dir != ".." && !strings.HasPrefix(dir, "../")
	}
	return strings.HasPrefix(dir, strings.TrimSuffix(around, "/")+"/")
}

// alongside says that the tree lets two nodes run at once: where their ways part stands a Parallel that has room for two.
func (n *node) alongside(o *node) bool {
	a, b := n, o
	for a.depth > b.depth {
		a = a.parent
	}
	for b.depth > a.depth {
		b = b.parent
	}
	for a != b && a.parent != b.parent {
		a, b = a.parent, b.parent
	}
	return a != b && a.parent.kind == cairn.KindParallel && a.parent.max != 1
}
