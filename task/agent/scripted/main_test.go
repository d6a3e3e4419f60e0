package scripted_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/tool"
)

// TestMain is the program that kills itself, where the environment says so.
func TestMain(m *testing.M) {
	if path := os.Getenv("CAIRN_SCRIPTED_DB"); path != "" {
		at, _ := strconv.Atoi(os.Getenv("CAIRN_SCRIPTED_KILL"))
		out, ops, err := drive(context.Background(), path, int64(at))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(ops, out)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

const (
	flaky   cairn.Key[string]  = "flaky"
	steady  cairn.Key[string]  = "steady"
	looks   cairn.Key[string]  = "looks"
	verdict cairn.Key[Verdict] = "verdict"
	log     cairn.Key[[]any]   = "log"
)

// Verdict is what a reviewer says.
type Verdict struct {
	Approved bool   `json:"approved"`
	Why      string `json:"why" validate:"required"`
}

// agent answers by attempt, by iteration and by schema.
func agent() *scripted.Agent {
	boom := errors.New("boom")
	return &scripted.Agent{
		Rules: []scripted.Rule{
			{Path: "round[*]/flaky", Replies: []scripted.Reply{{Err: boom}, {Text: "second"}, {Text: "third"}}},
			{Path: "round[*]/verdict", By: scripted.ByIteration, Replies: []scripted.Reply{{Value: Verdict{Why: "no tests"}}}},
		},
		Auto: true,
	}
}

// model looks, trips over a tool, is overloaded once, and sums up.
func model() *scripted.Model {
	return &scripted.Model{
		Name: "m",
		Rules: []scripted.TurnRule{
			{Tool: "broken", Result: "out of order", Turns: []scripted.Turn{{Text: "never mind", Calls: []scripted.Call{{Name: "look", Input: seen{"c"}}}}}},
			{Turns: []scripted.Turn{
				{Thinking: "two at once", Calls: []scripted.Call{{Name: "look", Input: seen{"a"}}, {Name: "look", Input: seen{"b"}}}},
				{Calls: []scripted.Call{{Name: "broken"}}},
				{Text: "all seen", Fails: []error{&cairn.Failure{Code: loop.ModelUnavailable, Message: "a moment", RetryAfter: 1}}},
			}},
		},
	}
}

type seen struct {
	What string `json:"what"`
}

// rounds is a workflow of them: two rounds, in each an agent that fails first, one that doesn't, one with tools, and a verdict.
func rounds(observe func(loop.Event)) cairn.Workflow[struct{}, []any] {
	script := agent()
	talker := &loop.Agent{Model: model(), Observe: observe, Tools: []cairn.Tool{
		tool.New("look", "Looks at something.", func(_ context.Context, in seen) (string, error) { return "saw " + in.What, nil }),
		tool.New("broken", "Does not work.", func(context.Context, struct{}) (string, error) { return "", errors.New("out of order") }),
	}}
	ask := func(of string) func(*cairn.View) string { return func(*cairn.View) string { return "be " + of } }
	return cairn.Workflow[struct{}, []any]{Name: "rounds", Result: log, Render: func(*cairn.View, struct{}) cairn.Node {
		retry := task.Retry{Max: 4, Initial: 1, Cap: 1}
		return cairn.Nodes{
			cairn.Loop{ID: "round", Max: 3, Until: func(v *cairn.View) bool { out, _ := verdict.Get(v); return out.Approved }, Body: func(*cairn.View) cairn.Node {
				return cairn.Nodes{
					cairn.Parallel{Children: cairn.Nodes{
						task.Task[string]{ID: flaky, Agent: script, Prompt: ask("flaky"), Retry: retry},
						task.Task[string]{ID: steady, Agent: script, Prompt: ask("steady"), Retry: retry},
						task.Task[string]{ID: looks, Agent: talker, Prompt: ask("curious"), Retry: retry},
					}},
					task.Task[Verdict]{ID: verdict, Agent: script, Prompt: ask("strict"), Retry: retry},
				}
			}},
			task.Task[[]any]{ID: log, From: task.From(func(v *cairn.View) (all []any) {
				for i := range 2 {
					for _, key := range []cairn.Key[string]{flaky, steady, looks} {
						value, _ := key.At(v, i)
						all = append(all, value)
					}
					last, _ := verdict.At(v, i)
					all = append(all, last)
				}
				return all
			}, func(_ context.Context, all []any) ([]any, error) { return all, nil })},
		}
	}}
}

// undisturbed is the result of the workflow.
const undisturbed = `["second","An answer to: be steady","all seen",{"approved":false,"why":"no tests"},` +
	`"second","An answer to: be steady","all seen",{"approved":true,"why":"why"}]`

// drive runs the workflow, or goes on with it, and kills its process at an operation: when an attempt begins, when it is over and
// before that is committed, and around each call of a model or tool. It returns how many operations there were.
func drive(ctx context.Context, path string, at int64) (string, int64, error) {
	var ops atomic.Int64
	op := func() {
		if ops.Add(1) == at {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			panic(fmt.Sprint("still alive: ", err, <-make(chan int)))
		}
	}
	store, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return "", 0, err
	}
	defer store.Close()
	e, err := engine.Open(ctx, engine.Config{Store: store, Workflows: []cairn.Definer{rounds(func(loop.Event) { op() })},
		Middleware: []engine.Middleware{func(next cairn.Run) cairn.Run {
			return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
				op()
				defer op()
				return next(ctx, call)
			}
		}}})
	if err != nil {
		return "", 0, err
	}
	defer e.Close(ctx)
	run, err := e.Start(ctx, "rounds", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	if errors.Is(err, engine.RunExists) {
		run, err = e.Resume(ctx, "r", engine.ResumeOptions{})
	}
	if err != nil {
		return "", 0, err
	}
	out, err := run.Wait(ctx)
	if out.Failure != nil {
		err = out.Failure
	}
	return string(out.Result), ops.Load(), err
}

// life runs the program once; it kills itself at an operation, or never at 0.
func life(t *testing.T, path string, at int) (out string, killed bool) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CAIRN_SCRIPTED_DB="+path, "CAIRN_SCRIPTED_KILL="+strconv.Itoa(at))
	var wrong strings.Builder
	cmd.Stderr = &wrong
	raw, err := cmd.Output()
	if wrong.Len() > 0 {
		t.Fatalf("%s", wrong.String())
	}
	return strings.TrimSpace(string(raw)), err != nil
}

// TestKill: wherever a process dies, the one that resumes the run gives the answers that the dead one would have.
func TestKill(t *testing.T) {
	out, killed := life(t, filepath.Join(t.TempDir(), "cairn.db"), 0)
	count, result, _ := strings.Cut(out, " ")
	if killed || result != undisturbed {
		t.Fatalf("undisturbed: %s", out)
	}
	ops, err := strconv.Atoi(count)
	if err != nil {
		t.Fatal(err)
	}
	rounds, _ := strconv.Atoi(cmp.Or(os.Getenv("CAIRN_KILL_ROUNDS"), "8")) // spread over all points
	for i := range min(rounds, ops) {
		at := 1 + i*ops/min(rounds, ops)
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "cairn.db")
			if out, killed := life(t, path, at); !killed {
				t.Fatalf("it was not killed: %s", out)
			}
			out, killed := life(t, path, 3) // and once more, soon after
			if killed {
				out, killed = life(t, path, 0)
			}
			if _, result, _ := strings.Cut(out, " "); killed || result != undisturbed {
				t.Errorf("%s\nundisturbed\n%s", result, undisturbed)
			}
		})
	}
}
