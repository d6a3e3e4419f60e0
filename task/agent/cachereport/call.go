package cachereport

import (
	"cmp"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// State says how far a call has come.
type State string

// The states.
const (
	Answered State = "answered"
	// InFlight has not been answered yet.
	InFlight State = "in_flight"
	// Lost was begun, and nothing is known of its end: its attempt was killed, or has failed in it.
	Lost State = "lost"
)

// Call is a call of a model.
type Call struct {
	// Path is the task's, Conversation the name in its journal, N counts the conversation's calls from 1.
	Path, Conversation string
	N, Attempt         int
	State              State
	// Compacts says that it is what a compactor has used before the call N. Nothing else is known of it.
	Compacts bool
	Setup    *window.Setup
	Plan     window.Plan
	// View is the window, Known that it is the one that the call has seen.
	View  window.View
	Known bool
	// Cleared is how many results the provider has left out of it by itself, the oldest first; Edited is what of that, and of
	// anything else, the call before still had. Summary is the provider's own one that is in its answer: the rest of the answer was
	// made of that, and no longer of what was said.
	Cleared int
	Edited  loop.Edit
	Summary []window.Block
	// Ended is when its attempt has ended, in milliseconds since 1970; 0 is unknown.
	Ended int64
	// Usage is that of the answer, and before it of other models that were asked first and failed.
	Usage []cairn.Usage
}

// Calls are those of the conversations of a task, in no particular order. Attempt says when one of the task's has ended, or that
// it is running: a call of it that has no answer is in flight, any other is lost.
func Calls(path string, held []loop.Held, attempt func(n int) (ended int64, running bool)) (calls []Call) {
	for i := range held {
		h := &held[i]
		for n, view := range h.Windows() {
			m := h.Calls[n]
			c := Call{Path: path, Conversation: h.Name, N: m.N, Attempt: m.Attempt, State: Answered, Setup: &h.Opening.Setup, Plan: m.Plan,
				View: view, Known: view.Hash == m.Plan.Hash, Usage: m.Turn.Usage, Edited: m.Edited}
			for _, e := range m.Turn.Edits {
				c.Cleared += max(0, e.Results)
			}
			for i, b := range m.Turn.Blocks {
				if b.SumsUp(c.Setup.Provider) {
					c.Summary = m.Turn.Blocks[i : i+1]
				}
			}
			running := false
			if c.Ended, running = attempt(m.Attempt); !m.Finished {
				c.State = Lost
				if running && h.Failure == "" {
					c.State = InFlight
				}
			}
			if len(m.Compaction) > 0 {
				before := c
				before.Compacts, before.Known, before.State, before.Usage = true, false, Answered, m.Compaction
				before.View, before.Cleared, before.Edited, before.Summary = window.View{}, 0, loop.Edit{}, nil
				calls = append(calls, before)
			}
			calls = append(calls, c)
		}
	}
	return calls
}

// inTime sorts calls by when they were made.
func inTime(calls []Call) {
	slices.SortStableFunc(calls, func(a, b Call) int {
		return cmp.Or(cmp.Compare(a.Plan.At, b.Plan.At), cmp.Compare(a.Path, b.Path), cmp.Compare(a.Conversation, b.Conversation), a.N-b.N)
	})
}

// last is the usage of the answer.
func (c *Call) last() cairn.Usage {
	if len(c.Usage) == 0 {
		return cairn.Usage{}
	}
	return c.Usage[len(c.Usage)-1]
}

// model is whose cache the call uses.
func (c *Call) model() string { return cmp.Or(c.last().Model, c.Setup.Model) }

func (c *Call) conversation() string { return c.Path + "\x00" + c.Conversation }
