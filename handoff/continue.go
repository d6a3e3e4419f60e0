package handoff

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// ContinueAsNew ends the run when its turn comes, and lets a successor go on. What comes after it in a sequence is never
// reached. See the package for what happens.
type ContinueAsNew struct {
	// ID names the node, by default "continue-as-new"; two unnamed in one scope are a mistake. It is no part of task paths.
	ID string
	// State is what the successor's Carried gives: anything with a JSON form of up to 10 MiB, encoded once, when the turn
	// has come. Nil hands over nothing.
	State any
	// Keep names tasks whose outputs cross: the successor has them as finished, under their paths, and does not run them
	// again. Each key is looked up as Get does, from the node's scope outwards, when the successor is made; one
	// without a value is left out. An output of a loop's iteration can't be kept.
	Keep cairn.Keys
	// Input, if not nil, replaces the run's input; it is checked as at the start of a run.
	Input any
}

// Lower says what a ContinueAsNew is.
func (c ContinueAsNew) Lower() cairn.Spec {
	h := &cairn.HandoffSpec{}
	spec := cairn.Spec{Kind: cairn.KindContinueAsNew, ID: c.ID, Handoff: h}
	if c.State != nil {
		h.State = func(*cairn.View) (json.RawMessage, string, error) { return encode(c.State) }
	}
	if c.Input != nil {
		h.Input = func() (json.RawMessage, error) { return schema.Encode(c.Input) }
	}
	for i, key := range c.Keep {
		if key == nil {
			spec.Mistakes = append(spec.Mistakes, fmt.Errorf("a ContinueAsNew whose Keep has no key at %d", i))
			continue
		}
		h.Keep = append(h.Keep, key.Name())
	}
	return spec
}

// encode gives a state's JSON and the hash of its type's schema.
func encode(state any) (json.RawMessage, string, error) {
	s, err := schema.Of(reflect.TypeOf(state))
	if err != nil {
		return nil, "", err
	}
	raw, err := schema.Encode(state)
	return raw, s.Hash, err
}

// Carried returns what the run before has handed over, decoded as T; zero in a first run, and where the handoff had no
// state. It is the same on every render of a run. A state of another type than T blocks the run, or refuses the handoff
// that would have made it, as STATE_TYPE.
func Carried[T any](v *cairn.View, zero T) T {
	raw, ok, err := v.Carried(reflect.TypeFor[T]())
	if err == nil && !ok {
		return zero
	}
	var out T
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		panic(&cairn.Error{Code: cairn.CodeOf(err, cairn.StateType), Message: "the carried state can't be read as " + reflect.TypeFor[T]().String(),
			Next: "read it as the type that ContinueAsNew was given", Err: err})
	}
	return out
}

// Generation counts the runs of the chain that the View's run stands in: 1 in the first, one more after each handoff.
func Generation(v *cairn.View) int { return v.Generation() }
