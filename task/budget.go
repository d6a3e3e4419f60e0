package task

import (
	"context"

	"github.com/cairnrun/cairn"
)

// Admit says whether the task may make another model call: nil, or a failure with the code BUDGET_EXCEEDED for the body to
// return. An agent that makes several calls asks before each; an attempt that ends with the failure has not used up one of
// the task's. Outside of a task everything is admitted.
func Admit(ctx context.Context) error {
	if call, ok := cairn.CallFrom(ctx); ok && call.Meter != nil {
		return call.Meter.Admit()
	}
	return nil
}

// Spend books what a model call has used, as soon as it is known, for the budgets around the task. It counts whatever
// becomes of the attempt, as long as the process lives. An agent reports a call in one way: here, or in its Response.
// Outside of a task it does nothing.
func Spend(ctx context.Context, u cairn.Usage) {
	if call, ok := cairn.CallFrom(ctx); ok && call.Meter != nil {
		call.Meter.Spend(u)
	}
}

// Modeler is an Agent that says which models its calls are made with. A cost budget asks for their prices before anything
// starts.
type Modeler interface{ Models() []string }

// writes are the directories that sub-agents of an agent may change.
func writes(agent Agent) []string {
	if w, ok := agent.(Writer); ok && !isNil(agent) {
		return w.Writes()
	}
	return nil
}

// models are those that an agent tells.
func models(agent Agent) []string {
	if m, ok := agent.(Modeler); ok && !isNil(agent) {
		return m.Models()
	}
	return nil
}
