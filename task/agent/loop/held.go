package loop

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
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
	// pending is the compaction before a call that was never begun.
	pending summary
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
	// Edited is what the provider has left out of its window by itself that the call before still had; the Turn's Edits are all
	// that it has left out.
	Edited Edit
	// Compaction is what the compactor has used before it, if it was asked.
	Compaction []cairn.Usage
	// compacted is the attempt that has asked the compactor.
	compacted int
	repair    string
	tools     []toolcall.Outcome
}

// Read finds the conversations in the journal of a task: its records by name. They come in the order in which they began.
func Read(records map[string]json.RawMessage) ([]Held, error) {
	return journal.Read(records, "loop.", read, Held.begun)
}

func (h Held) begun() int64 {
	if len(h.Calls) == 0 {
		return 1<<63 - 1
	}
	return h.Calls[0].Plan.At
}

func read(find journal.Find, conversation string) (Held, error) {
	h := Held{Name: conversation}
	var err error
	if h.Opening, h.Failure, err = journal.Opening(find, conversation); err != nil {
		return h, err
	}
	left := edits{}
	for n := 1; ; n++ {
		m, begun, err := readCall(find, conversation, n)
		if err != nil {
			return h, err
		}
		if !begun {
			h.pending = summary{Attempt: m.compacted, Usage: m.Compaction}
			return h, nil
		}
		if m.Finished {
			m.Edited = left.next(m.Turn)
		}
		h.Calls = append(h.Calls, m)
		if !m.Finished {
			return h, nil
		}
	}
}

// readCall reads what there is of the n-th call.
func readCall(find journal.Find, conversation string, n int) (m Made, begun bool, err error) {
	name := conversation + ".turn." + strconv.Itoa(n)
	compaction, _, err := journal.Step[summary](find, name+".compact")
	if err != nil {
		return m, false, err
	}
	m = Made{N: n, Compaction: compaction.Usage, compacted: compaction.Attempt}
	rec, finished, err := journal.Step[turnRecord](find, name)
	if err != nil {
		return m, false, err
	}
	if !finished {
		what, begun, err := journal.Get[intent](find, name+".intent")
		if err != nil || !begun || what.Plan == nil {
			return m, false, err
		}
		m.Attempt, m.Plan, m.repair = what.Attempt, *what.Plan, what.Repair
		return m, true, nil
	}
	m.Attempt, m.Plan, m.Finished, m.Turn, m.repair = rec.Attempt, rec.Plan, true, rec.Turn, rec.Repair
	for i, use := range window.Uses(rec.Blocks) {
		out, found, err := journal.Step[toolcall.Outcome](find, fmt.Sprintf("%s.tool.%d", name, i+1))
		if err != nil {
			return m, false, err
		}
		if found {
			m.Results = append(m.Results, resultOf(use, out))
			m.tools = append(m.tools, out)
		}
	}
	return m, true, nil
}

// used tells what each attempt has used in the conversation.
func (h Held) used(d *journal.Debt) {
	for _, m := range h.Calls {
		d.Add(m.compacted, m.Compaction)
		d.Add(m.Attempt, m.Turn.Usage)
		for _, out := range m.tools {
			d.Add(out.Attempt, out.Usage)
		}
	}
	d.Add(h.pending.Attempt, h.pending.Usage)
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

// Reduced counts what was taken out of the conversation's windows, whether by Cairn or by the provider: results told by a pointer,
// results cleared, compactions.
func (h Held) Reduced() (pointers, cleared, compactions int) {
	for i, p := range h.replayed() {
		pointers = p.Repeats()
		plan := h.Calls[i].Plan
		cleared += len(plan.Clear) + h.Calls[i].Edited.Results
		if plan.Compact != nil {
			compactions++
		}
		if window.Compacts(h.Calls[i].Turn.Blocks) {
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
