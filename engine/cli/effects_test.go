package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
)

const sendKey cairn.Key[string] = "send"

// peek is called in the middle of a call.
var peek func()

// handy is a workflow whose tasks call tools, as agents do: the first attempt is broken off in the middle of a call.
var handy = cairn.Workflow[struct{}, string]{Name: "handy", Result: sendKey, Render: func(*cairn.View, struct{}) cairn.Node {
	return task.Task[string]{ID: sendKey, Retry: task.Retry{Max: 2, Initial: 1}, Do: func(ctx context.Context) (string, error) {
		var attempt context.CancelFunc
		undo := func(context.Context, json.RawMessage, json.RawMessage) error { return nil }
		caller := &toolcall.Caller{Tools: []cairn.Tool{
			{Name: "mail", SideEffect: true, Revert: undo, Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
				if strings.Contains(string(in), "bounce") {
					return nil, errors.New("no such address")
				}
				return json.RawMessage(`"sent"`), nil
			}},
			{Name: "look", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return json.RawMessage(`"it is blue"`), nil
			}},
			{Name: "break", SideEffect: true, Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				peek()
				attempt()
				return nil, ctx.Err()
			}},
		}}
		calls, stop := context.WithCancel(ctx)
		defer stop()
		attempt = stop
		for i, use := range []window.Block{
			{Name: "mail", Input: json.RawMessage(`{"to":"a"}`)}, {Name: "look", Input: json.RawMessage(`{}`)}, {Name: "mail", Input: json.RawMessage(`{"to":"bounce"}`)},
			{Name: "mail", Input: json.RawMessage(`{"to":"` + strings.Repeat("x", toolcall.MostInput) + `"}`)}, {Name: "nothing", Input: json.RawMessage(`{}`)}, {Name: "break", Input: json.RawMessage(`{}`)},
		} {
			if _, err := caller.Do(calls, fmt.Sprintf("talk.1.turn.1.tool.%d", i+1), use); err != nil {
				if task.Attempt(ctx) == 1 && use.Name == "break" {
					return "", task.Permanent(errors.New("broken off"))
				}
				return "", err
			}
		}
		return "all sent", nil
	}}
}}

// TestEffects: what tools have done to the world is listed from the journal alone, whatever has become of the run.
func TestEffects(t *testing.T) {
	defer func(was []cairn.Definer) { workflows = was }(workflows)
	workflows = append(workflows, handy)
	p := newPlace(t)
	has(t, p.must(2, "effects", "r1").err, "NO_DATABASE")
	peek = func() {
		if got := p.must(0, "effects", "r1").out; !strings.Contains(got, "send  break  1        in flight  ") {
			t.Errorf("in the middle of a call:\n%s", got)
		}
	}
	p.must(cli.ExitFailed, "up", "handy", "--run-id", "r1", "--input", "{}", "-q")
	golden(t, "effects.golden", p.canon(p.must(0, "effects", "r1").out))

	type line struct {
		Run, Path, Tool, Outcome, Key, Problem, InputHash, Began, Ended string
		Attempt                                                         int
		SideEffect, Idempotent, Revertible                              bool
		Input                                                           map[string]string
	}
	all := lines[line](t, p.must(0, "effects", "r1", "--all", "--json").out)
	if len(all) != 5 || all[1].Tool != "look" || all[1].SideEffect || all[1].Outcome != "done" {
		t.Fatalf("%+v", all)
	}
	first := all[0]
	if first.Run != "r1" || first.Path != "send" || first.Tool != "mail" || first.Key != "r1/send#talk.1.turn.1.tool.1" || first.Attempt != 1 || !first.SideEffect || !first.Revertible ||
		first.Input["to"] != "a" || first.Began == "" || first.Ended == "" {
		t.Errorf("%+v", first)
	}
	if all[2].Outcome != "failed" || all[2].Problem != "no such address" || len(all[3].InputHash) != 64 || all[3].Input != nil {
		t.Errorf("%+v", all)
	}
	if last := all[4]; last.Outcome != "unknown" || last.Ended != "" || last.Tool != "break" {
		t.Errorf("%+v", last)
	}
	has(t, p.must(2, "effects", "r2").err, "RUN_NOT_FOUND run r2")
	p.must(0, "up", "zoo", "--run-id", "r3", "-q")
	if got := p.must(0, "effects", "r3", "--json").out; got != "" {
		t.Errorf("effects of a run without: %s", got)
	}
}
