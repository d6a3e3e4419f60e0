package cairn

import (
	"fmt"
	"slices"
	"strings"
)

// MemorySpec is the memory of tasks as plain data: which banks are recalled from, how, and what is written to them. The zero
// value of a field, nil for a list, is unset: it is what is around the node says, and at the root a default. Package
// memory documents the fields.
type MemorySpec struct {
	Banks      []string `json:"banks,omitempty"`
	WriteBanks []string `json:"writeBanks,omitempty"`
	Tags       []string `json:"tags,omitempty"`
	Recall     string   `json:"recall,omitempty"` // prompt, query or off
	Query      string   `json:"query,omitempty"`
	Budget     string   `json:"budget,omitempty"` // low, mid or high
	MaxTokens  int      `json:"maxTokens,omitempty"`
	Primers    []string `json:"primers,omitempty"`
	Retain     string   `json:"retain,omitempty"` // on-complete or off
	Tools      string   `json:"tools,omitempty"`  // on, files or off
}

// Under is the spec inside of another one: what is unset is as outside. Banks replace the outer ones, and the outer
// WriteBanks with them.
func (m MemorySpec) Under(outer MemorySpec) MemorySpec {
	if m.Banks == nil {
		m.Banks = outer.Banks
		if m.WriteBanks == nil {
			m.WriteBanks = outer.WriteBanks
		}
	}
	if m.Tags == nil {
		m.Tags = outer.Tags
	}
	if m.Primers == nil {
		m.Primers = outer.Primers
	}
	if m.Recall == "" {
		m.Recall, m.Query = outer.Recall, outer.Query
	}
	for _, field := range []struct{ to, from *string }{{&m.Budget, &outer.Budget}, {&m.Retain, &outer.Retain}, {&m.Tools, &outer.Tools}} {
		if *field.to == "" {
			*field.to = *field.from
		}
	}
	if m.MaxTokens == 0 {
		m.MaxTokens = outer.MaxTokens
	}
	return m
}

// Active says that tasks have a memory: at least one bank, whatever the other fields say.
func (m MemorySpec) Active() bool {
	return slices.ContainsFunc(m.Banks, func(bank string) bool { return bank != "" })
}

// RootMemory is what is around the outermost node: the defaults.
var RootMemory = MemorySpec{Recall: "prompt", Budget: "mid", MaxTokens: 2048, Retain: "off", Tools: "off"}

// RecallStatus says how a recall went.
type RecallStatus string

const (
	RecallOK        RecallStatus = "ok"        // something was found, and all of it fits
	RecallEmpty     RecallStatus = "empty"     // nothing was found
	RecallTruncated RecallStatus = "truncated" // more was found than fits
	RecallTimeout   RecallStatus = "timeout"   // the time for it was over
	RecallFailed    RecallStatus = "failed"    // the backend failed
)

// Recall reports what memory has put before a prompt, or given to a tool, and what it has left out. It is committed with the
// attempt's end: that memory is missing is never only in a log.
type Recall struct {
	Status RecallStatus `json:"status"`
	// Tool marks a recall that the agent asked for.
	Tool bool `json:"tool,omitempty"`
	// Bytes is the size of the block; Rows and Primers are how many stand in it.
	Bytes   int `json:"bytes,omitempty"`
	Rows    int `json:"rows,omitempty"`
	Primers int `json:"primers,omitempty"`
	// Omitted are primers, as bank/id, too large for the block.
	Omitted []string     `json:"omitted,omitempty"`
	Banks   []BankRecall `json:"banks,omitempty"`
}

// Degraded says that something that memory has is missing because a backend did not answer.
func (s RecallStatus) Degraded() bool { return s == RecallFailed || s == RecallTimeout }

// String is a report in one line.
func (r Recall) String() string {
	text := string(r.Status)
	for _, c := range []struct {
		n    int
		noun string
	}{{r.Rows, "row"}, {r.Primers, "primer"}, {r.Bytes, "byte"}} {
		if text += fmt.Sprintf(", %d %s", c.n, c.noun); c.n != 1 {
			text += "s"
		}
	}
	if r.Tool {
		text = "asked by the agent: " + text
	}
	for _, b := range r.Banks {
		text += fmt.Sprintf("; %s %s", b.Bank, b.Status)
		if b.Error != "" {
			text += ": " + b.Error
		}
	}
	if len(r.Omitted) > 0 {
		text += "; too large: " + strings.Join(r.Omitted, ", ")
	}
	return text
}

// BankRecall is one bank's part of a recall.
type BankRecall struct {
	Bank   string       `json:"bank"`
	Status RecallStatus `json:"status"`
	// Error says what failed.
	Error string `json:"error,omitempty"`
	// Arms are the ways of search used, Candidates how many documents they brought, Dropped how many were left out and
	// why.
	Arms       []string       `json:"arms,omitempty"`
	Candidates int            `json:"candidates,omitempty"`
	Dropped    map[string]int `json:"dropped,omitempty"`
	// Sources are the ids of the rows in the block, best first.
	Sources []string `json:"sources,omitempty"`
}
