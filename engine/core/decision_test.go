package core_test

import (
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestSpendingText: what decisions about budgets say to people.
func TestSpendingText(t *testing.T) {
	breach := &cairn.Breach{Budget: "#aspects", Measure: cairn.Cost, PerTask: true, Limit: 1_500_000, Spent: 1_500_002, Path: "a"}
	limits := &cairn.AspectsSpec{Tokens: cairn.Budget{Max: 150_000}, Cost: cairn.Budget{PerTask: 50_000, OnExceeded: cairn.WarnExceeded},
		Latency: cairn.Budget{Max: 90_000, OnExceeded: cairn.SkipExceeded}}
	for want, d := range map[string]core.Decision{
		"limits #aspects: tokens 150,000 (fail), cost $0.05 per task (warn), latency 1m30s (skip-remaining)": {
			Kind: core.Limited, Path: "#aspects", Limits: limits},
		"limits #aspects: no limits": {Kind: core.Limited, Path: "#aspects", Limits: &cairn.AspectsSpec{}},
		"breach #aspects: cost $1.500002 spent of $1.50 per task (warn), by a": {
			Kind: core.Breached, Path: "#aspects", Reason: "warn", Breach: breach},
		"context a: 120,000 tokens of context, over 100k":                       {Kind: core.Crowded, Path: "a", At: 120_000, I: 2},
		"context a: 120,000 tokens of context, over half of the model's window": {Kind: core.Crowded, Path: "a", At: 120_000, Yes: true},
		`unpriced a: model "m" has no price`:                                    {Kind: core.Unpriced, Path: "a", Reason: "m"},
	} {
		if got := d.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for i, want := range []string{"50k", "100k", "200k", "500k", "1M", "+Inf"} {
		if got := core.BucketName(i); got != want {
			t.Errorf("bucket %d is %s, want %s", i, got, want)
		}
	}
}
