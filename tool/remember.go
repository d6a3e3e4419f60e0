package tool

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// A Conversation remembers what its tools have answered, so that the same text does not come into the window twice. Make one
// for each conversation, which is each attempt of an agent's task. It is safe for concurrent use; the zero value is empty.
type Conversation struct {
	mu sync.Mutex
	// last is the newest answer to each question.
	last    map[question]answer
	calls   map[string]int
	repeats map[string]int
}

// question is a tool and a hash of its input.
type question struct {
	tool string
	in   [sha256.Size]byte
}

type answer struct {
	out  [sha256.Size]byte
	call int
}

// Wrap returns the tools with those that only read answering a repeated question by a pointer to the earlier answer. The
// call is made each time, so a file that has changed meanwhile is told anew; only what is word for word the same is left out,
// and only where the pointer is shorter. Tools with side effects, and todo, stay as they are. Inputs that are equal as JSON are equal.
//
// Wrap what Offload has wrapped: then a reference that was told is a pointer the next time.
func (c *Conversation) Wrap(tools []cairn.Tool) []cairn.Tool {
	out := make([]cairn.Tool, len(tools))
	for i, t := range tools {
		out[i] = t
		if t.SideEffect || t.Name == todoName { // whose newest answer is what a resumed attempt goes on with
			continue
		}
		out[i].Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			got, err := t.Call(ctx, in)
			if err != nil {
				return got, err
			}
			before, known := c.meet(t.Name, in, got)
			if !known {
				return got, nil
			}
			pointer, err := encode(t.Name, fmt.Sprintf("Same as the answer to your call %d of %s, which had the same input. Nothing has changed since.", before, t.Name))
			if err != nil || len(pointer) >= len(got) {
				return got, err
			}
			c.mu.Lock()
			c.repeats[t.Name]++
			c.mu.Unlock()
			return pointer, nil
		}
	}
	return out
}

// Saw tells the conversation of an answer that was not given through it: one that a resumed attempt has taken from its
// journal. Tell them in their order. Pointers among them do no harm: what they stand for is told anew.
func (c *Conversation) Saw(tool string, in, out json.RawMessage) { c.meet(tool, in, out) }

// Forget makes the conversation tell everything anew: what the pointers would lead to has been taken out of the window. The
// counts stay.
func (c *Conversation) Forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = nil
}

// Repeats is how many answers of each tool were pointers.
func (c *Conversation) Repeats() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.repeats)
}

// meet numbers a call, and says which one before had the same answer to the same input.
func (c *Conversation) meet(tool string, in, out json.RawMessage) (call int, known bool) {
	if canonical, err := schema.Canonical(orEmpty(in)); err == nil {
		in = canonical
	}
	asked, now := question{tool, sha256.Sum256(in)}, sha256.Sum256(out)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls, c.repeats = map[string]int{}, map[string]int{}
	}
	if c.last == nil {
		c.last = map[question]answer{}
	}
	c.calls[tool]++
	before, ok := c.last[asked]
	if ok && before.out == now {
		return before.call, true
	}
	c.last[asked] = answer{now, c.calls[tool]}
	return 0, false
}
