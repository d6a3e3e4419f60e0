package loop_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// TestDescribe: what an agent tells of its beginning is what its conversation then begins with, byte for byte, and telling it asks no
// model and stores nothing.
func TestDescribe(t *testing.T) {
	m := replies(says(`{"title":"t","score":3}`), says(`{"title":"t","score":3}`))
	agent := &loop.Agent{Model: m, System: "Be good.", Todo: true, Tools: []cairn.Tool{echo("read")}, Examples: []window.Example{{Prompt: "p", Answer: "a"}}}
	prompt := "Look: " + task.Dep("long", strings.Repeat("page ", 10_000))
	ask := func(*cairn.View) string { return prompt }
	t.Run("of a task", func(t *testing.T) {
		describes(t, task.Task[report]{ID: "step", Agent: agent, Prompt: ask}.Lower(), prompt, m)
	})
	t.Run("of a delegate", func(t *testing.T) {
		agent.Tools = append(agent.Tools, cairn.Tool{Name: "write", SideEffect: true, Call: echo("write").Call})
		o := describes(t, task.Delegate[report]{ID: "step", Agent: agent, Prompt: ask}.Lower(), prompt, m)
		if text := window.Said(o.First.Blocks); !strings.Contains(text, "<isolation>") || slices.ContainsFunc(o.Setup.Tools, func(t window.Tool) bool { return t.Name == "write" }) {
			t.Errorf("it is not isolated: %v, %s", o.Setup.Tools, text)
		}
	})
	if _, err := (&loop.Agent{}).Describe(task.Request{}); err == nil {
		t.Error("an agent without a model tells how it begins")
	}
}

func describes(t *testing.T, node cairn.Spec, prompt string, m *model) window.Opening {
	t.Helper()
	before := m.calls()
	others := []cairn.Tool{echo("recall"), {Name: "remember", SideEffect: true, Call: echo("remember").Call}}
	input, err := schema.Encode(prompt)
	if err != nil {
		t.Fatal(err)
	}
	told, err := node.Task.Describe(input, others)
	if err != nil || m.calls() != before {
		t.Fatalf("%d calls, %v", m.calls()-before, err)
	}
	var files shelf
	var d desk
	call := d.call()
	call.Input, call.Artifacts, call.Tools = input, &files, others
	if _, err := node.Task.Run(cairn.WithCall(t.Context(), call), call); err != nil {
		t.Fatal(err)
	}
	held, err := loop.Read(d.disk.Records)
	if err != nil || len(held) != 1 {
		t.Fatalf("%d conversations, %v", len(held), err)
	}
	one, _ := json.Marshal(told.(window.Opening))
	two, _ := json.Marshal(held[0].Opening)
	if !bytes.Equal(one, two) {
		t.Errorf("told is\n%s\nbegun with was\n%s", one, two)
	}
	if names := fmt.Sprint(told.(window.Opening).Setup.Tools); !strings.Contains(names, "recall") {
		t.Errorf("the tools of the task are not told of: %s", names)
	}
	if told.(window.Opening).First.Blocks[0].Text == prompt {
		t.Error("nothing was put aside: this test has no teeth")
	}
	return told.(window.Opening)
}
