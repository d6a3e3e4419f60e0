// Package wiretest is what the tests of all models share: a tool to call, and a look at what was sent.
package wiretest

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// Weather is a tool that makes an error of a call without a city.
var Weather = cairn.Tool{Name: "weather", Description: "tells it", Schema: json.RawMessage(`{"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}`),
	Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
		var asked struct{ City string }
		if err := json.Unmarshal(in, &asked); err != nil || asked.City == "" {
			return nil, errors.New("which city?")
		}
		return json.Marshal("sunny in " + asked.City)
	}}

// Ask is a task for an agent that has Weather, and whatever else there is.
func Ask(prompt string, more ...cairn.Tool) task.Request {
	return task.Request{Prompt: prompt, Tools: append([]cairn.Tool{Weather}, more...)}
}

// Same compares JSON without regard to the order of keys.
func Same(t testing.TB, what, got, want string) {
	t.Helper()
	var g, w any
	if err := errors.Join(json.Unmarshal([]byte(got), &g), json.Unmarshal([]byte(want), &w)); err != nil {
		t.Fatalf("%s: %v: %s", what, err, got)
	}
	one, _ := json.Marshal(g)
	two, _ := json.Marshal(w)
	if string(one) != string(two) {
		t.Errorf("%s is\n%s, want\n%s", what, one, two)
	}
}
