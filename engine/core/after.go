package core

import (
	"fmt"
	"slices"

	"github.com/cairnrun/cairn"
)

// resolve looks up what tasks come After and what they fork, and reports what can never come.
func (m *Machine) resolve() {
	mo := m.memo
	check := false
	var inLoops map[valueKey][]*node
	for _, n := range mo.unresolved {
		if n.dropped {
			continue
		}
		check = true
		n.targets = n.targets[:0]
		preds := slices.Clone(n.follows)
		for _, key := range n.task.After {
			path, target, ok := m.lookup(n.scope, key)
			switch {
			case !ok:
				mo.mistakes = append(mo.mistakes, &cairn.Error{Code: cairn.InvalidTree, Path: n.path,
					Message: fmt.Sprintf("it comes After %q, which is not mounted here nor around here, and has not finished", key)})
			case target != nil:
				n.await(target)
			}
			if ok && !slices.Contains(preds, path) {
				preds = append(preds, path)
			}
		}
		if n.task.Fork != "" {
			if inLoops == nil {
				inLoops = mo.inLoops()
			}
			preds = m.resolveFork(n, inLoops, preds)
		}
		n.preds = preds
	}
	mo.unresolved = nil
	if check && len(mo.mistakes) == 0 {
		mo.mistakes = append(mo.mistakes, cycles(mo.root)...)
	}
}

// await makes a node one that n waits for.
func (n *node) await(target *node) {
	n.targets = append(n.targets, target)
	target.awaited(n)
}

// awaited notes that w waits for a node. A node that stays while those that wait come and go must not collect them.
func (n *node) awaited(w *node) {
	if len(n.waiters) == cap(n.waiters) {
		n.waiters = slices.DeleteFunc(n.waiters, func(w *node) bool { return w.dropped })
	}
	if !slices.Contains(n.waiters, w) {
		n.waiters = append(n.waiters, w)
	}
}

// lookup finds a key's node from a scope outwards. What has ended counts though it is no longer mounted: then there is no node.
func (m *Machine) lookup(scope, key string) (path string, target *node, ok bool) {
	for ; ; scope, _ = cairn.Split(scope) {
		path = cairn.Join(scope, key)
		if target = m.memo.nodes[path]; target != nil {
			return path, target, true
		}
		t, l := m.state.Tasks[path], m.state.Loops[path]
		if t != nil && (t.settled() || t.Status == TaskGaveUp) || l != nil && l.Done {
			return path, nil, true
		}
		if scope == "" {
			return "", nil, false
		}
	}
}
