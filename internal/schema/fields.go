package schema

import (
	"cmp"
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode"
)

var (
	timeType          = reflect.TypeFor[time.Time]()
	numberType        = reflect.TypeFor[json.Number]()
	rawMessageType    = reflect.TypeFor[json.RawMessage]()
	marshalerType     = reflect.TypeFor[json.Marshaler]()
	textMarshalerType = reflect.TypeFor[encoding.TextMarshaler]()
	textReaderType    = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// implements counts methods of *T too: encoding/json uses them wherever the value is addressable, and
// reading always is.
func implements(t, method reflect.Type) bool {
	return t.Implements(method) || reflect.PointerTo(t).Implements(method)
}

// A field is one member of the JSON object that encoding/json writes for a struct.
type field struct {
	reflect.StructField
	name   string // in JSON
	tagged bool   // the name comes from the tag
	index  []int
}

// fieldsOf returns the members in the order of declaration. It follows encoding/json where
// invopop/jsonschema does not: of fields with one name the shallowest wins, then the tagged one, and of
// several equals none.
func fieldsOf(t reflect.Type) []field {
	type level struct {
		t     reflect.Type
		index []int
	}
	var all []field
	visited := map[reflect.Type]bool{}
	for current := []level{{t: t}}; len(current) > 0; {
		var next []level
		count := map[reflect.Type]int{} // two of a kind on one level hide each other
		for _, l := range current {
			count[l.t]++
		}
		for _, l := range current {
			if visited[l.t] {
				continue
			}
			visited[l.t] = true
			for i := range l.t.NumField() {
				f := l.t.Field(i)
				tag := f.Tag.Get("json")
				inner := structType(f.Type)
				if tag == "-" || !f.IsExported() && (!f.Anonymous || inner == nil) {
					continue
				}
				name, _, _ := strings.Cut(tag, ",")
				if !validName(name) {
					name = ""
				}
				index := append(slices.Clone(l.index), i)
				if f.Anonymous && name == "" && inner != nil {
					next = append(next, level{inner, index})
					continue
				}
				one := field{StructField: f, name: cmp.Or(name, f.Name), tagged: name != "", index: index}
				for range min(count[l.t], 2) {
					all = append(all, one)
				}
			}
		}
		current = next
	}

	byName := map[string][]field{}
	for _, f := range all {
		byName[f.name] = append(byName[f.name], f)
	}
	var visible []field
	for _, same := range byName {
		slices.SortStableFunc(same, func(a, b field) int {
			return cmp.Or(len(a.index)-len(b.index), -compareBool(a.tagged, b.tagged))
		})
		if len(same) > 1 && len(same[0].index) == len(same[1].index) && same[0].tagged == same[1].tagged {
			continue
		}
		visible = append(visible, same[0])
	}
	slices.SortFunc(visible, func(a, b field) int { return slices.Compare(a.index, b.index) })
	return visible
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// validName is encoding/json's rule for a name in a tag; any other is ignored there.
func validName(name string) bool {
	for _, r := range name {
		if !strings.ContainsRune("!#$%&()*+-./:;<=>?@[]^_{|}~ ", r) && !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
	}
	return name != ""
}

// check finds everything below t that JSON cannot carry.
func check(t reflect.Type) []Problem {
	c := checker{seen: map[reflect.Type]bool{}}
	c.check(t, "")
	return c.problems
}

type checker struct {
	seen     map[reflect.Type]bool
	problems []Problem
}

func (c *checker) check(t reflect.Type, path string) {
	switch t.Kind() {
	case reflect.Interface:
		if t.NumMethod() > 0 {
			c.add(path, "%s is an interface with methods, and JSON does not say which type to read", t)
		}
		return
	case reflect.Struct, reflect.Map, reflect.Slice, reflect.Array, reflect.Pointer:
		// Only named types can contain themselves; any other is reported wherever it stands.
		if t.Name() != "" {
			if c.seen[t] {
				return
			}
			c.seen[t] = true
		}
	}
	if customSchema(t) || implements(t, marshalerType) || implements(t, textMarshalerType) {
		return
	}
	switch t.Kind() {
	case reflect.Chan, reflect.Func, reflect.Complex64, reflect.Complex128, reflect.UnsafePointer:
		c.add(path, "%s has no JSON form", t)
	case reflect.Pointer:
		for elem, steps := t.Elem(), 0; elem.Kind() == reflect.Pointer; elem, steps = elem.Elem(), steps+1 {
			if steps > 100 {
				c.add(path, "%s points to itself without end", t)
				return
			}
		}
		c.check(t.Elem(), path)
	case reflect.Slice, reflect.Array:
		c.check(t.Elem(), path+"[]")
	case reflect.Map:
		if !textKey(t.Key()) {
			c.add(path, "%s has keys that are no text: use strings, integers or a type with MarshalText and UnmarshalText", t)
		}
		c.check(t.Elem(), path+"[]")
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			c.check(f.Type, join(path, f.name))
		}
	}
}

func (c *checker) add(path, format string, t reflect.Type) {
	c.problems = append(c.problems, Problem{Path: path, Reason: fmt.Sprintf(format, t)})
}

// textKey reports whether encoding/json writes and reads map keys of the type.
func textKey(t reflect.Type) bool {
	return t.Kind() == reflect.String || signed(t) || unsigned(t) ||
		implements(t, textMarshalerType) && implements(t, textReaderType)
}

// base64Bytes reports whether encoding/json writes the type as one string.
func base64Bytes(t reflect.Type) bool {
	return t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 &&
		!implements(t.Elem(), marshalerType) && !implements(t.Elem(), textMarshalerType)
}

func signed(t reflect.Type) bool   { return t.Kind() >= reflect.Int && t.Kind() <= reflect.Int64 }
func unsigned(t reflect.Type) bool { return t.Kind() >= reflect.Uint && t.Kind() <= reflect.Uintptr }
