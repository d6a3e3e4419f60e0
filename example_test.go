package cairn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
)

// Draft is an output: typed, validated, stored in the frame that commits it.
type Draft struct {
	Text   string `json:"text" validate:"required"`
	Rounds int    `json:"rounds"`
}

const (
	outline cairn.Key[string] = "outline" // a key is the identity and the type of a task's output
	draft   cairn.Key[Draft]  = "draft"
)

var Write = cairn.Workflow[string, Draft]{
	Name:   "write",
	Result: draft,
	Render: func(v *cairn.View, subject string) cairn.Node { // pure: the same committed state, the same tree
		return cairn.Sequence{Children: cairn.Nodes{
			task.Task[string]{ID: outline, Do: func(ctx context.Context) (string, error) {
				return subject, nil // any Go: call a model, a service, a program
			}},
			cairn.Loop{
				ID: "round", Max: 5,
				Until: func(v *cairn.View) bool { return draft.Must(v).Rounds == 3 },
				Body: func(v *cairn.View) cairn.Node {
					return task.Task[Draft]{
						ID:    draft, // its path is round[0]/draft, round[1]/draft, …
						From:  task.From(last, improve),
						Retry: task.Retry{Max: 3},
					}
				},
			},
		}}
	},
}

// last is read when the task starts, stored, and reused by later attempts.
func last(v *cairn.View) Draft {
	if before, ok := draft.Prev(v); ok {
		return before
	}
	return Draft{Text: outline.Must(v)}
}

func improve(ctx context.Context, d Draft) (Draft, error) {
	return Draft{Text: d.Text + "!", Rounds: d.Rounds + 1}, nil
}

func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "cairn")
	check(err)
	defer os.RemoveAll(dir)

	db, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "cairn.db")})
	check(err)
	defer db.Close()
	e, err := engine.Open(ctx, engine.Config{Store: db, Workflows: []cairn.Definer{Write}})
	check(err)
	defer e.Close(ctx)

	run, err := e.Start(ctx, "write", json.RawMessage(`"cairns"`), engine.StartOptions{ID: "first"})
	check(err)
	outcome, err := run.Wait(ctx)
	check(err)
	fmt.Println(outcome.Status, string(outcome.Result))
	// Output: finished {"text":"cairns!!!","rounds":3}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
