package core

import (
	"encoding/json"

	"github.com/cairnrun/cairn"
)

// Mounted is a task of the plan with the input that it would start with.
type Mounted struct {
	Path string
	Task *cairn.TaskSpec
	// Input is nil for a task that has none, and where Failure says why it can't be made yet.
	Input   json.RawMessage
	Failure *cairn.Failure
}

// Task is what the plan has at a path: nil where there is no task, or no plan.
func (m *Machine) Task(path string) *cairn.TaskSpec {
	if m.memo == nil || m.memo.nodes[path] == nil {
		return nil
	}
	return m.memo.nodes[path].task
}

// Mounted lists the tasks of the plan in tree order, those of untaken branches left out. Inputs are made from what is known
// now, whether a task's turn has come or not, and are not frozen. It is for a machine that makes no further step: a prompt may
// have asked for a patch. The plan has to be known: after folding, Verify makes it.
func (m *Machine) Mounted() (list []Mounted) {
	if m.memo == nil {
		return nil
	}
	m.memo.root.walk(func(n *node) bool {
		if n.task == nil || n.untaken {
			return true
		}
		one := Mounted{Path: n.path, Task: n.task}
		if n.task.Input != nil {
			one.Failure = m.guard(func() { one.Input, _ = m.input(n) })
		}
		list = append(list, one)
		return true
	})
	return list
}
