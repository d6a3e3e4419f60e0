package scripted_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

var _ task.Agent = (*scripted.Agent)(nil)

func TestRepliesInOrder(t *testing.T) {
	boom, spent := errors.New("boom"), []cairn.Usage{{Model: "m", Input: 1}}
	agent := &scripted.Agent{Replies: []scripted.Reply{
		{Text: "one", Usage: spent},
		{Value: map[string]int{"n": 2}},
		{Err: boom, Usage: spent},
	}}
	ask := func(prompt string) (task.Response, error) {
		return agent.Run(t.Context(), task.Request{Prompt: prompt})
	}

	if resp, err := ask("a"); err != nil || resp.Text != "one" || resp.Output != nil || !reflect.DeepEqual(resp.Usage, spent) {
		t.Errorf("first: %+v, %v", resp, err)
	}
	if resp, err := ask("b"); err != nil || string(resp.Output) != `{"n":2}` {
		t.Errorf("second: %+v, %v", resp, err)
	}
	if resp, err := ask("c"); err != boom || !reflect.DeepEqual(resp.Usage, spent) {
		t.Errorf("third: %+v, %v", resp, err)
	}
	_, err := ask("d")
	if err == nil || !strings.Contains(err.Error(), "call 4 has no reply, the script has 3") || !cairn.FailureOf(err).Permanent {
		t.Errorf("fourth: %v", err)
	}
	if got := agent.Prompts(); !reflect.DeepEqual(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("prompts %q", got)
	}
}

func TestAnswerFollowsReplies(t *testing.T) {
	agent := &scripted.Agent{
		Replies: []scripted.Reply{{Text: "first"}},
		Answer:  func(req task.Request) scripted.Reply { return scripted.Reply{Text: "re: " + req.Prompt} },
	}
	for _, want := range []string{"first", "re: q", "re: q"} {
		if resp, err := agent.Run(t.Context(), task.Request{Prompt: "q"}); err != nil || resp.Text != want {
			t.Errorf("%q, %v; want %q", resp.Text, err, want)
		}
	}
}

func TestSideBySide(t *testing.T) {
	agent := &scripted.Agent{Answer: func(req task.Request) scripted.Reply { return scripted.Reply{Text: req.Prompt} }}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			prompt := fmt.Sprint(i)
			if resp, err := agent.Run(t.Context(), task.Request{Prompt: prompt}); err != nil || resp.Text != prompt {
				t.Errorf("%q got %q, %v", prompt, resp.Text, err)
			}
			agent.Prompts()
		})
	}
	group.Wait()
	if n := len(agent.Prompts()); n != 20 {
		t.Errorf("%d prompts", n)
	}
}

func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := &scripted.Agent{Replies: []scripted.Reply{{Text: "late", Delay: time.Hour}, {Text: "too late", Delay: time.Hour}}}
		start := time.Now()
		if resp, err := agent.Run(t.Context(), task.Request{}); err != nil || resp.Text != "late" || time.Since(start) != time.Hour {
			t.Errorf("%q, %v after %v", resp.Text, err, time.Since(start))
		}
		why := errors.New("no more time")
		ctx, stop := context.WithTimeoutCause(t.Context(), time.Minute, why)
		defer stop()
		if _, err := agent.Run(ctx, task.Request{}); err != why {
			t.Errorf("error %v", err)
		}
	})
}

func TestValueThatDoesNotEncode(t *testing.T) {
	agent := &scripted.Agent{Replies: []scripted.Reply{{Value: math.NaN()}}}
	if _, err := agent.Run(t.Context(), task.Request{}); err == nil {
		t.Error("no error")
	}
}

func Example() {
	agent := &scripted.Agent{Replies: []scripted.Reply{{Text: "The sea."}}}
	poem := task.Task[string]{ID: "poem", Agent: agent, Prompt: func(v *cairn.View) string { return "One line, please." }}

	// This is what the engine does with it.
	spec := poem.Lower().Task
	input, _ := spec.Input(cairn.NewView(nil))
	result, err := spec.Run(context.Background(), &cairn.Call{Input: input})
	fmt.Printf("%s %v\n", result.Output, err)
	fmt.Printf("%q\n", agent.Prompts())
	// Output:
	// "The sea." <nil>
	// ["One line, please."]
}
