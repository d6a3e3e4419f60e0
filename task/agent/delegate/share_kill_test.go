package delegate_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/delegate"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// mortal is a store that writes nothing more once its process is dead.
type mortal struct {
	engine.Store
	dead  atomic.Bool
	lease engine.Lease
}

var errDead = &cairn.Error{Code: engine.LeaseLost, Message: "the process is dead"}

func (m *mortal) Create(ctx context.Context, run engine.NewRun, first engine.Commit, claim engine.Claim) (lease engine.Lease, err error) {
	lease, err = m.Store.Create(ctx, run, first, claim)
	m.lease = lease
	return lease, err
}

func (m *mortal) Record(ctx context.Context, lease engine.Lease, e engine.Entry) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Record(ctx, lease, e)
}

func (m *mortal) Commit(ctx context.Context, lease engine.Lease, c engine.Commit) error {
	if m.dead.Load() {
		return errDead
	}
	return m.Store.Commit(ctx, lease, c)
}

// TestAShareOverAKill: what a sub-agent has spent of its share before its process was killed, it does not get again.
func TestAShareOverAKill(t *testing.T) {
	inner, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "cairn.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer inner.Close()
	m := &mortal{Store: inner}
	var calls atomic.Int32
	sub := &model{answer: func(ctx context.Context, _ loop.Window, _ int) (loop.Turn, error) {
		if calls.Add(1) == 3 { // two are in the journal
			m.dead.Store(true)
		}
		return wants(use("x", "look", struct{}{})), nil
	}}
	m1 := &model{answer: func(_ context.Context, _ loop.Window, n int) (loop.Turn, error) {
		if n == 1 {
			return wants(use("a", "delegate", asked("x"))), nil
		}
		return says("did it myself"), nil
	}}
	small := delegate.New(delegate.Config{Agent: &loop.Agent{Model: sub, Tools: []cairn.Tool{does("look", "x")}}, Share: 25})
	wf := cairn.Workflow[struct{}, string]{Name: "w", Result: "lead", Render: func(*cairn.View, struct{}) cairn.Node {
		return task.Task[string]{ID: "lead", Agent: lead(m1, small), Prompt: func(*cairn.View) string { return "go" }}
	}}
	life := func(store engine.Store, enter func(e *engine.Engine) (*engine.Run, error)) (engine.Outcome, error) {
		e, err := engine.Open(t.Context(), engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close(context.WithoutCancel(t.Context()))
		run, err := enter(e)
		if err != nil {
			t.Fatal(err)
		}
		return run.Wait(t.Context())
	}
	if out, err := life(m, func(e *engine.Engine) (*engine.Run, error) {
		return e.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	}); err == nil {
		t.Fatalf("the process has not died: %+v", out)
	}
	if err := inner.Release(t.Context(), m.lease); err != nil {
		t.Fatal(err)
	}
	if out, err := life(inner, func(e *engine.Engine) (*engine.Run, error) {
		return e.Resume(t.Context(), "r", engine.ResumeOptions{})
	}); err != nil || out.Status != core.Finished {
		t.Fatalf("%+v, %v", out, err)
	}
	if n := calls.Load(); n != 4 { // the one that was in flight, made again, uses the share up
		t.Errorf("%d calls", n)
	}
	state, _, err := engine.Load(t.Context(), inner, "r")
	if err != nil || state.Tasks["lead"].Spent.Delegated != 30 {
		t.Errorf("delegated %d tokens, want 30, of a share of 25", state.Tasks["lead"].Spent.Delegated)
	}
}
