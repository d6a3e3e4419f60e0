package contextlint

import (
	"fmt"
	"strings"
	"time"

	"github.com/cairnrun/cairn/internal/stamp"
	"github.com/cairnrun/cairn/task/agent/cachereport"
	"github.com/cairnrun/cairn/task/agent/window"
)

// today is how far from the render a date may be and still be that of today.
const today = 48 * time.Hour

// inPrefix says that a part is the same for all conversations of an agent.
func inPrefix(p window.Part) bool {
	return p == window.PartTools || p == window.PartSystem || p == window.PartExamples
}

// prefix finds what changes where nothing should: by how the renders differ, and by what looks as if it changed.
func prefix(t Task) (list []Finding) {
	first := t.Renders[0]
	for _, r := range t.Renders[1:] {
		if d := cachereport.Differ(first.view(), r.view()); d != nil && inPrefix(d.Part) {
			list = append(list, differs(d))
			break
		}
	}
	if len(list) > 0 && list[0].Code == ClockInPrefix {
		return list // what differs has been told
	}
	for _, s := range first.spans() {
		if !inPrefix(s.Part) {
			continue
		}
		for _, found := range stamp.Find(s.Text) {
			if !changes(found, first.Now) {
				continue
			}
			what := fmt.Sprintf("%s has %q in it", named(s.Part, s.Name), found.Text)
			list = append(list, Finding{Code: ClockInPrefix, Part: s.Part, What: what, Why: clockCosts, Do: clockHelps})
			break // one of a piece will do
		}
	}
	return list
}

const (
	clockCosts = "everything behind the first byte that changes is read anew, at the full price, by each conversation"
	clockHelps = "move what changes to the end of the prompt, or have a tool tell it; if it never changes, all is well"
)

// changes says that something which looks like a moment or an id is likely to be another one in the next run.
func changes(s stamp.Stamp, now time.Time) bool {
	switch s.Kind {
	case stamp.ID:
		return true
	case stamp.Time:
		return strings.ContainsAny(s.Text, "-:") || s.Near(now, today)
	}
	return s.Near(now, today)
}

// differs is the finding of a difference between two renders.
func differs(d *cachereport.Difference) Finding {
	if d.Cause == cachereport.ByTools {
		return Finding{Code: VaryingTools, Part: d.Part,
			What: fmt.Sprintf("the tools are not the same in two renders: %s and %s", listed(d.Was), listed(d.Is)),
			Why:  "tools are the first thing in a window: with another set or order nothing of it is found in the cache",
			Do:   "build the list in a fixed order, not out of a map, and mask tools that are not to be used (Agent.Mask) rather than leave them out"}
	}
	what := fmt.Sprintf("%s is not the same in two renders: at byte %d stands %q, and %q", named(d.Part, d.Name), d.Byte, d.Was, d.Is)
	return Finding{Code: ClockInPrefix, Part: d.Part, What: what, Why: clockCosts, Do: clockHelps}
}

func listed(names string) string {
	if names == "" {
		return "none"
	}
	return strings.ReplaceAll(names, " ", ", ")
}

// named is a part as people call it.
func named(p window.Part, name string) string {
	switch p {
	case window.PartTools:
		return "the definition of the tool " + name
	case window.PartSystem:
		return "the system text"
	case window.PartExamples:
		return "what the examples show"
	case window.PartDeps:
		return fmt.Sprintf("the part %q of the prompt", name)
	}
	return "the " + string(p)
}
