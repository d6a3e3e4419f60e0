package memory

import (
	"encoding/json"
	"time"

	"github.com/cairnrun/cairn/internal/schema"
)

// Fact is a JSON value under a key, the only kind of item that is overwritten. Each write makes a version; earlier ones
// stay readable by a Moment until they are pruned.
type Fact struct {
	Place
	// Key is unique in the namespace.
	Key string `json:"key"`
	// Value is JSON of at most MaxText bytes, kept in canonical form: sorted keys, no blanks, exact numbers.
	Value json.RawMessage `json:"value"`
	// Version is 1 for the first write of a key, and greater with each later one, a deletion in between included. Set by
	// the store.
	Version int64 `json:"version,omitempty"`
	// Created is when the key was first written since it did not exist, Updated when this version was. Set by the store.
	Created time.Time `json:"created,omitzero"`
	Updated time.Time `json:"updated,omitzero"`
	// Expires ends the fact: from this millisecond on no read returns it. Zero is never.
	Expires time.Time `json:"expires,omitzero"`
	// Valid is when the value holds. Outside of it an earlier version may.
	Valid  Span   `json:"valid,omitzero"`
	Origin Origin `json:"origin,omitzero"`
}

// Resolve returns the fact as a store keeps it, or what is wrong with it.
func (f Fact) Resolve() (Fact, error) {
	var err error
	if f.Place, err = f.Place.Resolve(); err != nil {
		return f, err
	}
	if err := CheckName("a fact's key", f.Key); err != nil {
		return f, err
	}
	if err := checkText("a fact's value", string(f.Value), MaxText); err != nil {
		return f, err
	}
	if len(f.Value) == 0 {
		return f, contradictory("the fact "+f.Key+" has no value", "write null for an empty one")
	}
	value, err := schema.Canonical(f.Value)
	if err != nil {
		return f, contradictory("the value of "+f.Key+" is no JSON: "+err.Error(), "give one JSON value")
	}
	f.Value = value
	if err := checkText("a fact's value", string(f.Value), MaxText); err != nil { // <, > and & grow when they are escaped
		return f, err
	}
	if err := f.Origin.Check(); err != nil {
		return f, err
	}
	if err := checkTimes(f.Expires, f.Created, f.Updated); err != nil {
		return f, err
	}
	return f, f.Valid.Check()
}
