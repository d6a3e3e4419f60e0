package task

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Agent answers prompts: a model, a loop around one, a program. It is used by many tasks at once, so it must be
// safe for concurrent use. The context carries the attempt: Step, Heartbeat, WriteArtifact and the others work
// in an agent as in any body.
type Agent interface {
	// Run answers one request. What it used is read from the response also when there is an error.
	Run(ctx context.Context, req Request) (Response, error)
}

// Identifier is an Agent that says what it is: the model, and all of its configuration that its answers depend on. Equal
// identities may answer for one another from a cache, in other processes too, so a random id is none. A secret is
// no part of it. "" is an agent that can't say.
type Identifier interface{ Identity() string }

// Checker is an Agent that can say before anything starts that it can't work: its program is missing, it takes no tools. It
// is asked whenever a tree is rendered, so it answers from what it has found out when it was made. What it says is a mistake
// of the tree: a run is not started with it, and one that goes on is blocked until it is mended.
type Checker interface {
	// Check says why the agent can't work, with tools from outside (Request.Tools) or without.
	Check(tools bool) error
}

// check asks an agent.
func check(agent Agent, spec *cairn.TaskSpec, wrong *mistakes) {
	c, ok := agent.(Checker)
	if !ok || isNil(agent) {
		return
	}
	if err := c.Check(false); err != nil {
		wrong.add("Agent: %w", err)
	} else if err := c.Check(true); err != nil {
		spec.NoTools = err.Error()
	}
}

// Describer is an Agent that can tell how it would begin with a request, without asking anybody: for reports. What it returns is
// between it and them.
type Describer interface {
	Describe(req Request) (any, error)
}

// identity is what does a task's work: the agent, if there is one, and the task's version.
func identity(agent Agent, version string) (id string, anonymous bool) {
	if agent == nil || isNil(agent) {
		return version, false
	}
	if who, ok := agent.(Identifier); ok {
		id = who.Identity()
	}
	switch {
	case id == "":
		return version, version == ""
	case version == "":
		return id, false
	}
	return id + "\n" + version, false
}

// Writer is an Agent with sub-agents that may change things: it names their working directories.
type Writer interface{ Writes() []string }

// Restrictable is an Agent that can do without the tools that change things.
type Restrictable interface {
	// ReadOnly is the agent without them, of the same type. Both may be used at once. An agent that embeds another one needs a
	// method of its own: that of the inner one returns the inner one, and Isolate refuses it.
	ReadOnly() Agent
}

// Request is what an agent is asked.
type Request struct {
	// Prompt is the task's own.
	Prompt string
	// Memory is recalled material, fenced and marked as advisory, that stands before the prompt; "" is none. Message has
	// both.
	Memory string
	// History is what was said before in the conversation that the task goes on with, oldest first.
	History []cairn.Message
	// Tools are for the agent to use besides its own.
	Tools []cairn.Tool
	// Schema is the JSON schema the answer has to fit. It is nil when the task's output is a string, which takes any
	// text. It is shared: do not modify it.
	Schema json.RawMessage
	// Check says why an answer is no value of the task's output: that it can't be read as the type, or breaks its validate
	// tags. With it an agent can have an answer mended before the attempt is lost. It is nil where Schema is.
	Check func(output json.RawMessage) error
}

// Message is the first message of the window: the memory, if there is any, and then the prompt.
func (r Request) Message() string {
	if r.Memory == "" {
		return r.Prompt
	}
	return r.Memory + "\n\n" + r.Prompt
}

// Response is what an agent answers.
type Response struct {
	// Text is the answer as text.
	Text string
	// Output is the answer as JSON, if the agent has structured output. Without it, and unless the task's output is a
	// string, the whole Text has to be JSON.
	Output json.RawMessage
	// Usage counts every model call, those of a failed answer too, but for those that Spend was told of.
	Usage []cairn.Usage
}

// promptInput freezes a prompt as a JSON string.
func promptInput(prompt func(v *cairn.View) string) func(*cairn.View) (json.RawMessage, error) {
	return func(v *cairn.View) (json.RawMessage, error) {
		text := prompt(v)
		if strings.TrimSpace(text) == "" {
			return nil, errors.New("the prompt is empty")
		}
		return schema.Encode(text)
	}
}

// requestOf is what an agent is asked with a stored prompt.
func requestOf[T any](input json.RawMessage) (req Request, err error) {
	if err := json.Unmarshal(input, &req.Prompt); err != nil {
		return req, Permanent(fmt.Errorf("the task's stored prompt can't be read: %w", err))
	}
	if !isText[T]() {
		s, err := schema.Of(reflect.TypeFor[T]())
		if err != nil {
			return req, Permanent(err)
		}
		req.Schema, req.Check = s.JSON, checkAnswer[T]
	}
	return req, nil
}

// describer is an agent that tells how it would begin. One that works apart tells what the agent in it does.
func describer(agent Agent) (Describer, bool) {
	if i, ok := agent.(isolated); ok {
		if _, ok := describer(i.agent); !ok {
			return nil, false
		}
	}
	d, ok := agent.(Describer)
	return d, ok && !isNil(agent)
}

// describe is nil for an agent that does not tell.
func describe[T any](agent Agent) func(input json.RawMessage, tools []cairn.Tool) (any, error) {
	d, ok := describer(agent)
	if !ok {
		return nil
	}
	return func(input json.RawMessage, tools []cairn.Tool) (any, error) {
		req, err := requestOf[T](input)
		if err != nil {
			return nil, err
		}
		req.Tools = tools
		return d.Describe(req)
	}
}

func runAgent[T any](agent Agent) cairn.Run {
	return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		req, err := requestOf[T](call.Input)
		if err != nil {
			return cairn.Result{}, err
		}
		req.Memory, req.History, req.Tools = call.Memory, call.History, call.Tools
		ctx, a := begin(ctx, call)
		defer a.end()
		resp, err := agent.Run(ctx, req)
		if err != nil {
			return cairn.Result{Usage: resp.Usage}, err
		}
		raw, err := answer[T](resp)
		if err != nil {
			return cairn.Result{Usage: resp.Usage}, err
		}
		result := a.result(raw)
		result.Usage = resp.Usage
		return result, nil
	}
}

// isText says whether T takes an agent's text as it is. A named string type does not: its values are JSON, and its
// schema may say which.
func isText[T any]() bool { return reflect.TypeFor[T]() == reflect.TypeFor[string]() }

// answer reads a response as T and encodes it again, so that what is stored does not depend on an agent's spelling.
func answer[T any](resp Response) (json.RawMessage, error) {
	if isText[T]() {
		return encodeOutput(resp.Text, false)
	}
	raw := []byte(resp.Output)
	if raw == nil {
		raw = []byte(resp.Text)
	}
	var out T
	err := json.Unmarshal(raw, &out) // fields the type does not have are no harm
	if err == nil && string(bytes.TrimSpace(raw)) == "null" && !takesNull(reflect.TypeFor[T]()) {
		err = errors.New("null is no value of the type") // encoding/json takes it for a zero value
	}
	if err != nil {
		return nil, invalidOutput(fmt.Errorf("the agent's answer can't be read as %s: %w; it begins %.200q",
			reflect.TypeFor[T](), err, raw), false)
	}
	return encodeOutput(out, false)
}

// checkAnswer says why answer would refuse the output.
func checkAnswer[T any](output json.RawMessage) error {
	_, err := answer[T](Response{Output: output})
	var f *cairn.Failure
	if errors.As(err, &f) {
		return errors.New(f.Message)
	}
	return err
}

func takesNull(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]())
}
