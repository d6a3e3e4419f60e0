package scripted

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
)

// errNoAnswer is when a type wants what neither its schema nor its refusals tell.
var errNoAnswer = errors.New("scripted: no automatic answer fits; give this task a Rule with a Value of its own")

// mostMends is how often a value is mended before another is tried.
const mostMends = 12

// Sample makes a value of a schema, always the same, that the check passes: Agent.Auto answers with it. What validate tags demand is
// in no schema: it is learned from what the check says. A nil check passes everything. Where no value is found the error is permanent.
func Sample(of json.RawMessage, check func(json.RawMessage) error) (json.RawMessage, error) {
	return sample(of, check, tastes)
}

// Contrary makes the value that is as unlike the Sample as it gets: what may be true or false is false, lists and maps are as short as
// they may be, and of the values of an enum it has the last.
func Contrary(of json.RawMessage, check func(json.RawMessage) error) (json.RawMessage, error) {
	var contrary []taste
	for _, short := range []bool{true, false} { // a list that has to have elements is made of one
		for _, t := range tastes {
			t.contrary, t.short = true, short
			contrary = append(contrary, t)
		}
	}
	return sample(of, check, contrary)
}

// sample makes a value to one of the tastes, the first that will do.
func sample(of json.RawMessage, check func(json.RawMessage) error, tastes []taste) (json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(of))
	d.UseNumber()
	var root any
	if err := d.Decode(&root); err != nil {
		return nil, task.Permanent(fmt.Errorf("scripted: the schema can't be read: %w", err))
	}
	var wrong error
	for _, taste := range tastes {
		m := maker{taste: taste, root: root, open: map[string]bool{"#": true}}
		value, _ := m.value(root, "text")
		for range mostMends {
			raw, err := schema.Encode(value)
			if err != nil {
				return nil, task.Permanent(fmt.Errorf("scripted: encode the answer: %w", err))
			}
			if check == nil {
				return raw, nil
			}
			if err = check(raw); err == nil {
				return raw, nil
			}
			wrong = cmp.Or(wrong, err)
			var mended bool
			if value, mended = mend(value, err.Error(), taste.contrary); !mended {
				break
			}
		}
	}
	return nil, task.Permanent(fmt.Errorf("%w: %w", errNoAnswer, wrong))
}

// A taste decides what a schema leaves open.
type taste struct {
	// text is what strings without a rule are; "" takes the field's name.
	text string
	// empty has strings without a rule be "".
	empty bool
	// lean leaves out what is not required.
	lean bool
	// contrary has false, and the last of several; short has the least of lists and maps.
	contrary, short bool
}

// tastes are tried in this order. Types that read themselves from text often take a number or nothing.
var tastes = []taste{{}, {text: "1"}, {text: "true"}, {empty: true}, {lean: true}, {lean: true, text: "1"}, {lean: true, empty: true}}

// maker makes one value.
type maker struct {
	taste
	root any
	// open are the references around the place: a type that contains itself ends there.
	open map[string]bool
}

// value makes one of the schema. It is false where that would have no end.
func (m *maker) value(of any, name string) (any, bool) {
	s, ok := of.(map[string]any)
	if !ok {
		return m.anything(name), true
	}
	if ref, ok := s["$ref"].(string); ok {
		if m.open[ref] {
			return nil, false
		}
		m.open[ref] = true
		defer delete(m.open, ref)
		return m.value(merged(m.find(ref), s), name)
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		if choices, ok := s[key].([]any); ok && len(choices) > 0 {
			if key != "allOf" {
				choices = choices[:1]
			}
			for _, one := range choices {
				s = merged(s, one)
			}
		}
	}
	if fixed, ok := s["const"]; ok {
		return fixed, true
	}
	for _, key := range []string{"enum", "examples"} {
		if choices, ok := s[key].([]any); ok && len(choices) > 0 {
			if m.contrary {
				return choices[len(choices)-1], true
			}
			return choices[0], true
		}
	}
	if fixed, ok := s["default"]; ok {
		return fixed, true
	}
	switch kind(s["type"]) {
	case "object":
		return m.object(s), true
	case "array":
		return m.list(s, name), true
	case "string":
		return m.str(s, name), true
	case "integer", "number":
		return number(s), true
	case "boolean":
		return !m.contrary, true
	case "null":
		return nil, true
	}
	return m.anything(name), true
}

// kind is the first of the types.
func kind(of any) string {
	if list, ok := of.([]any); ok && len(list) > 0 {
		of = list[0]
	}
	name, _ := of.(string)
	return name
}

// find looks a reference up: the root, or a definition there.
func (m *maker) find(ref string) any {
	if ref == "#" {
		return m.root
	}
	root, _ := m.root.(map[string]any)
	defs, _ := root["$defs"].(map[string]any)
	return defs[strings.TrimPrefix(ref, "#/$defs/")]
}

// merged is a schema with what another says besides, references and choices of the first left out.
func merged(base, more any) map[string]any {
	out := map[string]any{}
	if m, ok := base.(map[string]any); ok {
		maps.Copy(out, m)
	}
	if m, ok := more.(map[string]any); ok {
		for key, value := range m {
			if key != "$ref" && key != "$defs" {
				out[key] = value
			}
		}
	}
	return out
}

func (m *maker) anything(name string) any {
	if m.lean || m.text != "" || m.empty {
		return nil
	}
	return name
}

func (m *maker) object(s map[string]any) any {
	out := map[string]any{}
	required := map[string]bool{}
	names, _ := s["required"].([]any)
	for _, name := range names {
		required[fmt.Sprint(name)] = true
	}
	properties, _ := s["properties"].(map[string]any)
	for name, of := range properties {
		value, ok := m.value(of, name)
		if required[name] || ok && !m.lean {
			out[name] = value
		}
	}
	if more, ok := s["additionalProperties"]; ok && more != false && !m.lean && !m.short {
		key := "key"
		if _, digits := s["propertyNames"].(map[string]any); digits {
			key = "1" // the only rule for names that a Go type has
		}
		if value, ok := m.value(more, key); ok {
			out[key] = value
		}
	}
	return out
}

func (m *maker) list(s map[string]any, name string) any {
	n := min(1, size(s, "maxItems", 1))
	if m.lean || m.short {
		n = 0
	}
	n = max(n, size(s, "minItems", 0))
	out := make([]any, 0, n)
	for range n {
		value, ok := m.value(s["items"], name)
		if !ok {
			break
		}
		out = append(out, value)
	}
	return out
}

// formats has a text for each format of JSON Schema that Go types have.
var formats = map[string]string{
	"date-time": "2026-01-02T03:04:05Z", "date": "2026-01-02", "time": "03:04:05Z", "duration": "PT1H",
	"email": "someone@example.com", "hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1",
	"uri": "https://example.com/", "uri-reference": "/", "uuid": "00000000-0000-4000-8000-000000000001", "regex": ".",
}

func (m *maker) str(s map[string]any, name string) any {
	format, _ := s["format"].(string)
	if text, ok := formats[format]; ok {
		return text
	}
	if s["contentEncoding"] == "base64" {
		return "dGV4dA=="
	}
	text := cmp.Or(m.text, name, "text")
	if m.empty {
		text = ""
	}
	text = sized(text, size(s, "minLength", 0), size(s, "maxLength", -1))
	if pattern, ok := s["pattern"].(string); ok {
		if found, ok := matching(pattern, text); ok {
			return found
		}
	}
	return text
}

// sized repeats or cuts a text until it has so many characters; most is -1 for any.
func sized(text string, least, most int) string {
	for n := utf8.RuneCountInString(text); n < least; n++ {
		text += "x"
	}
	if runes := []rune(text); most >= 0 && len(runes) > most {
		return string(runes[:most])
	}
	return text
}

// size is a rule that counts something, or otherwise what is said.
func size(s map[string]any, key string, otherwise int) int {
	if n := rat(s[key]); n != nil && n.IsInt() && n.Num().IsInt64() {
		return int(n.Num().Int64())
	}
	return otherwise
}

// rat is a number of JSON, or nil.
func rat(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}

// number is 1, or what is nearest to it within the bounds.
func number(s map[string]any) any {
	step := big.NewRat(1, 1)
	if of := rat(s["multipleOf"]); of != nil && of.Sign() > 0 {
		step = of
	} else if kind(s["type"]) == "number" {
		step = big.NewRat(1, 1024) // between bounds that no whole number is between
	}
	low, high := bound(s, "minimum", "exclusiveMinimum", step, 1), bound(s, "maximum", "exclusiveMaximum", step, -1)
	n := big.NewRat(1, 1)
	if low != nil && n.Cmp(low) < 0 {
		n = low
	}
	if high != nil && n.Cmp(high) > 0 {
		n = high
	}
	if rat(s["multipleOf"]) != nil {
		n = multiple(n, step, low != nil && n.Cmp(low) == 0 || high == nil)
	}
	if n.IsInt() {
		return json.Number(n.Num().String())
	}
	if kind(s["type"]) == "integer" {
		n = multiple(n, big.NewRat(1, 1), high == nil || n.Cmp(high) != 0)
		return json.Number(n.Num().String())
	}
	return json.Number(n.FloatString(12))
}

// bound is the number at one end of what is allowed; an end that is not allowed itself is passed by a step.
func bound(s map[string]any, inclusive, exclusive string, step *big.Rat, sign int64) *big.Rat {
	at := rat(s[inclusive])
	if past := rat(s[exclusive]); past != nil {
		past = new(big.Rat).Add(past, new(big.Rat).Mul(step, big.NewRat(sign, 1)))
		if at == nil || past.Cmp(at)*int(sign) > 0 {
			at = past
		}
	}
	return at
}

// multiple rounds to a multiple of step.
func multiple(n, step *big.Rat, up bool) *big.Rat {
	q := new(big.Rat).Quo(n, step)
	whole := new(big.Int).Div(q.Num(), q.Denom()) // rounds down
	if up && !q.IsInt() {
		whole.Add(whole, big.NewInt(1))
	}
	return new(big.Rat).Mul(new(big.Rat).SetInt(whole), step)
}

// keys are those of a JSON object, sorted.
func keys(m map[string]any) []string { return slices.Sorted(maps.Keys(m)) }
