package storetest

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/engine"
)

// show renders a value for comparison and for a reader. Nil and empty slices are the same to a caller.
func show(v any) string {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return "not JSON: " + err.Error()
	}
	if string(b) == "[]" {
		return "null"
	}
	return string(b)
}

// byID sorts effects, for comparing sets.
func byID(list []engine.Delivery) []engine.Delivery {
	return slices.SortedFunc(slices.Values(list), func(a, b engine.Delivery) int { return strings.Compare(a.ID, b.ID) })
}

func byName(list []string) []string { return slices.Sorted(slices.Values(list)) }
