package tool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// A rule is a part of a JSON schema: the keywords that schemas of Go types have. What it does not know it lets pass; the
// decoding that follows is strict about types.
type rule struct {
	Ref        string            `json:"$ref"`
	Defs       map[string]*rule  `json:"$defs"`
	Type       kinds             `json:"type"`
	Properties map[string]*rule  `json:"properties"`
	Required   []string          `json:"required"`
	Additional *rule             `json:"additionalProperties"`
	Items      *rule             `json:"items"`
	Enum       []json.RawMessage `json:"enum"`
	Const      json.RawMessage   `json:"const"`
	AnyOf      []*rule           `json:"anyOf"`
	OneOf      []*rule           `json:"oneOf"`
	AllOf      []*rule           `json:"allOf"`
	Min        json.Number       `json:"minimum"`
	Max        json.Number       `json:"maximum"`
	Above      json.Number       `json:"exclusiveMinimum"`
	Below      json.Number       `json:"exclusiveMaximum"`
	MinLength  *int              `json:"minLength"`
	MaxLength  *int              `json:"maxLength"`
	MinItems   *int              `json:"minItems"`
	MaxItems   *int              `json:"maxItems"`
	Pattern    string            `json:"pattern"`

	never   bool // the schema "false"
	root    *rule
	pattern *regexp.Regexp
	// unread is a pattern of another dialect, in the root. Nothing is checked by it.
	unread error
}

// UnmarshalJSON takes true and false, which are schemas too.
func (r *rule) UnmarshalJSON(raw []byte) error {
	switch string(raw) {
	case "true":
		return nil
	case "false":
		r.never = true
		return nil
	}
	type plain rule
	return json.Unmarshal(raw, (*plain)(r))
}

// kinds is one type or a list of them.
type kinds []string

// UnmarshalJSON takes both spellings.
func (k *kinds) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		*k = kinds{""}
		return json.Unmarshal(raw, &(*k)[0])
	}
	return json.Unmarshal(raw, (*[]string)(k))
}

func rulesOf(document json.RawMessage) (*rule, error) {
	r := &rule{}
	if err := json.Unmarshal(document, r); err != nil {
		return nil, err
	}
	r.link(r)
	return r, nil
}

// link gives every part the whole, for references, and compiles the patterns.
func (r *rule) link(root *rule) {
	if r == nil {
		return
	}
	var err error
	r.root = root
	if r.Pattern != "" {
		if r.pattern, err = regexp.Compile(r.Pattern); err != nil {
			root.unread = err
		}
	}
	below := slices.Concat([]*rule{r.Additional, r.Items}, r.AnyOf, r.OneOf, r.AllOf, slices.Collect(maps.Values(r.Properties)), slices.Collect(maps.Values(r.Defs)))
	for _, part := range below {
		part.link(root)
	}
}

// resolved follows a reference.
func (r *rule) resolved() *rule {
	for range 100 {
		switch name, inDefs := strings.CutPrefix(r.Ref, "#/$defs/"); {
		case r.Ref == "#":
			return r.root
		case inDefs && r.root.Defs[name] != nil:
			r = r.root.Defs[name]
		default:
			return r
		}
	}
	return r
}

func (r *rule) object() bool { return slices.Contains(r.resolved().Type, "object") }

// fields lists what an object takes, for an error's text.
func (r *rule) fields() string {
	r = r.resolved()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(r.Properties)) {
		if slices.Contains(r.Required, name) {
			name += " (required)"
		}
		all = append(all, name)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(all, ", ")
}

// maxProblems bounds an error's text: who made more mistakes than that has misunderstood something.
const maxProblems = 12

// check lists what is wrong with a canonical JSON text, "" for nothing.
func (r *rule) check(canonical []byte) string {
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return err.Error()
	}
	var found problems
	r.see(&found, "", v)
	if more := len(found.texts) - maxProblems; more > 0 {
		found.texts = append(found.texts[:maxProblems], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(found.texts, "; ")
}

// maxSteps ends the check of a schema that goes round in circles, or of an input that is too large to be meant. What is not
// checked here is left to the decoding, or to whoever is called.
const maxSteps = 50_000

type problems struct {
	texts []string
	// steps is how many values were looked at.
	steps int
}

func (p *problems) add(path, format string, args ...any) {
	if path == "" {
		path = "the input"
	}
	p.texts = append(p.texts, path+" "+fmt.Sprintf(format, args...))
}

func (r *rule) see(found *problems, path string, v any) {
	if found.steps++; r == nil || found.steps > maxSteps {
		return
	}
	r = r.resolved()
	if r.never {
		found.add(path, "is not taken here")
		return
	}
	if !r.Type.have(v) {
		found.add(path, "has to be %s, not %s", strings.Join(r.Type, " or "), kindOf(v))
		return
	}
	for _, part := range r.AllOf {
		part.see(found, path, v)
	}
	for _, choice := range [][]*rule{r.AnyOf, r.OneOf} {
		if len(choice) > 0 && !slices.ContainsFunc(choice, func(part *rule) bool { return part.fits(found, v) }) {
			found.add(path, "fits none of its forms")
		}
	}
	allowed := r.Enum
	if r.Const != nil {
		allowed = append(slices.Clone(allowed), r.Const)
	}
	if len(allowed) > 0 && !slices.ContainsFunc(allowed, func(raw json.RawMessage) bool { return equal(raw, v) }) {
		found.add(path, "has to be one of %s", bytes.Join(rawBytes(allowed), []byte(", ")))
	}
	switch v := v.(type) {
	case map[string]any:
		r.seeObject(found, path, v)
	case []any:
		if r.MinItems != nil && len(v) < *r.MinItems || r.MaxItems != nil && len(v) > *r.MaxItems {
			found.add(path, "has %d items, %s", len(v), bounds(r.MinItems, r.MaxItems))
		}
		for i, item := range v {
			if r.Items != nil {
				r.Items.see(found, fmt.Sprintf("%s[%d]", path, i), item)
			}
		}
	case string:
		if n := utf8.RuneCountInString(v); r.MinLength != nil && n < *r.MinLength || r.MaxLength != nil && n > *r.MaxLength {
			found.add(path, "has %d characters, %s", n, bounds(r.MinLength, r.MaxLength))
		}
		if r.pattern != nil && !r.pattern.MatchString(v) {
			found.add(path, "has to match %s", r.Pattern)
		}
	case json.Number:
		r.seeNumber(found, path, v)
	}
}

// fits shares the count of steps, and nothing else, with the check that it is a part of.
func (r *rule) fits(within *problems, v any) bool {
	alone := problems{steps: within.steps}
	r.see(&alone, "", v)
	within.steps = alone.steps
	return len(alone.texts) == 0
}

func (r *rule) seeObject(found *problems, path string, v map[string]any) {
	at := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	for _, name := range r.Required {
		if v[name] == nil {
			found.add(at(name), "is missing")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		property := r.Properties[name]
		switch {
		case property != nil && v[name] == nil: // as good as left out, which Required has judged
		case property != nil:
			property.see(found, at(name), v[name])
		case r.Additional != nil && r.Additional.never:
			found.add(fmt.Sprintf("%.100q", at(name)), "is no field")
		case r.Additional != nil:
			r.Additional.see(found, at(name), v[name])
		}
	}
}

func (r *rule) seeNumber(found *problems, path string, v json.Number) {
	for _, limit := range []struct {
		bound json.Number
		word  string
		right func(order int) bool
	}{
		{r.Min, "at least", func(o int) bool { return o >= 0 }},
		{r.Max, "at most", func(o int) bool { return o <= 0 }},
		{r.Above, "more than", func(o int) bool { return o > 0 }},
		{r.Below, "less than", func(o int) bool { return o < 0 }},
	} {
		if limit.bound == "" {
			continue
		}
		a, b := number(v), number(limit.bound)
		if a == nil || b == nil || !limit.right(a.Cmp(b)) {
			found.add(path, "has to be %s %s", limit.word, limit.bound)
		}
	}
}

// number is nil for what is too large to be meant.
func number(n json.Number) *big.Rat {
	if len(n) > 400 || hugeExponent(string(n)) {
		return nil
	}
	out, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return out
}

// hugeExponent keeps 1e999999999 from becoming a gigabyte.
func hugeExponent(n string) bool {
	_, exponent, ok := strings.Cut(strings.ToLower(n), "e")
	return ok && len(strings.TrimLeft(exponent, "+-")) > 3
}

func (k kinds) have(v any) bool {
	if len(k) == 0 {
		return true
	}
	is := kindOf(v)
	return slices.Contains(k, is) || is == "integer" && slices.Contains(k, "number")
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") { // canonical: a whole number has neither
			return "number"
		}
		return "integer"
	}
	return "unknown"
}

func equal(raw json.RawMessage, v any) bool {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var want any
	if dec.Decode(&want) != nil {
		return false
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(v)
	return bytes.Equal(a, b)
}

func rawBytes(all []json.RawMessage) [][]byte {
	out := make([][]byte, len(all))
	for i, raw := range all {
		out[i] = raw
	}
	return out
}

func bounds(least, most *int) string {
	switch {
	case least == nil:
		return fmt.Sprintf("at most %d are taken", *most)
	case most == nil:
		return fmt.Sprintf("at least %d are needed", *least)
	}
	return fmt.Sprintf("%d to %d are taken", *least, *most)
}
