package task

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cairnrun/cairn/internal/schema"
)

// Dep renders a value for a prompt: what another task has given, in a part of its own between stable tags.
//
//	Prompt: func(v *cairn.View) string { return "Review this change.\n\n" + task.Dep("change", change.Must(v)) }
//
// A string stands there as it is, anything else as JSON with sorted keys and exact numbers: equal values give equal bytes. A
// closing tag in a value is taken apart, so that no value can end its part. One that is long is put aside by an agent that can read
// artifacts: the prompt then has its beginning, and the hash of all of it. Dep panics on a value that is no JSON, as a
// Must does: the run is blocked with it.
func Dep(name string, value any) string {
	text, ok := value.(string)
	if !ok {
		raw, err := schema.Encode(value)
		if err == nil {
			raw, err = schema.Canonical(raw)
		}
		if err != nil {
			panic(fmt.Errorf("task.Dep %q: %w", name, err))
		}
		text = string(raw)
	}
	return fmt.Sprintf("<dep name=%q>\n%s\n</dep>", name, strings.ReplaceAll(text, "</dep>", `<\/dep>`))
}

// A DepPart is where a Dep stands in a prompt, tags included.
type DepPart struct {
	Name     string
	From, To int
	// Body is between the tags.
	Body string
}

var depPart = regexp.MustCompile(`(?s)<dep name=("(?:[^"\\]|\\.)*")>\n(.*?)\n</dep>`)

// Deps finds the parts that Dep has made, in their order.
func Deps(prompt string) (parts []DepPart) {
	for _, at := range depPart.FindAllStringSubmatchIndex(prompt, -1) {
		name, err := strconv.Unquote(prompt[at[2]:at[3]])
		if err != nil {
			continue // Dep has not made it
		}
		parts = append(parts, DepPart{Name: name, From: at[0], To: at[1], Body: prompt[at[4]:at[5]]})
	}
	return parts
}
