package loop_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// greeter is a model that asks a tool and repeats what it hears.
type greeter struct{}

func (greeter) Info() loop.Info {
	return loop.Info{Provider: "example", Models: []string{"greeter"}, Identity: "greeter 1"}
}

func (greeter) Call(_ context.Context, w loop.Window) (loop.Turn, error) {
	last := w.Messages[len(w.Messages)-1].Blocks[0]
	if last.Kind == window.ToolResult {
		return loop.Turn{Blocks: []window.Block{{Kind: window.Text, Text: "Hello, " + last.Text + "!"}}, Stop: loop.StopEnd}, nil
	}
	call := window.Block{Kind: window.ToolUse, ID: "1", Name: "whoami", Input: json.RawMessage(`{}`)}
	return loop.Turn{Blocks: []window.Block{call}, Stop: loop.StopEnd}, nil
}

func Example() {
	whoami := cairn.Tool{Name: "whoami", Description: "Says who the user is.", Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		return json.Marshal("Ada")
	}}
	agent := &loop.Agent{Model: greeter{}, System: "Be polite.", Tools: []cairn.Tool{whoami}}

	// A task has it as its Agent; it works alone, too.
	resp, err := agent.Run(context.Background(), task.Request{Prompt: "Greet the user."})
	fmt.Println(resp.Text, err)
	// Output:
	// Hello, Ada! <nil>
}
