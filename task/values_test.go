package task_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// stored runs a body that returns the value, and reads the output back.
func stored[T any](t *testing.T, value T) (string, T) {
	t.Helper()
	var m machine
	raw := m.output(t, task.Task[T]{ID: "v", Do: func(context.Context) (T, error) { return value, nil }})
	var back T
	if err := json.Unmarshal([]byte(raw), &back); err != nil {
		t.Fatalf("%s can't be read back: %v", raw, err)
	}
	if again := m.output(t, task.Task[T]{ID: "v", Do: func(context.Context) (T, error) { return back, nil }}); again != raw {
		t.Errorf("stored %s, and what was read from it is stored as %s", raw, again)
	}
	return raw, back
}

func TestValuesThatOtherEnginesStumbleOver(t *testing.T) {
	check := func(name, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: stored %s, want %s", name, got, want)
		}
	}
	raw, pointer := stored[*Step](t, nil)
	check("nil pointer", raw, `null`)
	if pointer != nil {
		t.Error("a nil pointer comes back as something")
	}
	raw, _ = stored[any](t, (*Step)(nil))
	check("nil pointer in an interface", raw, `null`)
	raw, list := stored[[]string](t, nil)
	check("nil slice", raw, `null`)
	if list != nil {
		t.Error("a nil slice comes back as an empty one")
	}
	raw, list = stored(t, []string{})
	check("empty slice", raw, `[]`)
	if list == nil {
		t.Error("an empty slice comes back as nil")
	}
	raw, _ = stored[map[string]int](t, nil)
	check("nil map", raw, `null`)
	raw, _ = stored(t, map[string]int{"b": 1, "a": 2})
	check("map", raw, `{"a":2,"b":1}`)
	raw, zero := stored(t, time.Time{})
	check("zero time", raw, `"0001-01-01T00:00:00Z"`)
	if !zero.IsZero() {
		t.Errorf("a zero time comes back as %v", zero)
	}
	now := time.Now() // has a monotonic reading
	_, back := stored(t, now)
	if !back.Equal(now) || back.String() == now.String() {
		t.Errorf("%v comes back as %v", now, back)
	}
	raw, _ = stored(t, time.Date(2024, 1, 2, 3, 4, 5, 6, time.FixedZone("X", 5400)))
	check("time in a zone", raw, `"2024-01-02T03:04:05.000000006+01:30"`)
	raw, data := stored(t, []byte{0, 0xff})
	check("bytes", raw, `"AP8="`)
	if !bytes.Equal(data, []byte{0, 0xff}) {
		t.Errorf("bytes come back as %v", data)
	}
	raw, _ = stored(t, "a\xffb<&>")
	check("invalid UTF-8", raw, "\"a\uFFFDb<&>\"")
	raw, n := stored(t, int64(math.MaxInt64))
	check("largest integer", raw, `9223372036854775807`)
	if n != math.MaxInt64 {
		t.Errorf("the largest integer comes back as %d", n)
	}
	raw, _ = stored(t, json.RawMessage(nil))
	check("nil RawMessage", raw, `null`)
}

func TestValuesWithoutJSON(t *testing.T) {
	type loop struct{ Next *loop }
	round := &loop{}
	round.Next = round
	for name, value := range map[string]any{
		"NaN": math.NaN(), "+Inf": math.Inf(1), "-Inf": math.Inf(-1), "channel": make(chan int), "function": func() {},
		"NaN below": map[string]any{"a": []float64{math.NaN()}}, "cycle": round, "bad raw": json.RawMessage(`{`),
	} {
		t.Run(name, func(t *testing.T) {
			var m machine
			result, err := m.try(t, task.Task[any]{ID: "v", Do: func(context.Context) (any, error) { return value, nil }})
			refused(t, err, cairn.InvalidOutput, true)
			if result.Output != nil {
				t.Errorf("output %s", result.Output)
			}
		})
	}
}
