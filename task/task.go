package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Task is a node that produces the value of its key. Exactly one body is set: Agent with Prompt, Do, From or Value.
type Task[T any] struct {
	// ID names the task in its scope and is the key its output is read with.
	ID cairn.Key[T]

	// Agent answers the Prompt. The Prompt is lazy: it is evaluated once, when the task's turn has come, is stored,
	// and later attempts get the same bytes. An empty one is an error.
	Agent  Agent
	Prompt func(v *cairn.View) string
	// Do is a plain function.
	Do func(ctx context.Context) (T, error)
	// From is a function of an input that is computed once, as a Prompt is. See the function From.
	From Bound[T]
	// Value is the output itself. It is encoded when the tree is lowered.
	Value *T

	// After are tasks this one waits for, besides those that its place in the tree makes it wait for.
	After cairn.Keys
	// Fork is a task of an agent whose final conversation this one begins with: a copy of all that was said there, and then
	// the Prompt. The task waits for it. The key is looked up as Key.Get does, and where the task stands in a loop the latest
	// finished counts; the task's own key means its iterations before. Which one it is is decided with the first attempt and
	// kept. Only agents that keep their conversation can be forked, as those of package task/agent/loop do; one that
	// was skipped, has failed, was taken from a cache or was done by the run before a handoff has none here, and fails this
	// task with FORK_SOURCE. Several tasks may fork one, and a fork can be forked.
	//
	// Give both agents the same model, system text and tools: the copy is the same bytes, which the provider then has in its
	// cache. What a fork answers depends on more than its prompt, so it is never taken from a cache of outputs, nor put there.
	Fork cairn.AnyKey
	// SkipIf is asked once, when the task's turn has come; a skipped task has no value.
	SkipIf func(v *cairn.View) bool
	// Retry says how often a failing body is tried. The zero value is three attempts with growing pauses.
	Retry Retry
	// Timeout bounds all attempts together, pauses included, AttemptTimeout each one. 0 is none.
	Timeout        time.Duration
	AttemptTimeout time.Duration
	// Heartbeat is the longest silence of an attempt before it is cut off; the body breaks the silence with the function
	// Heartbeat. 0 is none.
	Heartbeat time.Duration
	// Optional tasks may fail without failing what is around them.
	Optional bool
	// Priority decides between tasks that are ready at once: higher first, then tree order.
	Priority int
	// Version says what the body means, for stored outputs of a cache: raise it when a function does something else than
	// before, or gives other results. An agent says so itself, if it is an Identifier.
	Version string
	// SideEffect marks a body that changes the world, beyond what it emits: it is never replaced by a stored output.
	SideEffect bool
	// With attaches configuration of other features, at most one of each.
	With cairn.With
}

// Retry says how often a failing task is tried and how long the pauses are.
type Retry = cairn.RetryPolicy

// Lower describes the task for the engine, with everything that is wrong with it.
func (t Task[T]) Lower() cairn.Spec {
	spec := &cairn.TaskSpec{SkipIf: t.SkipIf, Output: reflect.TypeFor[T]()}
	spec.Policy = cairn.Policy{
		Retry: t.Retry, Timeout: t.Timeout, AttemptTimeout: t.AttemptTimeout, Heartbeat: t.Heartbeat,
		Optional: t.Optional, Priority: t.Priority, SideEffect: t.SideEffect,
	}
	var wrong mistakes
	if s, err := schema.Of(reflect.TypeFor[T]()); err != nil {
		wrong.add("the output type: %w", err)
	} else {
		spec.Schema, spec.SchemaHash = s.JSON, s.Hash
	}
	t.lowerBody(spec, &wrong)
	spec.After = lowerAfter(string(t.ID), t.After, &wrong)
	if len(t.With) > 0 { // a closure for the few who store outputs
		spec.Check = checkStored[T]
	}
	spec.Identity, spec.Anonymous = identity(t.Agent, t.Version)
	spec.Models = models(t.Agent)
	check(t.Agent, spec, &wrong)
	spec.Writes = writes(t.Agent)
	t.lowerFork(spec, &wrong)
	spec.Policy.Config = lowerWith(t.With, spec, &wrong)
	checkPolicy(&spec.Policy, &wrong)
	if spec.Run == nil {
		spec.Run = runNothing // a node without Run would be reported a second time
	}
	return cairn.Spec{Kind: cairn.KindTask, ID: string(t.ID), Task: spec, Mistakes: wrong}
}

// lowerFork names what the task forks. What the copy holds is input that no cache key covers.
func (t *Task[T]) lowerFork(spec *cairn.TaskSpec, wrong *mistakes) {
	switch {
	case t.Fork == nil:
		return
	case isNil(t.Fork) || t.Fork.Name() == "":
		wrong.add("Fork is an empty key")
	case !spec.Prompted:
		wrong.add("Fork is set and Agent is not: only an agent goes on with a conversation")
	default:
		spec.Fork, spec.Policy.NoCache = t.Fork.Name(), true
	}
}

// lowerBody sets Input and Run. The closures hold a field each, never the whole task: a plan keeps them for as long as
// the task is mounted.
func (t *Task[T]) lowerBody(spec *cairn.TaskSpec, wrong *mistakes) {
	bodies := 0
	if t.Agent != nil || t.Prompt != nil {
		bodies++
		switch {
		case t.Agent == nil:
			wrong.add("Prompt is set and Agent is not: who should answer it?")
		case isNil(t.Agent):
			wrong.add("Agent is a nil %T", t.Agent)
		}
		if t.Prompt == nil {
			wrong.add("Agent is set and Prompt is not: what should it do?")
		}
		spec.Prompted = true
		spec.Input, spec.Run, spec.Describe = promptInput(t.Prompt), runAgent[T](t.Agent), describe[T](t.Agent)
	}
	if t.Do != nil {
		bodies++
		spec.Run = runDo(t.Do)
	}
	if t.From.both != nil {
		bodies++
		spec.Input, spec.Run = t.From.lower(wrong)
	}
	if t.Value != nil {
		bodies++
		spec.Input, spec.Run = lowerValue(t.Value, wrong)
		spec.Fixed = true
	}
	switch {
	case bodies == 0:
		wrong.add("the task has no body: set Agent and Prompt, Do, From or Value")
	case bodies > 1:
		wrong.add("the task has several bodies (%s): set one", strings.Join(t.bodies(), ", "))
	}
}

// bodies names the bodies that are set.
func (t *Task[T]) bodies() []string {
	var names []string
	for _, body := range []struct {
		set  bool
		name string
	}{{t.Agent != nil || t.Prompt != nil, "Agent"}, {t.Do != nil, "Do"}, {t.From.both != nil, "From"}, {t.Value != nil, "Value"}} {
		if body.set {
			names = append(names, body.name)
		}
	}
	return names
}

// runNothing is the Run of a task that has mistakes, which an engine does not start.
func runNothing(context.Context, *cairn.Call) (cairn.Result, error) {
	return cairn.Result{}, Permanent(errors.New("the task has no body"))
}

func runDo[T any](do func(ctx context.Context) (T, error)) cairn.Run {
	return func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		ctx, a := begin(ctx, call)
		defer a.end()
		out, err := do(ctx)
		if err != nil {
			return cairn.Result{}, err
		}
		raw, err := encodeOutput(out, true)
		if err != nil {
			return cairn.Result{}, err
		}
		return a.result(raw), nil
	}
}

// lowerValue encodes at once: what the value points to may change later, and a value without a JSON form is a
// mistake of the tree. Being the input, the value is part of the input hash and is frozen with it.
func lowerValue[T any](value *T, wrong *mistakes) (func(*cairn.View) (json.RawMessage, error), cairn.Run) {
	raw, err := schema.Encode(*value)
	if err != nil {
		wrong.add("Value: %w", err)
		return nil, nil
	}
	return func(*cairn.View) (json.RawMessage, error) { return raw, nil }, runValue[T]
}

func runValue[T any](_ context.Context, call *cairn.Call) (cairn.Result, error) {
	var value T
	if err := json.Unmarshal(call.Input, &value); err != nil {
		return cairn.Result{}, invalidOutput(err, true)
	}
	if err := validateOutput(value, true); err != nil {
		return cairn.Result{}, err
	}
	return cairn.Result{Output: call.Input}, nil
}

func lowerAfter(id string, keys cairn.Keys, wrong *mistakes) []string {
	if len(keys) == 0 {
		return nil
	}
	names := make([]string, 0, len(keys))
	for i, key := range keys {
		if isNil(key) {
			wrong.add("After[%d] is nil", i)
			continue
		}
		switch name := key.Name(); name {
		case "":
			wrong.add("After[%d] is an empty key", i)
		case id:
			wrong.add("After[%d] is the task itself: it would wait for ever", i)
		default:
			names = append(names, name)
		}
	}
	return names
}

func lowerWith(with cairn.With, spec *cairn.TaskSpec, wrong *mistakes) map[string]json.RawMessage {
	var configs map[string]json.RawMessage
	for i, attachment := range with {
		if isNil(attachment) {
			continue
		}
		feature, config := attachment.Attach()
		if feature == "" {
			wrong.add("With[%d] (%T) names no feature", i, attachment)
			continue
		}
		if _, ok := configs[feature]; ok {
			wrong.add("With[%d]: %s is attached twice", i, feature)
			continue
		}
		raw, err := schema.Encode(config)
		if err != nil {
			wrong.add("With[%d]: %s: %w", i, feature, err)
		}
		if setter, ok := attachment.(cairn.Setter); ok {
			setter.Set(spec)
		}
		if checker, ok := attachment.(cairn.Checker); ok {
			if err := checker.Check(spec); err != nil {
				wrong.add("With[%d]: %s: %w", i, feature, err)
			}
		}
		if configs == nil {
			configs = make(map[string]json.RawMessage, len(with))
		}
		configs[feature] = raw
	}
	return configs
}

func checkPolicy(p *cairn.Policy, wrong *mistakes) {
	checkDuration("Timeout", p.Timeout, wrong)
	checkDuration("AttemptTimeout", p.AttemptTimeout, wrong)
	checkDuration("Heartbeat", p.Heartbeat, wrong)
	checkDuration("Retry.Initial", p.Retry.Initial, wrong)
	checkDuration("Retry.Cap", p.Retry.Cap, wrong)
	if p.Retry.Max < cairn.Unbounded {
		wrong.add("Retry.Max is %d: use cairn.Unbounded for no limit", p.Retry.Max)
	}
	switch factor := p.Retry.Factor; {
	case math.IsNaN(factor) || math.IsInf(factor, 0):
		wrong.add("Retry.Factor is %v, which is no number to multiply with", factor)
	case factor != 0 && factor < 1:
		wrong.add("Retry.Factor is %v: pauses would shrink; 1 keeps them equal, 0 is the default of %v", factor, cairn.DefaultRetryFactor)
	}
	limit := p.Retry.Cap
	if limit == 0 {
		limit = cairn.DefaultRetryCap
	}
	if limit > 0 && p.Retry.Initial > limit {
		wrong.add("Retry.Initial is %v, more than the %v that Retry.Cap allows: raise Cap", p.Retry.Initial, limit)
	}
}

func checkDuration(name string, d time.Duration, wrong *mistakes) {
	if d < 0 {
		wrong.add("%s is negative: %v", name, d)
	}
}

// mistakes collects what is wrong with a task, so that all of it is reported together.
type mistakes []error

func (m *mistakes) add(format string, args ...any) {
	if len(args) == 0 {
		*m = append(*m, errors.New(format))
		return
	}
	*m = append(*m, fmt.Errorf(format, args...))
}

// isNil also finds the nil pointer in an interface, whose methods panic.
func isNil(v any) bool {
	if v == nil {
		return true
	}
	r := reflect.ValueOf(v)
	return r.Kind() == reflect.Pointer && r.IsNil()
}
