package window

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"github.com/cairnrun/cairn/internal/schema"
)

// View is what one call sees.
type View struct {
	System   string    `json:"system,omitempty"`
	Tools    []Tool    `json:"tools,omitempty"`
	Messages []Message `json:"messages"`
	// Allowed, if not nil, are the only tools that may be called.
	Allowed []string `json:"allowed,omitempty"`
	// Marks are where the provider is to cache; nil if it has no use for them.
	Marks []Mark `json:"marks,omitempty"`
	Hash  string `json:"-"`
	// parts says what the blocks of the message number first are.
	parts   []Part
	first   int
	recited bool
	setup   *Setup
}

// View is the window of the plan that was applied last. It changes nothing.
func (p *Planner) View(plan Plan) View {
	s := &p.open.Setup
	v := View{System: s.Text(), Tools: s.Tools, Messages: slices.Clip(p.messages), Allowed: plan.Allowed, parts: p.open.Parts, first: p.first, setup: s}
	v.Marks = p.marks
	last := len(v.Messages) - 1
	if plan.Recite != "" && v.Messages[last].Role == User {
		m := v.Messages[last]
		m.Blocks = append(slices.Clip(m.Blocks), Block{Kind: Text, Text: plan.Recite})
		v.Messages = slices.Clone(v.Messages)
		v.Messages[last] = m
		v.recited = true
	}
	v.Hash = p.hashes.sum(s, p.messages, plan)
	return v
}

// hashes are those of the messages, so that a further turn costs no more than itself.
type hashes struct {
	setup string
	of    []string
}

func (h *hashes) forget(from int) { h.of = h.of[:min(len(h.of), from)] }

// sum is the hash of a window: the setup, each message, and what is recited and allowed in this call alone.
func (h *hashes) sum(s *Setup, messages []Message, plan Plan) string {
	if h.setup == "" {
		h.setup = digest(s)
	}
	for _, m := range messages[len(h.of):] {
		h.of = append(h.of, digest(m))
	}
	sum := sha256.New()
	sum.Write([]byte(h.setup))
	for _, one := range h.of {
		sum.Write([]byte(one))
	}
	sum.Write([]byte(digest(struct {
		Recite  string
		Allowed []string
	}{plan.Recite, plan.Allowed})))
	return hex.EncodeToString(sum.Sum(nil)[:12])
}

func digest(v any) string {
	raw, err := schema.Encode(v)
	if err != nil { // JSON that is none has been taken in: its error is as good a mark as any
		raw = []byte(err.Error())
	}
	sum := sha256.Sum256(raw)
	return string(sum[:])
}
