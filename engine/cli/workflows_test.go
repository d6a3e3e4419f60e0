package cli_test

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/task"
)

// The workflows of these tests, also of the processes that the tests start.
var workflows = []cairn.Definer{zoo, hold, broken, plain, relay, asker}

// ask is the input of zoo.
type ask struct {
	Name string `json:"name" validate:"required"`
	Fail bool   `json:"fail,omitempty"`
}

const (
	greet  cairn.Key[string] = "greet"
	flaky  cairn.Key[string] = "flaky"
	doomed cairn.Key[string] = "doomed"
	skip   cairn.Key[string] = "skipped"
	note   cairn.Key[string] = "note"
	count  cairn.Key[int]    = "count"
	last   cairn.Key[string] = "last"
	held   cairn.Key[string] = "held"
)

func say(id cairn.Key[string], text string) task.Task[string] {
	return task.Task[string]{ID: id, Do: func(context.Context) (string, error) { return text, nil }}
}

// zoo has one of everything that a command line shows, in an order that does not depend on timing.
var zoo = cairn.Workflow[ask, string]{
	Name: "zoo", About: "one of everything", Version: "1.2", Result: last, Example: new(ask{Name: "ape"}),
	Render: func(v *cairn.View, in ask) cairn.Node {
		return cairn.Nodes{
			say(greet, "hello "+in.Name),
			task.Task[string]{ID: flaky, Retry: task.Retry{Initial: time.Millisecond}, Do: func(ctx context.Context) (string, error) {
				if task.Attempt(ctx) == 1 {
					return "", errors.New("not yet")
				}
				return "now", nil
			}},
			task.Task[string]{ID: doomed, Optional: true, Do: func(context.Context) (string, error) {
				return "", task.Permanent(errors.New("can't be\nhelped"))
			}},
			task.Task[string]{ID: skip, SkipIf: func(*cairn.View) bool { return true }, Do: func(context.Context) (string, error) { return "", nil }},
			task.Task[string]{ID: note, Do: func(ctx context.Context) (string, error) {
				file, err := task.WriteArtifact(ctx, "note.txt", "text/plain", strings.NewReader("a note"))
				return file.Hash, err
			}},
			cairn.Loop{ID: "rounds", Until: func(v *cairn.View) bool { return count.Must(v) == 1 }, Body: func(v *cairn.View) cairn.Node {
				i := v.Iteration()
				return task.Task[int]{ID: count, Do: func(context.Context) (int, error) { return i, nil }}
			}},
			cairn.Try{
				ID: "careful",
				Body: task.Task[string]{ID: "risky", Do: func(context.Context) (string, error) {
					if in.Fail {
						return "", task.Permanent(cairn.Code("RISKY"))
					}
					return "fine", nil
				}},
				Only:    cairn.Codes{"OTHER"},
				Catch:   func(*cairn.View, cairn.Failure) cairn.Node { return say("caught", "caught") },
				Finally: func(*cairn.View) cairn.Node { return say("tidy", "tidy") },
			},
			say(last, "bye "+in.Name),
		}
	},
}

// holdEnv says what the body of hold does: wait until it is told to stop, stubborn: not even then, stdin: until that is closed, anything else: go on.
const holdEnv = "CAIRN_TEST_HOLD"

// driftEnv, when set, adds a task to hold: its code has changed.
const driftEnv = "CAIRN_TEST_DRIFT"

func drifted() cairn.Node {
	if os.Getenv(driftEnv) == "" {
		return nil
	}
	return say("new", "new")
}

// hold is a run that lasts until somebody ends it.
var hold = cairn.Workflow[ask, string]{
	Name: "hold", Result: held, Example: new(ask{Name: "x"}),
	Render: func(v *cairn.View, in ask) cairn.Node {
		return cairn.Nodes{
			say(greet, "hello"),
			cairn.Try{
				Body: task.Task[string]{ID: held, Do: func(ctx context.Context) (string, error) {
					switch os.Getenv(holdEnv) {
					case "wait":
						<-ctx.Done()
						return "", ctx.Err()
					case "stubborn":
						<-make(chan struct{})
					case "stdin":
						_, err := io.Copy(io.Discard, os.Stdin)
						return "let go", err
					}
					return "held", nil
				}},
				Finally: func(*cairn.View) cairn.Node { return say("tidy", "tidy") },
			},
			say("after", "after"),
			drifted(),
		}
	},
}

// broken renders a tree with mistakes.
var broken = cairn.Workflow[ask, string]{
	Name: "broken", Result: greet, Example: new(ask{Name: "x"}),
	Render: func(*cairn.View, ask) cairn.Node {
		return cairn.Nodes{say(greet, "a"), say(greet, "b"), say("a/b", "c")}
	},
}

// leg is what a run of relay hands to the next.
type leg struct {
	N int `json:"n"`
}

// relay is a chain of three runs, the second of which holds as hold does.
var relay = cairn.Workflow[ask, string]{
	Name: "relay", Result: last, Example: new(ask{Name: "x"}),
	Render: func(v *cairn.View, in ask) cairn.Node {
		n := handoff.Carried(v, leg{1}).N
		work := say(held, "held")
		if n == 2 {
			work.Do = func(ctx context.Context) (string, error) {
				if os.Getenv(holdEnv) == "wait" {
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "held", nil
			}
		}
		if n == 3 {
			return say(last, "over")
		}
		return cairn.Nodes{work, handoff.ContinueAsNew{State: leg{n + 1}}}
	},
}

// plain has no example.
var plain = cairn.Workflow[string, string]{
	Name: "plain", Result: greet,
	Render: func(_ *cairn.View, in string) cairn.Node { return say(greet, in) },
}
