package task_test

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

func TestFromIsFrozenAndDecodedAnew(t *testing.T) {
	words, computed := []string{"a", "b"}, 0
	node := task.Task[string]{ID: "s", From: task.From(
		func(*cairn.View) []string { computed++; return words },
		func(_ context.Context, in []string) (string, error) {
			out := strings.Join(in, " ")
			in[0] = "changed by the body"
			return out, nil
		},
	)}
	var m machine
	first := m.output(t, node)
	if !slices.Equal(words, []string{"a", "b"}) {
		t.Errorf("a body changed the render's own value: %q", words)
	}
	words = []string{"later"}
	if second := m.output(t, node); first != `"a b"` || second != first {
		t.Errorf("attempts got %s and %s", first, second)
	}
	if computed != 1 {
		t.Errorf("the input was computed %d times", computed)
	}
}

func TestFromWithAnInputThatDoesNotEncode(t *testing.T) {
	spec := lower(t, task.Task[string]{ID: "s", From: task.From(
		func(*cairn.View) float64 { return math.NaN() },
		func(context.Context, float64) (string, error) { return "", nil },
	)})
	if _, err := spec.Task.Input(cairn.NewView(nil)); err == nil || !strings.Contains(err.Error(), "NaN") {
		t.Errorf("error %v", err)
	}
}

func TestFromWithAStoredInputOfAnotherType(t *testing.T) {
	called := false
	m := machine{input: json.RawMessage(`{"old":"shape"}`)}
	_, err := m.try(t, task.Task[string]{ID: "s", From: task.From(
		func(*cairn.View) int { return 1 },
		func(context.Context, int) (string, error) { called = true; return "", nil },
	)})
	if f := refused(t, err, cairn.TaskFailed, true); !strings.Contains(f.Message, "stored input can't be read as int") {
		t.Errorf("message %s", f.Message)
	}
	if called {
		t.Error("the body ran with half an input")
	}
}
