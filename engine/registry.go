package engine

import (
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
		if _, err := example(d); err != nil {
			errs = append(errs, fmt.Errorf("its Example: %w", err))
		}
	}
	return errors.Join(errs...)
}

// example is the workflow's example input as JSON.
func example(d cairn.Definition) (json.RawMessage, error) {
	raw, err := schema.Encode(d.Example)
	if err != nil {
		return nil, err
	}
	return input(d, raw)
}

// input checks a run's input and gives the bytes that are stored: decoded as the workflow's type, without anything
// unknown, validated, and encoded again.
func input(d cairn.Definition, raw []byte) (json.RawMessage, error) {
	v, err := schema.DecodeType(d.Input, raw)
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
		return d, errUnknown(name, slices.Sorted(maps.Keys(r)))
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
