package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
)

const greeting cairn.Key[string] = "greeting"

// openStore opens a store in the test's folder and closes it with the test.
func openStore(t testing.TB, path string) *sqlite.Store {
	t.Helper()
	store, err := sqlite.Open(context.Background(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// open starts an engine over the store and closes it with the test.
func open(t testing.TB, cfg engine.Config) *engine.Engine {
	t.Helper()
	if cfg.Store == nil {
		cfg.Store = openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	}
	e, err := engine.Open(context.Background(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close(context.Background()) })
	return e
}

func do[T any](value T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return value, nil }
}

func TestRunFinishes(t *testing.T) {
	wf := cairn.Workflow[string, string]{Name: "hello", Result: greeting, Render: func(v *cairn.View, name string) cairn.Node {
		return task.Task[string]{ID: greeting, Do: do("Hello, " + name)}
	}}
	e := open(t, engine.Config{Workflows: []cairn.Definer{wf}})
	run, err := e.Start(t.Context(), "hello", json.RawMessage(`"world"`), engine.StartOptions{ID: "r"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.Wait(t.Context())
	if err != nil || out.Status != core.Finished || string(out.Result) != `"Hello, world"` {
		t.Fatalf("outcome %+v, %v", out, err)
	}
}

func TestRetriesInVirtualTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		wf := cairn.Workflow[string, string]{Name: "hello", Result: greeting, Render: func(v *cairn.View, name string) cairn.Node {
			return task.Task[string]{ID: greeting, Retry: task.Retry{Max: 5}, Do: func(ctx context.Context) (string, error) {
				if tries++; tries < 5 {
					return "", errors.New("not yet")
				}
				return "at last", nil
			}}
		}}
		e := open(t, engine.Config{Workflows: []cairn.Definer{wf}})
		began := time.Now()
		run, err := e.Start(t.Context(), "hello", json.RawMessage(`"world"`), engine.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out, err := run.Wait(t.Context())
		if err != nil || out.Status != core.Finished {
			t.Fatalf("outcome %+v, %v", out, err)
		}
		if took := time.Since(began); took < 15*time.Second || took > 17*time.Second {
			t.Errorf("four pauses of 1, 2, 4 and 8 seconds took %s", took)
		}
	})
}
