package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode/utf8"
)

var errDuplicateKey = errors.New("the key occurs twice in one object")

// An EncodeError says that a Go value has no JSON form: NaN, an infinity, a channel, a cycle of pointers,
// a MarshalJSON method that fails or panics. Encoding the value again gives the same error.
type EncodeError struct {
	Type string // the Go type of the whole value
	Err  error
}

// Error is one line that says what is wrong where.
func (e *EncodeError) Error() string {
	return fmt.Sprintf("encode %s: %s", e.Type, strings.TrimPrefix(e.Err.Error(), "json: "))
}

// Unwrap returns the cause.
func (e *EncodeError) Unwrap() error { return e.Err }

// A DecodeError says that JSON text does not fit, and where.
type DecodeError struct {
	Path string // JSON names and indexes, "items[0].name"; empty for the value itself or when unknown
	Err  error
}

// Error is one line that says what is wrong where.
func (e *DecodeError) Error() string {
	msg := strings.TrimPrefix(e.Err.Error(), "json: ")
	var mismatch *json.UnmarshalTypeError
	if errors.As(e.Err, &mismatch) {
		msg = fmt.Sprintf("cannot hold %s as %s", mismatch.Value, mismatch.Type)
	}
	if e.Path != "" {
		return "decode " + e.Path + ": " + msg
	}
	return "decode: " + msg
}

// Unwrap returns the cause.
func (e *DecodeError) Unwrap() error { return e.Err }

// Encode returns v as JSON: the same bytes for the same value, no HTML escaping, no trailing newline.
// Struct fields stand in the order of their declaration, map keys are sorted. Every invalid byte of a
// string becomes U+FFFD, so encoding what was decoded from the result gives the result again.
// A value without a JSON form gives an *EncodeError, never a panic.
func Encode(v any) (raw []byte, err error) {
	defer func() {
		if p := recover(); p != nil { // only a MarshalJSON or MarshalText method can panic in here
			raw, err = nil, &EncodeError{Type: fmt.Sprintf("%T", v), Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, &EncodeError{Type: fmt.Sprintf("%T", v), Err: err}
	}
	return replaceInvalid(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), nil
}

// replaceInvalid gives invalid UTF-8 one spelling. encoding/json writes the escape \ufffd for an invalid
// byte but the plain character for U+FFFD itself, and passes the bytes of a json.RawMessage unchecked;
// either would make a value and its decoded copy encode differently.
func replaceInvalid(raw []byte) []byte {
	const escape, replacement = `\ufffd`, "\uFFFD"
	if utf8.Valid(raw) && !bytes.Contains(raw, []byte(escape)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); {
		switch {
		case bytes.HasPrefix(raw[i:], []byte(escape)):
			out = append(out, replacement...)
			i += len(escape)
		case raw[i] == '\\': // some other escape: its second byte must not start one of ours
			out = append(out, raw[i:i+2]...)
			i += 2
		default:
			r, size := utf8.DecodeRune(raw[i:])
			out = utf8.AppendRune(out, r)
			i += size
		}
	}
	return out
}

// Decode reads run input and other JSON that came from outside. It is strict: unknown fields, equal keys
// in one object, anything after the value and numbers that don't fit are a *DecodeError. Missing
// fields are left to Validate; field names match without regard to case, as in encoding/json.
func Decode[T any](raw []byte) (T, error) {
	var v T
	err := DecodeTo(raw, &v)
	return v, err
}

// DecodeType is Decode for a type known only at run time. It returns a value of type t.
func DecodeType(t reflect.Type, raw []byte) (any, error) {
	v := reflect.New(t)
	if err := DecodeTo(raw, v.Interface()); err != nil {
		return nil, err
	}
	return v.Elem().Interface(), nil
}

// DecodeTo is Decode into the value that dst points to, whose content is unspecified after an error.
func DecodeTo(raw []byte, dst any) (err error) {
	if _, err := parse(raw); err != nil {
		return err
	}
	defer func() {
		if p := recover(); p != nil { // only an UnmarshalJSON or UnmarshalText method can panic in here
			err = &DecodeError{Err: fmt.Errorf("panic: %v", p)}
		}
	}()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(dst); err != nil {
		var mismatch *json.UnmarshalTypeError
		if errors.As(err, &mismatch) {
			return &DecodeError{Path: mismatch.Field, Err: err}
		}
		return &DecodeError{Err: err}
	}
	return nil
}
