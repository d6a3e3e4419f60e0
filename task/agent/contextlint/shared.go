package contextlint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/internal/stamp"
	"github.com/cairnrun/cairn/task/agent/window"
)

// shared finds what belongs to one run in the prompt of a task whose output is shared among all.
func shared(t Task) []Finding {
	if !t.Global {
		return nil
	}
	f := Finding{Code: SharedRunData, Part: window.PartPrompt,
		Why: "the prompt is a part of the key: with something in it that belongs to one run no other ever finds the result, and each leaves one behind",
		Do:  "leave it out of the prompt, or share within the run (cache.Run)"}
	first := t.Renders[0]
	prompt := first.prompt()
	if first.Run != "" && strings.Contains(prompt, first.Run) {
		f.What = "the prompt has the run's id in it, and its output is shared globally"
		return []Finding{f}
	}
	for _, r := range t.Renders[1:] {
		if other := r.prompt(); other != prompt {
			at := 0
			for at < min(len(prompt), len(other)) && prompt[at] == other[at] {
				at++
			}
			f.What = fmt.Sprintf("the prompt is not the same in two runs with one input, and its output is shared globally: %q, and %q", around(prompt, at), around(other, at))
			return []Finding{f}
		}
	}
	for _, text := range leaves(t.Input) {
		if specific(text) && strings.Contains(prompt, text) {
			f.What = fmt.Sprintf("the prompt has %q of the run's input in it, and its output is shared globally", text)
			return []Finding{f}
		}
	}
	return nil
}

// prompt is the text of the first message that is the task's own.
func (r Render) prompt() string {
	var b strings.Builder
	for i, block := range r.Opening.First.Blocks {
		if i < len(r.Opening.Parts) && r.Opening.Parts[i] == window.PartPrompt {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// specific says that a text is likely to be another one in each run: a moment, an id, a path of one machine. What else
// stands in an input may well be what results are shared by.
func specific(text string) bool {
	text = strings.TrimSpace(text)
	if len(text) > 4 && (strings.HasPrefix(text, "/") || strings.HasPrefix(text, "~/") || len(text) > 2 && text[1] == ':' && strings.ContainsAny(text[2:3], `\/`)) {
		return !strings.ContainsAny(text, " \n")
	}
	for _, s := range stamp.Find(text) {
		if 2*(s.To-s.From) > len(text) {
			return true
		}
	}
	return false
}

// leaves are the texts and numbers of a JSON value.
func leaves(raw json.RawMessage) (list []string) {
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			list = append(list, v)
		case json.Number:
			list = append(list, v.String())
		case []any:
			for _, one := range v {
				walk(one)
			}
		case map[string]any:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				walk(v[key])
			}
		}
	}
	dec := json.NewDecoder(strings.NewReader(string(raw)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) == nil { // no input is none
		walk(v)
	}
	return list
}

// around is what stands around a byte.
func around(text string, at int) string {
	return strings.ToValidUTF8(text[max(0, at-12):min(len(text), at+28)], "")
}
