// Package hello is the smallest workflow worth reading: two tasks, one made from the other's result.
package hello

import (
	"context"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// Input says who is greeted.
type Input struct {
	Name string `json:"name" validate:"required"`
}

const (
	greeting cairn.Key[string] = "greet"
	shouted  cairn.Key[string] = "shout"
)

// Workflow greets somebody, loudly.
var Workflow = cairn.Workflow[Input, string]{
	Name: "hello", About: "greets somebody, loudly", Result: shouted, Example: new(Input{Name: "world"}),
	Render: func(_ *cairn.View, in Input) cairn.Node {
		return cairn.Nodes{
			task.Task[string]{ID: greeting, Do: func(context.Context) (string, error) {
				return "Hello, " + in.Name + "!", nil
			}},
			task.Task[string]{ID: shouted, From: task.From(greeting.Must, func(_ context.Context, text string) (string, error) {
				return strings.ToUpper(text), nil
			})},
		}
	},
}
