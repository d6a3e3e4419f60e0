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

func TestHeartbeatReachesTheNextAttempt(t *testing.T) {
	var m machine
	got := m.output(t, task.Task[int]{ID: "n", Do: func(ctx context.Context) (int, error) {
		if from, ok := task.LastHeartbeat[int](ctx); ok {
			return 0, fmt.Errorf("the first attempt got %d", from)
		}
		return 0, task.Heartbeat(ctx, 41)
	}})
	if got != `0` {
		t.Fatal(got)
	}
	if got := m.output(t, task.Task[int]{ID: "n", Do: func(ctx context.Context) (int, error) {
		from, ok := task.LastHeartbeat[int](ctx)
		if _, wrong := task.LastHeartbeat[string](ctx); wrong || !ok {
			return 0, errors.New("a detail is read as what it is not")
		}
		return from + 1, nil
	}}); got != `42` {
		t.Errorf("output %s", got)
	}
}

func TestHeartbeatDetails(t *testing.T) {
	var m machine
	_, err := m.try(t, body(func(ctx context.Context) error {
		full := strings.Repeat("x", task.MaxDetail-2) // and two quotes
		for _, err := range []error{
			task.Heartbeat(ctx, full), task.Heartbeat(ctx, nil), task.Heartbeat(ctx, (*int)(nil)),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		for _, err := range []error{task.Heartbeat(ctx, full+"x"), task.Heartbeat(ctx, math.NaN())} {
			refused(t, err, cairn.TaskFailed, true)
		}
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	beats := m.journal.beats
	if len(beats) != 3 || len(beats[0]) != task.MaxDetail || beats[1] != nil || beats[2] != nil {
		t.Errorf("%d beats", len(beats))
	}
}

func TestHeartbeatTellsOfAStop(t *testing.T) {
	why := errors.New("the run is cancelled")
	ctx, stop := context.WithCancelCause(t.Context())
	var m machine
	_, err := m.tryUnder(ctx, t, body(func(ctx context.Context) error {
		for i := range 10 {
			if i == 3 {
				stop(why)
			}
			if err := task.Heartbeat(ctx, i); err != nil {
				return err
			}
		}
		return nil
	}))
	if err != why || len(m.journal.beats) != 4 {
		t.Errorf("error %v after %d beats", err, len(m.journal.beats))
	}
}

func TestOutsideOfATask(t *testing.T) {
	ctx := t.Context()
	if err := task.Heartbeat(ctx, 1); err != nil {
		t.Errorf("Heartbeat: %v", err)
	}
	if _, ok := task.LastHeartbeat[int](ctx); ok {
		t.Error("LastHeartbeat has a detail")
	}
	if key, n := task.IdempotencyKey(ctx), task.Attempt(ctx); key != "" || n != 0 {
		t.Errorf("key %q, attempt %d", key, n)
	}
}

func TestIdempotencyKeyAndAttempt(t *testing.T) {
	var m machine
	node := task.Task[string]{ID: "s", Do: func(ctx context.Context) (string, error) {
		return fmt.Sprint(task.IdempotencyKey(ctx), task.Attempt(ctx)), nil
	}}
	if first, second := m.output(t, node), m.output(t, node); first != `"idem1"` || second != `"idem2"` {
		t.Errorf("%s, %s", first, second)
	}
}
