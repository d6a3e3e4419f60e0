package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// fanOut is what delegated work has used, over the work that it was delegated by.
type fanOut struct {
	// Path is a task that delegates by its tools; or, with Delegates, the nearest scope around so many delegates in which, or
	// below which, tasks that are no delegates have used tokens: "" is the root.
	Path      string `json:"path"`
	Delegates int    `json:"delegates,omitempty"`
	// Delegated and Own are tokens. Multiple is how many times Own Delegated is; 0 where nothing is Own.
	Delegated int64   `json:"delegated"`
	Own       int64   `json:"own"`
	Multiple  float64 `json:"multiple,omitempty"`
}

// fanOuts are a run's: those of tasks that delegate by tools, and those of delegates in the tree, each in the order of paths.
func fanOuts(state *core.State) (all []fanOut) {
	own := map[string]int64{} // by scope, with all that is below it: who plans may stand beside a loop of those who write
	paths := slices.SortedFunc(maps.Keys(state.Tasks), naturally)
	for _, path := range paths {
		t := state.Tasks[path]
		if t.Spent.Delegated > 0 {
			all = append(all, fanOut{Path: path, Delegated: t.Spent.Delegated, Own: t.Spent.Tokens - t.Spent.Delegated})
		}
		for scope := path; scope != "" && !t.Delegate; {
			scope, _ = cairn.Split(scope)
			own[scope] += t.Spent.Tokens
		}
	}
	nodes := map[string]*fanOut{}
	for _, path := range paths {
		t := state.Tasks[path]
		if !t.Delegate || t.Spent.Tokens == 0 {
			continue
		}
		scope, _ := cairn.Split(path)
		for own[scope] == 0 && scope != "" {
			scope, _ = cairn.Split(scope)
		}
		if nodes[scope] == nil {
			nodes[scope] = &fanOut{Path: scope, Own: own[scope]}
		}
		nodes[scope].Delegates++
		nodes[scope].Delegated += t.Spent.Tokens
	}
	for _, scope := range slices.SortedFunc(maps.Keys(nodes), naturally) {
		all = append(all, *nodes[scope])
	}
	for i := range all {
		if f := &all[i]; f.Own > 0 {
			f.Multiple = float64(f.Delegated) / float64(f.Own)
		}
	}
	return all
}

func (f fanOut) describe(w io.Writer) {
	who, whose := f.Path, "its own"
	if f.Delegates > 0 {
		who, whose = "in "+f.Path, "the tasks beside"
		if f.Path == "" {
			who = "in the run"
		}
		who = count(f.Delegates, "delegate") + " " + who
	}
	text := fmt.Sprintf("%s: %s tokens delegated, %s of %s", who, cairn.Tokens.Format(f.Delegated), cairn.Tokens.Format(f.Own), whose)
	if f.Own > 0 {
		text += fmt.Sprintf(": %.1f times as much", f.Multiple)
	}
	row(w, "fan-out", text)
}
