package scripted_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/tool"
)

// Rules answer what they are for, and the schema what no rule is for.
func ExampleRule() {
	agent := &scripted.Agent{
		Model: "claude-sonnet-4-5",
		Rules: []scripted.Rule{{Contains: "flaky", Replies: []scripted.Reply{{Err: errors.New("overloaded")}, {Text: "better now"}}}},
		Auto:  true,
	}
	for _, prompt := range []string{"a flaky thing", "a flaky thing", "something else"} {
		resp, err := agent.Run(context.Background(), task.Request{Prompt: prompt})
		fmt.Printf("%q %v, %d tokens read\n", resp.Text, err, resp.Usage[0].Input)
	}
	// Output:
	// "" overloaded, 4 tokens read
	// "better now" <nil>, 4 tokens read
	// "An answer to: something else" <nil>, 4 tokens read
}

// A model calls tools, sees what they say, and answers.
func ExampleModel() {
	add := tool.New("add", "Adds two numbers.", func(_ context.Context, in struct{ A, B int }) (int, error) { return in.A + in.B, nil })
	model := &scripted.Model{
		Turns: []scripted.Turn{{Text: "Let me see.", Calls: []scripted.Call{
			{Name: "add", Input: map[string]int{"A": 20, "B": 22}}, {Name: "add", Input: map[string]int{"A": 1, "B": 1}}}}},
		Rules: []scripted.TurnRule{{Tool: "add", Result: "42", Turns: []scripted.Turn{{Text: "It is 42."}}}},
		Auto:  true,
	}
	agent := &loop.Agent{Model: model, Tools: []cairn.Tool{add}}
	resp, err := agent.Run(context.Background(), task.Request{Prompt: "What is 20 and 22?"})
	fmt.Println(resp.Text, err)
	for _, result := range scripted.Results(model.Windows()[1]) {
		fmt.Println(result.ID, result.Name, result.Text)
	}
	// Output:
	// It is 42. <nil>
	// call_1_1 add 42
	// call_1_2 add 2
}
