package schema

import (
	"cmp"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/go-playground/validator/v10"
)

// A ValidationError lists every field that breaks the rule of its `validate` tag.
type ValidationError struct {
	Fields []Violation // ordered by path
}

// A Violation is one rule that one field breaks.
type Violation struct {
	Path string // JSON names and indexes, "items[0].name"
	Rule string // as in the tag, "required" or "min=3"
}

// Error is one line that says what is wrong where.
func (e *ValidationError) Error() string {
	parts := make([]string, len(e.Fields))
	for i, f := range e.Fields {
		parts[i] = f.Path + ": " + f.Rule
	}
	return strings.Join(parts, "; ")
}

// A TagError says that the validator cannot apply a `validate` tag: an unknown rule, or one for another
// kind of field. It is a mistake in the program, not in the value.
type TagError struct {
	Type   string
	Reason string
}

// Error is one line that says what is wrong where.
func (e *TagError) Error() string { return fmt.Sprintf("validate tags of %s: %s", e.Type, e.Reason) }

// Validate checks the `validate` tags of a struct, of what a pointer points to, and of each element of a
// slice or map. Below a struct the tags decide, as go-playground/validator defines: nested structs are
// checked, the elements of a field only with `dive`. Scalars and nil pass. The value must hold no cycle of
// pointers, which holds for everything that was decoded or that Encode accepts.
//
// The error is a *ValidationError or a *TagError.
func Validate(v any) error {
	found, err := validate(reflect.ValueOf(v), "")
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return nil
	}
	slices.SortStableFunc(found, func(a, b Violation) int { return cmp.Compare(a.Path, b.Path) })
	return &ValidationError{Fields: found}
}

func validate(v reflect.Value, path string) ([]Violation, error) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return nil, nil
		}
		return validate(v.Elem(), path)
	case reflect.Slice, reflect.Array:
		if !mayHoldStruct(v.Type().Elem()) {
			return nil, nil
		}
		var all []Violation
		for i := range v.Len() {
			found, err := validate(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	case reflect.Map:
		if !mayHoldStruct(v.Type().Elem()) {
			return nil, nil
		}
		var all []Violation
		for entries := v.MapRange(); entries.Next(); {
			found, err := validate(entries.Value(), fmt.Sprintf("%s[%v]", path, entries.Key()))
			if err != nil {
				return nil, err
			}
			all = append(all, found...)
		}
		return all, nil
	case reflect.Struct:
		return validateStruct(v, path)
	}
	return nil, nil
}

// mayHoldStruct saves a walk over the million elements of a []byte.
func mayHoldStruct(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Struct, reflect.Pointer, reflect.Interface, reflect.Slice, reflect.Array, reflect.Map:
		return true
	}
	return false
}

func validateStruct(v reflect.Value, path string) (found []Violation, err error) {
	defer func() {
		if p := recover(); p != nil { // the validator panics on a tag it does not know
			found, err = nil, &TagError{Type: v.Type().String(), Reason: fmt.Sprint(p)}
		}
	}()
	err = theValidator().Struct(v.Interface())
	var broken validator.ValidationErrors
	if !errors.As(err, &broken) {
		return nil, nil // nil, or a type without fields of its own such as time.Time
	}
	for _, f := range broken {
		// The path starts with the name of the struct, which may hold dots itself when it is generic.
		at := strings.TrimPrefix(f.Namespace(), v.Type().Name()+".")
		at = strings.ReplaceAll(at, inlined+".", "")
		rule := f.Tag()
		if f.Param() != "" {
			rule += "=" + f.Param()
		}
		found = append(found, Violation{Path: join(path, at), Rule: rule})
	}
	return found, nil
}

// inlined stands in the validator's paths for an embedded struct, which has no name in JSON.
const inlined = "\x00"

// theValidator is built on first use: it registers some two hundred rules, and a program that validates
// nothing should not pay for them.
var theValidator = sync.OnceValue(func() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	v.RegisterTagNameFunc(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
			return f.Name
		case name == "" && f.Anonymous && structType(f.Type) != nil:
			return inlined
		case name == "":
			return f.Name
		}
		return name
	})
	return v
})

// structType returns t or what t points to if that is a struct, else nil.
func structType(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer && t.Name() == "" {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	return t
}
