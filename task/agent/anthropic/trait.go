package anthropic

import (
	"strings"
	"time"

	"github.com/cairnrun/cairn/task/agent/window"
)

// trait is what is known of a model by its name.
type trait struct {
	// name is a part of the model's, whoever serves it.
	name string
	// window is in tokens, and so is minimum: the least prefix that is cached.
	window, minimum int
	// compacts says that the provider compacts for it.
	compacts bool
}

// traits are looked through from the top. Where minimums have been told differently over time the larger one stands: a mark
// on a prefix that is too short takes the place of one that would have been of use.
var traits = []trait{
	{"fable-", 1_000_000, 2048, true},
	{"mythos-", 1_000_000, 2048, true},
	{"opus-5", 1_000_000, 512, true},
	{"opus-4-8", 1_000_000, 4096, true},
	{"opus-4-7", 1_000_000, 4096, true},
	{"opus-4-6", 1_000_000, 4096, true},
	{"opus-4-5", 200_000, 4096, false},
	{"opus-4", 200_000, 1024, false},
	{"sonnet-5", 1_000_000, 1024, true},
	{"sonnet-4-6", 1_000_000, 2048, true},
	{"sonnet-4", 200_000, 1024, false},
	{"3-7-sonnet", 200_000, 1024, false},
	{"haiku-5", 1_000_000, 4096, true},
	{"haiku-4-5", 200_000, 4096, false},
	{"3-5-haiku", 200_000, 2048, false},
}

// traitOf is what is known of a model. Of an unknown one the least is promised, but nothing is denied.
func traitOf(model string) trait {
	for _, t := range traits {
		if strings.Contains(model, t.name) {
			return t
		}
	}
	return trait{window: 200_000, minimum: 4096, compacts: true}
}

// mostMarks is how many breakpoints the API takes.
const mostMarks = 4

// rules are how prefixes are cached.
func (m *Model) rules() window.Rules {
	r := window.Rules{Marks: mostMarks, Minimum: traitOf(m.cfg.Model).minimum, Lookback: 20, Life: 5 * time.Minute, Long: time.Hour}
	if m.cfg.CacheHour {
		r.Life = r.Long
	}
	return r
}
