package loop_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// ledger follows the attempts of a task, and what is in frames of what they have used.
type ledger struct {
	desk
	booked    int
	committed int64
}

// try makes an attempt. One that is lost comes to no frame.
func (l *ledger) try(t *testing.T, lost bool, body func(ctx context.Context) error) {
	t.Helper()
	call := l.call()
	call.Booked = l.booked
	before := l.purse.output()
	node := task.Task[string]{ID: "step", Do: func(ctx context.Context) (string, error) { return "", body(ctx) }}
	_, _ = node.Lower().Task.Run(cairn.WithCall(t.Context(), call), call)
	if !lost {
		l.booked = call.Attempt
		l.committed += l.purse.output() - before
	}
}

// pay is a turn that used so much.
func pay(turn loop.Turn, output int64) loop.Turn {
	turn.Usage = used(output)
	return turn
}

// TestUsageIsBookedOnce: what lost attempts have used is booked by the next one that comes to its frame, all of it, and by no
// other: also where that one does not come as far as they did, or asks the same twice.
func TestUsageIsBookedOnce(t *testing.T) {
	ask := func(a *loop.Agent) func(ctx context.Context) error {
		return func(ctx context.Context) error {
			_, err := a.Run(ctx, task.Request{Prompt: "do it"})
			return err
		}
	}
	walk := wants(use("a", "walk", `{}`))
	script := func() *loop.Agent {
		return &loop.Agent{Model: replies(pay(walk, 1), pay(walk, 2), pay(says("ok"), 4)), Tools: []cairn.Tool{echo("walk")}}
	}
	breaks := script()
	breaks.Model = replies(pay(walk, 1), pay(walk, 2)) // and then fails

	t.Run("by one that stops early", func(t *testing.T) {
		var l ledger
		l.try(t, true, ask(breaks))
		short := script()
		short.MaxTurns = 1
		l.try(t, false, ask(short))
		if l.committed != 3 {
			t.Errorf("%d tokens in frames, want those of both turns", l.committed)
		}
		l.try(t, false, ask(script())) // another conversation
		if l.committed != 3+7 {
			t.Errorf("%d tokens in frames", l.committed)
		}
	})
	t.Run("by one that asks twice", func(t *testing.T) {
		var l ledger
		l.try(t, true, ask(breaks))
		l.try(t, true, ask(breaks)) // lost, too, with all that it had booked
		l.try(t, false, func(ctx context.Context) error { return errors.Join(ask(script())(ctx), ask(script())(ctx)) })
		if l.committed != 7 {
			t.Errorf("%d tokens in frames, want 7", l.committed)
		}
		l.try(t, false, ask(script()))
		if l.committed != 7 {
			t.Errorf("%d tokens in frames after an attempt without a call", l.committed)
		}
	})
	t.Run("with calls that were made again", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			m := &model{answer: func(_ context.Context, _ loop.Window, n int) (loop.Turn, error) {
				if tries++; tries == 1 {
					return loop.Turn{Usage: used(10)}, &cairn.Failure{Code: loop.ModelOverloaded}
				}
				if n == 1 {
					return pay(walk, 1), nil
				}
				return loop.Turn{}, errKilled
			}}
			var l ledger
			l.try(t, true, ask(&loop.Agent{Model: m, Tools: []cairn.Tool{echo("walk")}}))
			l.try(t, false, ask(script()))
			if l.committed != 10+1+2+4 {
				t.Errorf("%d tokens in frames, want those of the failed call, too", l.committed)
			}
		})
	})
	t.Run("of a compaction that is in a frame", func(t *testing.T) {
		long := strings.Repeat("word ", 2000)
		broken := &model{}
		broken.answer = func(context.Context, loop.Window, int) (loop.Turn, error) {
			if broken.calls() <= 2 {
				return pay(wants(use("a", "walk", fmt.Sprintf(`{"n":%d}`, broken.calls()))), 1), nil
			}
			return loop.Turn{}, &cairn.Failure{Code: loop.ModelUnavailable}
		}
		agent := func(m loop.Model) *loop.Agent {
			return &loop.Agent{Model: m, Tools: []cairn.Tool{tool("walk", func(_ context.Context, in string) (string, error) { return in + long, nil })}, Retries: -1, Offload: -1,
				Reduce: window.Reduction{Trigger: -1, Free: 100, Compact: 500}, Compactor: &loop.Compactor{Model: &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) { return pay(says("short"), 100), nil }}}}
		}
		var l ledger
		l.try(t, false, ask(agent(broken))) // two turns, the compaction, and no third turn
		if l.committed != 102 {
			t.Fatalf("%d tokens in frames", l.committed)
		}
		whole := &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) { return pay(says("ok"), 2), nil }}
		l.try(t, true, ask(agent(whole)))
		l.try(t, false, ask(agent(whole)))
		if l.committed != 104 || whole.calls() != 1 {
			t.Errorf("%d tokens in frames after %d calls, want 104 after 1", l.committed, whole.calls())
		}
		var refused ledger
		refused.purse.admit = func(calls int) error {
			if calls == 4 { // behind the compaction
				return &cairn.Failure{Code: cairn.BudgetExceeded}
			}
			return nil
		}
		broken.windows = nil
		refused.try(t, true, ask(agent(broken)))
		refused.try(t, false, ask(agent(whole)))
		if refused.committed != 104 {
			t.Errorf("%d tokens in frames, want 104", refused.committed)
		}
	})
}

// TestTheEngineWaits as long as a provider asks for, and goes on with the conversation: no call is made before, none again.
func TestTheEngineWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var asked []time.Duration
		m := &model{answer: func(_ context.Context, _ loop.Window, n int) (loop.Turn, error) {
			switch asked = append(asked, time.Since(begun).Truncate(time.Second)); len(asked) {
			case 1:
				return wants(use("a", "walk", `{}`)), nil
			case 2:
				return loop.Turn{}, loop.FromStatus("p", 429, "slow down", 17*time.Minute)
			}
			return says("ok"), nil
		}}
		_, out := runs(t, "r", func(*cairn.View) cairn.Node {
			return task.Task[string]{ID: lastKey, Agent: &loop.Agent{Model: m, Tools: []cairn.Tool{echo("walk")}}, Prompt: func(*cairn.View) string { return "go" }}
		})
		if out.Status != core.Finished || string(out.Result) != `"ok"` {
			t.Fatalf("%+v", out)
		}
		if len(asked) != 3 || asked[1] != 0 || asked[2] < 17*time.Minute || asked[2] > 18*time.Minute {
			t.Errorf("the model was asked at %v", asked)
		}
	})
}

// TestAStreamIsASignOfLife: an attempt whose model, or the wait for its turn, takes longer than the heartbeat may be away is not
// taken for dead.
func TestAStreamIsASignOfLife(t *testing.T) {
	for name, c := range map[string]struct {
		model  func(m *model) loop.Model
		silent bool
		want   core.Status
	}{
		"a slow stream": {func(m *model) loop.Model { return m }, false, core.Finished},
		"a queue": {func(m *model) loop.Model {
			by := &loop.Limit{PerMinute: 1}
			_, _ = loop.Limited{Model: replies(says("x")), By: by}.Call(context.Background(), loop.Window{})
			return loop.Limited{Model: m, By: by}
		}, false, core.Finished},
		"silence": {func(m *model) loop.Model { return m }, true, core.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &model{answer: func(ctx context.Context, w loop.Window, _ int) (loop.Turn, error) {
					for range 60 {
						select {
						case <-time.After(time.Second):
						case <-ctx.Done():
							return loop.Turn{}, ctx.Err()
						}
						if !c.silent {
							w.Observe(loop.Event{Kind: loop.Progress})
						}
					}
					return says("ok"), nil
				}}
				asks := c.model(m)
				_, out := runs(t, "r", func(*cairn.View) cairn.Node {
					return task.Task[string]{ID: lastKey, Agent: &loop.Agent{Model: asks}, Prompt: func(*cairn.View) string { return "go" }, Heartbeat: 10 * time.Second, Retry: task.Retry{Max: 1}}
				})
				if out.Status != c.want || c.silent && out.Failure.Code != cairn.HeartbeatTimeout {
					t.Errorf("%s %v", out.Status, out.Failure)
				}
			})
		})
	}
}
