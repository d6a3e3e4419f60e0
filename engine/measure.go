package engine

import (
	"context"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// Metrics counts what happens in runs. It is safe for concurrent use, quick, and must not call the engine: the goroutine
// that owns a run waits for it. Package engine/metrics has one that renders the text format of Prometheus.
type Metrics interface {
	// Count adds delta, which is positive, to the counter of the name and the labels. A name has the same labels, in the
	// same order, each time. The slice is the caller's again afterwards.
	Count(name string, delta int64, labels ...Label)
}

// Label parts a metric. Values are open: a model's name is what its provider reports.
type Label struct{ Name, Value string }

// The metrics of an engine. All are counters with the label workflow, besides those named; names and labels are stable.
// Tokens, cost, time and context are counted as the Tracking of the task's surroundings says, all else always.
const (
	// MetricFrames counts committed frames.
	MetricFrames = "cairn_frames_total"
	// MetricAttempts counts attempts that have ended, by outcome: done, failed, lost, refused (by a budget) or cancelled.
	// An output that was taken from the cache is none.
	MetricAttempts = "cairn_attempts_total"
	// MetricAttemptTime counts the milliseconds that attempts ran, by the times of frames, by outcome.
	MetricAttemptTime = "cairn_attempt_milliseconds_total"
	// MetricTokens counts tokens by model and kind: input, output, cache_read, cache_write (for minutes), cache_write_1h.
	// The kinds do not overlap.
	MetricTokens = "cairn_tokens_total"
	// MetricCost counts micro-dollars by model, as the price table of the engine that ran the call has it.
	MetricCost = "cairn_cost_microdollars_total"
	// MetricContext counts model calls by the bucket that their context is in: 50k, 100k, 200k, 500k, 1M, +Inf. Each call
	// is in one: they do not add up as those of a Prometheus histogram do.
	MetricContext = "cairn_context_window_tokens"
	// MetricCacheHits counts outputs taken from the cache of package cache.
	MetricCacheHits = "cairn_cache_hits_total"
	// MetricRecalls counts recalls of memory, by status: ok, empty, truncated, timeout, failed.
	MetricRecalls = "cairn_recalls_total"
	// MetricBreaches counts budgets' limits that were reached, by measure (tokens, cost, latency) and mode (fail, warn,
	// skip-remaining).
	MetricBreaches = "cairn_budget_breaches_total"
	// MetricUnpriced counts calls of models without a price, by model.
	MetricUnpriced = "cairn_unpriced_calls_total"
	// MetricRunsEnded counts runs that reached a final status: finished, failed, cancelled, continued. One that is reopened
	// ends once more.
	MetricRunsEnded = "cairn_runs_ended_total"
)

// metricHelp says in a line what a metric counts.
var metricHelp = map[string]string{
	MetricFrames:      "Frames committed.",
	MetricAttempts:    "Attempts of tasks that have ended, by outcome.",
	MetricAttemptTime: "Milliseconds that attempts of tasks ran, by outcome.",
	MetricTokens:      "Tokens of model calls, by model and kind.",
	MetricCost:        "Cost of model calls in micro-dollars, by model.",
	MetricContext:     "Model calls by the bucket of their context in tokens; each call is in one bucket.",
	MetricCacheHits:   "Outputs taken from the cache instead of running a task.",
	MetricRecalls:     "Recalls of memory, by status.",
	MetricBreaches:    "Limits of budgets reached, by measure and what that does.",
	MetricUnpriced:    "Model calls of models without a price, by model.",
	MetricRunsEnded:   "Runs that have ended, by status.",
}

// MetricHelp says in a line what one of the engine's metrics counts; "" for any other.
func MetricHelp(name string) string { return metricHelp[name] }

// Measure counts what happened in a frame. state is that after the frame: folded up to it, or as the step that made it
// has left it. Nothing else goes in, so stored frames give the numbers of the live run.
func Measure(to Metrics, state *core.State, f *core.Frame) {
	workflow := Label{"workflow", state.Workflow}
	to.Count(MetricFrames, 1, workflow)
	for _, a := range state.Ended() {
		measureAttempt(to, workflow, &a)
	}
	for i := range f.Events {
		for _, r := range f.Events[i].Recalls {
			to.Count(MetricRecalls, 1, workflow, Label{"status", string(r.Status)})
		}
	}
	for i := range f.Decisions {
		switch d := &f.Decisions[i]; {
		case d.Kind == core.Breached && d.Breach != nil:
			to.Count(MetricBreaches, 1, workflow, Label{"measure", string(d.Breach.Measure)},
				Label{"mode", core.ModeName(cairn.OnExceeded(d.Reason))})
		case d.Kind == core.Ended && d.Status.Terminal():
			to.Count(MetricRunsEnded, 1, workflow, Label{"status", string(d.Status)})
		}
	}
}

func measureAttempt(to Metrics, workflow Label, a *core.Attempt) {
	if a.Outcome == core.AttemptCached {
		to.Count(MetricCacheHits, 1, workflow)
		return
	}
	outcome := Label{"outcome", string(a.Outcome)}
	to.Count(MetricAttempts, 1, workflow, outcome)
	if a.Tracking.Tracks(cairn.TrackLatency) && a.Took > 0 {
		to.Count(MetricAttemptTime, a.Took, workflow, outcome)
	}
	for _, u := range a.Usage {
		model := Label{"model", u.Model}
		if a.Tracking.Tracks(cairn.TrackTokens) {
			for _, k := range TokenKinds(u) {
				if k.Tokens > 0 {
					to.Count(MetricTokens, k.Tokens, workflow, model, Label{"kind", k.Kind})
				}
			}
		}
		if a.Tracking.Tracks(cairn.TrackCost) {
			if u.Cost > 0 {
				to.Count(MetricCost, u.Cost, workflow, model)
			}
			if u.Unpriced {
				to.Count(MetricUnpriced, 1, workflow, model)
			}
		}
		if a.Tracking.Tracks(cairn.TrackContext) {
			to.Count(MetricContext, 1, workflow, Label{"bucket", core.BucketName(core.ContextBucket(u.Context()))})
		}
	}
}

// TokenKind is a part of what a model call has read or written.
type TokenKind struct {
	// Kind is the label kind of MetricTokens.
	Kind   string
	Tokens int64
}

// TokenKinds parts the tokens of a call by what they cost: no kind is a part of another, and together they are
// Usage.Tokens.
func TokenKinds(u cairn.Usage) [5]TokenKind {
	minutes, hour := u.Writes()
	return [...]TokenKind{{"input", max(u.Input, 0)}, {"output", max(u.Output, 0)}, {"cache_read", max(u.CacheRead, 0)},
		{"cache_write", minutes}, {"cache_write_1h", hour}}
}

// MeasureRun counts what happened in all stored frames of a run, as if it had been measured while it ran. Errors are those
// of Load.
func MeasureRun(ctx context.Context, store Store, id string, to Metrics) error {
	return FoldFrames(ctx, store, id, func(state *core.State, f *core.Frame) error {
		Measure(to, state, f)
		return nil
	})
}
