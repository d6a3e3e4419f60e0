package engine_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/process"
	"github.com/cairnrun/cairn/task"
)

func selfHost(t *testing.T) string {
	t.Helper()
	return process.Self().Host
}

func TestEffectsOfCommittedResultsAreDelivered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wf := workflow(func(*cairn.View) cairn.Node {
			return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) {
				if err := task.Emit(ctx, "mail", "attempt "+string('0'+rune(task.Attempt(ctx)))); err != nil {
					return 0, err
				}
				if task.Attempt(ctx) == 1 {
					return 0, errors.New("this attempt's effect must not go out")
				}
				return 1, nil
			}}
		})
		var got []engine.Delivery
		arrived := make(chan struct{})
		e := open(t, engine.Config{Workflows: []cairn.Definer{wf}, Deliver: map[string]engine.Deliver{
			"mail": func(_ context.Context, d engine.Delivery) error {
				if got = append(got, d); len(got) < 3 {
					return errors.New("the post office is closed")
				}
				close(arrived)
				return nil
			},
		}})
		wait(t, begin(t, e), core.Finished)
		<-arrived
		time.Sleep(time.Hour) // delivered is delivered
		if len(got) != 3 || got[0].ID != got[2].ID || string(got[2].Effect.Body) != `"attempt 2"` || got[2].Tries != 2 || got[2].Why != "the post office is closed" {
			t.Errorf("deliveries %+v", got)
		}
	})
}

func TestMiddlewareWrapsAttempts(t *testing.T) {
	var trace []string
	layer := func(name string) engine.Middleware {
		return func(next cairn.Run) cairn.Run {
			return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
				trace = append(trace, name+" in "+call.Path)
				result, err := next(ctx, call)
				trace = append(trace, name+" out")
				result.Usage = append(result.Usage, cairn.Usage{Model: name, Input: 1})
				return result, err
			}
		}
	}
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	e := open(t, engine.Config{Store: store, Middleware: []engine.Middleware{layer("outer"), layer("inner")},
		Workflows: []cairn.Definer{workflow(func(*cairn.View) cairn.Node { return task.Task[int]{ID: second, Do: do(1)} })}})
	wait(t, begin(t, e), core.Finished)
	if got := strings.Join(trace, ", "); got != "outer in second, inner in second, inner out, outer out" {
		t.Errorf("order: %s", got)
	}
	var usage []cairn.Usage
	err := store.Frames(t.Context(), "r", 1, func(_ int64, body []byte) error {
		f, err := core.Decode(body)
		for _, ev := range f.Events {
			usage = append(usage, ev.Usage...)
		}
		return err
	})
	if err != nil || len(usage) != 2 || usage[0].Model != "inner" {
		t.Errorf("usage in the frames: %v, %v", usage, err)
	}
}

func TestArtifactsAreDurableBeforeTheirFrame(t *testing.T) {
	store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	files, err := artifact.Open(filepath.Join(t.TempDir(), "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	wf := workflow(func(*cairn.View) cairn.Node {
		return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) {
			_, err := task.WriteArtifact(ctx, "report.md", "text/markdown", strings.NewReader("# All is well"))
			return 1, err
		}}
	})
	e := open(t, engine.Config{Store: store, Artifacts: files, Workflows: []cairn.Definer{wf}, Observe: func(_ string, f *core.Frame) {
		for _, ev := range f.Events {
			for _, a := range ev.Artifacts {
				if ok, err := files.Has(context.Background(), a.Hash); !ok || err != nil {
					t.Errorf("frame %d refers to %s, which is not there: %v", f.N, a.Hash, err)
				}
			}
		}
	}})
	wait(t, begin(t, e), core.Finished)
	state, _, err := engine.Load(t.Context(), store, "r")
	if err != nil {
		t.Fatal(err)
	}
	written := state.Tasks["second"].Artifacts
	if len(written) != 1 || written[0].Name != "report.md" || written[0].Producer != "second" || written[0].Size != 13 {
		t.Fatalf("artifacts %+v", written)
	}

	// The run, its journal and its files survive a trip to another store.
	var out bytes.Buffer
	if err := engine.Export(t.Context(), store, files, "r", &out); err != nil {
		t.Fatal(err)
	}
	elsewhere := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	otherFiles, err := artifact.Open(filepath.Join(t.TempDir(), "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	whole := out.Bytes()
	id, err := engine.Import(t.Context(), elsewhere, otherFiles, bytes.NewReader(whole))
	if err != nil || id != "r" {
		t.Fatalf("import: %q, %v", id, err)
	}
	there, _, err := engine.Load(t.Context(), elsewhere, "r")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(state)
	b, _ := json.Marshal(there)
	if !bytes.Equal(a, b) {
		t.Errorf("the state is\n%s\nthere and was\n%s", b, a)
	}
	r, err := otherFiles.Get(t.Context(), written[0].Hash)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if content, err := io.ReadAll(r); err != nil || string(content) != "# All is well" {
		t.Errorf("content %q, %v", content, err)
	}
	if _, err := engine.Import(t.Context(), elsewhere, otherFiles, bytes.NewReader(whole)); !errors.Is(err, engine.RunExists) {
		t.Errorf("importing twice: %v", err)
	}
	var again bytes.Buffer
	if err := engine.Export(t.Context(), elsewhere, otherFiles, "r", &again); err != nil {
		t.Fatal(err)
	}
	if strip(again.Bytes()) != strip(whole) {
		t.Errorf("an export of the import differs:\n%s\n%s", again.Bytes(), whole)
	}
	// A file cut off anywhere, or with a changed byte in a frame, is refused and nothing is written.
	fresh := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
	for cut := 0; cut < len(whole)-1; cut += 97 {
		if _, err := engine.Import(t.Context(), fresh, nil, bytes.NewReader(whole[:cut])); !errors.Is(err, engine.BadExport) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	if runs, err := fresh.Runs(t.Context(), engine.Query{}); err != nil || len(runs) != 0 {
		t.Errorf("refused imports have written %d runs, %v", len(runs), err)
	}
}

// strip leaves the header out: when a run was last written to is a matter of the store.
func strip(export []byte) string {
	_, rest, _ := strings.Cut(string(export), "\n")
	return rest
}

func FuzzImport(f *testing.F) {
	f.Add([]byte(`{"cairn":{"version":1,"run":{"id":"r"}}}` + "\n" + `{"frame":{"n":1,"t":1}}` + "\n" + `{"end":{"frames":1,"hash":"x","lines":3}}`))
	f.Add([]byte("{}\n"))
	f.Add([]byte(`{"cairn":{"version":2}}`))
	store := openStore(f, filepath.Join(f.TempDir(), "cairn.db"))
	f.Fuzz(func(t *testing.T, file []byte) {
		if id, err := engine.Import(t.Context(), store, nil, bytes.NewReader(file)); err != nil && id != "" {
			t.Errorf("id %q beside error %v", id, err)
		}
	})
}

// TestAnAttemptThatNeverBeganBooksNothing: what lost attempts have used is still to be booked after one that ended in a
// middleware, before its body.
func TestAnAttemptThatNeverBeganBooksNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var booked []int
		refuses := func(next cairn.Run) cairn.Run {
			return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
				booked = append(booked, call.Booked)
				if call.Attempt <= 2 {
					return cairn.Result{}, errors.New("no memory today")
				}
				return next(ctx, call)
			}
		}
		e := open(t, engine.Config{Middleware: []engine.Middleware{refuses}, Workflows: []cairn.Definer{workflow(func(*cairn.View) cairn.Node {
			return task.Task[int]{ID: second, Retry: task.Retry{Max: 4}, Do: func(ctx context.Context) (int, error) {
				if task.Attempt(ctx) == 3 {
					return 0, errors.New("not yet")
				}
				return 1, nil
			}}
		})}})
		wait(t, begin(t, e), core.Finished)
		if got := fmt.Sprint(booked); got != "[0 0 0 3]" {
			t.Errorf("attempts are told that %s are booked", got)
		}
	})
}
