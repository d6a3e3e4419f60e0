package transcript

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Start is what a program was told when it was started. It is recorded before that.
type Start struct {
	Attempt int `json:"attempt,omitempty"`
	// Turn counts those of the conversation from 1. A turn that was interrupted has several starts.
	Turn int `json:"turn"`
	// Whole says that the first message of the conversation stands before Say: the session is new.
	Whole bool   `json:"whole,omitempty"`
	Say   string `json:"say,omitempty"`
	// Plan has what is recited behind both.
	Plan window.Plan `json:"plan"`
}

// Decide makes the plan of a start in a conversation that begins so, and what it comes to.
func (s *Start) Decide(o window.Opening, now window.Now) window.View {
	p := window.Open(s.opening(o))
	s.Plan = p.Decide(now)
	p.Apply(s.Plan)
	v := p.View(s.Plan)
	s.Plan.Hash = v.Hash
	return v
}

// Window is what a start has come to, made again.
func (s Start) Window(o window.Opening) window.View {
	p := window.Open(s.opening(o))
	p.Apply(s.Plan)
	return p.View(s.Plan)
}

// opening is all that the program is given: a window of one message.
func (s Start) opening(o window.Opening) window.Opening {
	if !s.Whole {
		o.First.Blocks, o.Parts = nil, nil
	}
	if s.Say != "" {
		o.First.Blocks = append(slices.Clip(o.First.Blocks), window.Block{Kind: window.Text, Text: s.Say})
		o.Parts = append(slices.Clip(o.Parts), window.PartHistory)
	}
	return o
}

// Text is a message as a program reads it: its blocks with an empty line between.
func Text(m window.Message) string {
	texts := make([]string, len(m.Blocks))
	for i, b := range m.Blocks {
		texts[i] = b.Text
	}
	return strings.Join(texts, "\n\n")
}

// Turn is what the program has answered in a turn that has ended.
type Turn struct {
	Attempt int             `json:"attempt,omitempty"`
	Text    string          `json:"text,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
}

// Answer is the structured output, or else the text.
func (t Turn) Answer() string {
	if t.Output != nil {
		return string(t.Output)
	}
	return t.Text
}

// Same says that a call was answered by a pointer, because it has told again what an earlier one had.
type Same struct {
	// As is the number of the earlier call, Artifact what its result can be read from.
	As       int            `json:"as"`
	Artifact cairn.Artifact `json:"artifact"`
}

const (
	// Prefix begins the names of all conversations.
	Prefix = "command."
	same   = ".same"
)

// StartName is the record of the n-th start of the program, from 1, in all attempts.
func StartName(conversation string, n int) string {
	return fmt.Sprintf("%s.process.%d", conversation, n)
}

// TurnName is that of the n-th turn, once it has ended.
func TurnName(conversation string, n int) string { return fmt.Sprintf("%s.turn.%d", conversation, n) }

// CallName is that of the n-th call of a served tool.
func CallName(conversation string, n int) string { return fmt.Sprintf("%s.tool.%d", conversation, n) }

// SameName is that of a Same, where the n-th call has one.
func SameName(conversation string, n int) string { return CallName(conversation, n) + same }
