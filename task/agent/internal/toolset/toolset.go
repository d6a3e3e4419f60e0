// Package toolset puts the tools of a conversation together: those of the agent, those that every agent can have, and those of
// the task. What its prompt has too much of it puts aside for one of them to read.
package toolset

import (
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/tool"
)

// Names of the tools that an agent brings along, and how many bytes of what is put aside stay in view.
const (
	Todo     = "todo"
	Artifact = "artifact_read"
	Head     = 2 << 10
)

// Set says what there is.
type Set struct {
	// Own are the agent's. Others are the task's, which may differ from task to task and so stand last.
	Own, Others []cairn.Tool
	// Offload is from how many bytes on an answer is put aside as an artifact; 0 is never. Aside says that something is, besides
	// answers.
	Offload int
	Aside   bool
	// Todo is the conversation's list, nil without one.
	Todo *tool.Todo
}

// Tools are all of them, in an order that is always the same. artifact_read is among them where anything may be put aside.
func (s Set) Tools() []cairn.Tool {
	wrap := func(tools []cairn.Tool) []cairn.Tool {
		if s.Offload == 0 {
			return tools
		}
		return tool.Offload{Max: s.Offload, Head: min(Head, s.Offload/2), Store: task.WriteArtifact}.Wrap(tools)
	}
	own, others := wrap(s.Own), wrap(s.Others)
	if s.Todo != nil {
		own = append(slices.Clip(own), s.Todo.Tool())
	}
	reads := func(t cairn.Tool) bool { return t.Name == Artifact }
	if s.Offload > 0 && (len(own)+len(others) > 0 || s.Aside) && !slices.ContainsFunc(own, reads) && !slices.ContainsFunc(others, reads) {
		own = append(slices.Clip(own), tool.ReadArtifact())
	}
	return slices.Concat(own, others)
}
