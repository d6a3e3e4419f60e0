package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// A run that has failed because of a budget can be reopened: its limit may have been raised. What the failure has closed
// is taken back, so that the same tasks are asked for again; what was finished stays. Finally parts that have run on the
// way out are new, for the next way out.

// Reopens says that the run has failed in a way that a reopening can mend.
func (s *State) Reopens() bool {
	return s.Status == Failed && s.Failure != nil && s.Failure.Code == cairn.BudgetExceeded
}

// takeBack undoes what the failure of the run has done to the tree.
func (m *Machine) takeBack() {
	var undone []string
	m.memo.root.walk(func(n *node) bool {
		switch n.kind {
		case cairn.KindTry:
			if st := m.state.Tries[n.path]; st != nil && st.Phase == PhaseDone && st.Pending != nil {
				undone = append(undone, n.path)
				n.children[finallyPart].walk(func(n *node) bool {
					if n.path != "" && m.state.knows(n.path) {
						undone = append(undone, n.path)
					}
					return true
				})
			}
		case cairn.KindTask:
			if t := m.state.Tasks[n.path]; t != nil && t.Status == TaskGaveUp && !t.Tolerated && t.Failure.Code == cairn.BudgetExceeded {
				undone = append(undone, n.path)
			}
		}
		return true
	})
	slices.Sort(undone)
	for _, path := range slices.Compact(undone) {
		m.decide(Decision{Kind: Undone, Path: path})
	}
	m.memo = nil
}

// knows says that something was decided about a task, loop or try.
func (s *State) knows(path string) bool {
	return s.Tasks[path] != nil || s.Loops[path] != nil || s.Tries[path] != nil
}

// undo makes a path as it was before it has come to anything, with all iterations of a loop.
func (s *State) undo(path string) error {
	if !s.knows(path) {
		return fmt.Errorf("%s is undone, and nothing was decided about it", path)
	}
	within := func(p string) bool { return p == path || strings.HasPrefix(p, path+"[") }
	for p, t := range s.Tasks {
		if !within(p) || !t.Ended() {
			continue
		}
		if t.Status == TaskFinished {
			s.unindex(p, t)
		}
		s.reset(p, t)
		t.Output, t.Artifacts, t.Frame, t.Cached, t.Kept, t.Tolerated, t.Reason = nil, nil, 0, false, false, false, ""
	}
	maps.DeleteFunc(s.Loops, func(p string, _ *Loop) bool { return within(p) })
	maps.DeleteFunc(s.Tries, func(p string, _ *Try) bool { return within(p) })
	return nil
}
