package toolcall

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/task"
)

// State says what is known of a call.
type State string

// The states of a call.
const (
	// Begun: it was begun, and there is no outcome yet. Once no attempt is running that is as good as Unknown.
	Begun State = "begun"
	// Done: it has happened.
	Done State = "done"
	// Failed: the tool has returned an error.
	Failed State = "failed"
	// Unknown: it may have happened or not.
	Unknown State = "unknown"
)

// Record is a call as a journal has it.
type Record struct {
	// Name is the call's in the journal of its task.
	Name string `json:"name"`
	Tool string `json:"tool"`
	Key  string `json:"key"`
	// Attempt has begun the call, for the last time; 0 is not known.
	Attempt    int   `json:"attempt,omitempty"`
	State      State `json:"state"`
	SideEffect bool  `json:"sideEffect,omitempty"`
	Idempotent bool  `json:"idempotent,omitempty"`
	// Revertible says that the tool could take the call back.
	Revertible bool `json:"revertible,omitempty"`
	// Input is what the tool was called with, or InputHash its SHA-256 in hex.
	Input     json.RawMessage `json:"input,omitempty"`
	InputHash string          `json:"inputHash,omitempty"`
	// Problem is what a call that has not gone well was answered with, MostProblem bytes at most.
	Problem string `json:"problem,omitempty"`
	// Began and Ended are zero where they are not known.
	Began time.Time `json:"began,omitzero"`
	Ended time.Time `json:"ended,omitzero"`
}

// Read lists the calls of tools in the journal of one task, given as its entries by name, in the order in which they began.
// Entries of other kinds are left out, and so are calls that were refused before they were made. It is an error if the
// record of a call can't be read.
func Read(entries map[string]json.RawMessage) ([]Record, error) {
	var all []Record
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		one, ok, err := read(name, entries)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, one)
		}
	}
	slices.SortStableFunc(all, func(a, b Record) int { return cmp.Or(a.Began.Compare(b.Began), compareNames(a.Name, b.Name)) })
	return all, nil
}

// read makes a record of the intent of a call or, where a kill has come before that was written, of its outcome.
func read(name string, entries map[string]json.RawMessage) (r Record, ok bool, err error) {
	call, isIntent := strings.CutSuffix(name, suffix)
	if isIntent {
		var i Intent
		if err := json.Unmarshal(entries[name], &i); err != nil {
			return r, false, fmt.Errorf("the journal's %s can't be read: %w", name, err)
		}
		if i.Tool == "" { // a call of a model
			return r, false, nil
		}
		r = Record{Name: call, Tool: i.Tool, Key: i.Key, Attempt: i.Attempt, State: Begun, SideEffect: i.SideEffect, Idempotent: i.Idempotent,
			Revertible: i.Revertible, Input: i.Input, InputHash: i.InputHash, Began: instant(i.Began)}
		raw, ended := entries[call]
		if !ended {
			return r, true, nil
		}
		out, err := outcomeOf(raw)
		if err != nil {
			return r, false, fmt.Errorf("the journal's %s can't be read: %w", call, err)
		}
		r.end(out)
		return r, true, nil
	}
	if _, twice := entries[name+suffix]; twice {
		return r, false, nil
	}
	out, err := outcomeOf(entries[name])
	if err != nil || out.Tool == "" || out.Key != name && !strings.HasSuffix(out.Key, "#"+name) {
		return r, false, nil // something else, or a call that was refused
	}
	r = Record{Name: name, Tool: out.Tool, Key: out.Key, SideEffect: out.SideEffect, Idempotent: out.Idempotent}
	r.end(out)
	return r, true, nil
}

// outcomeOf reads the record of a finished call.
func outcomeOf(raw json.RawMessage) (out Outcome, err error) {
	value, err := task.StepValue(raw)
	if err == nil {
		err = json.Unmarshal(value, &out)
	}
	return out, err
}

func (r *Record) end(out Outcome) {
	r.Ended = instant(out.Ended)
	switch {
	case out.Unknown:
		r.State = Unknown
	case out.Error:
		r.State = Failed
	default:
		r.State = Done
		return
	}
	r.Problem = grapheme.Cut(out.Text, MostProblem)
}

func instant(millis int64) time.Time {
	if millis == 0 {
		return time.Time{}
	}
	return time.UnixMilli(millis).UTC()
}

// compareNames puts a second call before a tenth: a shorter number is a smaller one.
func compareNames(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		if digits(a) && digits(b) {
			return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
		}
		return cmp.Compare(a, b)
	})
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
