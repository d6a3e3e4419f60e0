// Package schema says what a Go type promises as JSON, and holds values to that promise.
//
// A workflow stores every value as JSON and reads it back with code that may have changed in between.
// So each type has a schema, which is shown to models, and a hash of its shape, which is stored with
// every result: a result is read as a type only if the shapes agree.
//
//	s, err := schema.Of(reflect.TypeFor[Step]())  // JSON Schema and shape hash
//	raw, err := schema.Encode(step)               // deterministic JSON
//	step, err := schema.Decode[Step](raw)         // strict: no unknown fields, nothing after the value
//	err = schema.Validate(step)                   // the `validate` tags
//	same, err := schema.Canonical(raw)            // equal values, equal bytes
//
// What a schema does not say: a Go nil pointer, slice or map encodes as null although the schema names
// the type of the value, and `validate` tags are rules about values, no part of the shape.
package schema
