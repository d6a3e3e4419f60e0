package scripted

import "github.com/cairnrun/cairn/task"

// ReadOnly is the agent itself: it has no tools of its own, and uses none.
func (a *Agent) ReadOnly() task.Agent { return a }
