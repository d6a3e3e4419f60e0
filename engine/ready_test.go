package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
)

// TestNotReady: what a run needs and this process lacks is an error of Start and of Resume, with nothing written; where it is
// there the run goes on.
func TestNotReady(t *testing.T) {
	var lacking atomic.Bool
	begun := make(chan struct{}, 1)
	wf := cairn.Workflow[order, int]{Name: "w", Result: second,
		Ready: func(in order) error {
			if lacking.Load() {
				return &cairn.Error{Code: "NO_SCALES", Message: in.Item + " can't be weighed", Next: "buy scales"}
			}
			return nil
		},
		Render: func(_ *cairn.View, in order) cairn.Node {
			return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) {
				select {
				case begun <- struct{}{}:
					<-ctx.Done()
					return 0, ctx.Err()
				default: // the second time
					return in.N, nil
				}
			}}
		}}
	store := openStore(t, t.TempDir()+"/cairn.db")
	refused := func(err error) {
		t.Helper()
		if !errors.Is(err, engine.NotReady) || !errors.Is(err, cairn.Code("NO_SCALES")) || !strings.Contains(err.Error(), "salt can't be weighed; buy scales") {
			t.Errorf("%v", err)
		}
	}
	input := json.RawMessage(`{"item":"salt","n":3}`)
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
	lacking.Store(true)
	_, err := e.Start(t.Context(), "w", input, engine.StartOptions{ID: "r"})
	refused(err)
	if runs, err := store.Runs(t.Context(), engine.Query{}); err != nil || len(runs) != 0 {
		t.Errorf("%d runs were written, %v", len(runs), err)
	}

	lacking.Store(false)
	if _, err := e.Start(t.Context(), "w", input, engine.StartOptions{ID: "r"}); err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	before, err := store.Run(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	e = open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
	lacking.Store(true)
	_, err = e.Resume(t.Context(), "r", engine.ResumeOptions{})
	refused(err)
	if after, err := store.Run(t.Context(), "r"); err != nil || after.Epoch != before.Epoch || after.Hash != before.Hash {
		t.Errorf("%+v became %+v, %v", before, after, err)
	}
	lacking.Store(false)
	begun <- struct{}{}
	run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run.Wait(t.Context()); err != nil || out.Status != core.Finished || string(out.Result) != "3" {
		t.Errorf("%+v, %v", out, err)
	}
}
