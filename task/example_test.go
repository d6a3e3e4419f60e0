package task_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

type Report struct {
	Words int    `json:"words"`
	First string `json:"first" validate:"required"`
}

// countWords is the body of a task. It knows nothing of the engine.
func countWords(ctx context.Context, text string) (Report, error) {
	words, err := task.Step(ctx, "split", func(context.Context) ([]string, error) { return strings.Fields(text), nil })
	if err != nil {
		return Report{}, err
	}
	if len(words) == 0 {
		return Report{}, task.Permanent(errors.New("there is nothing to count"))
	}
	return Report{Words: len(words), First: words[0]}, nil
}

// A body is tested like any function: without a task around it, Step just calls its function.
func Example_testingABody() {
	report, err := countWords(context.Background(), "so much to do")
	fmt.Println(report, err)
	_, err = countWords(context.Background(), "")
	fmt.Println(err)
	// Output:
	// {4 so} <nil>
	// there is nothing to count
}

// A task's input is computed when its turn has come, and is the same for all of its attempts.
func ExampleFrom() {
	const report cairn.Key[Report] = "report"
	text := "so much to do" // in a workflow, read from the View: text.Must(v)

	count := task.Task[Report]{
		ID:   report,
		From: task.From(func(v *cairn.View) string { return text }, countWords),
	}

	// This is what the engine does with it.
	spec := count.Lower().Task
	input, err := spec.Input(cairn.NewView(nil))
	fmt.Printf("%s %v\n", input, err)
	text = "something else"
	result, err := spec.Run(context.Background(), &cairn.Call{Input: input, Attempt: 1})
	fmt.Printf("%s %v\n", result.Output, err)
	// Output:
	// "so much to do" <nil>
	// {"words":4,"first":"so"} <nil>
}

// The second attempt goes on where the first one stopped.
func ExampleStep() {
	publish := task.Task[string]{ID: "publish", Do: func(ctx context.Context) (string, error) {
		page, err := task.Step(ctx, "write", func(context.Context) (string, error) {
			fmt.Println("writing")
			return "page 1", nil
		})
		if err != nil {
			return "", err
		}
		if task.Attempt(ctx) == 1 {
			return "", errors.New("the connection is lost")
		}
		return page + " is out", nil
	}}

	// This is what the engine does with it; the journal is a map here.
	memory := &journal{}
	for attempt := 1; attempt <= 2; attempt++ {
		result, err := publish.Lower().Task.Run(context.Background(), &cairn.Call{Attempt: attempt, Journal: memory})
		fmt.Printf("attempt %d: %s %v\n", attempt, result.Output, err)
	}
	// Output:
	// writing
	// attempt 1:  the connection is lost
	// attempt 2: "page 1 is out" <nil>
}
