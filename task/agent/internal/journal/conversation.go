package journal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn/task/agent/answer"
	"github.com/cairnrun/cairn/task/agent/window"
)

const (
	opening = ".start"
	failed  = ".failed"
)

// OpeningName is the record of what a conversation has begun with: the step that makes a window.Opening.
func OpeningName(conversation string) string { return conversation + opening }

// Current finds the conversation that goes on, or is to begin: the first of an id, or the one after those that have failed,
// which come with it.
func Current(find Find, id string) (name string, earlier []answer.Failed, err error) {
	for n := 1; ; n++ {
		name = fmt.Sprintf("%s.%d", id, n)
		f, found, err := Get[answer.Failed](find, name+failed)
		if err != nil || !found {
			return name, earlier, err
		}
		earlier = append(earlier, f)
	}
}

// Opening reads what a conversation has begun with, and why it came to no good end, "" if it did not.
func Opening(find Find, conversation string) (o window.Opening, failure string, err error) {
	if o, _, err = Step[window.Opening](find, OpeningName(conversation)); err != nil {
		return o, "", err
	}
	f, found, err := Get[answer.Failed](find, conversation+failed)
	if found {
		failure = strings.TrimSuffix(string(f.Code)+": "+f.Message, ": ")
	}
	return o, failure, err
}

// Read reads the conversations among the records of a task whose names begin so, in the order in which they began.
func Read[T any](records map[string]json.RawMessage, prefix string, read func(find Find, conversation string) (T, error), begun func(T) int64) ([]T, error) {
	var list []T
	find := func(name string) (json.RawMessage, bool) {
		raw, found := records[name]
		return raw, found
	}
	for _, name := range slices.Sorted(maps.Keys(records)) {
		conversation, begins := strings.CutSuffix(name, opening)
		if !begins || !strings.HasPrefix(name, prefix) {
			continue
		}
		one, err := read(find, conversation)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(begun(a), begun(b)) })
	return list, nil
}
