package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/schema"
)

// handsOn is a continue-as-new as package handoff makes it, with an int as its state.
type handsOn struct {
	id    string
	state any
	keep  []string
	input any
}

func (h handsOn) Lower() cairn.Spec {
	spec := &cairn.HandoffSpec{Keep: h.keep}
	if h.state != nil {
		spec.State = func(*cairn.View) (json.RawMessage, string, error) {
			s, err := schema.Of(reflect.TypeOf(h.state))
			if err != nil {
				return nil, "", err
			}
			raw, err := json.Marshal(h.state)
			return raw, s.Hash, err
		}
	}
	if h.input != nil {
		spec.Input = func() (json.RawMessage, error) { return json.Marshal(h.input) }
	}
	return cairn.Spec{Kind: cairn.KindContinueAsNew, ID: h.id, Handoff: spec}
}

// handsOnWith is a node that hands a state over.
func handsOnWith(state any) handsOn { return handsOn{state: state} }

// carried reads the int that a run was handed, 0 for none.
func carried(v *cairn.View) int {
	raw, ok, err := v.Carried(reflect.TypeFor[int]())
	if err != nil {
		panic(err)
	}
	n := 0
	if ok {
		_ = json.Unmarshal(raw, &n)
	}
	return n
}

// asks checks that the run asks for a successor, and returns its first event.
func (s *sim) asks(id string) core.Event {
	s.t.Helper()
	s.status(core.Running)
	if s.asked == nil || s.asked.Path != id || s.m.State().Successor == nil || s.m.State().Successor.ID != id {
		s.t.Fatalf("the run asks for %+v, want successor %s; state %+v\nlast frame: %s", s.asked, id, s.m.State().Successor, s.last.Body)
	}
	return *s.asked
}

// succeed lets the successor go on that the run asks for.
func (s *sim) succeed(id string) *sim {
	s.t.Helper()
	next := startWith(s.t, s.def, s.asks(id))
	s.step(core.Event{Kind: core.HandedOver, Name: id})
	s.status(core.Continued)
	if f := s.m.State().Failure; f != nil {
		s.t.Fatalf("a continued run has the failure %v", f)
	}
	return next
}

func TestHandoffLetsASuccessorGoOn(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		if at := carried(v); at < 2 {
			return seq(T("work"), handsOnWith(at+1), T("never"))
		}
		return seq(T("work"), T("out"))
	})
	s.done("work", 1)
	s.wants()
	s = s.succeed("run.2")
	if g := s.m.State().Generation(); g != 2 {
		t.Fatalf("generation %d", g)
	}
	s.done("work", 1)
	s = s.succeed("run.3")
	env := s.m.State().Envelope
	if env.Parent != "run.2" || env.Root != "run" || env.Generation != 3 || string(env.State) != "2" {
		t.Fatalf("the envelope is %+v", env)
	}
	s.all("work", "out")
	s.finished(1)
}

func TestHandoffOutOfACatch(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		if carried(v) == 7 {
			return T("out")
		}
		return seq(cairn.Try{
			Body:    T("a"),
			Catch:   func(*cairn.View, cairn.Failure) cairn.Node { return seq(T("distil"), handsOnWith(7)) },
			Finally: mount(T("finally")),
		}, T("out"))
	})
	s.fail("a", "BROKEN")
	s.done("distil", 1)
	s.wants("finally") // it comes before the handoff
	if s.asked != nil {
		t.Fatal("the handoff has overtaken Finally")
	}
	s.resume(s.def)
	s.wants("finally")
	s.done("finally", 1)
	if f := s.m.State().Failure; f.Cause == nil || f.Cause.Code != "BROKEN" {
		t.Fatalf("why it hands off is lost: %+v", f)
	}
	s = s.succeed("run.2")
	s.all("out")
	s.finished(1)
}

func TestWhyOfAHandoff(t *testing.T) {
	s := run(t, mount(par(T("a"), seq(T("b"), handsOn{state: 1, keep: []string{"b"}})), T("out")))
	why := func(path, want string) {
		t.Helper()
		if got := s.m.Why(path); !strings.Contains(got, want) {
			t.Errorf("why %s: %q, want %q", path, got, want)
		}
	}
	why("#continue-as-new", "waits for what comes before it in sequence")
	s.done("b", 1)
	why("#continue-as-new", "hands over once all that runs has ended")
	why("out", "the run is handing over to a successor")
	s.done("a", 1)
	why("#continue-as-new", "hands over to run.2, which is being made")
	before := s
	next := s.succeed("run.2")
	s = before
	why("#continue-as-new", "has handed over to run.2")
	why("out", "run.2 goes on in this run's place")
	s = next
	why("b", "its value was kept from the run before, run")
}

func TestNobodyCatchesAHandoff(t *testing.T) {
	s := run(t, mount(cairn.Try{ID: "outer", Catch: catch("outer-catch"), Finally: mount(T("outer-finally")),
		Body: cairn.Try{ID: "inner", Catch: catch("inner-catch"), Finally: mount(T("inner-finally")), Body: handsOnWith(1)}}, T("out")))
	s.wants("inner-finally")
	s.done("inner-finally", 1)
	s.wants("outer-finally")
	s.done("outer-finally", 1)
	s.asks("run.2")
}

// TestCodeOfAHandoffIsNoHandoff: a task can fail with any code.
func TestCodeOfAHandoffIsNoHandoff(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Catch: catch("catch")}, T("out")))
	s.fail("a", core.HandingOn)
	s.wants("catch")
	s = run(t, mount(T("a"), T("out")))
	s.fail("a", core.HandingOn)
	s.failed(core.HandingOn, "a")
}

func TestFailingFinallyReplacesTheHandoff(t *testing.T) {
	t.Run("around it", func(t *testing.T) {
		s := run(t, mount(cairn.Try{Body: handsOnWith(1), Finally: mount(T("finally"))}, T("out")))
		s.fail("finally", "F")
		if f := s.failed("F", "finally"); f.Cause == nil || f.Cause.Code != core.HandingOn {
			t.Fatalf("the cause is %v", f.Cause)
		}
		if n := len(s.m.State().Handoffs); n > 0 {
			t.Errorf("%d handoffs are left that nobody will make", n)
		}
	})
	t.Run("beside it", func(t *testing.T) {
		s := run(t, mount(par(cairn.Try{Body: T("b"), Finally: mount(T("finally"))}, seq(T("a"), handsOnWith(1))), T("out")))
		s.done("a", 1)
		s.wants("b")
		s.done("b", 1)
		s.wants("finally")
		s.fail("finally", "F")
		s.failed("F", "finally")
	})
	t.Run("and is caught further out", func(t *testing.T) {
		s := run(t, mount(cairn.Try{ID: "outer", Catch: catch("catch"), Body: par(
			cairn.Try{ID: "beside", Body: T("b"), Finally: mount(T("finally"))},
			cairn.Try{ID: "inner", Body: seq(T("a"), handsOnWith(1))})}, T("out")))
		s.done("a", 1)
		s.done("b", 1)
		s.fail("finally", "F")
		s.wants("catch")
		s.all("catch", "out")
		s.finished(1)
	})
}

func TestHandoffDrainsWhatRunsBeside(t *testing.T) {
	s := run(t, mount(par(T("a"), seq(T("b"), handsOn{state: 1, keep: []string{"a", "b", "none"}}), seq(T("c"), T("d"))), T("out")))
	s.done("b", 1)
	s.wants("a", "c")
	s.done("a", 5)
	s.done("c", 1)
	s.wants() // d does not start
	ev := s.asks("run.2")
	if len(ev.Kept) != 2 || ev.Kept[0].Path != "a" || string(ev.Kept[0].Output) != "5" || ev.Kept[1].Path != "b" {
		t.Fatalf("kept: %+v", ev.Kept)
	}
	next := s.succeed("run.2")
	next.asks("run.3") // a and b are done, and so it hands over again, before c has started
	if k := next.m.State().Tasks["a"]; !k.Kept || k.Status != core.TaskFinished || string(k.Output) != "5" {
		t.Fatalf("the kept task is %+v", k)
	}
}

func TestRealReasonEndsDraining(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: par(T("slow"), handsOnWith(1)), Finally: mount(T("finally"))}, T("out")))
	s.wants("finally") // slow has not started: the handoff came first
	s = run(t, mount(par(T("slow"), seq(T("a"), handsOnWith(1))), T("out")))
	s.done("a", 1)
	s.wants("slow")
	s.cancel()
	s.stops("slow")
	s.done("slow", 1)
	s.status(core.CancelledRun)
}

func TestCancelPauseAndResumeTakeTheQuestionBack(t *testing.T) {
	asking := func() *sim {
		s := run(t, mount(handsOnWith(1), T("out")))
		s.asks("run.2")
		return s
	}
	over := core.Event{Kind: core.HandedOver, Name: "run.2"}
	s := asking()
	s.step(core.Event{Kind: core.CancelAsked}, over)
	s.status(core.CancelledRun)
	s = asking()
	s.step(over, core.Event{Kind: core.CancelAsked})
	s.status(core.CancelledRun)

	s = asking()
	s.step(core.Event{Kind: core.PauseAsked}, over)
	s.status(core.Paused)
	s.asked = nil
	s.step(core.Event{Kind: core.RunResumed}, core.Event{Kind: core.Unpaused})
	s.succeed("run.2")

	s = asking()
	s.resume(s.def)
	s.succeed("run.2")

	s = asking()
	s.step(core.Event{Kind: core.HandedOver, Name: "another"})
	s.status(core.Running)

	s = asking()
	s.stepped(false, over)
	s.status(core.Running) // nothing is handed over by one that is about to stop
	s.asked = nil
	s.resume(s.def)
	s.succeed("run.2")
}

func TestRefusedHandoff(t *testing.T) {
	s := run(t, mount(handsOnWith(1), T("out")))
	s.asks("run.2")
	s.step(core.Event{Kind: core.HandoffRefused, Failure: &cairn.Failure{Code: cairn.TooManyGenerations, Permanent: true}})
	s.failed(cairn.TooManyGenerations, "")

	s = run(t, mount(handsOnWith(1), T("out")))
	s.asks("run.2")
	s.step(core.Event{Kind: core.HandoffRefused, Failure: &cairn.Failure{Code: cairn.RenderPanicked, Message: "no"}})
	s.blocked(cairn.RenderPanicked, "no")
	s.asked = nil
	s.resume(s.def)
	s.succeed("run.2")
}

func TestStatesThatCantBeHandedOver(t *testing.T) {
	for code, node := range map[cairn.Code]handsOn{
		cairn.StateTooLarge: handsOnWith(strings.Repeat("x", core.MaxState)),
		cairn.StateInvalid:  handsOnWith(make(chan int)),
		cairn.KeepInLoop:    {keep: []string{"in"}},
	} {
		loop := cairn.Loop{ID: "l", Max: 1, OnMax: cairn.ReturnLast, Body: func(*cairn.View) cairn.Node { return T("in") }}
		s := run(t, mount(loop, node, T("out")))
		s.done("l[0]/in", 1)
		if f := s.failed(code, "#continue-as-new"); !f.Permanent || !errors.Is(f, code) {
			t.Errorf("the failure is %+v", f)
		}
		s = run(t, mount(loop, cairn.Try{Body: node, Catch: catch("catch")}, T("out")))
		s.done("l[0]/in", 1)
		s.all("catch", "out")
		s.finished(1)
	}
}

func TestStateOfAnotherType(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		carried(v)
		return seq(handsOnWith("no number"), T("out"))
	})
	next := idle(t, s.def)
	next.step(s.asks("run.2"))
	next.blocked(cairn.StateType, "handed over with schema")
}

func TestHandoffInAFinallyIsAMistake(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Finally: mount(cairn.Try{ID: "in", Body: handsOnWith(1)})}, T("out")))
	s.done("a", 1)
	s.blocked(cairn.InvalidTree, "#continue-as-new", "Finally")
}

func TestSuccessorWithAnotherInput(t *testing.T) {
	s := run(t, mount(handsOn{input: "other"}, T("out")))
	if ev := s.asks("run.2"); string(ev.Payload) != `"other"` || ev.Envelope.State != nil {
		t.Fatalf("the successor starts with %+v", ev)
	}
}

// TestLoopHandsOff: iterations are counted through the chain, Prev works, and nothing else crosses.
func TestLoopHandsOff(t *testing.T) {
	const in cairn.Key[int] = "in"
	prevs := map[string]int{}
	def := flow(func(v *cairn.View) cairn.Node {
		return seq(T("before"), cairn.Loop{ID: "outer", Max: 2, Until: func(v *cairn.View) bool { return v.Iteration() == 0 },
			Body: func(v *cairn.View) cairn.Node {
				return cairn.Loop{ID: "l", Max: cairn.Unbounded, HandoffEvery: 3,
					Until: func(v *cairn.View) bool { return v.Iteration() == 7 },
					Body: func(v *cairn.View) cairn.Node {
						if p, ok := in.Prev(v); ok {
							prevs[v.Scope()] = p
						}
						return T("in")
					}}
			}}, T("out"))
	})
	s, i := start(t, def), 0
	for g := 1; ; g++ {
		s.done("before", 1)
		for range 3 {
			s.done(fmt.Sprintf("outer[0]/l[%d]/in", i), i*10)
			i++
			if i == 8 {
				break
			}
		}
		if i == 8 {
			break
		}
		ev := s.asks(fmt.Sprintf("run.%d", g+1))
		if len(ev.Kept) != 1 || ev.Kept[0].Path != fmt.Sprintf("outer[0]/l[%d]/in", i-1) {
			t.Fatalf("kept: %+v", ev.Kept)
		}
		s = s.succeed(fmt.Sprintf("run.%d", g+1))
	}
	s.all("out")
	s.finished(1)
	for i := 1; i < 8; i++ {
		if p := prevs[fmt.Sprintf("outer[0]/l[%d]", i)]; p != (i-1)*10 {
			t.Errorf("iteration %d sees %d before it", i, p)
		}
	}
}

// TestEndlessLoopStaysBounded runs 100,000 iterations: what a run holds does not grow with the length of the chain.
func TestEndlessLoopStaysBounded(t *testing.T) {
	const iterations, every = 100_000, 500
	def := flow(func(v *cairn.View) cairn.Node {
		return seq(cairn.Loop{ID: "l", Max: cairn.Unbounded, HandoffEvery: every,
			Until: func(v *cairn.View) bool { return v.Iteration() == iterations-1 },
			Body:  func(v *cairn.View) cairn.Node { return T("in") }}, T("out"))
	})
	first := begin
	largest, runs := 0, 0
	for i := 0; i < iterations; {
		m, now := core.New(def), time.UnixMilli(epoch)
		step := m.Step(now, []core.Event{first}, true)
		runs++
		for {
			var next []core.Event
			for _, c := range step.Commands {
				switch {
				case c.Kind == core.StartTask && c.Path != "out":
					next = append(next, core.Event{Kind: core.TaskDone, Path: c.Path, Attempt: 1, Output: json.RawMessage("1")})
					i++
				case c.Kind == core.ContinueAsNew:
					first = *c.Successor
				}
			}
			if next == nil {
				break
			}
			step = m.Step(now, next, true)
		}
		if m.State().Frame > every+2 || len(m.State().Tasks) > every+2 {
			t.Fatalf("run %d has %d frames and %d tasks", runs, m.State().Frame, len(m.State().Tasks))
		}
		if state, err := json.Marshal(m.State()); err != nil {
			t.Fatal(err)
		} else {
			largest = max(largest, len(state))
		}
	}
	if runs != iterations/every || largest > 200*every {
		t.Fatalf("%d runs, the largest of %d bytes", runs, largest)
	}
}

func TestLongHistoryIsToldOnce(t *testing.T) {
	s := run(t, mount(T("a"), T("out")))
	long := core.Event{Kind: core.HistoryLong, Name: "10000 frames"}
	s.step(long)
	if s.last.Frame == nil || !s.m.State().Long {
		t.Fatal("it is not in a frame")
	}
	if s.step(long); s.last.Frame != nil {
		t.Fatal("it was told twice")
	}
}

// TestWhatCrossedBringsNoTurnForward: an output of the run before does not make its surroundings begin out of order.
func TestWhatCrossedBringsNoTurnForward(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		last := cairn.Node(handsOn{state: 1, keep: []string{"kept"}})
		if carried(v) == 1 {
			last = T("out")
		}
		return seq(T("first"), seq(T("kept"), T("second")), last)
	})
	s.all("first", "kept", "second")
	s = s.succeed("run.2")
	s.wants("first")
	s.done("first", 1)
	s.wants("second")
	s.all("second", "out")
	s.finished(1)
}
