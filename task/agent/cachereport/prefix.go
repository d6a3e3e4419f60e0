package cachereport

import (
	"crypto/sha256"
	"slices"

	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/window"
)

// key is the hash of a beginning of a window.
type key [16]byte

// unit is what caches count in: a tool, the system text, the schema, a block. Its size is in tokens, estimated.
type unit struct {
	hash key
	size int
}

// A prefix has the beginnings of a window, by how many units they have: keys[0] and sizes[0] are of the first one.
type prefix struct {
	keys  []key
	sizes []int
	// fixed is how many units stand before the messages, kept how many there are without what is recited.
	fixed, kept int
	// marks are the breakpoints.
	marks []mark
}

// mark is a breakpoint behind so many units.
type mark struct {
	units int
	long  bool
}

// hasher makes prefixes. Each block is hashed once, in however many windows it stands.
type hasher struct {
	blocks map[*window.Block]unit
	setups map[*window.Setup][]unit
}

// overhead is what a unit has besides its text, in tokens.
const overhead = 8

func unitOf(v any, bytes int) unit {
	raw, err := schema.Encode(v)
	if err != nil { // what is no JSON is the same as itself
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return unit{key(sum[:16]), overhead + window.Tokens(bytes)}
}

// setup are the units before the messages.
func (h *hasher) setup(s *window.Setup) []unit {
	units, known := h.setups[s]
	if known {
		return units
	}
	for _, t := range s.Tools {
		t.Reads = false // no provider is told
		units = append(units, unitOf(t, len(t.Name)+len(t.Description)+len(t.Schema)))
	}
	if text := s.Text(); text != "" {
		units = append(units, unitOf(text, len(text)))
	}
	if s.Schema != nil {
		units = append(units, unitOf(s.Schema, len(s.Schema)))
	}
	h.setups[s] = units
	return units
}

func (h *hasher) block(m window.Message, i int) unit {
	b := &m.Blocks[i]
	u, known := h.blocks[b]
	if !known {
		u = unitOf(struct {
			Role  window.Role
			Block window.Block
		}{m.Role, *b}, len(b.Text)+len(b.Name)+len(b.Input)+len(b.Raw))
		h.blocks[b] = u
	}
	return u
}

// shown is a block of a call's window as its provider has shown it to the model.
func (h *hasher) shown(m window.Message, i int, cleared *int) unit {
	if m.Blocks[i].Kind != window.ToolResult || *cleared == 0 {
		return h.block(m, i)
	}
	*cleared--
	return unitOf("cleared "+m.Blocks[i].ID, 0)
}

// summed is where the last summary of a provider's stands, before which it reads nothing; 0, 0 without one.
func summed(provider string, messages []window.Message) (message, block int) {
	for i, m := range slices.Backward(messages) {
		for j, b := range slices.Backward(m.Blocks) {
			if b.SumsUp(provider) {
				return i, j
			}
		}
	}
	return 0, 0
}

// prefix takes the window of a call apart, as its provider has shown it to the model.
func (h *hasher) prefix(c *Call) prefix {
	s, v := c.Setup, c.View
	var p prefix
	var chain key
	add := func(u unit) {
		sum := sha256.Sum256(append(chain[:], u.hash[:]...))
		chain = key(sum[:16])
		size := u.size
		if n := len(p.sizes); n > 0 {
			size += p.sizes[n-1]
		}
		p.keys, p.sizes = append(p.keys, chain), append(p.sizes, size)
	}
	for _, u := range h.setup(s) {
		add(u)
	}
	p.fixed = len(p.keys)
	from, skip := summed(s.Provider, v.Messages)
	if c.Summary != nil {
		from, skip = len(v.Messages), 0
	}
	cleared := c.Cleared
	begins := make([]int, len(v.Messages)+1)
	for i, m := range v.Messages {
		begins[i] = len(p.keys)
		for j := range m.Blocks {
			if i > from || i == from && j >= skip {
				add(h.shown(m, j, &cleared))
			}
		}
	}
	begins[len(v.Messages)] = len(p.keys)
	if c.Summary != nil {
		add(h.block(window.Message{Role: window.Assistant, Blocks: c.Summary}, 0))
	}
	p.kept = len(p.keys)
	if last := len(v.Messages) - 1; last >= 0 && c.Summary == nil {
		if j := len(v.Messages[last].Blocks) - 1; j >= 0 && v.Part(last, j) == window.PartRecitation {
			p.kept--
		}
	}
	for _, m := range v.Marks {
		at := len(s.Tools)
		switch {
		case m.Message == window.OfTools:
		case m.Message == window.OfSystem:
			if s.Text() != "" {
				at++
			}
		case m.Message < from || m.Message == from && m.Block < skip:
			at = 0 // what stands there is read no more
		case m.Message < len(v.Messages):
			at = begins[m.Message] + m.Block + 1
			if m.Message == from {
				at -= skip
			}
			at = min(at, begins[m.Message+1])
		}
		if at > 0 {
			p.marks = append(p.marks, mark{at, m.Long})
		}
	}
	return p
}
