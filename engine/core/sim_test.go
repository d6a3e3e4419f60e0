package core_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/schema"
)

// node is a task as the core sees it: its body is never called, the simulation says how attempts end.
type node struct {
	id       string
	after    []string
	policy   cairn.Policy
	skip     func(v *cairn.View) bool
	input    func(v *cairn.View) string
	of       reflect.Type // the output's, int by default
	fork     string
	agent    bool
	writes   []string
	mistakes []error
}

func (n node) Lower() cairn.Spec {
	if n.of == nil {
		n.of = reflect.TypeFor[int]()
	}
	s, err := schema.Of(n.of)
	if err != nil {
		panic(err)
	}
	t := &cairn.TaskSpec{SchemaHash: s.Hash, After: n.after, Policy: n.policy, SkipIf: n.skip, Run: noRun, Fork: n.fork, Writes: n.writes, Prompted: n.agent || n.fork != ""}
	if n.input == nil && n.fork != "" {
		n.input = func(*cairn.View) string { return "ask" }
	}
	if n.input != nil {
		t.Input = func(v *cairn.View) (json.RawMessage, error) { return json.Marshal(n.input(v)) }
	}
	return cairn.Spec{Kind: cairn.KindTask, ID: n.id, Task: t, Mistakes: n.mistakes}
}

var noRun cairn.Run = func(context.Context, *cairn.Call) (cairn.Result, error) { panic("never called") }

// T names a task of the simulation that gives an int, and what it comes after.
func T(id string, after ...string) node {
	return node{id: id, after: after, policy: cairn.Policy{Retry: cairn.RetryPolicy{Max: 1}}}
}

func optional(n node) node              { n.policy.Optional = true; return n }
func priority(p int, n node) node       { n.policy.Priority = p; return n }
func retry(max int, n node) node        { n.policy.Retry.Max = max; return n }
func as[V any](n node) node             { n.of = reflect.TypeFor[V](); return n }
func seq(ns ...cairn.Node) cairn.Node   { return cairn.Sequence{Children: ns} }
func par(ns ...cairn.Node) cairn.Node   { return cairn.Parallel{Children: ns} }
func max2(ns ...cairn.Node) cairn.Node  { return cairn.Parallel{Max: 2, Children: ns} }
func max1(ns ...cairn.Node) cairn.Node  { return cairn.Parallel{Max: 1, Children: ns} }
func skipIf(yes bool, n node) node      { n.skip = func(*cairn.View) bool { return yes }; return n }
func mount(ns ...cairn.Node) renderFunc { return func(*cairn.View) cairn.Node { return seq(ns...) } }

type renderFunc = func(v *cairn.View) cairn.Node

const out cairn.Key[int] = "out"

// flow is a workflow with the result "out".
func flow(render renderFunc) cairn.Definition {
	return cairn.Workflow[string, int]{Name: "sim", Result: out, Render: func(v *cairn.View, _ string) cairn.Node { return render(v) }}.Define()
}

// sim is the in-memory driver: it owns a machine, keeps the frames and knows what runs. Time is what the test says. Beside
// the machine goes a twin that forgets its plan before each step and has to make the same frames.
type sim struct {
	t      *testing.T
	def    cairn.Definition
	m      *core.Machine
	twin   *core.Machine // nil where the test counts renders
	now    time.Time
	bodies [][]byte
	fold   *core.State
	// running holds the attempts started and not ended, in order of start; stopping those told to stop.
	running  []core.Start
	stopping map[string]bool
	timers   map[string]int64
	last     core.Step
	commands []core.Command
	starts   map[string]int
	// asked is the successor that the run asks for.
	asked *core.Event
}

var begin = core.Event{Kind: core.RunStarted, Path: "run", Name: "sim", Payload: json.RawMessage(`""`), Grace: 10_000}

// start starts a run.
func start(t *testing.T, def cairn.Definition) *sim { t.Helper(); return startWith(t, def, begin) }

func startWith(t *testing.T, def cairn.Definition, begin core.Event) *sim {
	t.Helper()
	s := idle(t, def)
	s.twin = core.New(def)
	s.step(begin)
	return s
}

// single starts a run without a twin, so that renders can be counted.
func single(t *testing.T, def cairn.Definition) *sim {
	t.Helper()
	s := idle(t, def)
	s.step(begin)
	return s
}

func idle(t *testing.T, def cairn.Definition) *sim {
	return &sim{t: t, def: def, m: core.New(def), fold: core.NewState(), now: time.UnixMilli(epoch), stopping: map[string]bool{}, timers: map[string]int64{}, starts: map[string]int{}}
}

// seen is a run of a render function.
func run(t *testing.T, render renderFunc) *sim { t.Helper(); return start(t, flow(render)) }

func (s *sim) step(events ...core.Event) {
	s.t.Helper()
	s.stepped(true, events...)
}

func (s *sim) stepped(admit bool, events ...core.Event) {
	s.t.Helper()
	s.last = s.m.Step(s.now, events, admit)
	if s.twin != nil {
		s.twin.Forget()
		if twin := s.twin.Step(s.now, events, admit); string(twin.Body) != string(s.last.Body) {
			s.t.Fatalf("a machine that forgets makes another frame:\nkept   %s\nforgot %s", s.last.Body, twin.Body)
		}
	}
	if s.last.Frame != nil {
		s.bodies = append(s.bodies, s.last.Body)
	}
	s.commands = s.last.Commands
	for _, c := range s.last.Commands {
		switch c.Kind {
		case core.StartTask:
			s.running = append(s.running, *c.Start)
			s.starts[c.Path]++
		case core.CancelTask:
			s.stopping[c.Path] = true
		case core.SetTimer:
			s.timers[c.Path] = c.At
		case core.ClearTimer:
			delete(s.timers, c.Path)
		case core.ContinueAsNew:
			s.asked = c.Successor
		}
	}
	s.check()
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

// attempt is the running attempt on a path.
func (s *sim) attempt(path string) core.Start {
	s.t.Helper()
	st := s.take(path)
	s.running = append(s.running, st)
	return st
}

func (s *sim) doneEvent(path string, value any) core.Event {
	s.t.Helper()
	st := s.take(path)
	raw, err := json.Marshal(value)
	if err != nil {
		s.t.Fatal(err)
	}
	return core.Event{Kind: core.TaskDone, Path: path, Attempt: st.Attempt, Output: raw}
}

func (s *sim) done(path string, value any) { s.t.Helper(); s.step(s.doneEvent(path, value)) }

// all ends attempts with the value 1, each in a step of its own.
func (s *sim) all(paths ...string) {
	s.t.Helper()
	for _, path := range paths {
		s.done(path, 1)
	}
}

func (s *sim) failEvent(path string, code cairn.Code) core.Event {
	s.t.Helper()
	st := s.take(path)
	return core.Event{Kind: core.TaskFailed, Path: path, Attempt: st.Attempt, Failure: &cairn.Failure{Code: code, Message: "no"}}
}

func (s *sim) fail(path string, code cairn.Code) { s.t.Helper(); s.step(s.failEvent(path, code)) }

func (s *sim) lose(path string, graceful bool) {
	s.t.Helper()
	st := s.take(path)
	s.step(core.Event{Kind: core.TaskLost, Path: path, Attempt: st.Attempt, Graceful: graceful})
}

// fire lets the time of a timer come.
func (s *sim) fire(path string) {
	s.t.Helper()
	at, ok := s.timers[path]
	if !ok {
		s.t.Fatalf("there is no timer for %s; timers: %v", path, s.timers)
	}
	delete(s.timers, path)
	s.now = time.UnixMilli(max(at, s.now.UnixMilli()))
	s.step(core.Event{Kind: core.TimerFired, Path: path})
}

// cancel asks the run to cancel.
func (s *sim) cancel() { s.t.Helper(); s.step(core.Event{Kind: core.CancelAsked, Name: "enough"}) }

// load folds the frames into a machine of the definition.
func (s *sim) load(def cairn.Definition) *core.Machine {
	s.t.Helper()
	m := core.New(def)
	for _, body := range s.bodies {
		f, err := core.Decode(body)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := m.Fold(f, core.Hash(body)); err != nil {
			s.t.Fatal(err)
		}
	}
	return m
}

// resume kills the process and goes on in a new one, with a definition that may be another.
func (s *sim) resume(def cairn.Definition) {
	s.t.Helper()
	s.restart(def, core.Event{Kind: core.RunResumed})
}

func (s *sim) restart(def cairn.Definition, event core.Event) {
	s.t.Helper()
	s.def, s.m = def, s.load(def)
	if s.twin != nil {
		s.twin = s.load(def)
	}
	if event.Kind == core.RunResumed {
		if d := s.m.Verify(); d != nil {
			event.Failure = &cairn.Failure{Code: d.Failure.Code, Path: d.Failure.Path, Message: fmt.Sprintf("as of frame %d: %s", d.Frame, d.Failure.Message)}
		}
	}
	s.running, s.stopping, s.timers = nil, map[string]bool{}, map[string]int64{}
	s.step(event)
}

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
		s.t.Fatalf("running: %v, want %v; status %s, failure %v, block %v\nlast frame: %s", got, paths,
			s.m.State().Status, s.m.State().Failure, s.m.State().Block, s.last.Body)
	}
}

// stops checks which attempts have been told to stop and have not ended.
func (s *sim) stops(paths ...string) {
	s.t.Helper()
	var got []string
	for _, st := range s.running {
		if s.stopping[st.Path] {
			got = append(got, st.Path)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, paths) {
		s.t.Fatalf("told to stop: %v, want %v", got, paths)
	}
}

func (s *sim) status(want core.Status) {
	s.t.Helper()
	if got := s.m.State().Status; got != want {
		s.t.Fatalf("status %s, want %s; failure %v, block %v\nlast frame: %s", got, want, s.m.State().Failure, s.m.State().Block, s.last.Body)
	}
}

// finished checks that the run has ended with a result.
func (s *sim) finished(result int) {
	s.t.Helper()
	s.status(core.Finished)
	if r, ok := s.m.Result(); !ok || string(r) != fmt.Sprint(result) {
		s.t.Fatalf("the result is %s, want %d", r, result)
	}
}

// failed checks that the run has failed with a code, at a path.
func (s *sim) failed(code cairn.Code, path string) *cairn.Failure {
	s.t.Helper()
	s.status(core.Failed)
	f := s.m.State().Failure
	if f.Code != code || f.Path != path {
		s.t.Fatalf("the failure is %v at %q, want %s at %q", f, f.Path, code, path)
	}
	return f
}

// blocked checks that the run is blocked with a code, and that the message says all of what.
func (s *sim) blocked(code cairn.Code, what ...string) {
	s.t.Helper()
	s.status(core.Blocked)
	b := s.m.State().Block
	text := b.Path + ": " + b.Message
	if b.Code != code {
		s.t.Fatalf("blocked by %s, want %s: %s\n%s", b.Code, code, text, b.Stack)
	}
	for _, w := range what {
		if !strings.Contains(text, w) {
			s.t.Fatalf("the block does not say %q: %s", w, text)
		}
	}
}

// plan lists the lines of the plan.
func (s *sim) plan() string {
	var lines []string
	for _, l := range s.m.Plan() {
		l.Schema = ""
		lines = append(lines, l.String())
	}
	return strings.Join(lines, "\n")
}

// check folds the frames, decoded, beside the machine and compares its state.
func (s *sim) check() {
	s.t.Helper()
	for int(s.fold.Frame) < len(s.bodies) {
		body := s.bodies[s.fold.Frame]
		f, err := core.Decode(body)
		if err != nil {
			s.t.Fatal(err)
		}
		if err := s.fold.Fold(f, core.Hash(body)); err != nil {
			s.t.Fatalf("%v\n%s", err, body)
		}
	}
	want, _ := json.Marshal(s.m.State())
	if got, want := fmt.Sprintf("%+v", s.fold.Ended()), fmt.Sprintf("%+v", s.m.State().Ended()); s.last.Frame != nil && got != want {
		s.t.Fatalf("the frames say that these attempts ended: %s, the step said: %s", got, want)
	}
	got, _ := json.Marshal(s.fold)
	if string(want) != string(got) {
		s.t.Fatalf("the fold of the frames is not the state:\nfold  %s\nstate %s", got, want)
	}
}
