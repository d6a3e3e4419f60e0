package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

// cast makes up what tasks give when a workflow is played.
type cast struct {
	// contrary says that there are others to make up.
	contrary bool
}

// sample is an output of the task's type. Where none passes the type's own rules it is one that has the form.
func (c *cast) sample(t *cairn.TaskSpec) (json.RawMessage, error) {
	check := fits(t)
	out, err := scripted.Sample(t.Schema, told(check))
	if err != nil {
		if out, err = scripted.Sample(t.Schema, nil); err != nil {
			return nil, err
		}
	}
	if other, err := scripted.Contrary(t.Schema, told(check)); err == nil && !bytes.Equal(out, other) {
		c.contrary = true
	}
	return apart(out, check), nil
}

// other is the output that is as unlike the sample as it gets.
func (c *cast) other(t *cairn.TaskSpec) (json.RawMessage, error) {
	check := fits(t)
	out, err := scripted.Contrary(t.Schema, told(check))
	if err != nil {
		return c.sample(t)
	}
	return apart(out, check), nil
}

// told is a check of outputs whose elements are told apart.
func told(check func(json.RawMessage) error) func(json.RawMessage) error {
	return func(raw json.RawMessage) error { return check(apart(raw, check)) }
}

// fits says why an output is none of the task's: that it can't be read, or breaks its validate tags.
func fits(t *cairn.TaskSpec) func(json.RawMessage) error {
	return func(raw json.RawMessage) error {
		if t.Output == nil {
			return nil
		}
		out := reflect.New(t.Output)
		if err := json.Unmarshal(raw, out.Interface()); err != nil {
			return err
		}
		return schema.Validate(out.Elem().Interface())
	}
}

// apart tells the elements of lists apart, all of them or as far as the check allows: a workflow may make a scope of each, by what it is
// called, and a type may ask for it.
func apart(raw json.RawMessage, check func(json.RawMessage) error) json.RawMessage {
	best := raw
	for _, careful := range []bool{false, true} {
		d := json.NewDecoder(bytes.NewReader(raw))
		d.UseNumber()
		var root any
		if d.Decode(&root) != nil {
			return raw
		}
		passes := func() bool {
			next, err := schema.Encode(root)
			if err != nil || check(next) != nil {
				return false
			}
			best = next
			return true
		}
		number(root, nil, 0, func() bool { return !careful || passes() })
		if passes() {
			break
		}
	}
	return best
}

// number puts a number behind each text in the second element of a list and those after it, and takes it back where that does not pass.
// set replaces the value itself.
func number(v any, set func(text string), n int, passes func() bool) {
	switch v := v.(type) {
	case string:
		if n == 0 {
			return
		}
		if set(fmt.Sprintf("%s-%d", v, n+1)); !passes() {
			set(v)
		}
	case []any:
		for i, one := range v {
			number(one, func(text string) { v[i] = text }, max(n, i), passes)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			number(v[key], func(text string) { v[key] = text }, n, passes)
		}
	}
}
