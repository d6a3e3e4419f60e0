package tool

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// MaxName is the most bytes of a tool's name: what all providers take.
const MaxName = 64

// Set puts tools together, in the order given, and checks them as Check does. The result is a new slice.
func Set(groups ...[]cairn.Tool) ([]cairn.Tool, error) {
	all := slices.Concat(groups...)
	if err := Check(all...); err != nil {
		return nil, err
	}
	return all, nil
}

// Check refuses a set in which a tool has no valid name, no description, no schema or no function, or two have one name.
// Names that differ in case only count as one: models mix them up. The error, Invalid, lists all mistakes.
func Check(tools ...cairn.Tool) error {
	var wrong []string
	seen := map[string]string{}
	for _, t := range tools {
		if err := checkName(t.Name); err != nil {
			wrong = append(wrong, err.Message)
			continue
		}
		if before, twice := seen[strings.ToLower(t.Name)]; twice {
			wrong = append(wrong, fmt.Sprintf("there are two tools %s and %s", before, t.Name))
		}
		seen[strings.ToLower(t.Name)] = t.Name
		for what, missing := range map[string]bool{"description": t.Description == "", "schema": len(t.Schema) == 0, "function": t.Call == nil} {
			if missing {
				wrong = append(wrong, t.Name+" has no "+what)
			}
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	slices.Sort(wrong)
	return &cairn.Error{Code: Invalid, Message: strings.Join(wrong, "; "), Next: "rename or drop tools until each name is there once"}
}

// ReadOnly returns the tools that have no side effect, in their order.
func ReadOnly(tools []cairn.Tool) []cairn.Tool {
	return slices.DeleteFunc(slices.Clone(tools), func(t cairn.Tool) bool { return t.SideEffect })
}

func checkName(name string) *cairn.Error {
	bad := strings.ContainsFunc(name, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
	if name == "" || len(name) > MaxName || bad {
		return &cairn.Error{Code: Invalid, Message: fmt.Sprintf("%q is no name of a tool", name), Next: fmt.Sprintf("use 1 to %d letters, digits and _", MaxName)}
	}
	return nil
}
