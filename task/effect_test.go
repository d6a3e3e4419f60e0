package task_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

func TestEmit(t *testing.T) {
	var m machine
	node := body(func(ctx context.Context) error {
		if err := task.Emit(ctx, "mail", map[string]string{"to": "<a@b>"}); err != nil {
			return err
		}
		if task.Attempt(ctx) == 1 {
			return errors.New("boom")
		}
		return task.Emit(ctx, "log", nil)
	})
	if result, err := m.try(t, node); err == nil || result.Effects != nil {
		t.Errorf("a failed attempt: %v, effects %v", err, result.Effects)
	}
	result, err := m.try(t, node)
	if err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%s", result.Effects); got != `[{mail {"to":"<a@b>"}} {log null}]` {
		t.Errorf("effects %s", got)
	}
}

func TestEmitErrors(t *testing.T) {
	if err := task.Emit(t.Context(), "mail", 1); err == nil || !strings.Contains(err.Error(), "no attempt of a task") {
		t.Errorf("outside of a task: %v", err)
	}
	for name, emit := range map[string]func(ctx context.Context) error{
		"no kind": func(ctx context.Context) error { return task.Emit(ctx, "", 1) },
		"no JSON": func(ctx context.Context) error { return task.Emit(ctx, "mail", math.NaN()) },
	} {
		var m machine
		if _, err := m.try(t, body(emit)); err == nil {
			t.Errorf("%s: taken", name)
		} else {
			refused(t, err, cairn.TaskFailed, true)
		}
	}
}
