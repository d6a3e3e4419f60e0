package schema

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// The methods that invopop/jsonschema looks for in a type.
type (
	selfDescribing interface{ JSONSchema() *jsonschema.Schema }
	extending      interface{ JSONSchemaExtend(*jsonschema.Schema) }
	aliasing       interface{ JSONSchemaAlias() any }
)

var (
	selfDescribingType = reflect.TypeFor[selfDescribing]()
	extendingType      = reflect.TypeFor[extending]()
	aliasingType       = reflect.TypeFor[aliasing]()
)

func customSchema(t reflect.Type) bool {
	return implements(t, selfDescribingType) || implements(t, aliasingType)
}

// document returns the whole schema of t as a JSON tree.
func document(t reflect.Type) (any, error) {
	r := newReflection()
	root, err := r.schemaOf(t)
	if err != nil {
		return nil, err
	}
	for len(r.queue) > 0 {
		next := r.queue[0]
		r.queue = r.queue[1:]
		if r.defs[r.refs[next]], err = r.define(next); err != nil {
			return nil, err
		}
	}
	return link(r, root)
}

// A reflection has invopop/jsonschema describe one level of a type at a time and sees to what lies below
// itself. Left alone, the library knows definitions by bare type names, so that two packages' types of one
// name become one, does not end on types that embed themselves, and takes embedded and marshalling
// types otherwise than encoding/json writes them.
type reflection struct {
	library jsonschema.Reflector
	level   reflect.Type            // being described now, to be left to the library
	refs    map[reflect.Type]string // reference of every named composite type met so far
	types   map[string]reflect.Type // the reverse
	queue   []reflect.Type          // those without a definition yet
	defs    map[string]any          // definitions by reference
	names   []string                // JSON names of the level's fields
}

// refPrefix marks references that the linker has yet to resolve. JSON Schema has no such URI, so none
// that a user's method returns is taken for one.
const refPrefix = "cairn-type:"

func newReflection() *reflection {
	r := &reflection{
		refs:  map[reflect.Type]string{},
		types: map[string]reflect.Type{},
		defs:  map[string]any{},
	}
	r.library = jsonschema.Reflector{
		Anonymous:      true,
		DoNotReference: true,
		Mapper:         r.describe,
		KeyNamer: func(key string) string {
			i, _ := strconv.Atoi(strings.TrimPrefix(key, fieldPrefix))
			return r.names[i]
		},
	}
	return r
}

// schemaOf describes t as a tree, with references to composite types below.
func (r *reflection) schemaOf(t reflect.Type) (any, error) {
	return tree(r.library.ReflectFromType(t))
}

func tree(s *jsonschema.Schema) (any, error) {
	s.Version = "" // two lines of every prompt that no model needs
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	return parse(raw)
}

// describe answers the library for every type it meets: nil leaves the type to the library.
func (r *reflection) describe(t reflect.Type) *jsonschema.Schema {
	switch {
	case t == r.level:
		return nil
	case implements(t, aliasingType): // by a method of *T; those of T the library sees itself
		return r.sub(reflect.TypeOf(reflect.New(t).Interface().(aliasing).JSONSchemaAlias()))
	case implements(t, selfDescribingType):
		s := *reflect.New(t).Interface().(selfDescribing).JSONSchema() // a copy: tags are written into it
		s.Version = ""
		return &s
	case t == timeType, t == rawMessageType:
		return nil
	case t == numberType:
		return &jsonschema.Schema{Type: "number"}
	case implements(t, marshalerType):
		return &jsonschema.Schema{}
	case implements(t, textMarshalerType):
		return &jsonschema.Schema{Type: "string"}
	}
	switch t.Kind() {
	case reflect.Struct:
		return r.ref(t)
	case reflect.Map:
		if t.Name() != "" {
			return r.ref(t)
		}
		return r.mapOf(t)
	case reflect.Array, reflect.Slice:
		if base64Bytes(t) {
			return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
		}
		if t.Name() != "" {
			return r.ref(t)
		}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return &jsonschema.Schema{Type: "integer"}
	}
	return nil
}

// sub describes a type inside the level.
func (r *reflection) sub(t reflect.Type) *jsonschema.Schema {
	s := r.library.ReflectFromType(t)
	s.Version = ""
	return s
}

func (r *reflection) mapOf(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", AdditionalProperties: r.sub(t.Elem())}
	if implements(t.Key(), textMarshalerType) {
		return s
	}
	switch {
	case signed(t.Key()):
		s.PropertyNames = &jsonschema.Schema{Pattern: "^-?[0-9]+$"}
	case unsigned(t.Key()):
		s.PropertyNames = &jsonschema.Schema{Pattern: "^[0-9]+$"}
	}
	return s
}

// ref returns a reference to a composite type and sees that it will be defined.
func (r *reflection) ref(t reflect.Type) *jsonschema.Schema {
	ref, ok := r.refs[t]
	if !ok {
		ref = refPrefix + strconv.Itoa(len(r.refs))
		r.refs[t], r.types[ref] = ref, t
		r.queue = append(r.queue, t)
	}
	return &jsonschema.Schema{Ref: ref}
}

// define describes a composite type by an unnamed twin of it, which has nothing the library could get wrong.
func (r *reflection) define(t reflect.Type) (any, error) {
	var s *jsonschema.Schema
	if t.Kind() == reflect.Map {
		s = r.mapOf(t)
	} else {
		switch t.Kind() {
		case reflect.Struct:
			r.level = r.flatten(t)
		case reflect.Slice:
			r.level = reflect.SliceOf(t.Elem())
		case reflect.Array:
			r.level = reflect.ArrayOf(t.Len(), t.Elem())
		}
		s = r.library.ReflectFromType(r.level)
	}
	if implements(t, extendingType) {
		reflect.New(t).Interface().(extending).JSONSchemaExtend(s)
	}
	return tree(s)
}

const fieldPrefix = "F"

// flatten returns a struct type with the JSON fields of t and nothing else: no embedding, no methods.
// Its fields are named F0, F1 …, because JSON names need not be Go names; KeyNamer gives the real ones.
func (r *reflection) flatten(t reflect.Type) reflect.Type {
	fields := fieldsOf(t)
	flat := make([]reflect.StructField, len(fields))
	r.names = make([]string, len(fields))
	for i, f := range fields {
		r.names[i] = f.name
		name := fieldPrefix + strconv.Itoa(i)
		tag := []string{name}
		for _, o := range strings.Split(f.Tag.Get("json"), ",")[1:] {
			if o == "omitempty" || o == "omitzero" || o == "string" {
				tag = append(tag, o)
			}
		}
		flat[i] = reflect.StructField{
			Name: name,
			Type: f.Type,
			Tag: reflect.StructTag(fmt.Sprintf("json:%q jsonschema:%q jsonschema_description:%q jsonschema_extras:%q",
				strings.Join(tag, ","), f.Tag.Get("jsonschema"), f.Tag.Get("jsonschema_description"), f.Tag.Get("jsonschema_extras"))),
		}
	}
	return reflect.StructOf(flat)
}
