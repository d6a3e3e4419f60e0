package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"
)

// shapeHash hashes what a schema demands of a value and leaves out how it is described.
func shapeHash(doc any) string {
	s := shaper{numbers: map[string]string{}}
	if m, ok := doc.(map[string]any); ok {
		s.defs, _ = m["$defs"].(map[string]any)
	}
	parts := []any{s.shape(doc)}
	for i := 0; i < len(s.order); i++ { // grows while it runs
		parts = append(parts, s.shape(s.defs[s.order[i]]))
	}
	sum := sha256.Sum256(appendCanonical(nil, parts))
	return hex.EncodeToString(sum[:8])
}

// A shaper strips schemas. Definitions are numbered in the order in which they are met, so their names,
// which come from Go, don't count.
type shaper struct {
	defs    map[string]any
	numbers map[string]string
	order   []string
}

func (s *shaper) shape(schema any) any {
	m, ok := schema.(map[string]any)
	if !ok {
		return schema
	}
	bare := make(map[string]any, len(m))
	for key, value := range m {
		if !annotation(key) {
			bare[key] = value
		}
	}
	if len(bare) == 0 {
		return true // says as much as {}
	}
	bare = mapSubschemas(bare, s.shape)
	if ref, ok := bare["$ref"].(string); ok {
		bare["$ref"] = s.number(ref)
	}
	for _, key := range []string{"required", "enum", "allOf", "anyOf", "oneOf", "type"} {
		if list, ok := bare[key].([]any); ok { // sets, although JSON has only lists
			list = slices.Clone(list)
			slices.SortFunc(list, func(a, b any) int {
				return bytes.Compare(appendCanonical(nil, a), appendCanonical(nil, b))
			})
			bare[key] = list
		}
	}
	return bare
}

func (s *shaper) number(ref string) string {
	name, ok := strings.CutPrefix(ref, "#/$defs/")
	if _, known := s.defs[name]; !ok || !known {
		return ref
	}
	number, ok := s.numbers[name]
	if !ok {
		s.order = append(s.order, name)
		number = "#" + strconv.Itoa(len(s.order))
		s.numbers[name] = number
	}
	return number
}

// annotation reports whether a keyword describes without demanding anything. $defs is one here because
// definitions are reached through references.
func annotation(key string) bool {
	switch key {
	case "$schema", "$id", "$anchor", "$comment", "$defs", "title", "description", "default", "examples",
		"deprecated", "readOnly", "writeOnly":
		return true
	}
	return strings.HasPrefix(key, "x-")
}
