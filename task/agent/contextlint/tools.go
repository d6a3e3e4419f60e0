package contextlint

import (
	"fmt"
	"strings"

	"github.com/cairnrun/cairn/task/agent/window"
)

// tools finds sets that are too large.
func tools(t Task) (list []Finding) {
	setup := t.Renders[0].Opening.Setup
	if n := len(setup.Tools); n > MaxTools {
		list = append(list, Finding{Code: TooManyTools, Part: window.PartTools,
			What: fmt.Sprintf("the agent has %d tools, more than %d", n, MaxTools),
			Why:  "models choose worse among many tools, and read all of their definitions in each call",
			Do:   "give the tools of rarer work to a delegate, or put several into one with an argument that says which"})
	}
	tokens := 0
	for _, s := range t.Renders[0].spans() {
		if s.Part == window.PartTools {
			tokens += s.Tokens
		}
	}
	if size := setup.Size; size > 0 && 100*tokens > MaxToolShare*size {
		list = append(list, Finding{Code: LongTools, Part: window.PartTools,
			What: fmt.Sprintf("the definitions of the tools have about %d tokens, more than %d %% of the model's window of %d", tokens, MaxToolShare, size),
			Why:  "they stand in each call, and leave less room for the work",
			Do:   "shorten descriptions and schemas, drop tools that are hardly used, or take a model with a larger window"})
	}
	return list
}

// overlaps finds tools that a model can't tell apart.
func overlaps(t Task) (list []Finding) {
	all := t.Renders[0].Opening.Setup.Tools
	sets := make([]map[string]bool, len(all))
	for i, one := range all {
		sets[i] = words(one.Description)
	}
	for i := range all {
		for j := range i {
			a, b := all[j], all[i]
			if a.Description == "" || b.Description == "" {
				continue
			}
			share := jaccard(sets[i], sets[j])
			if len(sets[i]) < 3 || len(sets[j]) < 3 {
				share = 0
			}
			if strings.TrimSpace(a.Description) == strings.TrimSpace(b.Description) {
				share = 100
			}
			if share >= Overlap {
				list = append(list, Finding{Code: OverlappingTools, Part: window.PartTools,
					What: fmt.Sprintf("the descriptions of %s and %s share %d %% of their words", a.Name, b.Name, share),
					Why:  "where a person can't say which tool to use, a model can't either: it calls the wrong one, or both",
					Do:   "say in each description what it is for and the other one is not, or make them one tool"})
			}
		}
	}
	return list
}

// examples finds those that teach the same.
func examples(t Task) (list []Finding) {
	all := t.Renders[0].Opening.Setup.Examples
	sets := make([]map[string]bool, len(all))
	for i, e := range all {
		sets[i] = shingles(e.Prompt + "\n" + e.Answer)
	}
	for i := range all {
		for j := range i {
			if share := jaccard(sets[i], sets[j]); share >= Similar {
				list = append(list, Finding{Code: SimilarExamples, Part: window.PartExamples,
					What: fmt.Sprintf("the examples %d and %d are near-duplicates: %d %% of what they say is the same", j+1, i+1, share),
					Why:  "they cost tokens in each call, and a model takes what they have in common for a rule",
					Do:   "keep one of them, or replace the other by a case that is different"})
			}
		}
	}
	return list
}
