package aspects_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
)

func names(ms aspects.Models) []string { return slices.Sorted(maps.Keys(ms)) }

// What the makers' pages say a call of a million tokens of each kind costs, in micro-dollars.
func TestPublishedPrices(t *testing.T) {
	ms := aspects.DefaultModels()
	for _, c := range []struct {
		model                                 string
		input, output, read, write, hourWrite int64
	}{
		{"claude-fable-5-1", 10_000_000, 50_000_000, 250_000, 12_500_000, 20_000_000},
		{"claude-opus-4-5-20251101", 5_000_000, 25_000_000, 500_000, 6_250_000, 10_000_000},
		{"claude-opus-5-5", 4_000_000, 20_000_000, 200_000, 5_000_000, 8_000_000},
		{"claude-sonnet-5-5", 2_000_000, 10_000_000, 100_000, 2_500_000, 4_000_000},
		{"claude-3-5-haiku-20241022", 800_000, 4_000_000, 80_000, 1_000_000, 1_600_000},
		{"claude-haiku-5-5", 500_000, 2_500_000, 50_000, 625_000, 1_000_000}, // a million is a long prompt
		{"claude-sonnet-4-5", 6_000_000, 22_500_000, 600_000, 7_500_000, 12_000_000},
		{"gpt-6.1-terra", 2_000_000, 7_500_000, 100_000, 2_500_000, 5_000_000},
		{"gpt-5.4", 5_000_000, 22_500_000, 500_000, 6_250_000, 10_000_000},
		{"gemini-2.5-pro", 2_500_000, 15_000_000, 250_000, 3_125_000, 5_000_000},
	} {
		for kind, k := range map[string]struct {
			usage cairn.Usage
			want  int64
		}{
			"input":      {cairn.Usage{Input: million}, c.input},
			"output":     {cairn.Usage{Input: million, Output: million}, c.input + c.output},
			"read":       {cairn.Usage{CacheRead: million}, c.read},
			"write":      {cairn.Usage{CacheWrite: million}, c.write},
			"write 1h":   {cairn.Usage{CacheWrite: million, CacheWrite1h: million}, c.hourWrite},
			"two writes": {cairn.Usage{CacheWrite: 2 * million, CacheWrite1h: million}, c.write + c.hourWrite},
		} {
			k.usage.Model = c.model
			if got, ok := ms.Cost(k.usage); !ok || got != k.want {
				t.Errorf("%s, %s: %d, want %d", c.model, kind, got, k.want)
			}
		}
	}
	short := cairn.Usage{Model: "claude-haiku-5-5", Input: 60_000, CacheRead: 40_000, Output: 1000}
	if got, _ := ms.Cost(short); got != 6000+400+500 {
		t.Errorf("a short prompt costs %d", got)
	}
}

func TestEveryDefaultModelHasPricesAndAWindow(t *testing.T) {
	for name, m := range aspects.DefaultModels() {
		if m.Input <= 0 || m.Output <= m.Input || m.CacheRead > m.Input || m.Window < 100_000 || m.Long != nil && m.Long.Input <= m.Input {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func TestDefaultModelsAreACopy(t *testing.T) {
	ms := aspects.DefaultModels()
	ms["claude-haiku-5-5"].Long.Input = 1
	clear(ms)
	if m, ok := aspects.DefaultModels().Find("claude-haiku-5-5"); !ok || m.Long.Input == 1 {
		t.Errorf("the next copy has %+v", m)
	}
}
