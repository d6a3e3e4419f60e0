package handoff_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/task"
)

// Progress is all that a run of Migrate knows of those before it.
type Progress struct {
	Next  int      `json:"next"`
	Notes []string `json:"notes,omitempty"`
}

const (
	batch  cairn.Key[string] = "batch"
	report cairn.Key[string] = "report"
)

// Migrate works through batches, one in each run, and reports at the end.
var Migrate = cairn.Workflow[int, string]{
	Name: "migrate", Result: report,
	Render: func(v *cairn.View, batches int) cairn.Node {
		at := handoff.Carried(v, Progress{Next: 1})
		if at.Next > batches {
			return task.Task[string]{ID: report, Do: func(context.Context) (string, error) { return fmt.Sprint(at.Notes), nil }}
		}
		done, _ := batch.Get(v)
		return cairn.Nodes{
			task.Task[string]{ID: batch, Do: func(context.Context) (string, error) { return fmt.Sprintf("batch %d is moved", at.Next), nil }},
			handoff.ContinueAsNew{State: Progress{Next: at.Next + 1, Notes: append(at.Notes, done)}},
		}
	},
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "handoff")
	check(err)
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "runs.db")})
	check(err)
	defer store.Close()
	e, err := engine.Open(ctx, engine.Config{Store: store, Workflows: []cairn.Definer{Migrate}})
	check(err)
	defer e.Close(ctx)

	run, err := e.Start(ctx, "migrate", json.RawMessage(`2`), engine.StartOptions{ID: "nightly"})
	check(err)
	outcome, err := run.Wait(ctx) // of the last run of the chain
	check(err)
	fmt.Printf("%s %s: %s\n", outcome.Run, outcome.Status, outcome.Result)
	for id := "nightly"; id != ""; {
		info, err := store.Run(ctx, id)
		check(err)
		state, _, err := engine.Load(ctx, store, id)
		check(err)
		carried := json.RawMessage("nothing")
		if state.Envelope != nil {
			carried = state.Envelope.State
		}
		fmt.Printf("%d %s was handed %s\n", info.Generation, id, carried)
		id = info.Successor
	}
	// Output:
	// nightly.3 finished: "[batch 1 is moved batch 2 is moved]"
	// 1 nightly was handed nothing
	// 2 nightly.2 was handed {"next":2,"notes":["batch 1 is moved"]}
	// 3 nightly.3 was handed {"next":3,"notes":["batch 1 is moved","batch 2 is moved"]}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
