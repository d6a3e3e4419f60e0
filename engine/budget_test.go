package engine_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
)

// loop is an agent that makes model calls until it is refused one, or has made them all.
type loop struct {
	calls, each int64
	made        atomic.Int64
	pause       time.Duration
}

func (l *loop) Run(ctx context.Context, _ task.Request) (task.Response, error) {
	for range l.calls {
		if err := task.Admit(ctx); err != nil {
			return task.Response{}, fmt.Errorf("before a call: %w", err)
		}
		if err := paused(ctx, l.pause); err != nil {
			return task.Response{}, err
		}
		l.made.Add(1)
		task.Spend(ctx, cairn.Usage{Model: "m", Output: l.each})
	}
	return task.Response{Output: []byte("1")}, nil
}

func paused(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// prices has the model m at a micro-dollar a token.
var prices = aspects.Models{"m": {Input: 1_000_000, Output: 1_000_000, Window: 1000}}

func asks(id cairn.Key[int], agent task.Agent) task.Task[int] {
	return task.Task[int]{ID: id, Agent: agent, Prompt: func(*cairn.View) string { return "go on" }, Retry: task.Retry{Max: 1}}
}

// TestLongTasksSeeTheBudgetAroundThem: of several agents in the middle of their loops, none passes a limit of their
// surroundings unnoticed. Together they go over by one call each at the most.
func TestLongTasksSeeTheBudgetAroundThem(t *testing.T) {
	for _, measure := range []string{"tokens", "cost", "latency", "per task"} {
		t.Run(measure, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, b := &loop{calls: 100, each: 10, pause: time.Second}, &loop{calls: 100, each: 10, pause: 1001 * time.Millisecond}
				node := aspects.Aspects{Children: cairn.Nodes{cairn.Parallel{Children: cairn.Nodes{asks("a", a), asks("b", b)}}}}
				most := aspects.Budget{Max: 100}
				switch measure {
				case "tokens":
					node.Tokens = most
				case "cost":
					node.Cost = most
				case "latency":
					node.Latency = aspects.Budget{Max: 5 * aspects.Second}
				case "per task":
					node.Tokens = aspects.Budget{PerTask: 50}
				}
				e := open(t, engine.Config{Models: prices, Workflows: []cairn.Definer{workflow(func(*cairn.View) cairn.Node {
					return cairn.Nodes{node, task.Task[int]{ID: second, Do: do(1)}}
				})}})
				out := wait(t, begin(t, e), core.Failed)
				breach, ok := aspects.BreachOf(*out.Failure)
				if !ok || breach.Budget != "#aspects" {
					t.Fatalf("%+v", out.Failure)
				}
				if made := a.made.Load() + b.made.Load(); made < 9 || made > 11 {
					t.Errorf("%d calls were made, by two agents, with room for 10", made)
				}
			})
		})
	}
}

// TestBudgetsOutliveAKill: what failed attempts have used before a kill still counts, and a raised limit lets the failed run
// go on.
func TestBudgetsOutliveAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cairn.db")
	limited := func(most int64, agent task.Agent) cairn.Workflow[struct{}, int] {
		again := asks(second, agent)
		again.Retry = task.Retry{Max: 100, Initial: time.Millisecond}
		return workflow(func(*cairn.View) cairn.Node {
			return aspects.Aspects{Tokens: aspects.Budget{Max: most}, Children: cairn.Nodes{again}}
		})
	}
	failing := agentFunc(func(ctx context.Context) error {
		task.Spend(ctx, cairn.Usage{Model: "m", Output: 40})
		return errors.New("no luck")
	})
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, path)
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{limited(1_000_000, agentFunc(func(ctx context.Context) error {
			task.Spend(ctx, cairn.Usage{Model: "m", Output: 100})
			<-ctx.Done() // Close ends the attempt: what it has used is not lost
			return ctx.Err()
		}))}})
		begin(t, e)
		synctest.Wait()
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{limited(200, failing)}})
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := wait(t, run, core.Failed)
		if breach, ok := aspects.BreachOf(*out.Failure); !ok || breach.Spent != 220 || breach.Limit != 200 || breach.Path != "second" {
			t.Fatalf("%+v", out.Failure)
		}
		e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{limited(1000, &loop{calls: 3, each: 10})}})
		if run, err = e.Resume(t.Context(), "r", engine.ResumeOptions{}); err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Finished)
		state, _, err := engine.Load(t.Context(), store, "r")
		if err != nil || state.Ledgers["#aspects"].Spent.Tokens != 250 {
			t.Fatalf("%+v, %v", state.Ledgers["#aspects"], err)
		}
		if _, err := e.Resume(t.Context(), "r", engine.ResumeOptions{}); !errors.Is(err, engine.RunEnded) {
			t.Fatalf("a finished run was resumed: %v", err)
		}
	})
}

type agentFunc func(ctx context.Context) error

func (f agentFunc) Run(ctx context.Context, _ task.Request) (task.Response, error) {
	return task.Response{Output: []byte("1")}, f(ctx)
}

// TestReopeningWantsTheSameCode: nothing is written, and the run can still be reopened with the right code.
func TestReopeningWantsTheSameCode(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	flow := func(most int64, more ...cairn.Node) cairn.Workflow[struct{}, int] {
		return workflow(func(*cairn.View) cairn.Node {
			return aspects.Aspects{Tokens: aspects.Budget{Max: most}, Children: append(cairn.Nodes{asks("a", &loop{calls: 1, each: 10}), task.Task[int]{ID: second, Do: do(1)}}, more...)}
		})
	}
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{flow(5)}})
	wait(t, begin(t, e), core.Failed)
	before, err := store.Run(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{flow(50, task.Task[int]{ID: "more", Do: do(1)})}})
	if _, err := e.Resume(t.Context(), "r", engine.ResumeOptions{}); !errors.Is(err, cairn.CodeChanged) {
		t.Fatal(err)
	}
	if after, err := store.Run(t.Context(), "r"); err != nil || after.Head != before.Head || after.Status != core.Failed || after.Owner.Token != "" {
		t.Fatalf("%+v, %v", after, err)
	}
	e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{flow(50)}})
	run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, run, core.Finished)
}

// TestReopeningTakesWhatWasAsked: what the inbox acknowledged before the run failed is not lost. A pause is overruled by
// whoever resumes, a cancellation is not.
func TestReopeningTakesWhatWasAsked(t *testing.T) {
	for _, c := range []struct {
		asked core.EventKind
		want  core.Status
	}{{core.PauseAsked, core.Finished}, {core.CancelAsked, core.CancelledRun}} {
		synctest.Test(t, func(t *testing.T) {
			store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
			flow := func(most int64) cairn.Workflow[struct{}, int] {
				return workflow(func(*cairn.View) cairn.Node {
					return aspects.Aspects{Tokens: aspects.Budget{Max: most}, Children: cairn.Nodes{asks("a", agentFunc(func(ctx context.Context) error {
						for _, ev := range []core.Event{{Kind: core.SignalReceived, Name: "news"}, {Kind: c.asked}} {
							// Past the engine, which so sees them at its next poll: too late.
							if _, err := store.Append(ctx, "r", engine.Item{Event: ev}); err != nil {
								return err
							}
						}
						task.Spend(ctx, cairn.Usage{Model: "m", Output: 10})
						return nil
					})), task.Task[int]{ID: second, Do: do(1)}}}
				})
			}
			e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{flow(5)}})
			wait(t, begin(t, e), core.Failed)
			if state, _, err := engine.Load(t.Context(), store, "r"); err != nil || state.Inbox != 0 {
				t.Fatalf("the run has seen what was asked before it failed: %d, %v", state.Inbox, err)
			}
			e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{flow(50)}})
			run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			wait(t, run, c.want)
			if state, _, err := engine.Load(t.Context(), store, "r"); err != nil || state.Inbox != 2 {
				t.Errorf("%s: the inbox was read up to %d, %v", c.asked, state.Inbox, err)
			}
		})
	}
}

// TestAHitCostsNothing: an output out of Cairn's own cache uses up no budget.
func TestAHitCostsNothing(t *testing.T) {
	agent := &loop{calls: 1, each: 10}
	cached := func(id cairn.Key[int]) task.Task[int] {
		node := asks(id, agent)
		node.With, node.Version = cairn.With{cache.Policy{Scope: cache.Global, Key: "it"}}, "1"
		return node
	}
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{workflow(func(*cairn.View) cairn.Node {
		return aspects.Aspects{Tokens: aspects.Budget{Max: 20}, Children: cairn.Nodes{cached("a"), cached("b"), cached("c"), cached(second)}}
	})}})
	wait(t, begin(t, e), core.Finished)
	state, _, err := engine.Load(t.Context(), store, "r")
	if err != nil || agent.made.Load() != 1 || state.Ledgers["#aspects"].Spent.Tokens != 10 {
		t.Fatalf("%d calls, %+v, %v", agent.made.Load(), state.Ledgers["#aspects"], err)
	}
}

// TestUsageIsPricedOnce: the frame has what a call cost, so that no later price table changes what was spent.
func TestUsageIsPricedOnce(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	node := asks(second, agentFunc(func(ctx context.Context) error {
		task.Spend(ctx, cairn.Usage{Model: "m", Input: 300, CacheRead: 300, Cost: 7, Window: 7})
		task.Spend(ctx, cairn.Usage{Model: "homemade", Output: 1})
		return nil
	}))
	e := open(t, engine.Config{Store: store, Models: prices, Workflows: []cairn.Definer{workflow(func(*cairn.View) cairn.Node { return node })}})
	wait(t, begin(t, e), core.Finished)
	var usage []cairn.Usage
	var told []string
	err := store.Frames(t.Context(), "r", 1, func(_ int64, body []byte) error {
		f, err := core.Decode(body)
		for _, ev := range f.Events {
			usage = append(usage, ev.Usage...)
		}
		for _, d := range f.Decisions {
			if d.Kind == core.Crowded || d.Kind == core.Unpriced {
				told = append(told, d.String())
			}
		}
		return err
	})
	if err != nil || len(usage) != 2 || usage[0].Cost != 330 || usage[0].Window != 1000 || !usage[1].Unpriced {
		t.Errorf("%+v, %v", usage, err)
	}
	if got := strings.Join(told, "; "); got != `context second: 600 tokens of context, over half of the model's window; unpriced second: model "homemade" has no price` {
		t.Errorf("told: %s", got)
	}
}

// homemade is an agent of a model that nobody has a price for.
type homemade struct{ loop }

func (h *homemade) Models() []string { return []string{"homemade"} }

func TestACostBudgetRefusesModelsWithoutAPrice(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	flow := func(allow bool, agent task.Agent) cairn.Workflow[struct{}, int] {
		return workflow(func(*cairn.View) cairn.Node {
			return aspects.Aspects{Cost: aspects.Budget{Max: aspects.Dollar}, AllowUnpriced: allow, Children: cairn.Nodes{asks(second, agent)}}
		})
	}
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{flow(false, &homemade{loop{calls: 1}})}})
	_, err := e.Start(t.Context(), "w", []byte(`{}`), engine.StartOptions{ID: "r"})
	if !errors.Is(err, cairn.UnpricedModel) || !strings.Contains(err.Error(), `"homemade"`) {
		t.Fatal(err)
	}
	if _, err := store.Run(t.Context(), "r"); !errors.Is(err, engine.RunNotFound) {
		t.Fatal("something was written")
	}
	// An agent that does not tell its model is stopped after its first call, and the run waits for somebody to decide.
	spends := agentFunc(func(ctx context.Context) error {
		for range 5 {
			if err := task.Admit(ctx); err != nil {
				return err
			}
			task.Spend(ctx, cairn.Usage{Model: "homemade", Output: 1})
		}
		return nil
	})
	e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{flow(false, spends)}})
	out := wait(t, begin(t, e), core.Blocked)
	if out.Failure.Code != cairn.UnpricedModel {
		t.Fatal(out.Failure)
	}
	e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{flow(true, spends)}})
	run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, run, core.Finished)
}
