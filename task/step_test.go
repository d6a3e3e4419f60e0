package task_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/calltest"
	"github.com/cairnrun/cairn/task"
)

// body makes a task that returns no value worth looking at.
func body(do func(ctx context.Context) error) cairn.Node {
	return task.Task[bool]{ID: "b", Do: func(ctx context.Context) (bool, error) { return true, do(ctx) }}
}

func TestStepIsDoneOnce(t *testing.T) {
	calls := map[string]int{}
	count := func(name string) func(context.Context) (int, error) {
		return func(context.Context) (int, error) { calls[name]++; return calls[name], nil }
	}
	node := task.Task[[3]int]{ID: "sum", Do: func(ctx context.Context) (out [3]int, err error) {
		if out[0], err = task.Step(ctx, "first", count("first")); err != nil {
			return out, err
		}
		if task.Attempt(ctx) < 3 {
			return out, errors.New("the process is shaky")
		}
		if out[1], err = task.Step(ctx, "second", count("second")); err != nil {
			return out, err
		}
		out[2], err = task.Step(ctx, "first", count("first")) // the same part again
		return out, err
	}}
	var m machine
	for range 2 {
		if _, err := m.try(t, node); err == nil {
			t.Fatal("the attempt should fail")
		}
	}
	if got := m.output(t, node); got != `[1,1,1]` {
		t.Errorf("output %s", got)
	}
	if !reflect.DeepEqual(calls, map[string]int{"first": 1, "second": 1}) {
		t.Errorf("calls %v", calls)
	}
}

func TestStepForgetsErrors(t *testing.T) {
	calls, boom := 0, errors.New("boom")
	node := task.Task[int]{ID: "n", Do: func(ctx context.Context) (int, error) {
		return task.Step(ctx, "part", func(context.Context) (int, error) {
			if calls++; calls == 1 {
				return 5, boom
			}
			return calls, nil
		})
	}}
	var m machine
	if _, err := m.try(t, node); err != boom {
		t.Errorf("error %v", err)
	}
	if got := m.output(t, node); got != `2` {
		t.Errorf("output %s", got)
	}
}

func TestStepNames(t *testing.T) {
	for _, name := range []string{"", "a/b", "a[1]", "a\x00", strings.Repeat("x", 201)} {
		run := func(ctx context.Context) error {
			_, err := task.Step(ctx, name, func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
			return err
		}
		var m machine
		_, err := m.try(t, body(run))
		refused(t, err, cairn.TaskFailed, true)
		if run(t.Context()) == nil {
			t.Errorf("outside of a task the name %q passes, so that a test does not find it", name)
		}
	}
}

func TestStepReturnsTheSameTheFirstTime(t *testing.T) {
	type value struct {
		At   time.Time
		Any  any
		List []int
		priv int
	}
	var seen []string
	node := body(func(ctx context.Context) error {
		got, err := task.Step(ctx, "part", func(context.Context) (value, error) {
			return value{At: time.Now(), Any: 1, List: nil, priv: 1}, nil
		})
		seen = append(seen, fmt.Sprintf("%#v", got))
		return err
	})
	var m machine
	m.output(t, node)
	m.output(t, node)
	if seen[0] != seen[1] {
		t.Errorf("first\n%s\nthen\n%s", seen[0], seen[1])
	}
}

func TestStepValuesThatJSONCanNotCarry(t *testing.T) {
	var m machine
	_, err := m.try(t, body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "part", func(context.Context) (float64, error) { return math.NaN(), nil })
		return err
	}))
	if f := refused(t, err, cairn.TaskFailed, true); !strings.Contains(f.Message, `step "part"`) {
		t.Errorf("message %s", f.Message)
	}
	// An interface with methods can be written and not read: that is found now, not after a crash.
	_, err = m.try(t, body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "part", func(context.Context) (error, error) { return errors.New("as a value"), nil })
		return err
	}))
	refused(t, err, cairn.TaskFailed, true)
	if len(m.journal.Records) != 0 {
		t.Errorf("recorded %v", m.journal.Records)
	}
}

func TestStepWithARecordOfAnotherType(t *testing.T) {
	var m machine
	m.output(t, body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "part", func(context.Context) (string, error) { return "text", nil })
		return err
	}))
	_, err := m.try(t, body(func(ctx context.Context) error {
		got, err := task.Step(ctx, "part", func(context.Context) (int, error) { return 1, nil })
		if got != 0 {
			t.Errorf("got %d", got)
		}
		return err
	}))
	if f := refused(t, err, cairn.TaskFailed, true); !strings.Contains(f.Message, `step "part": the recorded value can't be read`) {
		t.Errorf("message %s", f.Message)
	}
}

func TestStepWhoseRecordFails(t *testing.T) {
	m := machine{journal: journal{fail: errors.New("disk full")}}
	_, err := m.try(t, body(func(ctx context.Context) error {
		got, err := task.Step(ctx, "part", func(context.Context) (int, error) { return 1, nil })
		if got != 0 {
			t.Errorf("got %d, which is not durable", got)
		}
		return err
	}))
	if f := refused(t, err, cairn.TaskFailed, false); !strings.Contains(f.Message, `step "part": record: disk full`) {
		t.Errorf("message %s", f.Message)
	}
}

func TestStepThatFinishesAfterAStopIsRecorded(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var m machine
	_, err := m.tryUnder(ctx, t, body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "part", func(context.Context) (int, error) { stop(); return 1, nil })
		return err
	}))
	if err != nil || len(m.journal.Records) != 1 {
		t.Errorf("%v, records %v", err, m.journal.Records)
	}
}

func TestStepsSideBySide(t *testing.T) {
	var runs atomic.Int32
	node := task.Task[int]{ID: "n", Do: func(ctx context.Context) (int, error) {
		var group sync.WaitGroup
		var sum atomic.Int64
		for i := range 20 {
			group.Go(func() { // four calls for each of five names
				got, err := task.Step(ctx, fmt.Sprint("part ", i%5), func(ctx context.Context) (int, error) {
					runs.Add(1)
					return i % 5, task.Emit(ctx, "did", i%5)
				})
				if err != nil {
					t.Error(err)
				}
				sum.Add(int64(got))
			})
		}
		group.Wait()
		return int(sum.Load()), nil
	}}
	var m machine
	for attempt := range 2 {
		result, err := m.try(t, node)
		if err != nil || string(result.Output) != `40` {
			t.Errorf("output %s, %v", result.Output, err)
		}
		if runs.Load() != 5 || len(result.Effects) != 5 {
			t.Errorf("attempt %d: %d runs, %d effects", attempt+1, runs.Load(), len(result.Effects))
		}
	}
}

func TestStepWaitingForItsTurnStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("told to stop"))
		defer stop()
		var m machine
		_, err := m.tryUnder(ctx, t, body(func(ctx context.Context) error {
			release := make(chan struct{})
			go task.Step(context.WithoutCancel(ctx), "part", func(context.Context) (int, error) { <-release; return 1, nil })
			synctest.Wait()
			_, err := task.Step(ctx, "part", func(context.Context) (int, error) { return 2, nil })
			close(release)
			return err
		}))
		if err == nil || !strings.Contains(err.Error(), "told to stop") {
			t.Errorf("error %v", err)
		}
	})
}

func TestStepInsideOfItself(t *testing.T) {
	var m machine
	_, err := m.try(t, body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "a", func(ctx context.Context) (int, error) {
			return task.Step(ctx, "b", func(ctx context.Context) (int, error) {
				return task.Step(ctx, "a", func(context.Context) (int, error) { return 1, nil })
			})
		})
		return err
	}))
	if f := refused(t, err, cairn.TaskFailed, true); !strings.Contains(f.Message, "inside of itself") {
		t.Errorf("message %s", f.Message)
	}
}

// What a step wrote and emitted must reach the commit although a later attempt does not call it any more.
func TestReplayedStepsBringWhatTheyMade(t *testing.T) {
	node := body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "outer", func(ctx context.Context) (int, error) {
			if err := make2(ctx, "outer"); err != nil {
				return 0, err
			}
			return task.Step(ctx, "inner", func(ctx context.Context) (int, error) { return 1, make2(ctx, "inner") })
		})
		if err != nil {
			return err
		}
		// The inner one again, by itself: it counts once.
		if _, err := task.Step(ctx, "inner", func(context.Context) (int, error) { t.Error("ran again"); return 0, nil }); err != nil {
			return err
		}
		if task.Attempt(ctx) < 3 {
			return errors.New("the process is shaky")
		}
		return make2(ctx, "body")
	})
	var m machine
	for attempt := range 2 {
		result, err := m.try(t, node)
		if err == nil || result.Effects != nil || result.Artifacts != nil {
			t.Fatalf("attempt %d: %v, result %+v", attempt+1, err, result)
		}
	}
	result, err := m.try(t, node)
	if err != nil {
		t.Fatal(err)
	}
	if got := names(result); got != "outer inner body | outer inner body" {
		t.Errorf("committed %s", got)
	}
}

func TestReplayLooksIntoStepsOfSteps(t *testing.T) {
	node := body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "1", func(ctx context.Context) (int, error) {
			return task.Step(ctx, "2", func(ctx context.Context) (int, error) {
				return task.Step(ctx, "3", func(ctx context.Context) (int, error) { return 1, make2(ctx, "deep") })
			})
		})
		return err
	})
	var m machine
	for attempt := range 2 {
		result, err := m.try(t, node)
		if got := names(result); err != nil || got != "deep | deep" {
			t.Errorf("attempt %d: %v, committed %s", attempt+1, err, got)
		}
	}
}

// make2 writes an artifact and emits an effect of that name.
func make2(ctx context.Context, name string) error {
	if _, err := task.WriteArtifact(ctx, name, "", strings.NewReader(name)); err != nil {
		return err
	}
	return task.Emit(ctx, name, nil)
}

// names lists a result's artifacts and effects, in order of their content.
func names(result cairn.Result) string {
	var artifacts, effects []string
	for _, a := range result.Artifacts {
		artifacts = append(artifacts, a.Name)
	}
	for _, e := range result.Effects {
		effects = append(effects, e.Kind)
	}
	return strings.Join(artifacts, " ") + " | " + strings.Join(effects, " ")
}

func TestFailedStepHasNoEffects(t *testing.T) {
	var m machine
	result, err := m.try(t, body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "part", func(ctx context.Context) (int, error) {
			return 0, errors.Join(make2(ctx, "failed"), errors.New("boom"))
		})
		if err == nil {
			t.Error("no error")
		}
		return make2(ctx, "instead")
	}))
	if got := names(result); err != nil || got != "failed instead | instead" { // its file can be looked at
		t.Errorf("%v, committed %s", err, got)
	}
}

func TestGoroutinesThatOutliveTheirBody(t *testing.T) {
	var late context.Context
	var m machine
	if _, err := m.try(t, body(func(ctx context.Context) error { late = ctx; return nil })); err != nil {
		t.Fatal(err)
	}
	_, stepErr := task.Step(late, "part", func(context.Context) (int, error) { t.Error("ran"); return 0, nil })
	_, writeErr := task.WriteArtifact(late, "a", "", strings.NewReader("a"))
	for name, err := range map[string]error{
		"Step": stepErr, "WriteArtifact": writeErr, "Emit": task.Emit(late, "e", 1), "Heartbeat": task.Heartbeat(late, 1),
	} {
		if err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("%s after the end: %v", name, err)
		}
	}
	if len(m.journal.beats) != 0 || len(m.journal.Records) != 0 {
		t.Errorf("journal %v %v", m.journal.beats, m.journal.Records)
	}
	// Also after a failure and a panic, and with a step's context.
	_, err := m.try(t, body(func(ctx context.Context) error {
		_, err := task.Step(ctx, "part", func(ctx context.Context) (int, error) { late = ctx; return 0, nil })
		if err != nil {
			return err
		}
		return task.Emit(late, "e", 1)
	}))
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("Emit after the step: %v", err)
	}
	_, err = m.try(t, body(func(ctx context.Context) error {
		_, _ = task.Step(ctx, "failing", func(ctx context.Context) (int, error) { late = ctx; return 0, errors.New("boom") })
		return task.Emit(late, "e", 1)
	}))
	if err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("Emit after the failed step: %v", err)
	}
	func() {
		defer func() { _ = recover() }()
		_, _ = m.try(t, body(func(ctx context.Context) error { late = ctx; panic("boom") }))
	}()
	if err := task.Emit(late, "e", 1); err == nil {
		t.Error("Emit after a panic passes")
	}
}

func TestStepWithoutAnAttempt(t *testing.T) {
	one := func(context.Context) (func(), error) { return func() {}, nil } // no JSON needed
	if got, err := task.Step(t.Context(), "part", one); err != nil || got == nil {
		t.Errorf("outside of a task: %v", err)
	}
	if _, err := task.Step(cairn.WithCall(t.Context(), &cairn.Call{}), "part", one); err != nil {
		t.Errorf("without a journal: %v", err)
	}
	var m machine // a call, but not from a task's Run
	ctx := cairn.WithCall(t.Context(), m.call())
	for range 2 {
		got, err := task.Step(ctx, "part", func(context.Context) (int, error) { return len(m.journal.Records), nil })
		if err != nil || got != 0 {
			t.Errorf("got %d, %v", got, err)
		}
	}
	if string(m.journal.Records["part"]) != `{"value":0}` {
		t.Errorf("records %s", m.journal.Records)
	}
}

func TestDamagedRecords(t *testing.T) {
	for name, records := range map[string]map[string]json.RawMessage{
		"no record":       {"part": json.RawMessage(`7`)},
		"no value":        {"part": json.RawMessage(`{}`)},
		"inner is absent": {"part": json.RawMessage(`{"value":1,"steps":["gone"]}`)},
	} {
		m := machine{journal: journal{Journal: calltest.Journal{Records: records}}}
		_, err := m.try(t, body(func(ctx context.Context) error {
			_, err := task.Step(ctx, "part", func(context.Context) (int, error) { t.Errorf("%s: ran", name); return 0, nil })
			return err
		}))
		if f := refused(t, err, cairn.TaskFailed, true); !strings.Contains(f.Message, `step "part"`) {
			t.Errorf("%s: %s", name, f.Message)
		}
	}
}
