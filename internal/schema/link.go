package schema

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// A linker puts definitions in the place of references, except where a type contains itself.
type linker struct {
	*reflection
	root  string            // reference of the whole document, if it has one
	loops map[string]bool   // references that a definition below them returns to
	names map[string]string // names under $defs, by reference
	taken map[string]bool
	under map[string]any // $defs
	size  int
}

// maxSize stops documents that double with every level; a model could not read one anyway.
const maxSize = 50_000

var errTooLarge = errors.New("written inline it has more than 50,000 parts")

func link(r *reflection, root any) (any, error) {
	l := linker{
		reflection: r,
		loops:      map[string]bool{},
		names:      map[string]string{},
		taken:      map[string]bool{},
		under:      map[string]any{},
	}
	l.findLoops(root, map[string]bool{})
	start := root
	if ref, ok := reference(root); ok {
		l.root, start = ref, r.defs[ref]
	}
	doc := l.inline(start)
	if l.size > maxSize {
		return nil, errTooLarge
	}
	if m, ok := doc.(map[string]any); ok && len(l.under) > 0 {
		m["$defs"] = l.under
	}
	return doc, nil
}

// findLoops walks depth first and marks each type it meets while still inside that type: taking those out
// breaks every cycle. inside tells the types being walked (true) from those done (false).
func (l *linker) findLoops(schema any, inside map[string]bool) {
	m, ok := schema.(map[string]any)
	if !ok {
		return
	}
	ref, ok := reference(m)
	if !ok {
		mapSubschemas(m, func(sub any) any {
			l.findLoops(sub, inside)
			return sub
		})
		return
	}
	if within, met := inside[ref]; met {
		l.loops[ref] = l.loops[ref] || within
		return
	}
	inside[ref] = true
	l.findLoops(l.defs[ref], inside)
	inside[ref] = false
}

// reference returns the unresolved reference that a schema consists of, beside annotations.
func reference(schema any) (string, bool) {
	m, _ := schema.(map[string]any)
	ref, _ := m["$ref"].(string)
	return ref, strings.HasPrefix(ref, refPrefix)
}

func (l *linker) inline(schema any) any {
	m, ok := schema.(map[string]any)
	if l.size++; !ok || l.size > maxSize {
		return schema
	}
	ref, ok := reference(m)
	if !ok {
		return mapSubschemas(m, l.inline)
	}
	target := map[string]any{}
	switch {
	case ref == l.root:
		target["$ref"] = "#"
	case l.loops[ref]:
		target["$ref"] = "#/$defs/" + l.hoist(ref)
	default:
		if t, ok := l.inline(l.defs[ref]).(map[string]any); ok {
			target = t
		}
	}
	// What stands beside a reference comes from the field's tag and is closer than the type's own.
	for key, value := range m {
		if key != "$ref" {
			target[key] = value
		}
	}
	return target
}

// hoist puts a recursive type under $defs and returns its name there.
func (l *linker) hoist(ref string) string {
	if name, ok := l.names[ref]; ok {
		return name
	}
	base := plainName(l.types[ref].Name())
	name := base
	for i := 2; l.taken[name]; i++ {
		name = base + "_" + strconv.Itoa(i)
	}
	l.names[ref], l.taken[name] = name, true
	l.under[name] = l.inline(l.defs[ref])
	return name
}

// plainName makes a Go type name fit for a JSON pointer: Page[example.org/shop.Item] becomes Page_Item.
func plainName(name string) string {
	var b strings.Builder
	for i, part := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("[],* ", r) }) {
		part = part[strings.LastIndexAny(part, "/.")+1:]
		if i > 0 {
			b.WriteByte('_')
		}
		b.WriteString(strings.Map(func(r rune) rune {
			if r < 0x80 && (r == '_' || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z') {
				return r
			}
			return '_'
		}, part))
	}
	if b.Len() == 0 {
		return "T"
	}
	return b.String()
}

// mapSubschemas copies a schema and replaces the schemas directly in it, in the order of their keys.
// Everything else, such as the values of enum or default, is data and stays.
func mapSubschemas(schema map[string]any, replace func(any) any) map[string]any {
	out := make(map[string]any, len(schema))
	for _, key := range slices.Sorted(maps.Keys(schema)) {
		value := schema[key]
		switch key {
		case "properties", "patternProperties", "dependentSchemas", "$defs", "definitions":
			if named, ok := value.(map[string]any); ok {
				mapped := make(map[string]any, len(named))
				for _, name := range slices.Sorted(maps.Keys(named)) {
					mapped[name] = replace(named[name])
				}
				value = mapped
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			if list, ok := value.([]any); ok {
				mapped := make([]any, len(list))
				for i, sub := range list {
					mapped[i] = replace(sub)
				}
				value = mapped
			}
		case "not", "if", "then", "else", "items", "contains", "propertyNames", "contentSchema",
			"additionalProperties", "unevaluatedItems", "unevaluatedProperties":
			value = replace(value)
		}
		out[key] = value
	}
	return out
}
