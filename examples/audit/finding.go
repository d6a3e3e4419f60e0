package audit

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// maxFindings is how many findings of one sort an analysis keeps. They are
// written to the journal with the result of the task, so a package with
// thousands of them must not make that result grow without end.
const maxFindings = 50

// maxText is the length in runes of the longest text that a finding quotes.
const maxText = 120

// Kind says what a finding is about.
type Kind string

// What a finding can be about: an exported name without documentation, by what
// it names; a comment that leaves something to do; a file that cannot be read
// as Go.
const (
	KindFunc   Kind = "func"
	KindMethod Kind = "method"
	KindType   Kind = "type"
	KindConst  Kind = "const"
	KindVar    Kind = "var"
	KindTodo   Kind = "todo"
	KindFixme  Kind = "fixme"
	KindParse  Kind = "parse"
)

// Finding is one place in the code that wants attention.
type Finding struct {
	Kind Kind `json:"kind" validate:"required,oneof=func method type const var todo fixme parse"`
	// File is slash-separated and relative to the audited directory.
	File string `json:"file" validate:"required"`
	Line int    `json:"line" validate:"gte=1"`
	// Name is the exported name (Type.Method for a method), or who a TODO
	// names.
	Name string `json:"name,omitempty"`
	// Text is what a TODO says or why a file cannot be read.
	Text string `json:"text,omitempty"`
}

// Findings are the findings of one sort: how many there are, and the first of
// them.
type Findings struct {
	Count int       `json:"count" validate:"gte=0"`
	Kept  []Finding `json:"kept" validate:"required,dive"`
}

func newFindings() Findings {
	return Findings{Kept: []Finding{}}
}

// add counts a finding and keeps it while there are fewer than limit.
func (f *Findings) add(found Finding, limit int) {
	f.Count++
	if len(f.Kept) < limit {
		f.Kept = append(f.Kept, found)
	}
}

// join adds the findings of a package to those of all, and keeps its share of
// the room that is left.
func (f *Findings) join(other Findings, limit int) {
	f.Count += other.Count
	room := min(max(limit-len(f.Kept), 0), len(other.Kept))
	f.Kept = append(f.Kept, other.Kept[:room]...)
}

// left is how many findings are counted and not kept.
func (f Findings) left() int {
	return f.Count - len(f.Kept)
}

// shorten makes a text fit a finding. It cuts between runes and shows that it
// did.
func shorten(text string) string {
	text = valid(strings.TrimSpace(text))
	if utf8.RuneCountInString(text) <= maxText {
		return text
	}
	runes := 0
	for i := range text {
		if runes == maxText-1 {
			return strings.TrimSpace(text[:i]) + "…"
		}
		runes++
	}
	return text
}

// sorted is a sorted copy that is never nil: nil would be null in JSON, and not
// the empty list that the reader expects.
func sorted(names []string) []string {
	list := append([]string{}, names...)
	slices.Sort(list)
	return list
}
