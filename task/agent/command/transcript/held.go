package transcript

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Held is a conversation as the journal of its task has it, whether it has ended or not.
type Held struct {
	// Name is its name in the journal: what all of its records begin with.
	Name    string
	Opening window.Opening
	// Starts are those of the program, in order. The last one may be running, or lost.
	Starts []Start
	// Turns are those that have ended, in order.
	Turns []Turn
	// Pointers counts the calls of served tools that were answered by a pointer.
	Pointers int
	// Failure says why the conversation came to no good end, "" if it did not.
	Failure string
	calls   []call
}

// call is one of a served tool.
type call struct {
	toolcall.Record
	answered bool
	text     string
}

// Read finds the conversations in the journal of a task: its records by name. They come in the order in which they began.
func Read(records map[string]json.RawMessage) ([]Held, error) {
	var calls []toolcall.Record
	return journal.Read(records, Prefix, func(find journal.Find, conversation string) (h Held, err error) {
		if calls == nil {
			if calls, err = toolcall.Read(records); err != nil {
				return h, err
			}
		}
		return read(find, conversation, calls)
	}, Held.begun)
}

func (h Held) begun() int64 {
	if len(h.Starts) == 0 {
		return 1<<63 - 1
	}
	return h.Starts[0].Plan.At
}

func read(find journal.Find, conversation string, calls []toolcall.Record) (h Held, err error) {
	h.Name = conversation
	if h.Opening, h.Failure, err = journal.Opening(find, conversation); err != nil {
		return h, err
	}
	if h.Starts, err = each(func(n int) (Start, bool, error) { return journal.Get[Start](find, StartName(conversation, n)) }); err != nil {
		return h, err
	}
	if h.Turns, err = each(func(n int) (Turn, bool, error) { return journal.Step[Turn](find, TurnName(conversation, n)) }); err != nil {
		return h, err
	}
	for _, r := range calls {
		if !strings.HasPrefix(r.Name, conversation+".tool.") {
			continue
		}
		out, answered, err := journal.Step[toolcall.Outcome](find, r.Name)
		if err != nil {
			return h, err
		}
		h.calls = append(h.calls, call{r, answered, out.Text})
		if _, pointer := find(r.Name + same); pointer {
			h.Pointers++
		}
	}
	return h, nil
}

// each reads the first record, the second and so on.
func each[T any](get func(n int) (T, bool, error)) (all []T, err error) {
	for n := 1; ; n++ {
		one, found, err := get(n)
		if err != nil || !found {
			return all, err
		}
		all = append(all, one)
	}
}

// Answered says that the n-th start, from 1, has led to the end of its turn.
func (h Held) Answered(n int) bool {
	turn := h.Starts[n-1].Turn
	return turn <= len(h.Turns) && (n == len(h.Starts) || h.Starts[n].Turn > turn)
}

// Window is what the program was given at its n-th start, from 1: the setup, and one message. It is false where that is not
// what it has seen, as its hash tells: then the setup had changed since the conversation began.
func (h Held) Window(n int) (view window.View, same bool, err error) {
	if n < 1 || n > len(h.Starts) {
		return view, false, fmt.Errorf("transcript: there is no start %d in %s, which has %d", n, h.Name, len(h.Starts))
	}
	s := h.Starts[n-1]
	view = s.Window(h.Opening)
	return view, view.Hash == s.Plan.Hash, nil
}

// Original is all that was said, as far as it is known: what the program was told, the served tools it has called with their whole
// results, and its answers.
func (h Held) Original() (messages []window.Message) {
	add := func(role window.Role, b ...window.Block) {
		messages = append(messages, window.Message{Role: role, Blocks: b})
	}
	calls := h.calls
	for i, s := range h.Starts {
		add(window.User, s.Window(h.Opening).Messages[0].Blocks...)
		last := i == len(h.Starts)-1
		for len(calls) > 0 && (last || calls[0].Began.UnixMilli() < h.Starts[i+1].Plan.At) {
			c := calls[0]
			calls = calls[1:]
			add(window.Assistant, window.Block{Kind: window.ToolUse, ID: c.Name, Name: c.Tool, Input: c.Input})
			if c.answered {
				add(window.User, window.Block{Kind: window.ToolResult, ID: c.Name, Name: c.Tool, Text: c.text, Error: c.State != toolcall.Done})
			}
		}
		if h.Answered(i + 1) {
			add(window.Assistant, window.Block{Kind: window.Text, Text: h.Turns[s.Turn-1].Answer()})
		}
	}
	return messages
}
