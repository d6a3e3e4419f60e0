package command

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/cairnrun/cairn"
)

// Text is the format of a program that writes its answer and nothing else. The answer is there when it has ended without an
// error.
func Text(Totals) Reader { return &text{} }

type text struct{ all bytes.Buffer }

// Line takes all lines.
func (t *text) Line(line []byte) (Event, error) {
	t.all.Write(line)
	t.all.WriteByte('\n')
	return Event{Said: string(line) + "\n"}, nil
}

// End gives the answer.
func (t *text) End() Event {
	return Event{Answer: strings.TrimSuffix(t.all.String(), "\n"), Done: true}
}

// JSONLines is the format of a program that writes a JSON object per line. Each field says where in an object something is
// found, as names with dots between them: "result.text"; "" is nowhere. What a later line says replaces what an earlier one
// has said, and the turn is done when the program ends without an error.
type JSONLines struct {
	Session string
	// Answer is text, Output any JSON.
	Answer, Output string
	// Failure is text. A line that has it ends the turn.
	Failure string
	// Model is text; the others are numbers, of one call each: uncached input, output, and input read from a cache or written
	// to it.
	Model                                 string
	Input, Written, CacheRead, CacheWrite string
}

// Format is for Template.Format.
func (f JSONLines) Format(Config) Format {
	return func(Totals) Reader { return &jsonLines{fields: f} }
}

type jsonLines struct {
	fields JSONLines
	model  string
}

// Line reads an object.
func (j *jsonLines) Line(line []byte) (Event, error) {
	var in map[string]json.RawMessage
	if err := json.Unmarshal(line, &in); err != nil {
		return Event{}, err
	}
	var ev Event
	f := j.fields
	get(in, f.Session, &ev.Session)
	get(in, f.Answer, &ev.Answer)
	get(in, f.Output, &ev.Output)
	get(in, f.Model, &j.model)
	ev.Said = ev.Answer
	var message string
	if get(in, f.Failure, &message); message != "" {
		ev.Failure = classify(message, 0)
	}
	u := cairn.Usage{Model: j.model}
	get(in, f.Input, &u.Input)
	get(in, f.Written, &u.Output)
	get(in, f.CacheRead, &u.CacheRead)
	get(in, f.CacheWrite, &u.CacheWrite)
	if u.Tokens() > 0 {
		ev.Usage = []cairn.Usage{u}
	}
	return ev, nil
}

// End ends the turn.
func (j *jsonLines) End() Event { return Event{Done: true} }

// get reads what is at a path into to, if it is there and fits.
func get[T any](in map[string]json.RawMessage, path string, to *T) {
	for path != "" {
		name, rest, deeper := strings.Cut(path, ".")
		raw, ok := in[name]
		if !ok {
			return
		}
		if !deeper {
			var value T
			if json.Unmarshal(raw, &value) == nil {
				*to = value
			}
			return
		}
		in = nil
		if json.Unmarshal(raw, &in) != nil {
			return
		}
		path = rest
	}
}
