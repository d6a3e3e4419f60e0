package engine_test

import (
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
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
)

const (
	first  cairn.Key[int] = "first"
	second cairn.Key[int] = "second"
	undo   cairn.Key[int] = "undo"
)

// render makes a workflow named "w" with result second.
func workflow(render func(v *cairn.View) cairn.Node) cairn.Workflow[struct{}, int] {
	return cairn.Workflow[struct{}, int]{Name: "w", Result: second, Render: func(v *cairn.View, _ struct{}) cairn.Node { return render(v) }}
}

// begin starts run "r" of workflow "w".
func begin(t *testing.T, e *engine.Engine) *engine.Run {
	t.Helper()
	run, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// wait waits for a status.
func wait(t *testing.T, run *engine.Run, want core.Status) engine.Outcome {
	t.Helper()
	out, err := run.Wait(t.Context())
	if err != nil || out.Status != want {
		t.Fatalf("outcome %+v, %v; want %s", out, err, want)
	}
	return out
}

// hang is a body that waits for its context and tells that it has begun.
func hang(begun chan<- struct{}) func(context.Context) (int, error) {
	return func(ctx context.Context) (int, error) {
		begun <- struct{}{}
		<-ctx.Done()
		return 0, ctx.Err()
	}
}

func TestCloseLeavesRunsResumable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun := make(chan struct{}, 1)
		var stopped atomic.Bool
		wf := workflow(func(v *cairn.View) cairn.Node {
			body := hang(begun)
			if stopped.Load() {
				body = do(7)
			}
			return cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}, task.Task[int]{ID: second, Do: body, Retry: task.Retry{Max: 1}}}
		})
		// Six graceful stops are more than the losses that give a task up, and than its one attempt.
		for range 6 {
			e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
			run, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
			if errors.Is(err, engine.RunExists) {
				run, err = e.Resume(t.Context(), "r", engine.ResumeOptions{})
			}
			if err != nil {
				t.Fatal(err)
			}
			<-begun
			if err := e.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if _, err := run.Wait(t.Context()); !errors.Is(err, engine.Closing) {
				t.Fatalf("wait on a closed engine: %v", err)
			}
			info, err := store.Run(t.Context(), "r")
			if err != nil || info.Status != core.Running || info.Owner.Token != "" {
				t.Fatalf("after a graceful stop: %+v, %v", info, err)
			}
		}
		stopped.Store(true)
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Finished)
		if _, err := e.Resume(t.Context(), "r", engine.ResumeOptions{}); !errors.Is(err, engine.RunEnded) {
			t.Errorf("resuming a finished run: %v", err)
		}
	})
}

// TestAStopStartsNothing: the driver may see the end of a stopped attempt before it sees the stop, and must not begin another.
// Which it sees first is chance, so there are many rounds.
func TestAStopStartsNothing(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	begun := make(chan struct{})
	wf := workflow(func(*cairn.View) cairn.Node { return task.Task[int]{ID: second, Do: hang(begun)} })
	for i := range 100 {
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
		id := fmt.Sprint("r", i)
		if _, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: id}); err != nil {
			t.Fatal(err)
		}
		<-begun // the driver is still busy with having begun it
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		attempt := 0
		if err := engine.FoldFrames(t.Context(), store, id, func(s *core.State, _ *core.Frame) error {
			attempt = s.Tasks[string(second)].Attempt
			return nil
		}); err != nil || attempt != 1 {
			t.Fatalf("run %d closed at attempt %d of its task: %v", i, attempt, err)
		}
	}
}

func TestCancelRunsFinallyWithinGrace(t *testing.T) {
	for name, slow := range map[string]bool{"finally ends": false, "finally is cut off": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				begun := make(chan struct{}, 2)
				var undone atomic.Bool
				wf := workflow(func(v *cairn.View) cairn.Node {
					return cairn.Try{
						Body:  task.Task[int]{ID: second, Do: hang(begun)},
						Catch: func(*cairn.View, cairn.Failure) cairn.Node { panic("a cancellation is not caught") },
						Finally: func(*cairn.View) cairn.Node {
							return task.Task[int]{ID: undo, Do: func(ctx context.Context) (int, error) {
								if slow {
									return hang(begun)(ctx)
								}
								undone.Store(true)
								return 1, nil
							}}
						},
					}
				})
				e := open(t, engine.Config{Workflows: []cairn.Definer{wf}, Grace: time.Minute})
				run := begin(t, e)
				<-begun
				asked := time.Now()
				if err := e.Cancel(t.Context(), "r", "changed my mind"); err != nil {
					t.Fatal(err)
				}
				out := wait(t, run, core.CancelledRun)
				if out.Failure == nil || out.Failure.Code != cairn.Cancelled || !strings.Contains(out.Failure.Message, "changed my mind") {
					t.Errorf("failure %v", out.Failure)
				}
				if took := time.Since(asked); slow != (took >= time.Minute) || slow == undone.Load() {
					t.Errorf("cancelling took %s, undone %t", took, undone.Load())
				}
				if err := e.Cancel(t.Context(), "r", "again"); !errors.Is(err, engine.RunEnded) {
					t.Errorf("cancelling a cancelled run: %v", err)
				}
			})
		})
	}
}

func TestPauseParksAndResumeGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := make(chan struct{}, 1)
		wf := workflow(func(v *cairn.View) cairn.Node {
			return cairn.Nodes{task.Task[int]{ID: first, Do: func(context.Context) (int, error) {
				begun <- struct{}{}
				time.Sleep(time.Hour)
				return 1, nil
			}}, task.Task[int]{ID: second, Do: do(2)}}
		})
		e := open(t, engine.Config{Workflows: []cairn.Definer{wf}, Poll: time.Minute})
		run := begin(t, e)
		<-begun
		if err := e.Pause(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Paused)
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Finished)
	})
}

// gauge counts how many bodies run at once.
type gauge struct{ now, most atomic.Int64 }

func (g *gauge) body(ctx context.Context) (int, error) {
	n := g.now.Add(1)
	defer g.now.Add(-1)
	for {
		most := g.most.Load()
		if n <= most || g.most.CompareAndSwap(most, n) {
			break
		}
	}
	time.Sleep(time.Second)
	return 1, nil
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		run, process int
		runs         int
		want         int64
	}{
		"run":     {run: 3, process: 100, runs: 1, want: 3},
		"process": {run: 100, process: 4, runs: 3, want: 4},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var g gauge
				wf := workflow(func(v *cairn.View) cairn.Node {
					var nodes cairn.Nodes
					for _, id := range strings.Split("a b c d e f g h", " ") {
						nodes = append(nodes, task.Task[int]{ID: cairn.Key[int](id), Do: g.body})
					}
					return cairn.Nodes{cairn.Parallel{Children: nodes}, task.Task[int]{ID: second, Do: do(1)}}
				})
				e := open(t, engine.Config{Workflows: []cairn.Definer{wf}, RunLimit: c.run, ProcessLimit: c.process})
				var runs []*engine.Run
				for range c.runs {
					run, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{})
					if err != nil {
						t.Fatal(err)
					}
					runs = append(runs, run)
				}
				for _, run := range runs {
					wait(t, run, core.Finished)
				}
				if got := g.most.Load(); got != c.want {
					t.Errorf("%d at once, want %d", got, c.want)
				}
			})
		})
	}
}

func TestTimeoutsAndHeartbeats(t *testing.T) {
	sleep := func(d time.Duration) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			select {
			case <-time.After(d):
				return 1, nil
			case <-ctx.Done():
				return 0, ctx.Err()
			}
		}
	}
	beating := func(ctx context.Context) (int, error) {
		for i := range 10 {
			if err := task.Heartbeat(ctx, i); err != nil {
				return 0, err
			}
			if _, err := sleep(20 * time.Second)(ctx); err != nil {
				return 0, err
			}
		}
		return 1, nil
	}
	for name, c := range map[string]struct {
		task task.Task[int]
		want cairn.Code
		took time.Duration
	}{
		"an attempt in time":          {task: task.Task[int]{Do: sleep(time.Minute), AttemptTimeout: 2 * time.Minute}, took: time.Minute},
		"an attempt too long":         {task: task.Task[int]{Do: sleep(time.Hour), AttemptTimeout: time.Minute, Retry: task.Retry{Max: 1}}, want: cairn.TaskTimeout, took: time.Minute},
		"all attempts too long":       {task: task.Task[int]{Do: sleep(time.Hour), Timeout: time.Minute, Retry: task.Retry{Max: cairn.Unbounded}}, want: cairn.TaskTimeout, took: time.Minute},
		"a heart that beats":          {task: task.Task[int]{Do: beating, Heartbeat: 30 * time.Second}, took: 200 * time.Second},
		"a heart that stops":          {task: task.Task[int]{Do: sleep(time.Hour), Heartbeat: 30 * time.Second, Retry: task.Retry{Max: 1}}, want: cairn.HeartbeatTimeout, took: 30 * time.Second},
		"no heart, and none expected": {task: task.Task[int]{Do: sleep(time.Hour)}, took: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c.task.ID = second
				e := open(t, engine.Config{Workflows: []cairn.Definer{workflow(func(*cairn.View) cairn.Node { return c.task })}, Poll: time.Hour, LeaseTTL: time.Hour})
				began := time.Now()
				run := begin(t, e)
				if c.want == "" {
					wait(t, run, core.Finished)
				} else if out := wait(t, run, core.Failed); out.Failure.Code != c.want {
					t.Errorf("failure %v, want %s", out.Failure, c.want)
				}
				if took := time.Since(began); took < c.took || took > c.took+time.Second {
					t.Errorf("took %s, want %s", took, c.took)
				}
			})
		})
	}
}

func TestTheLastHeartbeatReachesTheNextAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []int
		wf := workflow(func(*cairn.View) cairn.Node {
			return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) {
				at, _ := task.LastHeartbeat[int](ctx)
				seen = append(seen, at)
				for range 3 { // faster than details are written: the last one must still arrive
					at++
					if err := task.Heartbeat(ctx, at); err != nil {
						return 0, err
					}
				}
				if task.Attempt(ctx) < 3 {
					return 0, errors.New("not yet")
				}
				return at, nil
			}}
		})
		run := begin(t, open(t, engine.Config{Workflows: []cairn.Definer{wf}}))
		if out := wait(t, run, core.Finished); string(out.Result) != "9" {
			t.Errorf("result %s, attempts saw %v", out.Result, seen)
		}
	})
}

func TestStepsAreNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := 0
		wf := workflow(func(*cairn.View) cairn.Node {
			return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) {
				n, err := task.Step(ctx, "count", func(context.Context) (int, error) { steps++; return steps, nil })
				if err == nil && task.Attempt(ctx) < 3 {
					err = errors.New("after the step")
				}
				return n, err
			}}
		})
		run := begin(t, open(t, engine.Config{Workflows: []cairn.Definer{wf}}))
		if out := wait(t, run, core.Finished); string(out.Result) != "1" || steps != 1 {
			t.Errorf("result %s after %d steps", out.Result, steps)
		}
	})
}

func TestPanicsAndBadOutputsAreFailures(t *testing.T) {
	for name, c := range map[string]struct {
		body func(context.Context) (int, error)
		want cairn.Code
	}{
		"panic": {func(context.Context) (int, error) { panic("ouch") }, cairn.TaskPanicked},
		"error": {func(context.Context) (int, error) { return 0, errors.New("no") }, cairn.TaskFailed},
		"coded": {func(context.Context) (int, error) { return 0, cairn.Code("MINE") }, "MINE"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tries := 0
				wf := workflow(func(*cairn.View) cairn.Node {
					return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) { tries++; return c.body(ctx) }}
				})
				run := begin(t, open(t, engine.Config{Workflows: []cairn.Definer{wf}}))
				out := wait(t, run, core.Failed)
				if out.Failure.Code != c.want || out.Failure.Path != "second" || out.Failure.Attempt != 3 || tries != 3 {
					t.Errorf("failure %+v after %d tries", out.Failure, tries)
				}
				if c.want == cairn.TaskPanicked && !strings.Contains(out.Failure.Stack, "lifecycle_test.go") {
					t.Errorf("the stack does not show the body: %s", out.Failure.Stack)
				}
			})
		})
	}
}

// slowStart is a store whose Create takes until the test lets it end.
type slowStart struct {
	engine.Store
	begun, end chan struct{}
}

func (s slowStart) Create(ctx context.Context, run engine.NewRun, first engine.Commit, claim engine.Claim) (engine.Lease, error) {
	close(s.begun)
	<-s.end
	return s.Store.Create(ctx, run, first, claim)
}

func TestCloseWaitsForAStartUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := slowStart{openStore(t, filepath.Join(t.TempDir(), "cairn.db")), make(chan struct{}), make(chan struct{})}
		bodies := make(chan struct{}, 1)
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{workflow(func(*cairn.View) cairn.Node {
			return task.Task[int]{ID: second, Do: hang(bodies)}
		})}})
		started, closed := make(chan error, 1), make(chan error, 1)
		go func() {
			_, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
			started <- err
		}()
		<-store.begun
		go func() { closed <- e.Close(t.Context()) }()
		synctest.Wait() // Close has begun, and waits
		close(store.end)
		if err := errors.Join(<-started, <-closed); err != nil {
			t.Fatal(err)
		}
		state, _, err := engine.Load(t.Context(), store, "r")
		if err != nil {
			t.Fatal(err)
		}
		if got := state.Tasks["second"]; got.Status != core.TaskWaiting || got.Losses != 0 {
			t.Errorf("the attempt that was started is left as %+v", got)
		}
		if _, err := e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{}); !errors.Is(err, engine.Closing) {
			t.Errorf("a start after Close: %v", err)
		}
	})
}
