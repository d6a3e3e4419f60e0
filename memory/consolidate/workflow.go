package consolidate

import (
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/task"
)

// NoMemory: the workflow runs in an engine without a memory.
const NoMemory cairn.Code = "MEMORY_MISSING"

// Input says which episodes.
type Input struct {
	// Bank and Namespace are where the episodes are, and where the rules are proposed.
	Bank      string           `json:"bank" validate:"required"`
	Namespace memory.Namespace `json:"namespace" validate:"required"`
	// Tags are those of a task that would recall the episodes: a project's bank shows what is on main, and on the branch
	// that is named here.
	Tags []string `json:"tags,omitempty"`
	// Since leaves out what happened before. Zero is never.
	Since time.Time `json:"since,omitzero"`
	// Max is how many episodes, the newest ones. 0 is DefaultMax.
	Max int `json:"max,omitempty" validate:"gte=0,lte=256"`
}

// DefaultMax is how many episodes are distilled at once.
const DefaultMax = 64

// Output is what was proposed.
type Output struct {
	// Episodes is how many the agent was shown.
	Episodes int `json:"episodes"`
	// Proposed are the ids of the notes that wait for a person, in the namespace of the input.
	Proposed []string `json:"proposed"`
	// Dropped are rules that were not proposed.
	Dropped []Dropped `json:"dropped,omitempty"`
}

// Dropped is a rule of the agent's that was not proposed, and why.
type Dropped struct {
	Title string `json:"title"`
	Why   string `json:"why"`
}

const (
	episodes cairn.Key[Episodes] = "episodes"
	rules    cairn.Key[Rules]    = "rules"
	proposed cairn.Key[Output]   = "proposed"
)

// Workflow is the workflow, called consolidate, with the agent that distils. Give it another Name to have several of them.
func Workflow(agent task.Agent) cairn.Workflow[Input, Output] {
	return cairn.Workflow[Input, Output]{
		Name: "consolidate", About: "proposes rules from what runs have left in memory, for a person to accept", Result: proposed,
		Render: func(v *cairn.View, in Input) cairn.Node {
			return cairn.Sequence{Children: cairn.Nodes{
				task.Task[Episodes]{ID: episodes, From: task.From(func(*cairn.View) Input { return in }, read)},
				task.Task[Rules]{ID: rules, Agent: agent, Prompt: prompt, SkipIf: func(v *cairn.View) bool { return len(episodes.Must(v).Given) == 0 }},
				task.Task[Output]{ID: proposed, From: task.From(
					func(v *cairn.View) proposal {
						distilled, _ := rules.Get(v) // nothing to distil, no rules
						return proposal{in.Bank, in.Namespace, episodes.Must(v).Given, distilled.Rules}
					}, propose)},
			}}
		},
	}
}
