package engine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// registry holds workflows by name.
type registry map[string]cairn.Definition

// Definitions checks workflows as Open does, and lists them by name: BAD_WORKFLOW.
func Definitions(workflows ...cairn.Definer) ([]cairn.Definition, error) {
	r, err := register(workflows)
	return r.list(), err
}

// Find is the definition of that name: UNKNOWN_WORKFLOW, with the names that there are.
func Find(defs []cairn.Definition, name string) (cairn.Definition, error) {
	names := make([]string, len(defs))
	for i, d := range defs {
		if d.Name == name {
			return d, nil
		}
		names[i] = d.Name
	}
	return cairn.Definition{}, &cairn.Error{Code: UnknownWorkflow, Message: fmt.Sprintf("there is no workflow %q here", name),
		Next: fmt.Sprintf("use one of %q", names)}
}

// register checks every workflow and reports all mistakes together.
func register(workflows []cairn.Definer) (registry, error) {
	r := registry{}
	var errs []error
	for _, w := range workflows {
		d := w.Define()
		if _, twice := r[d.Name]; twice {
			errs = append(errs, fmt.Errorf("two workflows are named %q", d.Name))
		}
		if err := check(d); err != nil {
			errs = append(errs, fmt.Errorf("workflow %q: %w", d.Name, err))
		}
		r[d.Name] = d
	}
	if len(errs) > 0 {
		return nil, &cairn.Error{Code: BadWorkflow, Message: "the workflows can't be registered", Err: errors.Join(errs...)}
	}
	return r, nil
}

// check says what is wrong with a definition before it has ever rendered.
func check(d cairn.Definition) error {
	errs := []error{cairn.CheckName(d.Name)}
	if err := cairn.CheckName(d.Result); err != nil {
		errs = append(errs, fmt.Errorf("its Result: %w", err))
	}
	if d.Bind == nil {
		errs = append(errs, errors.New("it has no Render"))
	}
	if _, err := schema.Of(d.Input); err != nil {
		errs = append(errs, fmt.Errorf("its input: %w", err))
	}
	if _, err := schema.Of(d.Output); err != nil {
		errs = append(errs, fmt.Errorf("its result: %w", err))
	}
	if d.Example != nil {
		if _, err := ExampleInput(d); err != nil {
			errs = append(errs, fmt.Errorf("its Example: %w", err))
		}
	}
	return errors.Join(errs...)
}

// ExampleInput is a workflow's example input, as it is stored: INVALID_INPUT where it has none.
func ExampleInput(d cairn.Definition) (json.RawMessage, error) {
	if d.Example == nil {
		return nil, &cairn.Error{Code: InvalidInput, Message: fmt.Sprintf("workflow %q has no example input", d.Name), Next: "give it an input"}
	}
	raw, err := schema.Encode(d.Example)
	if err != nil {
		return nil, err
	}
	return stored(d, raw)
}

// CheckInput checks a run's input as Start does, and returns it as it is stored: decoded as the workflow's type, without
// anything unknown in it, validated, and encoded again. INVALID_INPUT.
func CheckInput(d cairn.Definition, raw []byte) (json.RawMessage, error) {
	checked, err := stored(d, raw)
	if err == nil {
		return checked, nil
	}
	refused := &cairn.Error{Code: InvalidInput, Message: fmt.Sprintf("this is no input of workflow %q", d.Name), Err: err,
		Next: "give it JSON of " + d.Input.String()}
	if example, err := ExampleInput(d); err == nil {
		refused.Next = "give it something like " + string(example)
	}
	return nil, refused
}

// Ready asks what a run with this input would miss here: NOT_READY. The input must have been checked.
func Ready(d cairn.Definition, input json.RawMessage) error {
	if d.Ready == nil {
		return nil
	}
	if err := d.Ready(input); err != nil {
		return &cairn.Error{Code: NotReady, Message: fmt.Sprintf("a run of workflow %q can't be driven here", d.Name), Err: err}
	}
	return nil
}

func stored(d cairn.Definition, raw []byte) (json.RawMessage, error) {
	v, err := schema.DecodeType(d.Input, bytes.TrimSpace(raw))
	if err == nil {
		err = schema.Validate(v)
	}
	if err != nil {
		return nil, err
	}
	return schema.Encode(v)
}

func (r registry) get(name string) (cairn.Definition, error) {
	d, ok := r[name]
	if !ok {
		return Find(r.list(), name)
	}
	return d, nil
}

func (r registry) list() []cairn.Definition {
	out := make([]cairn.Definition, 0, len(r))
	for _, name := range slices.Sorted(maps.Keys(r)) {
		out = append(out, r[name])
	}
	return out
}
