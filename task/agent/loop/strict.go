package loop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/internal/schema"
)

// Strictness is what a provider demands of a schema that it holds answers to.
type Strictness struct {
	// Keywords are the rules it understands, such as "minimum". Others are told in the description, where the model can read
	// them.
	Keywords []string
	// AllRequired says that every field has to be there; optional ones then may be null.
	AllRequired bool
}

// structural keywords are understood by all.
var structural = []string{"type", "properties", "required", "items", "enum", "const", "anyOf", "description", "title", "additionalProperties"}

// Convert returns a schema as the provider wants it, the same bytes for the same schema. It is false for what can't be
// expressed: a root that is no object, maps, recursive types, values of any type.
func (s Strictness) Convert(in json.RawMessage) (json.RawMessage, bool) {
	d := json.NewDecoder(bytes.NewReader(in))
	d.UseNumber()
	var root map[string]any
	if d.Decode(&root) != nil || root["type"] != "object" || !s.convert(root) {
		return nil, false
	}
	out, err := schema.Encode(root)
	return out, err == nil
}

func (s Strictness) convert(at map[string]any) bool {
	for _, never := range []string{"$ref", "$defs", "oneOf", "allOf", "not", "patternProperties"} {
		if _, ok := at[never]; ok {
			return false
		}
	}
	var rest []string
	for _, key := range slices.Sorted(maps.Keys(at)) {
		if !slices.Contains(structural, key) && !slices.Contains(s.Keywords, key) {
			if raw, err := schema.Encode(at[key]); err == nil {
				rest = append(rest, fmt.Sprintf("%s: %s", key, raw))
			}
			delete(at, key)
		}
	}
	if len(rest) > 0 {
		text, _ := at["description"].(string)
		at["description"] = strings.TrimSpace(text + " (" + strings.Join(rest, ", ") + ")")
	}
	if choices, ok := at["anyOf"].([]any); ok {
		return s.all(choices)
	}
	switch kind := at["type"]; {
	case kind == "object":
		return s.object(at)
	case kind == "array":
		items, ok := at["items"].(map[string]any)
		return ok && s.convert(items)
	case kind != nil:
		return true
	}
	_, enum := at["enum"]
	_, constant := at["const"]
	return enum || constant
}

func (s Strictness) all(schemas []any) bool {
	for _, one := range schemas {
		if m, ok := one.(map[string]any); !ok || !s.convert(m) {
			return false
		}
	}
	return true
}

func (s Strictness) object(at map[string]any) bool {
	if more, ok := at["additionalProperties"]; ok && more != false {
		return false
	}
	at["additionalProperties"] = false
	properties, ok := at["properties"].(map[string]any)
	if !ok {
		return false
	}
	required := map[string]bool{}
	if names, ok := at["required"].([]any); ok {
		for _, name := range names {
			required[fmt.Sprint(name)] = true
		}
	}
	for name, property := range properties {
		p, ok := property.(map[string]any)
		if !ok || !s.convert(p) {
			return false
		}
		if s.AllRequired && !required[name] {
			properties[name] = map[string]any{"anyOf": []any{p, map[string]any{"type": "null"}}}
		}
	}
	if s.AllRequired {
		at["required"] = slices.Sorted(maps.Keys(properties))
	}
	return true
}
