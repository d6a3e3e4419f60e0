package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

// replies makes a task of T whose agent answers once.
func replies[T any](reply scripted.Reply) task.Task[T] {
	return task.Task[T]{ID: "t", Prompt: ask, Agent: &scripted.Agent{Replies: []scripted.Reply{reply}}}
}

func TestAgentAnswers(t *testing.T) {
	const want = `{"summary":"s","done":true}`
	for name, c := range map[string]struct {
		node cairn.Node
		want string
	}{
		"text":                 {replies[string](scripted.Reply{Text: "plain\n"}), `"plain\n"`},
		"text that is JSON":    {replies[string](scripted.Reply{Text: `{"a":1}`}), `"{\"a\":1}"`},
		"text, invalid UTF-8":  {replies[string](scripted.Reply{Text: "\xff"}), "\"\uFFFD\""},
		"text beats Output":    {replies[string](scripted.Reply{Text: "t", Value: "v"}), `"t"`},
		"Output":               {replies[Step](scripted.Reply{Value: Step{Summary: "s", Done: true}}), want},
		"Output beats text":    {replies[Step](scripted.Reply{Text: "I did it", Value: Step{Summary: "s", Done: true}}), want},
		"JSON text":            {replies[Step](scripted.Reply{Text: " { \"done\": true,\n\"summary\": \"s\" }\n"}), want},
		"unknown fields":       {replies[Step](scripted.Reply{Text: `{"summary":"s","done":true,"mood":"good"}`}), want},
		"any":                  {replies[any](scripted.Reply{Text: `{"b":1,"a":[null]}`}), `{"a":[null],"b":1}`},
		"null for a pointer":   {replies[*Step](scripted.Reply{Text: `null`}), `null`},
		"number":               {replies[int64](scripted.Reply{Text: `9007199254740993`}), `9007199254740993`},
		"named string is JSON": {replies[cairn.Code](scripted.Reply{Text: `"MINE"`}), `"MINE"`},
	} {
		t.Run(name, func(t *testing.T) {
			var m machine
			if got := m.output(t, c.node); got != c.want {
				t.Errorf("output %s, want %s", got, c.want)
			}
		})
	}
}

func TestAgentAnswersThatAreRefused(t *testing.T) {
	spent := []cairn.Usage{{Model: "m", Input: 7, Output: 3}}
	for name, c := range map[string]struct {
		node cairn.Node
		want string
	}{
		"prose":          {replies[Step](scripted.Reply{Usage: spent, Text: "I did it."}), "it begins \"I did it.\""},
		"nothing":        {replies[Step](scripted.Reply{Usage: spent}), "unexpected end"},
		"two values":     {replies[Step](scripted.Reply{Usage: spent, Text: `{"summary":"s"} {}`}), "after top-level value"},
		"wrong type":     {replies[Step](scripted.Reply{Usage: spent, Text: `{"summary":1}`}), "summary"},
		"null":           {replies[Step](scripted.Reply{Usage: spent, Text: ` null `}), "null is no value"},
		"null in Output": {replies[int](scripted.Reply{Usage: spent, Value: json.RawMessage(`null`)}), "null is no value"},
		"broken rule":    {replies[Step](scripted.Reply{Usage: spent, Text: `{"done":true}`}), "summary: required"},
		"named string":   {replies[cairn.Code](scripted.Reply{Usage: spent, Text: `MINE`}), "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			var m machine
			result, err := m.try(t, c.node)
			f := refused(t, err, cairn.InvalidOutput, false) // a model may do better the next time
			if !strings.Contains(f.Message, c.want) {
				t.Errorf("%q is not in: %s", c.want, f.Message)
			}
			if !reflect.DeepEqual(result, cairn.Result{Usage: spent}) {
				t.Errorf("result %+v", result)
			}
		})
	}
}

func TestUsageIsReported(t *testing.T) {
	spent, boom := []cairn.Usage{{Model: "m", Input: 7}, {Model: "n", Output: 1}}, errors.New("boom")
	var m machine
	agent := &scripted.Agent{Replies: []scripted.Reply{{Err: boom, Usage: spent}, {Text: "ok", Usage: spent[:1]}}}
	node := task.Task[string]{ID: "s", Agent: agent, Prompt: ask}
	result, err := m.try(t, node)
	if err != boom || !reflect.DeepEqual(result.Usage, spent) {
		t.Errorf("failed attempt: %v, usage %v", err, result.Usage)
	}
	result, err = m.try(t, node)
	if err != nil || !reflect.DeepEqual(result.Usage, spent[:1]) {
		t.Errorf("finished attempt: %v, usage %v", err, result.Usage)
	}
}

func TestPromptIsFrozen(t *testing.T) {
	asked := 0
	agent := &scripted.Agent{Replies: []scripted.Reply{{Err: errors.New("boom")}, {Text: "ok"}}}
	node := task.Task[string]{ID: "s", Agent: agent, Prompt: func(*cairn.View) string {
		asked++
		return fmt.Sprintf("ask <%d> \xff", asked)
	}}
	var m machine
	if _, err := m.try(t, node); err == nil {
		t.Error("the first attempt should fail")
	}
	m.output(t, node)
	if got := agent.Prompts(); !reflect.DeepEqual(got, []string{"ask <1> \uFFFD", "ask <1> \uFFFD"}) {
		t.Errorf("prompts %q", got)
	}
}

func TestEmptyPrompt(t *testing.T) {
	for _, prompt := range []string{"", " \n"} {
		spec := lower(t, task.Task[string]{ID: "s", Agent: &scripted.Agent{}, Prompt: func(*cairn.View) string { return prompt }})
		if input, err := spec.Task.Input(cairn.NewView(nil)); err == nil {
			t.Errorf("the prompt %q becomes the input %s", prompt, input)
		}
	}
}

// asks is an agent made of a function.
type asks func(ctx context.Context, req task.Request) (task.Response, error)

func (a asks) Run(ctx context.Context, req task.Request) (task.Response, error) { return a(ctx, req) }

// TestAgentCanCheckItsAnswer: what Check passes the task takes, and it says why not as the task would.
func TestAgentCanCheckItsAnswer(t *testing.T) {
	var m machine
	agent := asks(func(_ context.Context, req task.Request) (task.Response, error) {
		for answer, want := range map[string]string{`{"done":true}`: "summary: required", `{`: "can't be read", `null`: "null is no value", `{"summary":"s"}`: ""} {
			err := req.Check(json.RawMessage(answer))
			if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %q", answer, err, want)
			}
		}
		return task.Response{Text: `{"summary":"s"}`}, nil
	})
	m.output(t, task.Task[Step]{ID: step, Agent: agent, Prompt: ask})
	text := asks(func(_ context.Context, req task.Request) (task.Response, error) {
		if req.Check != nil {
			t.Error("any text will do")
		}
		return task.Response{}, nil
	})
	new(machine).output(t, task.Task[string]{ID: "s", Agent: text, Prompt: ask})
}

func TestAgentSeesSchemaAndAttempt(t *testing.T) {
	var schema json.RawMessage
	var m machine
	agent := asks(func(ctx context.Context, req task.Request) (task.Response, error) {
		schema = req.Schema
		if task.Attempt(ctx) != 1 {
			return task.Response{}, errors.New("no attempt in the context")
		}
		// What an agent does with its context counts as the task's.
		if err := task.Emit(ctx, "told", 1); err != nil {
			return task.Response{}, err
		}
		return task.Response{Text: `{"summary":"s"}`}, nil
	})
	spec := lower(t, task.Task[Step]{ID: step, Agent: agent, Prompt: ask})
	result, err := m.try(t, task.Task[Step]{ID: step, Agent: agent, Prompt: ask})
	if err != nil || len(result.Effects) != 1 {
		t.Errorf("%v, effects %v", err, result.Effects)
	}
	if string(schema) != string(spec.Task.Schema) {
		t.Errorf("the agent was given the schema %s", schema)
	}
	var n machine
	n.output(t, task.Task[string]{ID: "s", Agent: agent, Prompt: ask})
	if schema != nil {
		t.Errorf("an agent that may answer any text was given the schema %s", schema)
	}
}
