package contextlint

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn/task/agent/window"
)

// unsorted finds JSON objects whose keys are in no order.
func unsorted(t Task) (list []Finding) {
	for _, s := range t.Renders[0].spans() {
		switch s.Part {
		case window.PartSystem, window.PartPrompt, window.PartDeps:
			if before, after, found := disorder(s.Text); found {
				list = append(list, Finding{Code: UnsortedJSON, Part: s.Part,
					What: fmt.Sprintf("%s has JSON whose keys are not sorted: %q stands before %q", named(s.Part, s.Name), before, after),
					Why:  "the order of keys often differs from one run to the next, and with it every byte behind it: the cache does not know them",
					Do:   "put values into prompts with task.Dep, which sorts keys, or as text"})
			}
		}
	}
	return list
}

// mostOpened bounds how many openings of a text are tried.
const mostOpened = 10_000

// disorder finds the first object in a text of which two keys are in the wrong order.
func disorder(text string) (before, after string, found bool) {
	for tried := 0; tried < mostOpened; tried++ {
		at := strings.IndexByte(text, '{')
		if at < 0 {
			return "", "", false
		}
		text = text[at:]
		dec := json.NewDecoder(strings.NewReader(text))
		dec.UseNumber()
		before, after, whole := keys(dec)
		if !whole { // no JSON, or not to its end
			text = text[1:]
			continue
		}
		if before != after {
			return before, after, true
		}
		text = text[dec.InputOffset():]
	}
	return "", "", false
}

// keys reads one object, and tells two keys of it, or of one in it, that are in the wrong order: equal ones if there are none.
func keys(dec *json.Decoder) (before, after string, whole bool) {
	type level struct {
		object, value bool   // value: the next token is one
		last          string // key
	}
	var stack []level
	for {
		token, err := dec.Token()
		if err != nil {
			return "", "", false
		}
		top := len(stack) - 1
		switch d, isDelim := token.(json.Delim); {
		case isDelim && (d == '{' || d == '['):
			if top >= 0 {
				stack[top].value = false
			}
			stack = append(stack, level{object: d == '{'})
			continue
		case isDelim:
			stack = stack[:top]
		case stack[top].object && !stack[top].value:
			key, _ := token.(string)
			if key < stack[top].last && before == after {
				before, after = stack[top].last, key
			}
			stack[top].last, stack[top].value = key, true
		default:
			stack[top].value = false
		}
		if len(stack) == 0 {
			return before, after, true
		}
	}
}
