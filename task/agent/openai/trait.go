package openai

import (
	"strings"
	"time"

	"github.com/cairnrun/cairn/task/agent/window"
)

// trait is what is known of a model by its name.
type trait struct {
	// name is what the model's begins with, or has behind a provider's.
	name string
	// window is in tokens.
	window int
	// life is how long a cached prefix is kept, long how long it can be had to; 0 is no longer than that.
	life, long time.Duration
	// options says that the longer life is one of prompt_cache_options, which younger models have.
	options bool
}

const day = 24 * time.Hour

// traits are looked through from the top.
var traits = []trait{
	{"gpt-6", 1_050_000, 30 * time.Minute, 12 * time.Hour, true},
	{"gpt-5.6", 1_050_000, 30 * time.Minute, 12 * time.Hour, true},
	{"gpt-5.5", 1_050_000, 5 * time.Minute, day, false},
	{"gpt-5.4-mini", 400_000, 5 * time.Minute, day, false},
	{"gpt-5.4-nano", 400_000, 5 * time.Minute, day, false},
	{"gpt-5.4", 1_050_000, 5 * time.Minute, day, false},
	{"gpt-5", 400_000, 5 * time.Minute, day, false},
	{"gpt-4.1", 1_047_576, 5 * time.Minute, day, false},
	{"gpt-4o", 128_000, 5 * time.Minute, 0, false},
	{"gpt-4-turbo", 128_000, 0, 0, false},
	{"o1-mini", 128_000, 5 * time.Minute, 0, false},
	{"o1-preview", 128_000, 5 * time.Minute, 0, false},
	{"o1", 200_000, 5 * time.Minute, 0, false},
	{"o3", 200_000, 5 * time.Minute, 0, false},
	{"o4", 200_000, 5 * time.Minute, 0, false},
}

// traitOf is what is known of a model. Of an unknown one nothing is, but that it caches as all do.
func traitOf(model string) trait {
	model = strings.TrimPrefix(model[strings.LastIndex(model, "/")+1:], "ft:")
	for _, t := range traits {
		if strings.HasPrefix(model, t.name) {
			if strings.HasSuffix(model, "-chat-latest") { // those of ChatGPT are smaller than their name
				t.window, t.long = 128_000, 0
			}
			return t
		}
	}
	return trait{life: 5 * time.Minute}
}

// official says whether it is OpenAI's own API that is spoken, rather than another server's idea of it.
func (m *Model) official() bool {
	return m.cfg.Provider == provider && (!m.cfg.Chat || m.cfg.BaseURL == "")
}

// rules are how prefixes are cached: by themselves. Servers of others may do the same, but nothing is known of it.
func (m *Model) rules() window.Rules {
	t := traitOf(m.cfg.Model)
	if !m.official() || t.life == 0 {
		return window.Rules{}
	}
	r := window.Rules{Minimum: 1024, Life: t.life, Long: t.long}
	if m.cfg.CacheLong && t.long > 0 {
		r.Life = t.long
	}
	return r
}
