package core_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/schema"
	"reflect"
)

// node is a task as the core sees it: its body is never called, the simulation says how attempts end.
type node struct {
	id       string
	after    []string
	policy   cairn.Policy
	skip     func(v *cairn.View) bool
	input    func(v *cairn.View) string
	mistakes []error
}

func (n node) Lower() cairn.Spec {
	s, err := schema.Of(reflect.TypeFor[int]())
	if err != nil {
		panic(err)
	}
	t := &cairn.TaskSpec{SchemaHash: s.Hash, After: n.after, Policy: n.policy, SkipIf: n.skip, Run: noRun}
	if n.input != nil {
		t.Input = func(v *cairn.View) (json.RawMessage, error) { return json.Marshal(n.input(v)) }
	}
	return cairn.Spec{Kind: cairn.KindTask, ID: n.id, Task: t, Mistakes: n.mistakes}
}

var noRun cairn.Run = func(_ ctx, _ *cairn.Call) (cairn.Result, error) { panic("never called") }

// T names a task of the simulation.
func T(id string, after ...string) node { return node{id: id, after: after} }

func seq(ns ...cairn.Node) cairn.Node { return cairn.Sequence{Children: ns} }
func par(ns ...cairn.Node) cairn.Node { return cairn.Parallel{Children: ns} }

func flow(render func(v *cairn.View) cairn.Node) cairn.Definition {
	return cairn.Workflow[string, int]{Name: "sim", Result: "out", Render: func(v *cairn.View, _ string) cairn.Node { return render(v) }}.Define()
}

// sim is the in-memory driver: it owns a machine, keeps the frames and knows what runs. Time is what the test says.
type sim struct {
	t      *testing.T
	def    cairn.Definition
	m      *core.Machine
	now    time.Time
	bodies [][]byte
	// running holds the attempts started and not ended, in order of start; stopping those told to stop.
	running  []core.Start
	stopping map[string]bool
	timers   map[string]int64
	last     core.Step
	ended    core.CommandKind
	// forget drops the memo before every step.
	forget bool
	starts map[string]int
}

func start(t *testing.T, def cairn.Definition) *sim {
	s := &sim{t: t, def: def, m: core.New(def), now: time.UnixMilli(1_000_000), stopping: map[string]bool{}, timers: map[string]int64{}, starts: map[string]int{}}
	s.step(core.Event{Kind: core.RunStarted, Path: "run", Name: "sim", Payload: json.RawMessage(`""`), Grace: 10_000})
	return s
}

func (s *sim) step(events ...core.Event) {
	s.t.Helper()
	if s.forget {
		s.m.Forget()
	}
	s.last = s.m.Step(s.now, events, true)
	if s.last.Frame != nil {
		s.bodies = append(s.bodies, s.last.Body)
	}
	for _, c := range s.last.Commands {
		switch c.Kind {
		case core.StartTask:
			s.running = append(s.running, *c.Start)
			s.starts[c.Path]++
		case core.CancelTask:
			s.stopping[c.Path] = true
		case core.SetTimer:
			s.timers[c.Path] = c.At
		default:
			s.ended = c.Kind
		}
	}
}

// take removes a running attempt.
func (s *sim) take(path string) core.Start {
	s.t.Helper()
	i := slices.IndexFunc(s.running, func(st core.Start) bool { return st.Path == path })
	if i < 0 {
		s.t.Fatalf("%s does not run; running: %v", path, s.paths())
	}
	st := s.running[i]
	s.running = slices.Delete(s.running, i, i+1)
	delete(s.stopping, path)
	return st
}

func (s *sim) doneEvent(path string, value int) core.Event {
	s.t.Helper()
	st := s.take(path)
	return core.Event{Kind: core.TaskDone, Path: path, Attempt: st.Attempt, Output: json.RawMessage(fmt.Sprint(value))}
}

func (s *sim) done(path string, value int) { s.t.Helper(); s.step(s.doneEvent(path, value)) }

func (s *sim) failEvent(path string, code cairn.Code) core.Event {
	s.t.Helper()
	st := s.take(path)
	return core.Event{Kind: core.TaskFailed, Path: path, Attempt: st.Attempt, Failure: &cairn.Failure{Code: code, Message: "no", Permanent: true}}
}

func (s *sim) fail(path string, code cairn.Code) { s.t.Helper(); s.step(s.failEvent(path, code)) }

// paths lists what runs and was not told to stop.
func (s *sim) paths() []string {
	out := []string{}
	for _, st := range s.running {
		if !s.stopping[st.Path] {
			out = append(out, st.Path)
		}
	}
	slices.Sort(out)
	return out
}

func (s *sim) wants(paths ...string) {
	s.t.Helper()
	slices.Sort(paths)
	if got := s.paths(); !slices.Equal(got, append([]string{}, paths...)) {
		s.t.Fatalf("running: %v, want %v\nlast frame: %s", got, paths, s.last.Body)
	}
}

func (s *sim) status(want core.Status) {
	s.t.Helper()
	if got := s.m.State().Status; got != want {
		s.t.Fatalf("status %s, want %s; failure %v, block %v\nlast frame: %s", got, want, s.m.State().Failure, s.m.State().Block, s.last.Body)
	}
}

// check folds all frames anew and compares with the machine's state.
func (s *sim) check() {
	s.t.Helper()
	fold := core.NewState()
	for _, body := range s.bodies {
		f, err := core.Decode(body)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := fold.Fold(f, core.Hash(body)); err != nil {
			s.t.Fatal(err)
		}
	}
	want, _ := json.Marshal(s.m.State())
	got, _ := json.Marshal(fold)
	if string(want) != string(got) {
		s.t.Fatalf("the fold of the frames is not the state:\nfold  %s\nstate %s", got, want)
	}
}
