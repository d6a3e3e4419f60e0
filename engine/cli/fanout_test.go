package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/delegate"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
)

// caller is a model that delegates twice and then answers.
type caller struct{}

func (caller) Info() loop.Info { return loop.Info{Provider: "p", Models: []string{"m"}, Identity: "m"} }

func (caller) Call(_ context.Context, w loop.Window) (loop.Turn, error) {
	turn := loop.Turn{Stop: loop.StopEnd, Usage: []cairn.Usage{{Model: "m", Output: 50}}}
	if len(w.Messages) > 1 {
		turn.Blocks = []window.Block{{Kind: window.Text, Text: "done"}}
		return turn, nil
	}
	for _, id := range []string{"a", "b"} {
		turn.Blocks = append(turn.Blocks, window.Block{Kind: window.ToolUse, ID: id, Name: "delegate", Input: json.RawMessage(`{"task":"look"}`)})
	}
	return turn, nil
}

// fan delegates by a tool, and by nodes.
func fan() cairn.Definer {
	uses := func(tokens int64) task.Agent {
		return &scripted.Agent{Answer: func(task.Request) scripted.Reply {
			return scripted.Reply{Text: "ok", Usage: []cairn.Usage{{Model: "m", Input: tokens}}}
		}}
	}
	ask := func(*cairn.View) string { return "go" }
	lead := &loop.Agent{Model: caller{}, Tools: []cairn.Tool{delegate.New(delegate.Config{Agent: uses(600)})}}
	return cairn.Workflow[struct{}, string]{Name: "fan", Result: "lead", Render: func(*cairn.View, struct{}) cairn.Node {
		return cairn.Nodes{
			task.Task[string]{ID: "lead", Agent: lead, Prompt: ask},
			cairn.Scope{ID: "research", Body: func(*cairn.View) cairn.Node {
				return cairn.Nodes{
					task.Task[string]{ID: "plan", Agent: uses(150), Prompt: ask},
					cairn.Parallel{Children: cairn.ForEach([]string{"x", "y", "z"}, func(s string) string { return s }, func(*cairn.View, string) cairn.Node {
						return task.Delegate[string]{ID: "look", Agent: uses(1000), Prompt: ask, Share: 5000}
					})},
					cairn.Loop{ID: "round", Max: 1, OnMax: cairn.ReturnLast, Body: func(*cairn.View) cairn.Node {
						return task.Task[string]{ID: "sum", Agent: uses(50), Prompt: ask}
					}},
				}
			}},
		}
	}}
}

// TestInspectTellsWhatAFanOutHasCost: what was delegated, as a multiple of what has delegated it.
func TestInspectTellsWhatAFanOutHasCost(t *testing.T) {
	p := newPlace(t)
	run := func(args ...string) string {
		var out, wrong bytes.Buffer
		if code := cli.Run(t.Context(), append(args, "--db", p.db()), strings.NewReader(""), &out, &wrong, fan()); code != 0 {
			t.Fatalf("%q: %d %s %s", args, code, out.String(), wrong.String())
		}
		return out.String()
	}
	run("up", "fan", "--input", "{}", "--run-id", "r1", "-q")
	text := run("inspect", "r1")
	for _, want := range []string{
		"fan-out   lead: 1,200 tokens delegated, 100 of its own: 12.0 times as much\n",
		"fan-out   3 delegates in research: 3,000 tokens delegated, 200 of the tasks beside: 15.0 times as much\n",
		"research/x#look.share  tokens",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	got := lines[struct {
		FanOuts []struct {
			Path           string
			Delegates      int
			Delegated, Own int64
			Multiple       float64
		}
	}](t, run("inspect", "r1", "--json"))[0].FanOuts
	if len(got) != 2 || got[1].Path != "research" || got[1].Delegates != 3 || got[1].Multiple != 15 || got[0].Multiple != 12 {
		t.Errorf("%+v", got)
	}
}
