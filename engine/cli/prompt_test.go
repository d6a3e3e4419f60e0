package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/delegate"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// looks is a model that reads once and then answers; its first answer is none, and with it the attempt fails.
type looks struct{}

func (looks) Info() loop.Info {
	return loop.Info{Provider: "script", Models: []string{"scripted-1"}, Identity: "looks", Cache: window.Rules{Marks: 4}}
}

func (looks) Call(_ context.Context, w loop.Window) (loop.Turn, error) {
	turn := loop.Turn{Stop: loop.StopEnd, Usage: []cairn.Usage{{Model: "scripted-1", Input: 400, Output: 5}}}
	switch first := w.Messages[0].Blocks; {
	case len(w.Messages) == 1:
		turn.Blocks = []window.Block{{Kind: window.ToolUse, ID: "a", Name: "read", Input: json.RawMessage(`{"file":"a.go"}`)}}
	case len(first) == 1:
		turn.Stop = loop.StopMaxTokens
	default:
		turn.Blocks = []window.Block{{Kind: window.Text, Text: "done"}}
	}
	return turn, nil
}

const asking cairn.Key[string] = "ask"

var asker = cairn.Workflow[struct{}, string]{Name: "asker", Result: asking, Example: new(struct{}{}), Render: func(*cairn.View, struct{}) cairn.Node {
	read := cairn.Tool{Name: "read", Description: "reads a file", Schema: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return nil, errors.New("there is no such file")
	}}
	return task.Task[string]{ID: asking, Agent: &loop.Agent{Model: looks{}, System: "Be brief.", Tools: []cairn.Tool{read}}, Retry: task.Retry{Initial: 1},
		Prompt: func(*cairn.View) string { return "Look at this.\n" + task.Dep("plan", map[string]int{"b": 2, "a": 1}) }}
}}

func TestPrompt(t *testing.T) {
	p := newPlace(t)
	p.must(0, "up", "asker", "--run-id", "r1", "-q")
	hash := regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	golden(t, "prompt.golden", hash.ReplaceAllString(p.canon(p.must(0, "prompt", "r1", "ask").out), "HASH"))
	type shown struct {
		Number, Of, Call, Calls, Attempt int
		Answered, Exact                  bool
		Read                             int64
		Spans                            []window.Span
	}
	one := lines[shown](t, p.must(0, "prompt", "r1", "ask", "--conversation", "1", "--call", "1", "--json").out)[0]
	if one.Number != 1 || one.Of != 2 || one.Call != 1 || one.Calls != 2 || one.Attempt != 1 || !one.Answered || !one.Exact || one.Read != 400 {
		t.Errorf("%+v", one)
	}
	var parts []window.Part
	for _, s := range one.Spans {
		parts = append(parts, s.Part)
	}
	if len(parts) < 5 || parts[0] != window.PartTools || parts[len(parts)-1] != window.PartDeps {
		t.Errorf("parts %q", parts)
	}
	has(t, p.must(0, "prompt", "r1", "ask", "--original").out, "Look at this.", "there is no such file\n\n--- history, assistant, ~1 token\ndone\n")
	if messages := lines[window.Message](t, p.must(0, "prompt", "r1", "ask", "--original", "--json").out); len(messages) != 4 {
		t.Errorf("%+v", messages)
	}
	has(t, p.must(0, "node", "r1", "ask", "--json").out, `"windows":{"pointers":0,"cleared":0,"compactions":0}`)
	for want, args := range map[string][]string{
		"there is no call 9 in conversation 2, which has 2 calls;":  {"r1", "ask", "--call", "9"},
		"there is no call -1 in conversation 1, which has 2 calls;": {"r1", "ask", "--conversation", "1", "--call", "-1"},
		"there is no conversation 3, of 2;":                         {"r1", "ask", "--conversation", "3"},
		"no model was asked there":                                  {"r1", "nowhere"},
		"RUN_NOT_FOUND":                                             {"r2", "ask"},
	} {
		has(t, p.must(cli.ExitRefused, append([]string{"prompt"}, args...)...).err, want)
	}
}

// forged is a conversation in the journal of another version, whose hash is not the one of its window.
var forged = cairn.Workflow[struct{}, string]{Name: "forged", Result: asking, Example: new(struct{}{}), Render: func(*cairn.View, struct{}) cairn.Node {
	return task.Task[string]{ID: asking, Do: func(ctx context.Context) (string, error) {
		block := func(text string) []window.Block { return []window.Block{{Kind: window.Text, Text: text}} }
		_, err := task.Step(ctx, "loop.a.1.start", func(context.Context) (window.Opening, error) {
			return window.Opening{First: window.Message{Role: window.User, Blocks: block("go")}}, nil
		})
		if err != nil {
			return "", err
		}
		type turn struct {
			Plan   window.Plan    `json:"plan"`
			Blocks []window.Block `json:"blocks"`
		}
		_, err = task.Step(ctx, "loop.a.1.turn.1", func(context.Context) (turn, error) {
			return turn{window.Plan{At: 1, Hash: "0123456789abcdef01234567"}, block("done")}, nil
		})
		return "done", err
	}}
}}

// TestPromptOfAnotherVersion: bytes that are not those that the call saw are never passed off as such.
func TestPromptOfAnotherVersion(t *testing.T) {
	p := newPlace(t)
	p.with(0, forged, "up", "forged", "--run-id", "r1", "-q")
	has(t, p.must(0, "prompt", "r1", "ask").out, "# NOT what the call saw", "\ngo\n")
	if got := lines[struct{ Exact bool }](t, p.must(0, "prompt", "r1", "ask", "--json").out)[0]; got.Exact {
		t.Error("it is said to be exact")
	}
	has(t, p.must(0, "cache-report", "r1").out, "its window can't be made again")
}

// helper answers at once.
type helper struct{}

func (helper) Info() loop.Info { return loop.Info{Provider: "p", Models: []string{"h"}, Identity: "h"} }

func (helper) Call(context.Context, loop.Window) (loop.Turn, error) {
	return loop.Turn{Stop: loop.StopEnd, Blocks: []window.Block{{Kind: window.Text, Text: "found"}}}, nil
}

// TestPromptOfWhoDelegates: of a task with sub-agents it is the task's own conversation, unless another is asked for.
func TestPromptOfWhoDelegates(t *testing.T) {
	p := newPlace(t)
	lead := &loop.Agent{Model: caller{}, Tools: []cairn.Tool{delegate.New(delegate.Config{Agent: &loop.Agent{Model: helper{}}})}}
	wf := flow("leads", func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("lead", lead, "the whole of it")} })
	p.with(0, wf, "up", "leads", "--run-id", "r1", "-q")
	out := p.must(0, "prompt", "r1", "lead").out
	has(t, out, "# lead, call 2 of 2, conversation 1 of 3,", "\nthe whole of it\n")
	if strings.Contains(out, "part of the call") {
		t.Errorf("a sub-agent's:\n%s", out)
	}
	has(t, p.must(0, "prompt", "r1", "lead", "--conversation", "2").out, "conversation 2 of 3", "# part of the call ", "<isolation>")
}
