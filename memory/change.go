package memory

import (
	"bytes"
	"encoding/json"
	"time"
)

// Change is a field of a patch. The zero value keeps what is there; Set replaces it, by nothing where To is zero. In JSON
// an absent member keeps and null clears.
type Change[T any] struct {
	Set bool
	To  T
}

// To is a change to v.
func To[T any](v T) Change[T] { return Change[T]{Set: true, To: v} }

// Apply returns the new value of a field that had the value old.
func (c Change[T]) Apply(old T) T {
	if c.Set {
		return c.To
	}
	return old
}

// IsZero makes omitzero leave away what keeps.
func (c Change[T]) IsZero() bool { return !c.Set }

// MarshalJSON is the value. What keeps is null, too, so fields need the option omitzero.
func (c Change[T]) MarshalJSON() ([]byte, error) {
	if !c.Set {
		return []byte("null"), nil
	}
	return json.Marshal(c.To)
}

// UnmarshalJSON sets, by the zero value for null.
func (c *Change[T]) UnmarshalJSON(raw []byte) error {
	*c = Change[T]{Set: true}
	if bytes.Equal(raw, []byte("null")) {
		return nil
	}
	return json.Unmarshal(raw, &c.To)
}

// FactPatch changes parts of a fact and keeps the rest.
type FactPatch struct {
	// Value replaces the value; cleared, it is null.
	Value Change[json.RawMessage] `json:"value,omitzero"`
	// Merge changes members of a value that is an object (RFC 7396): absent ones stay, null removes one, objects are merged.
	// It applies after Value.
	Merge   json.RawMessage   `json:"merge,omitempty"`
	Bank    Change[string]    `json:"bank,omitzero"`
	Tags    Change[[]string]  `json:"tags,omitzero"`
	Expires Change[time.Time] `json:"expires,omitzero"`
	Valid   Change[Span]      `json:"valid,omitzero"`
	Origin  Change[Origin]    `json:"origin,omitzero"`
}

// Apply returns the patched fact.
func (p FactPatch) Apply(f Fact) (Fact, error) {
	if p.Value.Set && len(p.Value.To) == 0 {
		p.Value.To = json.RawMessage("null")
	}
	f.Value = p.Value.Apply(f.Value)
	if len(p.Merge) > 0 {
		var target, patch any
		if err := decode(f.Value, &target); err != nil {
			return f, contradictory("the value of "+f.Key+" is no JSON: "+err.Error(), "replace it")
		}
		if err := decode(p.Merge, &patch); err != nil {
			return f, contradictory("the patch of "+f.Key+" is no JSON: "+err.Error(), "give an object")
		}
		merged, err := json.Marshal(merge(target, patch))
		if err != nil {
			return f, contradictory("the patch of "+f.Key+" can't be written: "+err.Error(), "give an object")
		}
		f.Value = merged
	}
	f.Bank, f.Tags = p.Bank.Apply(f.Bank), p.Tags.Apply(f.Tags)
	f.Expires, f.Valid, f.Origin = p.Expires.Apply(f.Expires), p.Valid.Apply(f.Valid), p.Origin.Apply(f.Origin)
	return f, nil
}

// decode keeps numbers exact.
func decode(raw []byte, v *any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return contradictory("more than one JSON value", "give one")
	}
	return nil
}

func merge(target, patch any) any {
	members, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	object, ok := target.(map[string]any)
	if !ok {
		object = map[string]any{}
	}
	for name, v := range members {
		if v == nil {
			delete(object, name)
		} else {
			object[name] = merge(object[name], v)
		}
	}
	return object
}
