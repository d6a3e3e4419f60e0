package window

import (
	"encoding/json"

	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
)

// Part says what a piece of a window is.
type Part string

// The parts, in the order in which they stand in a window.
const (
	PartTools    Part = "tools"
	PartSystem   Part = "system"
	PartExamples Part = "examples"
	// PartHistory is what was said: before the first message, and in the turns.
	PartHistory Part = "history"
	PartMemory  Part = "memory"
	// PartPrompt is the task's own, PartDeps what of other tasks' outputs stands in it (task.Dep).
	PartPrompt Part = "prompt"
	PartDeps   Part = "deps"
	PartSchema Part = "schema"
	// PartErrors tells how earlier attempts have failed.
	PartErrors Part = "errors"
	// PartSummary stands for turns that were taken out.
	PartSummary Part = "summary"
	// PartRecitation is repeated at the end, anew in each call.
	PartRecitation Part = "recitation"
)

// Span is a piece of a window with what it is.
type Span struct {
	Part Part `json:"part"`
	// Role and Kind are those of the block, "" before the first message. Name is a tool's or a dep's.
	Role Role   `json:"role,omitempty"`
	Kind Kind   `json:"kind,omitempty"`
	Name string `json:"name,omitempty"`
	// Text is what the model reads: that of a text or a result as it is, anything else as JSON.
	Text string `json:"text"`
	// Tokens is an estimate.
	Tokens int `json:"tokens"`
	// Marked says that a cache breakpoint stands behind it.
	Marked bool `json:"marked,omitempty"`
}

// Spans takes a window apart, in its order.
func (v View) Spans() (spans []Span) {
	add := func(s Span) {
		if s.Text != "" {
			s.Tokens = Tokens(len(s.Text))
			spans = append(spans, s)
		}
	}
	for i, t := range v.Tools {
		add(Span{Part: PartTools, Name: t.Name, Text: t.shown(), Marked: i == len(v.Tools)-1 && v.marks(OfTools, 0)})
	}
	if v.setup != nil {
		add(Span{Part: PartSystem, Text: v.setup.System, Marked: len(v.setup.Examples) == 0 && v.marks(OfSystem, 0)})
		add(Span{Part: PartExamples, Text: v.setup.examples(), Marked: v.marks(OfSystem, 0)})
		add(Span{Part: PartSchema, Text: string(v.setup.Schema)})
	}
	for i, m := range v.Messages {
		for j, b := range m.Blocks {
			for _, s := range split(v.Part(i, j), b) {
				s.Role, s.Kind = m.Role, b.Kind
				add(s)
			}
			if len(spans) > 0 && v.marks(i, j) {
				spans[len(spans)-1].Marked = true
			}
		}
	}
	return spans
}

// SpanOf is a block of a conversation by itself.
func SpanOf(role Role, b Block) Span {
	text := b.shown()
	return Span{Part: PartHistory, Role: role, Kind: b.Kind, Name: b.Name, Text: text, Tokens: Tokens(len(text))}
}

func (v View) marks(message, block int) bool {
	if v.setup == nil || v.setup.Cache.Marks == 0 {
		return false
	}
	for _, m := range v.Marks {
		if m.Message == message && m.Block == block {
			return true
		}
	}
	return false
}

// Part says what a block of a message is, both by their index.
func (v View) Part(message, block int) Part {
	switch {
	case v.recited && message == len(v.Messages)-1 && block == len(v.Messages[message].Blocks)-1:
		return PartRecitation
	case message == v.first && block < len(v.parts):
		return v.parts[block]
	case message == v.first:
		return PartSummary
	}
	return PartHistory
}

// split takes the deps out of a prompt, and makes one piece of any other block.
func split(part Part, b Block) (spans []Span) {
	if part != PartPrompt {
		return []Span{{Part: part, Name: b.Name, Text: b.shown()}}
	}
	at := 0
	for _, dep := range task.Deps(b.Text) {
		spans = append(spans, Span{Part: PartPrompt, Text: b.Text[at:dep.From]}, Span{Part: PartDeps, Name: dep.Name, Text: b.Text[dep.From:dep.To]})
		at = dep.To
	}
	return append(spans, Span{Part: PartPrompt, Text: b.Text[at:]})
}

// shown is a tool as a model sees it, or as its provider knows it.
func (t Tool) shown() string {
	return asJSON(struct {
		Name        string            `json:"name"`
		Description string            `json:"description,omitempty"`
		Schema      json.RawMessage   `json:"schema,omitempty"`
		Native      map[string]string `json:"native,omitempty"`
	}{t.Name, t.Description, t.Schema, t.Native})
}

// shown is a block as it is printed.
func (b Block) shown() string {
	switch {
	case b.Kind == Text || b.Kind == ToolResult:
		return b.Text
	case b.Kind == Thinking && b.Text != "":
		return b.Text
	case b.Raw != nil:
		return string(b.Raw)
	}
	return asJSON(struct {
		Name  string          `json:"name"`
		Input json.RawMessage `json:"input,omitempty"`
		Text  string          `json:"text,omitempty"`
	}{b.Name, b.Input, b.Text})
}

// asJSON is a value as it is shown, and why there is none if it is not JSON.
func asJSON(v any) string {
	raw, err := schema.Encode(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
