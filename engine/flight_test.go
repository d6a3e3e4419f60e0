package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
)

// costly counts how often it was run.
type costly struct{ runs atomic.Int32 }

func (c *costly) task(id cairn.Key[int], input string, p cache.Policy) task.Task[int] {
	return task.Task[int]{ID: id, With: cairn.With{p}, From: task.From(func(*cairn.View) string { return input },
		func(context.Context, string) (int, error) { c.runs.Add(1); return 7, nil })}
}

// ran wants so many executions so far.
func (c *costly) ran(t *testing.T, want int32) {
	t.Helper()
	if got := c.runs.Load(); got != want {
		t.Fatalf("%d executions, want %d", got, want)
	}
}

// finish runs a workflow to its end.
func finish(t *testing.T, e *engine.Engine, workflow, id string) engine.Outcome {
	t.Helper()
	run, err := e.Start(t.Context(), workflow, json.RawMessage(`{}`), engine.StartOptions{ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return wait(t, run, core.Finished)
}

// named is a workflow of one name and tree.
func named(name string, node cairn.Node) cairn.Workflow[struct{}, int] {
	wf := workflow(func(*cairn.View) cairn.Node { return node })
	wf.Name = name
	return wf
}

// cachedPaths lists the tasks of a run whose outputs came from the cache, as its frames tell.
func cachedPaths(t *testing.T, store engine.Store, run string) (paths []string) {
	t.Helper()
	state, _, err := engine.Load(t.Context(), store, run)
	if err != nil {
		t.Fatal(err)
	}
	err = store.Frames(t.Context(), run, 1, func(_ int64, body []byte) error {
		f, err := core.Decode(body)
		if err != nil {
			return err
		}
		for _, ev := range f.Events {
			if ev.Cached != (ev.Kind == core.TaskDone && state.Tasks[ev.Path].Cached) {
				t.Errorf("%s: the event says %t, the state %t", ev.Path, ev.Cached, !ev.Cached)
			}
			if ev.Cached {
				paths = append(paths, ev.Path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func TestIterationsShareOutputs(t *testing.T) {
	var c costly
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{workflow(func(v *cairn.View) cairn.Node {
		return cairn.Loop{ID: "l", Max: 4, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node {
			return c.task(second, "ask", cache.Policy{})
		}}
	})}})
	if out := finish(t, e, "w", "r"); string(out.Result) != "7" {
		t.Errorf("result %s", out.Result)
	}
	c.ran(t, 1)
	if got := fmt.Sprint(cachedPaths(t, store, "r")); got != "[l[1]/second l[2]/second l[3]/second]" {
		t.Errorf("cached: %s", got)
	}
}

func TestScopes(t *testing.T) {
	for _, tc := range []struct {
		name   string
		policy cache.Policy
		// runs after the second run of one workflow, and after the first of another
		again, other int32
	}{
		{"none", cache.Policy{Scope: "off"}, 2, 3},
		{"run", cache.Policy{}, 2, 3},
		{"workflow", cache.Policy{Scope: cache.Workflow}, 1, 2},
		{"global", cache.Policy{Scope: cache.Global, Key: "k"}, 1, 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var c costly
			node := c.task(second, "ask", tc.policy)
			if tc.name == "none" {
				node.With = nil
			}
			e := open(t, engine.Config{Workflows: []cairn.Definer{named("w", node), named("x", node)}})
			finish(t, e, "w", "r1")
			c.ran(t, 1)
			finish(t, e, "w", "r2")
			c.ran(t, tc.again)
			finish(t, e, "x", "r3")
			c.ran(t, tc.other)
		})
	}
}

func TestAnotherQuestionIsAsked(t *testing.T) {
	var c costly
	policy := cache.Policy{Scope: cache.Workflow}
	node := func(change func(n *task.Task[int])) cairn.Node {
		n := c.task(second, "ask", policy)
		change(&n)
		return n
	}
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	for i, step := range []struct {
		change func(n *task.Task[int])
		runs   int32
	}{
		{func(*task.Task[int]) {}, 1},
		{func(n *task.Task[int]) { n.From = c.task(second, "ask more", policy).From }, 2},
		{func(n *task.Task[int]) { n.Version = "2" }, 3},
		{func(n *task.Task[int]) { n.With = cairn.With{cache.Policy{Scope: cache.Workflow, Version: "2"}} }, 4},
		{func(n *task.Task[int]) { n.Retry.Max, n.Priority, n.AttemptTimeout = 9, 4, time.Hour }, 4},
		{func(*task.Task[int]) {}, 4},
	} {
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{named("w", node(step.change))}})
		finish(t, e, "w", fmt.Sprint("r", i))
		c.ran(t, step.runs)
	}
}

// typed is workflow "w" with another type of the one task.
func typed[T any](runs *costly, value T) cairn.Workflow[struct{}, T] {
	return cairn.Workflow[struct{}, T]{Name: "w", Result: "second", Render: func(*cairn.View, struct{}) cairn.Node {
		return task.Task[T]{ID: "second", With: cairn.With{cache.Policy{Scope: cache.Workflow}},
			Do: func(context.Context) (T, error) { runs.runs.Add(1); return value, nil }}
	}}
}

func TestSchemaChangeIsAMiss(t *testing.T) {
	type v1 struct{ A int }
	type v2 struct {
		A int
		B *int
	}
	var c costly
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	for i, wf := range []cairn.Definer{typed(&c, v1{1}), typed(&c, v2{A: 1}), typed(&c, v1{1}), typed(&c, v2{A: 1})} {
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
		finish(t, e, "w", fmt.Sprint("r", i))
		c.ran(t, int32(min(i+1, 2)))
	}
}

// A stored row that today's type does not take is a miss, and is replaced, whatever its key says.
func TestStaleRowsAreReplaced(t *testing.T) {
	type report struct {
		A int `json:"a" validate:"min=5"`
	}
	for name, spoil := range map[string]func(e *engine.CacheEntry){
		"no JSON":        func(e *engine.CacheEntry) { e.Output = json.RawMessage(`{`) },
		"empty":          func(e *engine.CacheEntry) { e.Output = nil },
		"another type":   func(e *engine.CacheEntry) { e.Output = json.RawMessage(`{"a":"text"}`) },
		"a broken rule":  func(e *engine.CacheEntry) { e.Output = json.RawMessage(`{"a":4}`) },
		"another schema": func(e *engine.CacheEntry) { e.Schema = "another" },
		"a lost file":    func(e *engine.CacheEntry) { e.Artifacts = []cairn.Artifact{{Name: "n", Hash: strings.Repeat("0", 64)}} },
	} {
		t.Run(name, func(t *testing.T) {
			var c costly
			store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
			files, err := artifact.Open(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			e := open(t, engine.Config{Store: store, Artifacts: files, Workflows: []cairn.Definer{typed(&c, report{5})}})
			finish(t, e, "w", "r1")
			c.ran(t, 1)
			list, err := store.Cached(t.Context(), "", 9)
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			entry, _, err := store.Lookup(t.Context(), list[0].Key, 0)
			if err != nil {
				t.Fatal(err)
			}
			spoil(&entry)
			body := []byte(`{"n":1,"t":1}`)
			if _, err := store.Create(t.Context(), engine.NewRun{ID: "other"}, engine.Commit{N: 1, Body: body, Hash: core.Hash(body), Status: core.Finished,
				Cache: []engine.CacheWrite{{Entry: entry}}}, engine.Claim{Owner: engine.Owner{Token: "t"}, TTL: time.Second}); err != nil {
				t.Fatal(err)
			}
			finish(t, e, "w", "r2")
			c.ran(t, 2)
			finish(t, e, "w", "r3")
			c.ran(t, 2)
		})
	}
}

// A result may be used up to its last millisecond, and today's TTL holds for what was stored under another one.
func TestTTLToTheMillisecond(t *testing.T) {
	const ttl = time.Minute
	for _, tc := range []struct {
		after        time.Duration
		stored, then time.Duration
		runs         int32
	}{
		{ttl - time.Millisecond, ttl, ttl, 1}, {ttl, ttl, ttl, 2}, {ttl + time.Millisecond, ttl, ttl, 2},
		{ttl, 0, 0, 1}, {ttl - time.Millisecond, 0, ttl, 1}, {ttl, 0, ttl, 2}, {ttl, ttl, 0, 2}, {ttl, ttl, 2 * ttl, 2},
	} {
		t.Run(fmt.Sprintf("%s after, stored for %s, wanted for %s", tc.after, tc.stored, tc.then), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c costly
				store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
				for i, ttl := range []time.Duration{tc.stored, tc.then} {
					e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{named("w", c.task(second, "ask", cache.Policy{Scope: cache.Workflow, TTL: ttl}))}})
					finish(t, e, "w", fmt.Sprint("r", i))
					if err := e.Close(t.Context()); err != nil {
						t.Fatal(err)
					}
					if i == 0 {
						time.Sleep(tc.after)
					}
				}
				c.ran(t, tc.runs)
			})
		})
	}
}

// many is a fan-out of equal tasks.
func many(n int, node func(id cairn.Key[int]) cairn.Node) cairn.Node {
	all := cairn.Parallel{}
	for i := range n {
		all.Children = append(all.Children, node(cairn.Key[int](fmt.Sprint("t", i))))
	}
	return cairn.Nodes{all, task.Task[int]{ID: second, Do: do(1)}}
}

// slow is a task that takes a while, and counts.
func (c *costly) slow(id cairn.Key[int], p cache.Policy, took time.Duration) task.Task[int] {
	return task.Task[int]{ID: id, With: cairn.With{p}, Do: func(ctx context.Context) (int, error) {
		c.runs.Add(1)
		select {
		case <-time.After(took):
			return 7, nil
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}}
}

// Equal tasks run once, also where there is one place for all of them: those that wait hold none.
func TestConcurrentEqualTasksRunOnce(t *testing.T) {
	for _, limits := range []engine.Config{{}, {ProcessLimit: 1}, {RunLimit: 3, ProcessLimit: 1}, {RunLimit: 1}} {
		t.Run(fmt.Sprintf("run %d, process %d", limits.RunLimit, limits.ProcessLimit), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c, other costly
				store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
				node := many(40, func(id cairn.Key[int]) cairn.Node {
					if id == "t7" { // one that competes for the place
						return other.slow(id, cache.Policy{}, time.Minute)
					}
					return c.slow(id, cache.Policy{Scope: cache.Global, Key: "k"}, time.Minute)
				})
				cfg := limits
				cfg.Store, cfg.Workflows = store, []cairn.Definer{named("w", node), named("x", node)}
				e := open(t, cfg)
				var runs []*engine.Run
				for i, name := range []string{"w", "x", "w"} {
					run, err := e.Start(t.Context(), name, json.RawMessage(`{}`), engine.StartOptions{ID: fmt.Sprint("r", i)})
					if err != nil {
						t.Fatal(err)
					}
					runs = append(runs, run)
				}
				cached := 0
				for i, run := range runs {
					wait(t, run, core.Finished)
					cached += len(cachedPaths(t, store, fmt.Sprint("r", i)))
				}
				c.ran(t, 1)
				other.ran(t, 3)
				if cached != 3*39-1 {
					t.Errorf("%d results from the cache, want %d", cached, 3*39-1)
				}
				if stats, err := store.CacheStats(t.Context()); err != nil || stats.Held != 0 {
					t.Errorf("%+v, %v: holds are left", stats, err)
				}
			})
		})
	}
}

// Two engines on one file, as two processes are: one makes the output, for longer than a hold lasts, the other waits.
func TestProcessesRunEqualTasksOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c costly
		path := filepath.Join(t.TempDir(), "cairn.db")
		var runs []*engine.Run
		for i := range 3 {
			e := open(t, engine.Config{Store: openStore(t, path), Workflows: []cairn.Definer{named("w", c.slow(second, cache.Policy{Scope: cache.Workflow}, time.Minute))}})
			run, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: fmt.Sprint("r", i)})
			if err != nil {
				t.Fatal(err)
			}
			runs = append(runs, run)
		}
		for _, run := range runs {
			wait(t, run, core.Finished)
		}
		c.ran(t, 1)
	})
}

// A process that has died while it made an output is waited for no longer than its hold lasts.
func TestDeadProcessIsNotWaitedFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c costly
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{named("w", c.task(second, "ask", cache.Policy{Scope: cache.Workflow}))}})
		finish(t, e, "w", "r1")
		list, err := store.Cached(t.Context(), "", 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Forget(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
		if held, err := store.Hold(t.Context(), list[0].Key, "the dead", engine.DefaultLeaseTTL); err != nil || !held {
			t.Fatal(held, err)
		}
		began := time.Now()
		finish(t, e, "w", "r2")
		c.ran(t, 2)
		if took := time.Since(began); took < engine.DefaultLeaseTTL || took > engine.DefaultLeaseTTL+engine.DefaultPoll {
			t.Errorf("waited for %s", took)
		}
	})
}

// Whoever waits can be stopped, by cancel, by its own time, and with the engine.
func TestWaitingEnds(t *testing.T) {
	for name, tc := range map[string]struct {
		stop    func(t *testing.T, e *engine.Engine)
		timeout time.Duration
		want    core.Status
		err     error
	}{
		"cancel":  {func(t *testing.T, e *engine.Engine) { _ = e.Cancel(t.Context(), "waits", "enough") }, 0, core.CancelledRun, nil},
		"timeout": {func(*testing.T, *engine.Engine) {}, time.Minute, core.Failed, nil},
		"close":   {func(t *testing.T, e *engine.Engine) { go e.Close(t.Context()) }, 0, core.Running, engine.Closing},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var c costly
				policy := cache.Policy{Scope: cache.Global, Key: "k"}
				waits := c.slow(second, policy, time.Hour)
				waits.Timeout = tc.timeout
				e := open(t, engine.Config{Workflows: []cairn.Definer{named("makes", c.slow(second, policy, time.Hour)), named("waits", waits)}})
				for _, name := range []string{"makes", "waits"} {
					if _, err := e.Start(t.Context(), name, json.RawMessage(`{}`), engine.StartOptions{ID: name}); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				waiting := make(chan engine.Outcome, 1)
				errs := make(chan error, 1)
				go func() {
					out, err := e.Wait(t.Context(), "waits")
					waiting <- out
					errs <- err
				}()
				synctest.Wait()
				tc.stop(t, e)
				if out, err := <-waiting, <-errs; out.Status != tc.want || !errors.Is(err, tc.err) {
					t.Errorf("outcome %+v, %v", out, err)
				}
				c.ran(t, 1)
			})
		})
	}
}

// A failure is nobody else's: the next one who waits tries.
func TestFailuresAreNotCached(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var runs atomic.Int32
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{named("w", many(5, func(id cairn.Key[int]) cairn.Node {
			return task.Task[int]{ID: id, With: cairn.With{cache.Policy{Key: "k"}}, Do: func(context.Context) (int, error) {
				time.Sleep(time.Millisecond)
				if runs.Add(1) < 3 {
					return 0, errors.New("not yet")
				}
				return 7, nil
			}}
		}))}})
		finish(t, e, "w", "r")
		if got := runs.Load(); got != 3 {
			t.Errorf("%d executions, want 2 failures and a success", got)
		}
	})
}

// bypassing marks a task as under an active memory bank, as package memory will.
type bypassing struct{ task.Task[int] }

func (b bypassing) Lower() cairn.Spec {
	spec := b.Task.Lower()
	spec.Task.Policy.NoCache = true
	return spec
}

func TestTasksUnderAnActiveBankBypassBothWays(t *testing.T) {
	var c costly
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	node := c.task(second, "ask", cache.Policy{Scope: cache.Global, Key: "k"})
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{named("plain", node), named("recalls", bypassing{node})}})
	finish(t, e, "recalls", "r1")
	c.ran(t, 1)
	if stats, err := store.CacheStats(t.Context()); err != nil || stats.Entries != 0 {
		t.Fatalf("it has written: %+v, %v", stats, err)
	}
	finish(t, e, "plain", "r2")
	c.ran(t, 2)
	finish(t, e, "recalls", "r3")
	c.ran(t, 3)
	finish(t, e, "plain", "r4")
	c.ran(t, 3)
}

func TestSideEffectsAreNotCached(t *testing.T) {
	var c costly
	node := c.task(second, "ask", cache.Policy{Scope: cache.Workflow})
	node.SideEffect = true
	e := open(t, engine.Config{Workflows: []cairn.Definer{named("w", node)}})
	if _, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{}); !errors.Is(err, cairn.InvalidTree) || !strings.Contains(err.Error(), "side effects") {
		t.Errorf("a policy on a side effect: %v", err)
	}
	// What emits is not marked, and has an effect all the same.
	var runs costly
	emits := task.Task[int]{ID: second, With: cairn.With{cache.Policy{Scope: cache.Workflow}}, Do: func(ctx context.Context) (int, error) {
		runs.runs.Add(1)
		return 1, task.Emit(ctx, "mail", 1)
	}}
	e = open(t, engine.Config{Workflows: []cairn.Definer{named("w", emits)}})
	finish(t, e, "w", "r1")
	finish(t, e, "w", "r2")
	runs.ran(t, 2)
}

// A hit runs nothing, uses nothing, and has the files of the one that was run. A replay does not ask the cache.
func TestHitsAreResults(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	files, err := artifact.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	wf := named("w", task.Task[int]{ID: second, With: cairn.With{cache.Policy{Scope: cache.Workflow}}, Do: func(ctx context.Context) (int, error) {
		_, err := task.WriteArtifact(ctx, "notes", "text/plain", strings.NewReader("read me"))
		return 7, err
	}})
	wrapped := 0
	e := open(t, engine.Config{Store: store, Artifacts: files, Workflows: []cairn.Definer{wf}, Middleware: []engine.Middleware{func(next cairn.Run) cairn.Run {
		return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
			wrapped++
			result, err := next(ctx, call)
			result.Usage = []cairn.Usage{{Model: "m", Input: 1}}
			return result, err
		}
	}}})
	finish(t, e, "w", "r1")
	finish(t, e, "w", "r2")
	if wrapped != 1 {
		t.Errorf("the middleware was called %d times", wrapped)
	}
	var last core.Event
	if err := store.Frames(t.Context(), "r2", 2, func(_ int64, body []byte) error {
		f, err := core.Decode(body)
		last = f.Events[0]
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !last.Cached || len(last.Artifacts) != 1 || last.Usage != nil || string(last.Output) != "7" {
		t.Errorf("the event of a hit: %+v", last)
	}
	if _, err := store.Forget(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	var export bytes.Buffer
	if err := engine.Export(t.Context(), store, files, "r2", &export); err != nil {
		t.Fatal(err)
	}
	if report, err := engine.Replay(wf.Define(), &export); err != nil || report.Divergence != nil {
		t.Errorf("replay: %+v, %v", report, err)
	}
}

// The entry is there with the frame of its result and not before.
func TestEntryIsWrittenWithTheFrame(t *testing.T) {
	path := filepath.Join(t.TempDir(), "cairn.db")
	store := openStore(t, path)
	var c costly
	fails := &failing{Store: store}
	e := open(t, engine.Config{Store: fails, Workflows: []cairn.Definer{named("w", c.task(second, "ask", cache.Policy{Scope: cache.Workflow}))}})
	run, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run.Wait(t.Context()); !errors.Is(err, engine.LeaseLost) {
		t.Fatalf("outcome %+v, %v", out, err)
	}
	c.ran(t, 1)
	if stats, err := store.CacheStats(t.Context()); err != nil || stats.Entries != 0 {
		t.Errorf("an entry without its frame: %+v, %v", stats, err)
	}
}

// failing refuses commits with cache entries.
type failing struct{ *sqlite.Store }

func (f *failing) Commit(ctx context.Context, lease engine.Lease, c engine.Commit) error {
	if len(c.Cache) > 0 {
		lease.Epoch++
	}
	return f.Store.Commit(ctx, lease, c)
}
