package loop

import (
	"context"
	"slices"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// Within returns a context whose conversations are part of something that has this name in the task's journal, such as a call
// of a tool: they are told apart from the task's own and those of other names. Calls of a loop's tools have it already, and
// stay what they are. The name has to be the same in each attempt.
func Within(ctx context.Context, name string) context.Context {
	if _, known := ctx.Value(scopeKey{}).(string); known {
		return ctx
	}
	return context.WithValue(ctx, scopeKey{}, name)
}

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

// tally is the meter of a call of a tool: what an agent behind it uses goes into the record of the call, so that it is known
// also when the process dies before the attempt is committed.
type tally struct {
	cairn.Meter

	mu    sync.Mutex // guards usage
	usage []cairn.Usage
}

// Spend books a call and keeps it.
func (t *tally) Spend(u cairn.Usage) {
	t.Meter.Spend(u)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.usage = append(t.usage, u)
}

// spent is what the agents behind a tool have used.
func (t *tally) spent() []cairn.Usage {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.usage)
}
