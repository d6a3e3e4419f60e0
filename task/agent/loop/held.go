package loop

import (
	"cmp"
	"encoding/json"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/answer"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Held is a conversation as the journal of its task has it, whether it has ended or not.
type Held struct {
	// Name is its name in the journal: what all of its records begin with.
	Name    string
	Opening window.Opening
	// Calls are those of the model, in order. The last one may be in flight, or lost.
	Calls []Made
	// Failure says why the conversation came to no good end, "" if it did not.
	Failure string
}

// Made is a call of the model.
type Made struct {
	// N counts the calls of the conversation from 1. Attempt is the task's that has made it.
	N, Attempt int
	Plan       window.Plan
	// Finished says that the answer is there: Turn, and the Results of the tools it asked for, as far as they are.
	Finished bool
	Turn     Turn
	Results  []window.Block
	// Compaction is what the compactor has used before it, if it was asked.
	Compaction []cairn.Usage
	repair     string
	tools      []toolcall.Outcome
}

// Read finds the conversations in the journal of a task: its records by name. They come in the order in which they began.
func Read(journal map[string]json.RawMessage) ([]Held, error) {
	var list []Held
	find := func(name string) (json.RawMessage, bool) {
		raw, found := journal[name]
		return raw, found
	}
	for _, name := range slices.Sorted(maps.Keys(journal)) {
		conversation, begins := strings.CutSuffix(name, ".start")
		if !begins || !strings.HasPrefix(name, "loop.") {
			continue
		}
		h, err := read(find, conversation)
		if err != nil {
			return nil, err
		}
		list = append(list, h)
	}
	slices.SortStableFunc(list, func(a, b Held) int { return cmp.Compare(a.begun(), b.begun()) })
	return list, nil
}

func (h Held) begun() int64 {
	if len(h.Calls) == 0 {
		return 1<<63 - 1
	}
	return h.Calls[0].Plan.At
}

// finds looks a record up by its name.
type finds func(name string) (json.RawMessage, bool)

func read(journal finds, conversation string) (Held, error) {
	h := Held{Name: conversation}
	if _, err := value(journal, conversation+".start", &h.Opening); err != nil {
		return h, err
	}
	var wrong answer.Failed
	if raw, ok := journal(conversation + ".failed"); ok {
		if err := json.Unmarshal(raw, &wrong); err != nil {
			return h, unreadable(conversation+".failed", err)
		}
		h.Failure = strings.TrimSuffix(string(wrong.Code)+": "+wrong.Message, ": ")
	}
	for n := 1; ; n++ {
		name := conversation + ".turn." + strconv.Itoa(n)
		var rec turnRecord
		finished, err := value(journal, name, &rec)
		if err != nil {
			return h, err
		}
		if !finished {
			raw, begun := journal(name + ".intent")
			if !begun {
				return h, nil
			}
			var what intent
			if err := json.Unmarshal(raw, &what); err != nil {
				return h, unreadable(name+".intent", err)
			}
			if what.Plan != nil {
				h.Calls = append(h.Calls, Made{N: n, Attempt: what.Attempt, Plan: *what.Plan, repair: what.Repair})
			}
			return h, nil
		}
		m := Made{N: n, Attempt: rec.Attempt, Plan: rec.Plan, Finished: true, Turn: rec.Turn, Compaction: rec.Compaction, repair: rec.Repair}
		for i, use := range window.Uses(rec.Blocks) {
			var out toolcall.Outcome
			found, err := value(journal, fmt.Sprintf("%s.tool.%d", name, i+1), &out)
			if err != nil {
				return h, err
			}
			if found {
				m.Results = append(m.Results, resultOf(use, out))
				m.tools = append(m.tools, out)
			}
		}
		h.Calls = append(h.Calls, m)
	}
}

// usedAfter is what attempts after one have used in the conversation.
func (h Held) usedAfter(attempt int) (used []cairn.Usage) {
	for _, m := range h.Calls {
		if m.Finished && m.Attempt > attempt {
			used = append(append(used, m.Compaction...), m.Turn.Usage...)
		}
		for _, out := range m.tools {
			if out.Attempt > attempt {
				used = append(used, out.Usage...)
			}
		}
	}
	return used
}

// value reads what a step has recorded.
func value(journal finds, name string, into any) (found bool, err error) {
	raw, found := journal(name)
	if !found {
		return false, nil
	}
	inner, err := task.StepValue(raw)
	if err == nil {
		err = json.Unmarshal(inner, into)
	}
	if err != nil {
		return false, unreadable(name, err)
	}
	return true, nil
}

func unreadable(name string, err error) error {
	return fmt.Errorf("loop: the journal's %s can't be read: %w", name, err)
}

// Window makes the window of the n-th call again. It is false where it is not the one that the call has seen, which the
// hash in its plan tells: then the journal was written by another version of the program.
func (h Held) Window(n int) (view window.View, same bool, err error) {
	if n < 1 || n > len(h.Calls) {
		return view, false, fmt.Errorf("loop: there is no call %d in %s, which has %d", n, h.Name, len(h.Calls))
	}
	for i, p := range h.replayed() {
		if i == n-1 {
			view = p.View(h.Calls[i].Plan)
			break
		}
	}
	return view, view.Hash == h.Calls[n-1].Plan.Hash, nil
}

// Original is all that was said, with the whole text of each result: also what is in no window any more.
func (h Held) Original() []window.Message {
	messages := append(slices.Clip(h.Opening.Before), h.Opening.First)
	add := func(role window.Role, blocks []window.Block) {
		if len(blocks) > 0 {
			messages = append(messages, window.Message{Role: role, Blocks: blocks})
		}
	}
	for _, m := range h.Calls {
		if m.repair != "" {
			add(window.User, text(m.repair))
		}
		add(window.Assistant, m.Turn.Blocks)
		add(window.User, m.Results)
	}
	return messages
}

// Reduced counts what was taken out of the conversation's windows: results told by a pointer, results cleared, compactions.
func (h Held) Reduced() (pointers, cleared, compactions int) {
	for i, p := range h.replayed() {
		pointers = p.Repeats()
		plan := h.Calls[i].Plan
		cleared += len(plan.Clear)
		if plan.Compact != nil {
			compactions++
		}
	}
	return pointers, cleared, compactions
}

// Windows makes the windows of all calls again, in one pass: what a window has in common with the one before is the same
// memory. Whether it is the one that the call has seen is told by comparing its Hash with that of the call's Plan.
func (h Held) Windows() iter.Seq2[int, window.View] {
	return func(yield func(int, window.View) bool) {
		for i, p := range h.replayed() {
			if !yield(i, p.View(h.Calls[i].Plan)) {
				return
			}
		}
	}
}

// replayed goes through the conversation once more: the planner stands where it stood before each call, by the call's index.
func (h Held) replayed() iter.Seq2[int, *window.Planner] {
	return func(yield func(int, *window.Planner) bool) {
		p := window.Open(h.Opening)
		for i, m := range h.Calls {
			if m.repair != "" {
				p.Told(text(m.repair))
			}
			p.Apply(m.Plan)
			if !yield(i, p) {
				return
			}
			p.Said(m.Turn.Blocks, m.Turn.Usage)
			p.Told(m.Results)
		}
	}
}
