package memory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/cairnrun/cairn"
)

// Memory gives the tasks below it a memory. It adds nothing to their paths. Every field tells unset from set: what is unset
// is as in the Memory around, and at the root as the defaults say. Attached to a task by With it replaces all that is around
// the task.
type Memory struct {
	// Bank or Banks are recalled from, and written to. Setting one of them replaces the outer banks. At least one non-empty
	// bank is required, here or around.
	Bank  string
	Banks []string
	// WriteBanks are those of the banks that Retain and the tools remember and memory write to. Nil is all of them.
	WriteBanks []string
	// Tags narrow what is recalled and mark what is written; see the package's "Banks and tags". Nil inherits, an empty list
	// clears. The default is none.
	Tags []string
	// Recall is by the task's prompt by default: RecallPrompt, RecallOff, or RecallBy a query of its own.
	Recall Recall
	// Budget is how much is looked at: Low, Mid by default, or High.
	Budget Budget
	// MaxTokens bounds the whole block, and each answer of the recall tool, in UTF-8 bytes: a token has at least one. 0
	// inherits; the default is 2048.
	MaxTokens int
	// Primers are ids of texts that are put in whole, first, in this order: a pinned note of that id from every bank that has
	// one, else a file of that name (Runtime.Primers). Nil inherits, an
	// empty list clears. The default is none.
	Primers []string
	// Retain writes a digest of each task that has succeeded: OnComplete, or RetainOff by default.
	Retain Retain
	// Tools gives agents the tools recall and remember: On, or Off by default. Files gives them the tool memory, too, by which
	// they edit the primers of the banks that they may write to; see the package's "Files".
	Tools Switch
	// Children are what the memory is for, in order, as in a Sequence. None in an attachment.
	Children cairn.Nodes
}

// Recall says by what a task's memory is asked. The zero value inherits.
type Recall struct{ mode, query string }

var (
	RecallPrompt = Recall{mode: "prompt"} // the task's own prompt is the query
	RecallOff    = Recall{mode: "off"}    // nothing is recalled before the task
)

// RecallBy asks by a query, the same for each task.
func RecallBy(query string) Recall { return Recall{"query", query} }

// Budget is how much a recall looks at. The zero value inherits.
type Budget string

const (
	Low  Budget = "low"  // the best 50 by words
	Mid  Budget = "mid"  // 200, and what stands beside them
	High Budget = "high" // 500, with a second look by the words of the best, and by meaning where there is an embedder
)

// Retain says whether tasks leave a digest. The zero value inherits.
type Retain string

const (
	OnComplete Retain = "on-complete" // when the task has succeeded, with its frame
	RetainOff  Retain = "off"         // never
)

// Switch says which tools agents get. The zero value inherits.
type Switch string

const (
	On    Switch = "on"    // recall and remember
	Files Switch = "files" // these two, and memory
	Off   Switch = "off"   // none
)

// Feature is the name of Memory's configuration among a task's attachments.
const Feature = "memory"

// Lower says what the node is, and what is wrong with it.
func (m Memory) Lower() cairn.Spec {
	spec, err := m.spec()
	out := cairn.Spec{Kind: cairn.KindMemory, Children: m.Children, Memory: &spec}
	if err != nil {
		out.Mistakes = append(out.Mistakes, err)
	}
	return out
}

// Attach makes a Memory an attachment of a task.
func (m Memory) Attach() (feature string, config any) {
	spec, _ := m.spec()
	return Feature, spec
}

// Set replaces the memory around the task.
func (m Memory) Set(t *cairn.TaskSpec) {
	spec, _ := m.spec()
	t.Memory = &spec
}

// Check says what is wrong with it on a task.
func (m Memory) Check(t *cairn.TaskSpec) error {
	_, err := m.spec()
	if len(m.Children) > 0 {
		err = errors.Join(err, errors.New("an attached Memory has Children: put the task below it instead"))
	}
	return err
}

// eachOnce is a list of names in its order, each once: what is named twice is not recalled or written twice. A nil list stays nil.
func eachOnce(list []string) []string {
	if list == nil {
		return nil
	}
	kept := make([]string, 0, len(list))
	for _, name := range list {
		if !slices.Contains(kept, name) {
			kept = append(kept, name)
		}
	}
	return kept
}

// spec is the memory as data, with all that is wrong with it.
func (m Memory) spec() (cairn.MemorySpec, error) {
	s := cairn.MemorySpec{Banks: eachOnce(m.Banks), WriteBanks: eachOnce(m.WriteBanks), Tags: m.Tags, Recall: m.Recall.mode, Query: m.Recall.query, Budget: string(m.Budget),
		MaxTokens: m.MaxTokens, Primers: eachOnce(m.Primers), Retain: string(m.Retain), Tools: string(m.Tools)}
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf("memory: "+format, args...)) }
	if m.Bank != "" {
		if len(m.Banks) > 0 {
			wrong("Bank and Banks are both set: use one of them")
		}
		s.Banks = []string{m.Bank}
	}
	for _, bank := range slices.Concat(s.Banks, s.WriteBanks) {
		if err := CheckBank(bank); err != nil {
			wrong("%w", err)
		}
	}
	for _, bank := range s.WriteBanks {
		if s.Banks != nil && !slices.Contains(s.Banks, bank) {
			wrong("WriteBanks has %q, which is not among the banks", bank)
		}
	}
	if err := CheckTags(m.Tags); err != nil {
		wrong("Tags: %w", err)
	}
	if m.MaxTokens < 0 {
		wrong("MaxTokens is %d: it bounds the block in bytes, and 0 inherits", m.MaxTokens)
	}
	if m.Recall.mode == "query" && len(m.Recall.query) == 0 {
		wrong("RecallBy an empty query finds nothing: use RecallOff")
	}
	for _, field := range []struct {
		name, value string
		known       []string
	}{
		{"Budget", s.Budget, []string{"", "low", "mid", "high"}}, {"Retain", s.Retain, []string{"", "on-complete", "off"}},
		{"Tools", s.Tools, []string{"", "on", "files", "off"}},
	} {
		if !slices.Contains(field.known, field.value) {
			wrong("%s is %q: use the constants of package memory", field.name, field.value)
		}
	}
	if m.Tools == Files && m.WriteBanks != nil && len(m.WriteBanks) == 0 {
		wrong("Tools is Files and WriteBanks is empty: there would be no bank to keep files in")
	}
	if slices.Contains(m.Primers, "") {
		wrong("Primers has an empty id")
	}
	return s, errors.Join(errs...)
}
