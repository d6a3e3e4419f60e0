package engine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
)

// mortal is a store that is gone for the engine after so many writes, as it is for a process that is killed: the last write has come
// through, or it has not.
type mortal struct {
	engine.Store

	mu      sync.Mutex // guards the rest
	left    int
	written bool
	lease   engine.Lease
}

func (m *mortal) write(do func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left--
	if m.left > 0 || m.left == 0 && m.written {
		if err := do(); err != nil {
			return err
		}
	}
	if m.left <= 0 {
		return &cairn.Error{Code: engine.LeaseLost, Message: "the process is dead"}
	}
	return nil
}

func (m *mortal) Record(ctx context.Context, lease engine.Lease, entries ...engine.Entry) error {
	return m.write(func() error { return m.Store.Record(ctx, lease, entries...) })
}

func (m *mortal) Commit(ctx context.Context, lease engine.Lease, c engine.Commit) error {
	return m.write(func() error { return m.Store.Commit(ctx, lease, c) })
}

func (m *mortal) Create(ctx context.Context, run engine.NewRun, first engine.Commit, claim engine.Claim) (lease engine.Lease, err error) {
	lease, err = m.Store.Create(ctx, run, first, claim)
	m.lease = lease
	return lease, err
}

func (m *mortal) Claim(ctx context.Context, run string, claim engine.Claim) (lease engine.Lease, err error) {
	lease, err = m.Store.Claim(ctx, run, claim)
	m.lease = lease
	return lease, err
}

// accounts sums up what is in the frames of run r, by their events and by the attempts that have ended in them, and what the calls
// have used that are in its journal.
func accounts(t testing.TB, store engine.Store) (events, attempts, calls int64) {
	t.Helper()
	err := engine.FoldFrames(t.Context(), store, "r", func(state *core.State, f *core.Frame) error {
		for _, ev := range f.Events {
			for _, u := range ev.Usage {
				events += u.Output
			}
		}
		for _, done := range state.Ended() {
			for _, u := range done.Usage {
				attempts += u.Output
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := store.Entries(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name, engine.Reserved) || e.Name == "" {
			continue
		}
		raw, err := task.StepValue(e.Value)
		var used int64
		if err == nil {
			err = json.Unmarshal(raw, &used)
		}
		if err != nil {
			t.Fatal(err)
		}
		calls += used
	}
	return events, attempts, calls
}

// TestAllUsageIsInFrames: however often a run's process dies, and also if it is then cancelled and no attempt begins again, frames
// have what the calls have used that have finished, and nothing twice.
func TestAllUsageIsInFrames(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tasks, calls := rapid.IntRange(1, 3).Draw(rt, "tasks"), rapid.IntRange(0, 4).Draw(rt, "calls")
		amount := rapid.Int64Range(1, 1000)
		amounts := rapid.SliceOfN(amount, tasks*calls, tasks*calls).Draw(rt, "amounts")
		wf := workflow(func(*cairn.View) cairn.Node {
			var all cairn.Nodes
			for n := range tasks {
				all = append(all, task.Task[int]{ID: cairn.Key[int](fmt.Sprint("task", n)), Do: func(ctx context.Context) (int, error) {
					for i, used := range amounts[n*calls : (n+1)*calls] {
						_, err := task.Step(ctx, fmt.Sprint("call ", i), func(ctx context.Context) (int64, error) {
							task.Spend(ctx, cairn.Usage{Model: "m", Output: used})
							return used, nil
						})
						if err != nil {
							return 0, err
						}
					}
					return n, nil
				}})
			}
			return cairn.Nodes{cairn.Parallel{Children: all}, task.Task[int]{ID: second, Do: do(1)}}
		})
		inner := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		defer inner.Close()
		life := func(store engine.Store, enter func(e *engine.Engine) (*engine.Run, error)) (out engine.Outcome, err error) {
			e, err := engine.Open(t.Context(), engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
			if err != nil {
				rt.Fatal(err)
			}
			run, err := enter(e)
			if err == nil {
				out, err = run.Wait(t.Context())
			}
			_ = e.Close(context.Background())
			return out, err
		}
		resumes := func(e *engine.Engine) (*engine.Run, error) { return e.Resume(t.Context(), "r", engine.ResumeOptions{}) }
		begins := func(e *engine.Engine) (*engine.Run, error) {
			return e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
		}
		ended := false
		for n := range rapid.IntRange(1, 3).Draw(rt, "deaths") {
			m := &mortal{Store: inner, left: rapid.IntRange(1, 2+tasks*(calls+1)).Draw(rt, "writes"), written: rapid.Bool().Draw(rt, "written")}
			enter := resumes
			if n == 0 {
				enter = begins
			}
			if _, err := life(m, enter); err == nil {
				ended = true
				break
			}
			if err := inner.Release(t.Context(), m.lease); err != nil {
				rt.Fatal(err)
			}
		}
		want := core.Finished
		if info, err := inner.Run(t.Context(), "r"); err != nil {
			rt.Fatal(err)
		} else if !ended && !info.Status.Terminal() {
			cancels := rapid.Bool().Draw(rt, "cancelled")
			out, err := life(inner, func(e *engine.Engine) (*engine.Run, error) {
				if cancels {
					want = core.CancelledRun
					if err := e.Cancel(t.Context(), "r", "enough"); err != nil {
						return nil, err
					}
				}
				return resumes(e)
			})
			if err != nil || out.Status != want {
				rt.Fatalf("%+v, %v", out, err)
			}
		}
		events, attempts, used := accounts(t, inner)
		if events != used || attempts != used {
			rt.Fatalf("%d tokens are in events and %d in attempts, and calls that finished have used %d", events, attempts, used)
		}
	})
}

// stuck is a store on which a heartbeat is written until nobody waits for it any more.
type stuck struct {
	*mortal
	begun chan struct{}
}

func (s *stuck) Record(ctx context.Context, lease engine.Lease, entries ...engine.Entry) error {
	if entries[0].Name == "" {
		close(s.begun)
		<-ctx.Done()
		return ctx.Err()
	}
	return s.mortal.Record(ctx, lease, entries...)
}

// TestWhatCouldNotBeWrittenIsWrittenLater: a usage goes to the journal with the next entry, if the write that was to bring it there was
// given up.
func TestWhatCouldNotBeWrittenIsWrittenLater(t *testing.T) {
	wf := workflow(func(*cairn.View) cairn.Node {
		return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) {
			task.Spend(ctx, cairn.Usage{Model: "m", Output: 7})
			if err := task.Heartbeat(ctx, 1); err != nil {
				return 0, err
			}
			<-ctx.Done()
			_, err := task.Step(context.WithoutCancel(ctx), "call", func(context.Context) (int64, error) { return 7, nil })
			return 0, err
		}}
	})
	inner := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	s := &stuck{&mortal{Store: inner, left: 3}, make(chan struct{})} // the cancellation and the call, and not the end
	e := open(t, engine.Config{Store: s, Workflows: []cairn.Definer{wf}})
	run := begin(t, e)
	<-s.begun
	if err := e.Cancel(t.Context(), "r", "enough"); err != nil {
		t.Fatal(err)
	}
	if out, err := run.Wait(t.Context()); err == nil {
		t.Fatalf("the process has not died: %+v", out)
	}
	if err := inner.Release(t.Context(), s.lease); err != nil {
		t.Fatal(err)
	}
	e = open(t, engine.Config{Store: inner, Workflows: []cairn.Definer{wf}})
	run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	wait(t, run, core.CancelledRun)
	if events, attempts, used := accounts(t, inner); events != 7 || attempts != 7 || used != 7 {
		t.Errorf("%d tokens are in events and %d in attempts, of %d", events, attempts, used)
	}
}

// TestReservedNames: a body can neither write the engine's own entries nor see them.
func TestReservedNames(t *testing.T) {
	attempts := 0
	wf := workflow(func(*cairn.View) cairn.Node {
		return task.Task[int]{ID: second, Retry: task.Retry{Max: 2, Initial: 1}, Do: func(ctx context.Context) (int, error) {
			call, _ := cairn.CallFrom(ctx)
			if attempts++; attempts == 2 {
				if raw, found := call.Journal.Lookup(engine.Reserved + "spent/1/00000001"); found {
					t.Errorf("the body sees %s", raw)
				}
				return 1, nil
			}
			task.Spend(ctx, cairn.Usage{Model: "m", Output: 7})
			if _, err := task.Step(ctx, "call", func(context.Context) (int64, error) { return 7, nil }); err != nil {
				return 0, err
			}
			return 0, call.Journal.Record(ctx, engine.Reserved+"spent/1/00000002", json.RawMessage(`[]`))
		}}
	})
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	wait(t, begin(t, open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})), core.Finished)
	entries, err := store.Entries(t.Context(), "r", "")
	if err != nil || len(entries) != 2 || entries[0].Name != engine.Reserved+"spent/1/00000001" {
		t.Errorf("%+v, %v", entries, err)
	}
	if events, _, used := accounts(t, store); events != 7 || used != 7 {
		t.Errorf("%d tokens are in events, of %d", events, used)
	}
}
