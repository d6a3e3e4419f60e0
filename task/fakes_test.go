package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/calltest"
)

// journal keeps records in a map, and like a durable one refuses to under a context that has ended.
type journal struct {
	calltest.Journal
	mu    sync.Mutex // guards the rest
	beats []json.RawMessage
	fail  error
}

func (j *journal) Record(ctx context.Context, name string, value json.RawMessage) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if j.fail != nil {
		return j.fail
	}
	return j.Journal.Record(ctx, name, value)
}

func (j *journal) Heartbeat(detail json.RawMessage) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.beats = append(j.beats, detail)
}

// machine runs attempts of tasks the way an engine does, one task per machine.
type machine struct {
	journal  journal
	files    calltest.Files
	input    json.RawMessage
	attempts int
}

// lower returns the task's spec, which must have no mistakes.
func lower(t testing.TB, node cairn.Node) cairn.Spec {
	t.Helper()
	spec := node.Lower()
	if err := errors.Join(spec.Mistakes...); err != nil {
		t.Fatalf("mistakes: %v", err)
	}
	return spec
}

func (m *machine) try(t testing.TB, node cairn.Node) (cairn.Result, error) {
	t.Helper()
	return m.tryUnder(t.Context(), t, node)
}

// tryUnder makes the next attempt. The input is that of the first one.
func (m *machine) tryUnder(ctx context.Context, t testing.TB, node cairn.Node) (cairn.Result, error) {
	t.Helper()
	spec := lower(t, node)
	if spec.Task.Input != nil && m.input == nil {
		input, err := spec.Task.Input(cairn.NewView(nil))
		if err != nil {
			t.Fatalf("input: %v", err)
		}
		m.input = input
	}
	m.attempts++
	return spec.Task.Run(ctx, m.call())
}

func (m *machine) call() *cairn.Call {
	call := &cairn.Call{
		Run: "r1", Path: "work/step", Key: "step", Attempt: m.attempts, IdempotencyKey: "idem", Input: m.input,
		Journal: &m.journal, Artifacts: &m.files,
	}
	if n := len(m.journal.beats); n > 0 {
		call.Detail = m.journal.beats[n-1]
	}
	return call
}

// output makes an attempt that must succeed.
func (m *machine) output(t testing.TB, node cairn.Node) string {
	t.Helper()
	result, err := m.try(t, node)
	if err != nil {
		t.Fatalf("run: %v", err)
	}
	return string(result.Output)
}

// refused asks for a failure with the code and returns it.
func refused(t testing.TB, err error, code cairn.Code, permanent bool) *cairn.Failure {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	f := cairn.FailureOf(err)
	if f.Code != code || f.Permanent != permanent {
		t.Fatalf("got %s, permanent %v; want %s, permanent %v: %v", f.Code, f.Permanent, code, permanent, err)
	}
	return f
}
