package main

import (
	"strings"
	"testing"
)

// TestPlanningPays: a hundred turns need a fifth of the tokens, lose no fact, and change nothing that was sent before but for planned
// rewrites. All of this is deterministic; what the engine's time is only the command measures.
func TestPlanningPays(t *testing.T) {
	results, err := compare(t.Context(), compared, func() (place, error) {
		return fleeting(t.TempDir()), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, missed := range judge(results) {
		t.Error(missed)
	}
	whole, byDefault, soon, small := results[0], results[1], results[2], results[3]
	if whole.calls != turns || whole.known != 30 || whole.clearings+whole.compactions+whole.offloads+whole.pointers+whole.lookups != 0 {
		t.Errorf("without planning: %+v", whole)
	}
	if low, _ := least(whole.stable); low != 1 {
		t.Errorf("without planning a window has %.3f of the one before", low)
	}
	for _, r := range results[1:] {
		if r.offloads == 0 || r.clearings == 0 || r.pointers == 0 || r.lookups == 0 || r.kept != 30 || r.cost >= whole.cost {
			t.Errorf("%s: this test has no teeth: %+v", r.way.name, r)
		}
	}
	if byDefault.compactions+soon.compactions != 0 || small.compactions == 0 || small.summed == 0 {
		t.Errorf("compactions: %d, %d, %d, facts from summaries %d", byDefault.compactions, soon.compactions, small.compactions, small.summed)
	}
	if t.Failed() {
		var table strings.Builder
		tell(&table, results)
		t.Log("\n" + table.String())
	}
}

// TestPlanningPaysWhereResultsAreLarge: with the defaults, too, a search through the web needs a fifth of the tokens.
func TestPlanningPaysWhereResultsAreLarge(t *testing.T) {
	results, err := compare(t.Context(), searched, func() (place, error) {
		return fleeting(t.TempDir()), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, missed := range judge(results) {
		t.Error(missed)
	}
	if whole, r := results[0], results[1]; whole.calls != turns || whole.known != 30 || r.offloads == 0 || r.lookups == 0 || r.kept != 30 || r.cost >= whole.cost {
		t.Errorf("this test has no teeth: %+v, %+v", whole, r)
	}
}

// TestTheCacheFollowsItsRules: what was marked before is found, within the look-back; what is behind it is written up to the last mark.
func TestTheCacheFollowsItsRules(t *testing.T) {
	m := newMeter()
	block := strings.Repeat("x", 4*rules.Minimum)
	list := []piece{{block}}
	if u := m.cached(list, []int{0}); u.CacheRead != 0 || u.CacheWrite != int64(rules.Minimum) || u.Input != 0 {
		t.Errorf("the first call: %+v", u)
	}
	list = append(list, piece{"aaaa"}, piece{"bbbb"})
	if u := m.cached(list, []int{1}); u.CacheRead != int64(rules.Minimum) || u.CacheWrite != 1 || u.Input != 1 {
		t.Errorf("one block more: %+v", u)
	}
	for range rules.Lookback {
		list = append(list, piece{"cccc"})
	}
	if u := m.cached(list, []int{len(list) - 1}); u.CacheRead != 0 || u.Input != 0 {
		t.Errorf("beyond the look-back: %+v", u)
	}
	list[0] = piece{"y" + block[1:]}
	if u := m.cached(list, []int{1, len(list) - 1}); u.CacheRead != 0 {
		t.Errorf("another first byte: %+v", u)
	}
	if u := newMeter().cached([]piece{{"short"}}, []int{0}); u.CacheWrite != 0 || u.Input != 2 {
		t.Errorf("below the minimum: %+v", u)
	}
}
