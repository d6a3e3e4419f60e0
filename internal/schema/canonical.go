package schema

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Canonical rewrites JSON so that equal values have equal bytes: object keys sorted by their UTF-8 bytes,
// no insignificant white space, one spelling for each string and number.
//
// Numbers are rewritten by value and never pass through a float: integers keep every digit, 1.0 and 1e0
// become 1. A number with more than 400 trailing zeros, or smaller than 1e-6, is written with an exponent,
// and an exponent beyond a billion is left as it stands. Invalid UTF-8 in a string becomes U+FFFD.
// Two equal keys in one object are an error, because no reading of them is right.
func Canonical(raw []byte) ([]byte, error) {
	v, err := parse(raw)
	if err != nil {
		return nil, err
	}
	return appendCanonical(make([]byte, 0, len(raw)), v), nil
}

// parse reads exactly one JSON value into nil, bool, string, json.Number, []any and map[string]any.
// encoding/json would keep the last of several equal keys, and its token reader is ten times slower.
func parse(raw []byte) (any, error) {
	if !json.Valid(raw) { // which also limits the depth of nesting
		var unread json.RawMessage
		return nil, &DecodeError{Err: json.Unmarshal(raw, &unread)}
	}
	p := parser{src: raw}
	v, err := p.value()
	if err != nil {
		return nil, err
	}
	return v, nil
}

// A parser reads text that is known to be valid.
type parser struct {
	src []byte
	pos int
}

// next returns the first byte that is not white space.
func (p *parser) next() byte {
	for {
		switch c := p.src[p.pos]; c {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return c
		}
	}
}

func (p *parser) value() (any, *DecodeError) {
	switch p.next() {
	case '{':
		return p.object()
	case '[':
		return p.list()
	case '"':
		return p.str(), nil
	case 't':
		p.pos += len("true")
		return true, nil
	case 'f':
		p.pos += len("false")
		return false, nil
	case 'n':
		p.pos += len("null")
		return nil, nil
	}
	start := p.pos
	for p.pos < len(p.src) && strings.IndexByte("+-.0123456789Ee", p.src[p.pos]) >= 0 {
		p.pos++
	}
	return json.Number(p.src[start:p.pos]), nil
}

func (p *parser) object() (any, *DecodeError) {
	object := map[string]any{}
	p.pos++
	for p.next() != '}' {
		if p.src[p.pos] == ',' {
			p.pos++
			p.next()
		}
		key := p.str()
		if _, ok := object[key]; ok {
			return nil, &DecodeError{Path: key, Err: errDuplicateKey}
		}
		p.next()
		p.pos++ // the colon
		v, err := p.value()
		if err != nil {
			err.Path = join(key, err.Path)
			return nil, err
		}
		object[key] = v
	}
	p.pos++
	return object, nil
}

func (p *parser) list() (any, *DecodeError) {
	list := []any{}
	p.pos++
	for p.next() != ']' {
		if p.src[p.pos] == ',' {
			p.pos++
		}
		v, err := p.value()
		if err != nil {
			err.Path = join("["+strconv.Itoa(len(list))+"]", err.Path)
			return nil, err
		}
		list = append(list, v)
	}
	p.pos++
	return list, nil
}

func (p *parser) str() string {
	start := p.pos
	plain := true
	for p.pos++; p.src[p.pos] != '"'; p.pos++ {
		if p.src[p.pos] == '\\' {
			plain = false
			p.pos++
		}
	}
	p.pos++
	if text := p.src[start+1 : p.pos-1]; plain && utf8.Valid(text) {
		return string(text)
	}
	var s string
	_ = json.Unmarshal(p.src[start:p.pos], &s) // valid, as is all of src
	return s
}

// join extends a path of JSON names by a name, or by a path that starts with an index.
func join(path, rest string) string {
	if path == "" || rest == "" || rest[0] == '[' {
		return path + rest
	}
	return path + "." + rest
}

func appendCanonical(out []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(out, "null"...)
	case bool:
		return strconv.AppendBool(out, v)
	case json.Number:
		return appendNumber(out, string(v))
	case string:
		return appendString(out, v)
	case []any:
		out = append(out, '[')
		for i, item := range v {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendCanonical(out, item)
		}
		return append(out, ']')
	case map[string]any:
		out = append(out, '{')
		for i, key := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				out = append(out, ',')
			}
			out = appendString(out, key)
			out = append(out, ':')
			out = appendCanonical(out, v[key])
		}
		return append(out, '}')
	}
	panic(fmt.Sprintf("schema: a JSON tree cannot hold %T", v)) // only trees of parse come here
}

func appendString(out []byte, s string) []byte {
	const hex = "0123456789abcdef"
	if !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == '"' || r == '\\' || r == utf8.RuneError }) {
		out = append(out, '"')
		out = append(out, s...)
		return append(out, '"')
	}
	out = append(out, '"')
	for _, r := range s { // yields U+FFFD for each invalid byte
		switch {
		case r == '"' || r == '\\':
			out = append(out, '\\', byte(r))
		case r == '\n':
			out = append(out, `\n`...)
		case r == '\r':
			out = append(out, `\r`...)
		case r == '\t':
			out = append(out, `\t`...)
		case r < 0x20:
			out = append(out, `\u00`...)
			out = append(out, hex[r>>4], hex[r&15])
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return append(out, '"')
}

// maxZeros is the longest run of trailing zeros a number is written with. It covers every float64 and
// keeps 1e999999999 from becoming a gigabyte.
const maxZeros = 400

// appendNumber writes the number of a valid JSON literal in a form that depends on its value alone.
func appendNumber(out []byte, literal string) []byte {
	unsigned, negative := strings.CutPrefix(literal, "-")
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(unsigned), "e")
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	if digits == "" {
		return append(out, '0') // -0 and 0e5 are zero as well
	}
	exp := 0
	if hasExponent {
		var err error
		if exp, err = strconv.Atoi(exponent); err != nil || exp > 1e9 || exp < -1e9 {
			return append(out, literal...)
		}
	}
	// From here the value is digits × 10^exp, digits without zeros at either end.
	exp -= len(fraction)
	significant := strings.TrimRight(digits, "0")
	exp += len(digits) - len(significant)
	digits = significant

	if negative {
		out = append(out, '-')
	}
	point := len(digits) + exp // where the decimal point stands, counted from the first digit
	switch {
	case exp >= 0 && exp <= maxZeros:
		out = append(out, digits...)
		return append(out, strings.Repeat("0", exp)...)
	case exp < 0 && point > 0:
		out = append(out, digits[:point]...)
		out = append(out, '.')
		return append(out, digits[point:]...)
	case exp < 0 && point > -6:
		out = append(out, "0."...)
		out = append(out, strings.Repeat("0", -point)...)
		return append(out, digits...)
	}
	out = append(out, digits[0])
	if len(digits) > 1 {
		out = append(out, '.')
		out = append(out, digits[1:]...)
	}
	out = append(out, 'e')
	if point > 0 {
		out = append(out, '+')
	}
	return strconv.AppendInt(out, int64(point-1), 10)
}
