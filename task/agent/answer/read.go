package answer

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Read takes the answer from what a model says: the output is nil without a schema, where any text will do that is not
// empty, and else the whole text, its last fenced block, or the last balanced object or list in it that passes the check.
// Without a check all JSON passes. The error is for the model to read.
func Read(text string, schema json.RawMessage, check func(json.RawMessage) error) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, errors.New("it is empty")
	}
	if schema == nil {
		return nil, nil
	}
	return extract(text, check)
}

// mostCandidates is how many values in a text are tried.
const mostCandidates = 20

// extract finds the JSON. Without one that passes the error is that of the first that is JSON at all.
func extract(text string, check func(json.RawMessage) error) (json.RawMessage, error) {
	var wrong error
	try := func(raw string) bool {
		if raw == "" || !json.Valid([]byte(raw)) {
			return false
		}
		if check == nil {
			return true
		}
		err := check(json.RawMessage(raw))
		if wrong == nil {
			wrong = err
		}
		return err == nil
	}
	whole := strings.TrimSpace(text)
	for _, raw := range append([]string{whole, fenced(text)}, balanced(text)...) {
		if try(raw) {
			return json.RawMessage(raw), nil
		}
	}
	if wrong == nil {
		var v any
		wrong = fmt.Errorf("it is no JSON: %w", json.Unmarshal([]byte(whole), &v))
	}
	return nil, wrong
}

// fenced is the content of the last closed block between lines of ```.
func fenced(text string) string {
	const fence = "```"
	var block string
	var begin int
	open, at := false, 0
	for line := range strings.Lines(text) {
		start := at
		at += len(line)
		if !strings.HasPrefix(strings.TrimSpace(line), fence) {
			continue
		}
		if open {
			block = strings.TrimSpace(text[begin:start])
		}
		open, begin = !open, at
	}
	return block
}

// balanced are the objects and lists in a text that are closed and stand in no other, the last one first.
func balanced(text string) (found []string) {
	misses := 0
	for at := 0; at < len(text) && misses < 1000; { // a text of brackets alone would be read over and over
		next := strings.IndexAny(text[at:], "{[")
		if next < 0 {
			break
		}
		at += next
		d := json.NewDecoder(strings.NewReader(text[at:])) // it knows where a value ends
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			misses++
			at++
			continue
		}
		found = append(found, string(raw))
		at += int(d.InputOffset())
	}
	slices.Reverse(found)
	return found[:min(len(found), mostCandidates)]
}
