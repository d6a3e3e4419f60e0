package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// An Option says more about a tool than its function does.
type Option func(*made)

// made is a tool in the making.
type made struct {
	cairn.Tool
	// undoes are the types that the function of Revert is for.
	undoes [2]reflect.Type
}

// SideEffect marks a tool that changes the world. The default is one that only reads.
func SideEffect() Option { return func(m *made) { m.SideEffect = true } }

// Idempotent marks a tool with a side effect that may be called again with the same input when it is not known whether the
// first call has happened. It implies SideEffect: what only reads may always be called again.
func Idempotent() Option { return func(m *made) { m.SideEffect, m.Idempotent = true, true } }

// Timeout is how long one call may take; the default is as long as its context lives. When it is over the function's
// context ends, and the call fails with TimedOut as soon as the function returns: it is waited for.
func Timeout(d time.Duration) Option { return func(m *made) { m.Timeout = d } }

// Bound says what the tool works on and what it may do there: cairn.Tool.Bound. The default is nothing.
func Bound(to string) Option { return func(m *made) { m.Bound = to } }

// Revert gives a way back. The function gets what a call got and what it returned, and must be safe to call twice. Its
// types have to be those of the tool.
func Revert[In, Out any](undo func(ctx context.Context, in In, out Out) error) Option {
	return func(m *made) {
		m.undoes = [2]reflect.Type{reflect.TypeFor[In](), reflect.TypeFor[Out]()}
		m.Revert = func(ctx context.Context, rawIn, rawOut json.RawMessage) (err error) {
			var in In
			var out Out
			if err := errors.Join(json.Unmarshal(orEmpty(rawIn), &in), json.Unmarshal(rawOut, &out)); err != nil {
				return &cairn.Error{Code: BadInput, Message: "revert " + m.Name + ": the recorded call can't be read", Err: err, Next: "revert it by hand"}
			}
			defer recovered(m.Name, &err)
			return undo(ctx, in, out)
		}
	}
}

// New makes a tool of a function. The input's schema is that of In, which has to be a struct or a map; fields say what they
// are by `jsonschema_description` tags, and what they may hold by `jsonschema` and `validate` tags.
//
// What the model sends is checked before the function sees it: unknown and missing fields, types, the rules of both kinds
// of tags. The error, BadInput, lists all that is wrong. What the function returns is encoded in one way only, with sorted
// keys and exact integers, so equal answers are equal bytes. An error of the function is returned as it is, and a panic is
// an error, Panicked. The tool is as safe for concurrent use as the function.
//
// New panics if the program is wrong: a name that is not of letters, digits and _, no description, no function, a type
// that JSON or the validator can't take, a Revert for other types.
func New[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error), opts ...Option) cairn.Tool {
	m := made{Tool: cairn.Tool{Name: name, Description: description}}
	for _, o := range opts {
		o(&m)
	}
	in, out := reflect.TypeFor[In](), reflect.TypeFor[Out]()
	rules, err := m.describe(in, out, fn != nil)
	if err != nil {
		panic(err)
	}
	t := m.Tool
	t.Call = func(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
		in, err := read[In](name, rules, raw)
		if err != nil {
			return nil, err
		}
		value, err := run(ctx, name, t.Timeout, func(ctx context.Context) (Out, error) { return fn(ctx, in) })
		if err != nil {
			return nil, err
		}
		return encode(name, value)
	}
	return t
}

// describe sets the schema and finds what is wrong with the tool.
func (m *made) describe(in, out reflect.Type, works bool) (*rule, error) {
	wrong := func(format string, args ...any) error {
		return &cairn.Error{Code: Invalid, Message: fmt.Sprintf("tool %q: ", m.Name) + fmt.Sprintf(format, args...), Next: "mend the tool.New that makes it"}
	}
	if err := checkName(m.Name); err != nil {
		return nil, err
	}
	if m.Description == "" {
		return nil, wrong("a model can't know what it does without a description")
	}
	if !works {
		return nil, wrong("it has no function")
	}
	if m.Timeout < 0 {
		return nil, wrong("its time-out is negative: %s", m.Timeout)
	}
	s, err := schema.Of(in)
	if err != nil {
		return nil, wrong("its input: %s", err)
	}
	if _, err := schema.Of(out); err != nil {
		return nil, wrong("its output: %s", err)
	}
	if m.undoes[0] != nil && m.undoes != [2]reflect.Type{in, out} {
		return nil, wrong("its Revert takes %s and %s, and the tool %s and %s", m.undoes[0], m.undoes[1], in, out)
	}
	var tags *schema.TagError
	if errors.As(schema.Validate(reflect.Zero(in).Interface()), &tags) {
		return nil, wrong("%s", tags)
	}
	rules, err := rulesOf(s.JSON)
	if err == nil {
		err = rules.unread
	}
	if err != nil {
		return nil, wrong("its input: %s", err)
	}
	if !rules.object() {
		return nil, wrong("its input is %s, and models send objects: take a struct", in)
	}
	m.Schema = s.JSON
	return rules, nil
}

// read is what the model sent, as In.
func read[In any](name string, rules *rule, raw json.RawMessage) (in In, err error) {
	canonical, err := rules.accept(name, raw)
	if err != nil {
		return in, err
	}
	if err := schema.DecodeTo(canonical, &in); err != nil {
		return in, rules.refusal(name, "it can't be read", err)
	}
	if err := schema.Validate(in); err != nil {
		return in, rules.refusal(name, "it breaks rules", err)
	}
	return in, nil
}

// accept is the input in canonical form, if it fits the schema.
func (r *rule) accept(name string, raw json.RawMessage) (json.RawMessage, error) {
	canonical, err := schema.Canonical(orEmpty(raw))
	if err != nil {
		return nil, r.refusal(name, "it is no JSON object", err)
	}
	if problems := r.check(canonical); problems != "" {
		return nil, r.refusal(name, problems, nil)
	}
	return canonical, nil
}

func (r *rule) refusal(name, problem string, err error) error {
	return &cairn.Error{Code: BadInput, Message: name + " does not take this input: " + problem, Err: err,
		Next: "call it again with all of this put right; its fields are: " + r.fields()}
}

// orEmpty is the input of models and protocols that send nothing to a tool without fields.
func orEmpty(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// run calls a function under its time-out, and makes errors of panics.
func run[Out any](ctx context.Context, name string, timeout time.Duration, fn func(ctx context.Context) (Out, error)) (out Out, err error) {
	if timeout > 0 {
		late := &cairn.Error{Code: TimedOut, Message: fmt.Sprintf("%s was not done within %s", name, timeout), Next: "ask for less, or go on without it"}
		inner, cancel := context.WithTimeoutCause(ctx, timeout, late)
		defer cancel()
		defer func() {
			if err != nil && context.Cause(inner) == error(late) && ctx.Err() == nil && !errors.Is(err, TimedOut) {
				err = &cairn.Error{Code: TimedOut, Message: late.Message, Next: late.Next, Err: err}
			}
		}()
		return guarded(inner, name, fn)
	}
	return guarded(ctx, name, fn)
}

func guarded[Out any](ctx context.Context, name string, fn func(ctx context.Context) (Out, error)) (out Out, err error) {
	defer recovered(name, &err)
	return fn(ctx)
}

// recovered is deferred: it makes a panic an error.
func recovered(name string, err *error) {
	if p := recover(); p != nil {
		*err = &cairn.Error{Code: Panicked, Message: name + " is broken", Next: "do it another way",
			Err: &cairn.Failure{Code: Panicked, Message: fmt.Sprint(p), Stack: string(debug.Stack())}}
	}
}

// encode gives equal values equal bytes.
func encode(name string, v any) (json.RawMessage, error) {
	raw, err := schema.Encode(v)
	if err == nil {
		raw, err = schema.Canonical(raw)
	}
	if err != nil {
		return nil, &cairn.Error{Code: BadOutput, Message: "the answer of " + name + " has no JSON form", Err: err, Next: "do it another way"}
	}
	return raw, nil
}
