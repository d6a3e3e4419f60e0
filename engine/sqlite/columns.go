package sqlite

import (
	"bytes"
	"fmt"
)

// Destinations of Scan that take one storage class and nothing else. database/sql would make a string of a number and
// bytes of a string, and so let a damaged row pass for a whole one.
type (
	integer int64
	text    string
	blob    []byte
	// nullable is a blob or NULL, which is nil.
	nullable []byte
)

// typeError says that a column holds what its type does not allow.
type typeError struct {
	want string
	got  any
}

func (e *typeError) Error() string {
	if e.got == nil {
		return "NULL where " + e.want + " belongs"
	}
	return fmt.Sprintf("%T where %s belongs", e.got, e.want)
}

func (i *integer) Scan(v any) error {
	n, ok := v.(int64)
	if !ok {
		return &typeError{"an integer", v}
	}
	*i = integer(n)
	return nil
}

func (t *text) Scan(v any) error {
	s, ok := v.(string)
	if !ok {
		return &typeError{"text", v}
	}
	*t = text(s)
	return nil
}

// Scan copies, because the driver's bytes are only lent.
func (b *blob) Scan(v any) error {
	p, ok := v.([]byte)
	if !ok {
		return &typeError{"a blob", v}
	}
	*b = bytes.Clone(p)
	return nil
}

func (n *nullable) Scan(v any) error {
	if v == nil {
		*n = nil
		return nil
	}
	return (*blob)(n).Scan(v)
}

// orEmpty makes bytes storable in a column that is NOT NULL: the driver stores a nil slice as NULL.
func orEmpty(p []byte) []byte {
	if p == nil {
		return []byte{}
	}
	return p
}
