// Package enginetest tests workflows: it runs them with scripted tasks in virtual time over a real database, records
// runs, and replays recordings against today's code.
//
//	func TestReview(t *testing.T) {
//		run := enginetest.Run(t, Review, Input{Repo: "x"}, enginetest.Script{
//			"implement": enginetest.Value(Patch{…}),
//			"review":    enginetest.Values(Verdict{Approved: false}, Verdict{Approved: true}),
//		})
//		if run.Status != core.Finished { … }
//		run.Record(t, "testdata/review.jsonl") // with -record
//	}
//
//	func TestReviewStaysCompatible(t *testing.T) {
//		enginetest.Replay(t, Review, "testdata/review.jsonl")
//	}
//
// A production run is a test case too: export it, put the file into testdata, replay it.
//
// # What is not safe
//
// Run executes in a testing/synctest bubble, where time passes only while everything waits: tasks that are not
// scripted must not open sockets or wait for something outside of the bubble.
package enginetest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/schema"
)

// Script says how tasks end, by path (work[1]/step) or else by key (step). A task that is in no script runs its own
// body.
type Script map[string]cairn.Run

// Value ends every attempt with the value.
func Value[T any](value T) cairn.Run { return Values(value) }

// Values ends the first attempt with the first value, and so on; the last one repeats.
func Values[T any](values ...T) cairn.Run {
	var mu sync.Mutex
	return func(context.Context, *cairn.Call) (cairn.Result, error) {
		mu.Lock()
		defer mu.Unlock()
		value := values[0]
		if len(values) > 1 {
			values = values[1:]
		}
		raw, err := schema.Encode(value)
		return cairn.Result{Output: raw}, err
	}
}

// Fail ends every attempt with the error.
func Fail(err error) cairn.Run {
	return func(context.Context, *cairn.Call) (cairn.Result, error) { return cairn.Result{}, err }
}

// After lets virtual time pass before an attempt ends as then says.
func After(d time.Duration, then cairn.Run) cairn.Run {
	return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		select {
		case <-time.After(d):
			return then(ctx, call)
		case <-ctx.Done():
			return cairn.Result{}, ctx.Err()
		}
	}
}

// Each ends attempts as the first one says, then as the second one says, and so on; the last one repeats.
func Each(runs ...cairn.Run) cairn.Run {
	var mu sync.Mutex
	return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		mu.Lock()
		run := runs[0]
		if len(runs) > 1 {
			runs = runs[1:]
		}
		mu.Unlock()
		return run(ctx, call)
	}
}

// middleware runs the script in place of bodies.
func (s Script) middleware(next cairn.Run) cairn.Run {
	return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		for _, name := range []string{call.Path, call.Key} {
			if run, ok := s[name]; ok {
				return run(ctx, call)
			}
		}
		return next(ctx, call)
	}
}

// Result is a run that has ended or parked.
type Result struct {
	engine.Outcome
	// Took is virtual time.
	Took time.Duration
	// State is where the run stands, Lines its last plan; of a run that has handed over, those of its last successor.
	State *core.State
	Lines core.Lines
	// Export is the run as JSON lines, from the first of its chain.
	Export []byte
}

// Run starts the workflow over a database of its own and waits until it has ended or parked. What goes wrong with
// the engine fails the test; how the run ended is for the test to judge.
func Run[In, Out any](t *testing.T, wf cairn.Workflow[In, Out], in In, script Script) *Result {
	t.Helper()
	raw, err := schema.Encode(in)
	if err != nil {
		t.Fatal(err)
	}
	result := &Result{}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx := t.Context()
		store, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "cairn.db"), Synchronous: sqlite.Normal})
		must(t, err)
		defer store.Close()
		files, err := artifact.Open(filepath.Join(dir, "artifacts"))
		must(t, err)
		// Nobody else is there: looking at the inbox and renewing the lease every quarter of a virtual second would only
		// make days of it slow.
		e, err := engine.Open(ctx, engine.Config{Store: store, Artifacts: files, Workflows: []cairn.Definer{wf},
			Middleware: []engine.Middleware{script.middleware}, Poll: quiet, LeaseTTL: 3 * quiet})
		must(t, err)
		defer e.Close(context.WithoutCancel(ctx))
		began := time.Now()
		run, err := e.Start(ctx, wf.Name, raw, engine.StartOptions{ID: "test"})
		must(t, err)
		result.Outcome, err = run.Wait(ctx)
		must(t, err)
		result.Took = time.Since(began)
		result.State, result.Lines, err = engine.Load(ctx, store, result.Run)
		must(t, err)
		var out bytes.Buffer
		must(t, engine.Export(ctx, store, files, "test", &out))
		result.Export = out.Bytes()
	})
	return result
}

// quiet is how often an engine under test does by itself what only matters to other processes.
const quiet = 100 * 24 * time.Hour

// Decode gives the run's result as T.
func Decode[T any](t *testing.T, r *Result) T {
	t.Helper()
	var out T
	if err := json.Unmarshal(r.Result, &out); err != nil {
		t.Fatalf("the result %s of a run that is %s (%v): %v", r.Result, r.Status, r.Failure, err)
	}
	return out
}

var record = flag.Bool("record", false, "write recordings anew")

// Record keeps the run in a file for Replay. It writes when the test runs with -record, or where there is no file yet.
func (r *Result) Record(t *testing.T, path string) {
	t.Helper()
	if _, err := os.Stat(path); err == nil && !*record {
		return
	}
	must(t, os.MkdirAll(filepath.Dir(path), 0o755))
	must(t, os.WriteFile(path, r.Export, 0o644))
}

// Replay fails the test where today's code would have made the recorded run differently, and says at which frame, what
// caused it, and which nodes differ. Drift of policies and inputs is allowed and logged.
func Replay(t *testing.T, wf cairn.Definer, path string) {
	t.Helper()
	f, err := os.Open(path)
	must(t, err)
	defer f.Close()
	report, err := engine.Replay(wf.Define(), f)
	must(t, err)
	for _, drift := range report.Drift {
		t.Log("drift: " + drift)
	}
	if report.Divergence != nil {
		t.Fatalf("%s diverges from the recording of run %s: %s", path, report.Run, report.Divergence)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
