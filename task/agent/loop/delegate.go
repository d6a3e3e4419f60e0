package loop

import (
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// ReadOnly is the agent without its tools that have a side effect, those that delegate to a writer among them.
func (a *Agent) ReadOnly() task.Agent {
	reader := *a
	reader.Tools = slices.DeleteFunc(slices.Clone(a.Tools), func(t cairn.Tool) bool { return t.SideEffect })
	return &reader
}

// Writes are the working directories that sub-agents behind the agent's tools may change.
func (a *Agent) Writes() []string {
	return a.delegated(func(d *cairn.Delegation) []string { return d.Writes })
}

// delegated collects what is known of the sub-agents behind the tools, each once.
func (a *Agent) delegated(of func(*cairn.Delegation) []string) (all []string) {
	for _, t := range a.Tools {
		if t.Delegation == nil {
			continue
		}
		for _, one := range of(t.Delegation) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}
