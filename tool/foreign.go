package tool

import (
	"context"
	"encoding/json"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Foreign makes a tool whose schema comes from elsewhere, as a protocol has it. It does what New does, but for what only a Go
// type can: the input is checked by the keywords of the schema that Go types have, handed on in canonical form, and the rest
// of the schema is left to whoever is called. The schema has to be of an object.
//
// Names, schemas and descriptions are data here, so what is wrong with them is an error, Invalid, and no panic. A Revert is
// refused: it has no types to be for.
func Foreign(name, description string, document json.RawMessage, call func(ctx context.Context, in json.RawMessage) (json.RawMessage, error), opts ...Option) (cairn.Tool, error) {
	m := made{Tool: cairn.Tool{Name: name, Description: description}}
	for _, o := range opts {
		o(&m)
	}
	t := m.Tool
	rules := &rule{}
	canonical, err := schema.Canonical(document)
	if err == nil {
		rules, err = rulesOf(canonical)
	}
	if err != nil {
		return t, &cairn.Error{Code: Invalid, Message: "the schema of " + quoted(name) + " can't be read", Err: err, Next: "leave the tool out"}
	}
	t.Schema = canonical
	t.Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		in, err := rules.accept(name, in)
		if err != nil {
			return nil, err
		}
		out, err := run(ctx, name, t.Timeout, func(ctx context.Context) (json.RawMessage, error) { return call(ctx, in) })
		if err != nil {
			return nil, err
		}
		return encode(name, out)
	}
	if err := Check(t); err != nil {
		return t, err
	}
	if !rules.object() || t.Timeout < 0 || m.undoes[0] != nil {
		return t, &cairn.Error{Code: Invalid, Message: name + " needs a schema of an object, no negative time-out and no Revert", Next: "mend what makes it"}
	}
	return t, nil
}
