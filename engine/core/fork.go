package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// A task that forks another begins with a copy of its final conversation. Which one its key means is looked up as Get does,
// from the innermost scope outwards; in each scope the task itself comes first, then those in the loops of the scope, of
// which the latest finished counts. What is waited for follows from what is mounted, never from how far that has come: so
// a plan made anew waits for the same. Once the first attempt starts the path is frozen.

// Source is the task that an attempt's conversation goes on from.
type Source struct {
	Path string
	// Wrong says why there is nothing to go on from; "" where a finished task is. Whether that has left a conversation is in
	// its journal.
	Wrong string
}

// origin is where a fork's source is: on a path of its own, or, with path "", the latest of the values of a key below a
// scope.
type origin struct {
	path  string
	below valueKey
}

// forked notes that a mounted task forks a key.
func (mo *memo) forked(n *node) {
	forks := mo.forks[n.task.Fork]
	if len(forks) == cap(forks) {
		forks = slices.DeleteFunc(forks, func(n *node) bool { return n.dropped })
	}
	mo.forks[n.task.Fork] = append(forks, n)
}

// stir has the tasks look again that fork a key, because one that makes it has come or gone.
func (mo *memo) stir(key string) {
	for _, n := range mo.forks[key] {
		if !n.dropped {
			mo.unresolved, mo.restless = append(mo.unresolved, n), append(mo.restless, n)
		}
	}
}

// inLoops finds the mounted tasks that make forked keys in loops, by each scope that a loop around them is in.
func (mo *memo) inLoops() map[valueKey][]*node {
	found := map[valueKey][]*node{}
	mo.root.walk(func(n *node) bool {
		if n.kind != cairn.KindTask || n.path == "" || len(mo.forks[n.key()]) == 0 {
			return true
		}
		for scope := n.scope; ; {
			if _, _, ok := cairn.CutIteration(scope); !ok {
				return true
			}
			scope, _ = cairn.Split(scope)
			at := valueKey{scope, n.key()}
			found[at] = append(found[at], n)
		}
	})
	return found
}

// resolveFork finds what a task forks and makes it wait for that. It returns preds with what it waits for.
func (m *Machine) resolveFork(n *node, inLoops map[valueKey][]*node, preds []string) []string {
	key := n.task.Fork
	after := func(path string, target *node) {
		if target != nil {
			n.await(target)
		}
		if !slices.Contains(preds, path) {
			preds = append(preds, path)
		}
	}
	for scope := n.scope; ; scope, _ = cairn.Split(scope) {
		path := cairn.Join(scope, key)
		n.origin = origin{path: path}
		if target := m.memo.nodes[path]; target != nil && target != n {
			m.checkSource(n, target)
			after(path, target)
			return preds
		}
		if t := m.state.Tasks[path]; path != n.path && t != nil && (t.settled() || t.Status == TaskGaveUp) {
			after(path, nil)
			return preds
		}
		n.origin = origin{below: valueKey{scope, key}}
		waits := false
		for _, target := range inLoops[n.origin.below] {
			loop := m.memo.nodes[loopBelow(scope, target.path)]
			if target == n || loop == nil || n.within(loop) {
				continue
			}
			waits = true
			m.checkSource(n, target)
			if !slices.Contains(n.targets, loop) {
				after(loop.path, loop)
			}
		}
		if waits || m.latest(n) != "" {
			return preds
		}
		if scope != "" {
			continue
		}
		// One that has started does not look again, and beside one that is not to start no loop has rendered what is in it.
		if t := m.state.Tasks[n.path]; !n.untaken && (t == nil || t.Fork == "") {
			m.memo.mistake(cairn.InvalidTree, n.path,
				fmt.Sprintf("it forks %q, which is not mounted here, nor around here, nor in a loop there, and has not finished", key))
		}
		return preds
	}
}

// checkSource reports a source that can't have a conversation.
func (m *Machine) checkSource(n, source *node) {
	switch {
	case source.kind != cairn.KindTask:
		m.memo.mistake(cairn.InvalidTree, n.path, fmt.Sprintf("it forks %s, which is a %s: name an agent's task", source.path, source.kind))
	case !source.task.Prompted:
		m.memo.mistake(cairn.InvalidTree, n.path, fmt.Sprintf("it forks %s, which is no task of an agent, so that it has no conversation", source.path))
	}
}

// loopBelow is the outermost loop below a scope on the way to a path.
func loopBelow(scope, path string) string {
	rest := path
	if scope != "" {
		rest = path[len(scope)+1:]
	}
	loop, _, _ := strings.Cut(rest, "[")
	return cairn.Join(scope, loop)
}

// latest is the path of the newest value of the key that a task forks, other than its own; "" is none.
func (m *Machine) latest(n *node) string {
	values := m.state.values[n.origin.below]
	for i := len(values) - 1; i >= 0; i-- {
		if values[i].path != n.path {
			return values[i].path
		}
	}
	return ""
}

// source is the task whose conversation an attempt that starts now begins with. Where there is none it is the path that it
// would have.
func (m *Machine) source(n *node) string {
	if n.origin.path != "" {
		return n.origin.path
	}
	if path := m.latest(n); path != "" {
		return path
	}
	return cairn.Join(n.origin.below.scope, n.origin.below.key)
}

// noSource says why a path has nothing that could be forked; "" where it has a value that was made in this run.
func (s *State) noSource(path string) string {
	t := s.Tasks[path]
	switch {
	case t == nil || !t.Ended():
		return "has not finished"
	case t.Status == TaskGaveUp && t.Failure != nil:
		return "has failed with " + string(t.Failure.Code)
	case t.Status != TaskFinished:
		return "was " + string(t.Status)
	case t.Cached:
		return "was not run: its output was taken from the cache"
	case t.Kept:
		return "was done in the run before, whose conversations are not handed over"
	}
	return ""
}
