package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// A Schema is what a Go type promises as JSON. It is shared by all callers: do not modify it.
type Schema struct {
	// JSON is a JSON Schema in canonical form. Everything is inline, except that types which contain
	// themselves stand under $defs, or are "#" for the type itself. It has no $schema and no $id.
	JSON json.RawMessage

	// Hash is 16 hex digits of SHA-256 over the shape: the schema without annotations (title,
	// description, default, examples and the like), without the order of fields and without the names of
	// Go packages and types. Two types of equal shape have equal hashes. What counts: names of fields,
	// their JSON types, whether they are required, and the rules of `jsonschema` tags (enum, minimum,
	// pattern …). Two limits: integers of all sizes are one JSON type, and a recursive type
	// differs from one that holds the same recursion one level further down.
	Hash string
}

// A TypeError says that JSON cannot carry a Go type.
type TypeError struct {
	Type   string
	Fields []Problem // in the order of the fields
}

// A Problem is one place in a type, by JSON names: "results[].done". It is empty for the type itself.
type Problem struct {
	Path   string
	Reason string
}

// Error is one line that says what is wrong where.
func (e *TypeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "JSON cannot carry %s", e.Type)
	separator := ": "
	for _, p := range e.Fields {
		b.WriteString(separator)
		separator = "; "
		if p.Path != "" {
			b.WriteString(p.Path + ": ")
		}
		b.WriteString(p.Reason)
	}
	return b.String()
}

// known holds what Of found, by reflect.Type: a *Schema or an error.
var known sync.Map

// Of returns the schema of a type: the fields that encoding/json writes, with their `jsonschema` tags and
// the methods JSONSchema, JSONSchemaExtend and JSONSchemaAlias that github.com/invopop/jsonschema defines;
// a schema that a JSONSchema method returns must not refer to definitions elsewhere. A type with its own
// MarshalJSON and no such method may be any JSON. What JSON cannot carry (channels, functions, complex
// numbers, interfaces with methods, maps whose keys are no text) is a *TypeError that names the fields.
//
// The first call for a type takes a fraction of a millisecond, every later one a map lookup.
func Of(t reflect.Type) (*Schema, error) {
	if t == nil {
		return nil, &TypeError{Type: "nil", Fields: []Problem{{Reason: "an untyped nil has no type"}}}
	}
	found, ok := known.Load(t)
	if !ok {
		// Two callers at once may both build; they build the same.
		found, _ = known.LoadOrStore(t, describe(t))
	}
	if err, bad := found.(error); bad {
		return nil, err
	}
	return found.(*Schema), nil
}

// describe returns a *Schema or an error.
func describe(t reflect.Type) (found any) {
	defer func() {
		if p := recover(); p != nil { // a schema method or tag of the user
			found = &TypeError{Type: t.String(), Fields: []Problem{{Reason: fmt.Sprintf("describing it panics: %v", p)}}}
		}
	}()
	if problems := check(t); len(problems) > 0 {
		return &TypeError{Type: t.String(), Fields: problems}
	}
	doc, err := document(t)
	if err != nil {
		return fmt.Errorf("schema of %s: %w", t, err)
	}
	return &Schema{JSON: appendCanonical(nil, doc), Hash: shapeHash(doc)}
}
