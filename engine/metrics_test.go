package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/metrics"
	"github.com/cairnrun/cairn/task"
)

// spending is a task whose attempts make calls.
func spending(id string, calls ...cairn.Usage) task.Task[int] {
	return task.Task[int]{ID: cairn.Key[int](id), Retry: task.Retry{Max: 1}, Do: func(ctx context.Context) (int, error) {
		for _, u := range calls {
			if err := task.Admit(ctx); err != nil {
				return 0, err
			}
			task.Spend(ctx, u)
		}
		if strings.HasPrefix(id, "bad") {
			return 0, errors.New("bad")
		}
		return 1, nil
	}}
}

// metered is a workflow with something for each metric, in a fixed order.
var metered = cairn.Workflow[string, int]{Name: "metered", Result: second, Render: func(*cairn.View, string) cairn.Node {
	tracked := func(id string, tracking cairn.Tracking, children ...cairn.Node) cairn.Node {
		return aspects.Aspects{ID: id, Tracking: tracking, Children: children}
	}
	same := func(id string) cairn.Node {
		t := spending(id, cairn.Usage{Model: "priced", Output: 1})
		t.Version, t.With = "1", cairn.With{cache.Policy{Scope: cache.Run, Key: "same"}}
		return t
	}
	bad := spending("bad", cairn.Usage{Model: "priced", Input: 10})
	bad.Optional = true
	return cairn.Nodes{
		spending("kinds", cairn.Usage{Model: "priced", Input: 1, Output: 20, CacheRead: 300, CacheWrite: 9000, CacheWrite1h: 4000}),
		spending("wide", cairn.Usage{Model: "priced", Input: 50_001}, cairn.Usage{Model: "nameless \"model\"", Input: 2_000_000}),
		tracked("none", aspects.TrackNothing, spending("unseen", cairn.Usage{Model: "secret", Input: 5})),
		tracked("cost", aspects.TrackCost, spending("dear", cairn.Usage{Model: "dear", Output: 3})),
		bad, same("one"), same("two"),
		aspects.Aspects{ID: "warned", Tokens: aspects.Budget{Max: 5, OnExceeded: aspects.Warn}, Children: cairn.Nodes{spending("over", cairn.Usage{Model: "priced", Output: 5})}},
		aspects.Aspects{ID: "skipped", Cost: aspects.Budget{Max: 1, OnExceeded: aspects.SkipRemaining}, Children: cairn.Nodes{
			spending("first", cairn.Usage{Model: "dear", Output: 1}), spending("never")}},
		cairn.Try{Only: cairn.Codes{aspects.BudgetExceeded}, Body: aspects.Aspects{ID: "strict", Tokens: aspects.Budget{PerTask: 5}, Children: cairn.Nodes{
			spending("greedy", cairn.Usage{Model: "priced", Output: 6}, cairn.Usage{Model: "priced", Output: 6})}},
			Catch: func(*cairn.View, cairn.Failure) cairn.Node { return spending(string(second)) }},
	}
}}

func TestMetrics(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	var live, stored metrics.Registry
	models := aspects.Models{"priced": {Input: 1_000_000, Output: 1_000_000}, "dear": {Output: 5_000_000}, "secret": {Input: 1_000_000}}
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{metered}, Models: models, Metrics: &live})
	run, err := e.Start(t.Context(), "metered", json.RawMessage(`""`), engine.StartOptions{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, run, core.Finished)
	if err := engine.MeasureRun(t.Context(), store, "r", &stored); err != nil {
		t.Fatal(err)
	}
	got, again := written(t, &live), written(t, &stored)
	if got != again {
		t.Errorf("the frames say:\n%s\nand the live run said:\n%s", again, got)
	}
	for _, want := range []string{
		`cairn_attempts_total{workflow="metered",outcome="done"} 8`, // the hit is none
		`cairn_attempts_total{workflow="metered",outcome="failed"} 1`,
		`cairn_attempts_total{workflow="metered",outcome="refused"} 1`,
		`cairn_cache_hits_total{workflow="metered"} 1`,
		`cairn_tokens_total{workflow="metered",model="priced",kind="input"} 50012`,
		`cairn_tokens_total{workflow="metered",model="priced",kind="output"} 32`,
		`cairn_tokens_total{workflow="metered",model="priced",kind="cache_read"} 300`,
		`cairn_tokens_total{workflow="metered",model="priced",kind="cache_write"} 5000`,
		`cairn_tokens_total{workflow="metered",model="priced",kind="cache_write_1h"} 4000`,
		`cairn_cost_microdollars_total{workflow="metered",model="dear"} 20`,
		`cairn_context_window_tokens{workflow="metered",bucket="50k"} 6`,
		`cairn_context_window_tokens{workflow="metered",bucket="100k"} 1`,
		`cairn_context_window_tokens{workflow="metered",bucket="+Inf"} 1`,
		`cairn_unpriced_calls_total{workflow="metered",model="nameless \"model\""} 1`,
		`cairn_budget_breaches_total{workflow="metered",measure="tokens",mode="warn"} 1`,
		`cairn_budget_breaches_total{workflow="metered",measure="cost",mode="skip-remaining"} 1`,
		`cairn_budget_breaches_total{workflow="metered",measure="tokens",mode="fail"} 1`,
		`cairn_runs_ended_total{workflow="metered",status="finished"} 1`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
	if strings.Contains(got, "secret") || strings.Contains(got, `cairn_tokens_total{workflow="metered",model="dear",kind="input"`) {
		t.Error("what is not tracked was counted")
	}
	if t.Failed() {
		t.Log(got)
	}
}

// A refusal of the store, or a name that no engine counts, is not hidden.
func TestMeasureRunOfNoRun(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	if err := engine.MeasureRun(t.Context(), store, "nobody", &metrics.Registry{}); !errors.Is(err, engine.RunNotFound) {
		t.Error(err)
	}
	if engine.MetricHelp(engine.MetricRecalls) == "" || engine.MetricHelp("other") != "" {
		t.Error("help")
	}
}

func written(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	var b strings.Builder
	if _, err := r.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Whatever interrupts a run, what was measured while it ran is what its frames say.
func TestMetricsOverInterruptions(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	var live, stored metrics.Registry
	models := aspects.Models{"m": {Input: 1_000_000}}
	begun := make(chan struct{}, 1)
	flow := func(limit int64, body func(context.Context) (int, error)) cairn.Definer {
		return workflow(func(*cairn.View) cairn.Node {
			return aspects.Aspects{Tokens: aspects.Budget{Max: limit}, Children: cairn.Nodes{
				spending("first", cairn.Usage{Model: "m", Input: 100}),
				task.Task[int]{ID: "hangs", Do: body},
				spending(string(second), cairn.Usage{Model: "m", Input: 7}),
			}}
		})
	}
	with := func(wf cairn.Definer) *engine.Engine {
		return open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}, Models: models, Metrics: &live})
	}
	e := with(flow(1000, hang(begun)))
	run := begin(t, e)
	<-begun
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-run.Done()
	resumed := func(e *engine.Engine, want core.Status) {
		t.Helper()
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, run, want)
	}
	resumed(with(flow(100, do(1))), core.Failed)
	resumed(with(flow(500, do(1))), core.Finished)
	if err := engine.MeasureRun(t.Context(), store, "r", &stored); err != nil {
		t.Fatal(err)
	}
	got := written(t, &live)
	if again := written(t, &stored); got != again {
		t.Errorf("the frames say:\n%s\nand the live run said:\n%s", again, got)
	}
	for _, want := range []string{
		`cairn_attempts_total{workflow="w",outcome="lost"} 1`, `cairn_attempts_total{workflow="w",outcome="done"} 3`,
		`cairn_runs_ended_total{workflow="w",status="failed"} 1`, `cairn_runs_ended_total{workflow="w",status="finished"} 1`,
		`cairn_tokens_total{workflow="w",model="m",kind="input"} 107`,
	} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s in\n%s", want, got)
		}
	}
}
