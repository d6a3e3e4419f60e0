package contextlint

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/window"
)

// The codes of findings.
const (
	OverlappingTools cairn.Code = "OVERLAPPING_TOOLS"
	TooManyTools     cairn.Code = "TOO_MANY_TOOLS"
	LongTools        cairn.Code = "LONG_TOOLS"
	SimilarExamples  cairn.Code = "SIMILAR_EXAMPLES"
	ClockInPrefix    cairn.Code = "CLOCK_IN_PREFIX"
	VaryingTools     cairn.Code = "VARYING_TOOLS"
	UnsortedJSON     cairn.Code = "UNSORTED_JSON"
	SharedRunData    cairn.Code = "SHARED_RUN_DATA"
)

// Finding is a warning.
type Finding struct {
	Code cairn.Code `json:"code"`
	// Paths are the tasks that it is about: those that share an agent share its findings.
	Paths []string `json:"paths"`
	// Part is where in the window it is.
	Part window.Part `json:"part,omitempty"`
	// What was found, Why it costs something, and what to Do about it.
	What string `json:"what"`
	Why  string `json:"why"`
	Do   string `json:"do"`
}

// Task is a task of an agent.
type Task struct {
	Path string
	// Renders are at least one.
	Renders []Render
	// Global says that its output is shared among workflows by a cache of the Global scope.
	Global bool
	// Input is the run's, the same in all renders.
	Input json.RawMessage
}

// Render is how the task's conversation would begin in a run.
type Render struct {
	Opening window.Opening
	// Run is the run's id, Now the time.
	Run string
	Now time.Time
}

// Limits of what is found to be too much.
const (
	// MaxTools is the most tools of an agent, MaxToolShare how much of a window their definitions may take, in per cent.
	MaxTools     = 20
	MaxToolShare = 10
	// Overlap and Similar are from how much on, in per cent, descriptions overlap and examples are near-duplicates.
	Overlap = 60
	Similar = 60
)

// Check looks at the tasks of a workflow. Findings come by code, and in the order of the tasks.
func Check(tasks []Task) []Finding {
	var all []Finding
	add := func(path string, f Finding) {
		i := slices.IndexFunc(all, func(other Finding) bool { return other.Code == f.Code && other.What == f.What })
		if i < 0 {
			f.Paths = []string{path}
			all = append(all, f)
		} else if !slices.Contains(all[i].Paths, path) {
			all[i].Paths = append(all[i].Paths, path)
		}
	}
	for _, t := range tasks {
		if len(t.Renders) == 0 {
			continue
		}
		for _, check := range []func(Task) []Finding{tools, overlaps, examples, prefix, unsorted, shared} {
			for _, f := range check(t) {
				add(t.Path, f)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Finding) int { return slices.Index(order, a.Code) - slices.Index(order, b.Code) })
	return all
}

// order is that of the findings: what costs most comes first.
var order = []cairn.Code{ClockInPrefix, VaryingTools, UnsortedJSON, SharedRunData, LongTools, TooManyTools, OverlappingTools, SimilarExamples}

// spans are the pieces of the first window.
func (r Render) spans() []window.Span { return r.view().Spans() }

func (r Render) view() window.View { return window.Open(r.Opening).View(window.Plan{}) }
