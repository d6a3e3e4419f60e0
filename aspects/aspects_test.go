package aspects_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
)

func TestMistakesOfABudget(t *testing.T) {
	tests := map[string]struct {
		node aspects.Aspects
		want string
	}{
		"negative limit":     {aspects.Aspects{Tokens: aspects.Budget{Max: -1}}, "budget of tokens: a Max of -1"},
		"negative per task":  {aspects.Aspects{Cost: aspects.Budget{PerTask: -1}}, "budget of cost"},
		"unknown mode":       {aspects.Aspects{Latency: aspects.Budget{Max: 1, OnExceeded: "explode"}}, `OnExceeded is "explode"`},
		"mode without limit": {aspects.Aspects{Tokens: aspects.Budget{OnExceeded: aspects.Warn}}, "and no limit"},
		"reserved time":      {aspects.Aspects{Latency: aspects.Budget{Max: 9, Reserve: 1}}, "can't be reserved"},
		"lonely reserve":     {aspects.Aspects{Tokens: aspects.Budget{PerTask: 1, Reserve: 1}}, "a Reserve needs a Max"},
		"too much reserve":   {aspects.Aspects{Tokens: aspects.Budget{Max: 1, Reserve: 2}}, "more than Max"},
		"nothing and more":   {aspects.Aspects{Tracking: aspects.TrackNothing | aspects.TrackCost}, "TrackNothing and more"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			spec := tt.node.Lower()
			if len(spec.Mistakes) != 1 || !strings.Contains(spec.Mistakes[0].Error(), tt.want) {
				t.Errorf("%v, want %q", spec.Mistakes, tt.want)
			}
		})
	}
	good := aspects.Aspects{ID: "b", Tokens: aspects.Budget{Max: 10, PerTask: 20, Reserve: 10, OnExceeded: aspects.SkipRemaining},
		Cost: aspects.Budget{Max: 3 * aspects.Dollar}, Latency: aspects.Budget{Max: 2 * aspects.Minute}, Tracking: aspects.TrackCost | aspects.TrackTokens}
	spec := good.Lower()
	if len(spec.Mistakes) > 0 || spec.Kind != cairn.KindAspects || spec.ID != "b" || spec.Aspects.Cost.Max != 3_000_000 || spec.Aspects.Latency.Max != 120_000 {
		t.Errorf("%+v", spec)
	}
	if !spec.Aspects.Tracking.Tracks(cairn.TrackCost) || spec.Aspects.Tracking.Tracks(cairn.TrackLatency) || !cairn.Tracking(0).Tracks(cairn.TrackLatency) {
		t.Error("Tracking tracks something else")
	}
}

func TestBreachOf(t *testing.T) {
	want := aspects.Breach{Budget: "#aspects", Measure: cairn.Cost, Limit: 2 * aspects.Dollar, Spent: 2_500_000, Path: "work[3]/step"}
	detail, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	f := cairn.Failure{Code: aspects.BudgetExceeded, Detail: detail}
	if got, ok := aspects.BreachOf(f); !ok || got != want || !errors.Is(&f, aspects.BudgetExceeded) {
		t.Errorf("%+v %t", got, ok)
	}
	if got := want.String(); got != "cost of #aspects: $2.50 spent of $2.00" {
		t.Error(got)
	}
	for _, f := range []cairn.Failure{{Code: "OTHER", Detail: detail}, {Code: aspects.BudgetExceeded}} {
		if _, ok := aspects.BreachOf(f); ok {
			t.Errorf("%v is no breach", f)
		}
	}
}
