package core_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

func TestEventsOfOneStepAreRenderedOnce(t *testing.T) {
	renders := 0
	s := single(t, flow(func(v *cairn.View) cairn.Node {
		renders++
		cairn.Key[int]("a").Get(v)
		cairn.Key[int]("b").Get(v)
		return seq(par(T("a"), T("b"), T("c")), T("out"))
	}))
	renders = 0
	s.step(s.doneEvent("a", 1), s.doneEvent("b", 1))
	if renders != 1 {
		t.Fatalf("two events that touch one scope gave %d renders", renders)
	}
	s.done("c", 1)
	if renders != 1 {
		t.Fatal("an outcome that nobody reads was rendered")
	}
	s.done("out", 7)
	s.finished(7)
}

func TestRenderStartsAtOutermostTouchedScope(t *testing.T) {
	var root, left, right int
	a := cairn.Key[int]("a")
	s := single(t, flow(func(v *cairn.View) cairn.Node {
		root++
		captured, _ := cairn.Key[int]("b").Get(v)
		return seq(par(T("a"), T("b")),
			cairn.Scope{ID: "left", Body: func(v *cairn.View) cairn.Node {
				left++
				a.Get(v)
				n := T("x")
				n.input = func(*cairn.View) string { return string(rune('0' + captured)) }
				return n
			}},
			cairn.Scope{ID: "right", Body: func(v *cairn.View) cairn.Node { right++; return T("y") }}, T("out"))
	}))
	root, left, right = 0, 0, 0
	s.done("a", 1)
	if root != 0 || left != 1 || right != 0 {
		t.Fatalf("only the left scope reads a; renders: root %d, left %d, right %d", root, left, right)
	}
	s.done("b", 5)
	if root != 1 || left != 2 || right != 1 {
		t.Fatalf("the root reads b and all closures below it are made anew; renders: root %d, left %d, right %d", root, left, right)
	}
	// The prompt was built by the inner closure of the last render of the root: it must see what that one captured.
	if got := string(s.attempt("left/x").Input); got != `"5"` {
		t.Fatalf("a stale closure made the prompt %s", got)
	}
}

func TestStaleEventsHaveNoEffect(t *testing.T) {
	s := run(t, mount(T("a"), T("out")))
	done := s.doneEvent("a", 1)
	s.step(done)
	n := len(s.bodies)
	for name, e := range map[string]core.Event{
		"delivered twice":        done,
		"of an attempt to come":  {Kind: core.TaskDone, Path: "out", Attempt: 2, Output: json.RawMessage("9")},
		"of an unknown task":     {Kind: core.TaskFailed, Path: "nope", Attempt: 1},
		"a lost one":             {Kind: core.TaskLost, Path: "a", Attempt: 1},
		"a second start":         begin,
		"a timer nobody set":     {Kind: core.TimerFired, Path: "a"},
		"a timer of no node":     {Kind: core.TimerFired, Path: "x/y"},
		"a cancel's timer":       {Kind: core.TimerFired, Path: "#cancel"},
		"an unpause":             {Kind: core.Unpaused},
		"an inbox item of frame": {Kind: core.Unpaused, Seq: 0},
	} {
		if s.step(e); s.last.Frame != nil || len(s.commands) > 0 {
			t.Errorf("%s: %s %v", name, s.last.Body, s.commands)
		}
	}
	if len(s.bodies) != n {
		t.Fatalf("%d frames of events without effect", len(s.bodies)-n)
	}
	s.done("out", 1)
	s.finished(1)
	if s.step(core.Event{Kind: core.CancelAsked}); s.last.Frame != nil {
		t.Fatal("a frame after the end")
	}
}

func TestInboxItemsAreTakenOnce(t *testing.T) {
	s := run(t, mount(T("out")))
	item := core.Event{Kind: core.SignalReceived, Name: "go", Seq: 3}
	s.step(item)
	if s.last.Consumed != 3 || s.m.State().Inbox != 3 {
		t.Fatalf("consumed %d, inbox %d", s.last.Consumed, s.m.State().Inbox)
	}
	if s.step(item); s.last.Frame != nil {
		t.Fatal("an item was taken twice")
	}
	// One that has no effect is taken all the same: it must not come again for ever.
	for i, kind := range []core.EventKind{core.Unpaused, core.PauseAsked, core.PauseAsked, core.Unpaused, core.CancelAsked, core.CancelAsked} {
		seq := int64(4 + i)
		if s.step(core.Event{Kind: kind, Seq: seq}); s.last.Consumed != seq {
			t.Fatalf("item %d, %s, was not taken", seq, kind)
		}
	}
}

func TestNothingHappensBeforeTheStart(t *testing.T) {
	s := idle(t, flow(mount(T("out"))))
	s.step(core.Event{Kind: core.CancelAsked}, core.Event{Kind: core.TaskDone, Path: "out", Attempt: 1})
	if s.last.Frame != nil {
		t.Fatalf("a frame of a run that has not started: %s", s.last.Body)
	}
	s.step(begin)
	s.wants("out")
}

func TestStoppingOwnerStartsNothing(t *testing.T) {
	s := run(t, mount(T("a"), T("b"), T("out")))
	s.stepped(false, s.doneEvent("a", 1))
	s.wants()
	if !s.last.Frame.Stopping {
		t.Fatal("the frame does not tell that its owner was stopping")
	}
	s.resume(s.def)
	s.wants("b")
}

func TestTimeNeverGoesBack(t *testing.T) {
	var seen []int64
	s := single(t, flow(func(v *cairn.View) cairn.Node {
		seen = append(seen, v.Now().UnixMilli())
		return seq(T("a"), T("b"), T("out"))
	}))
	s.now = s.now.Add(-time.Hour)
	s.done("a", 1)
	if s.last.Frame.Time != epoch {
		t.Fatalf("the frame's time is %d", s.last.Frame.Time)
	}
	s.now = s.now.Add(2 * time.Hour)
	s.done("b", 1)
	for i := range seen[1:] {
		if seen[i+1] < seen[i] {
			t.Fatalf("a View's Now went back: %v", seen)
		}
	}
	if last := seen[len(seen)-1]; last != s.now.UnixMilli() {
		t.Fatalf("Now is %d, not the frame's time", last)
	}
}

// TestPlanOfThePastIsRenderedAtItsTime: a tree that depends on the time is no divergence after a night's sleep.
func TestPlanOfThePastIsRenderedAtItsTime(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		var late cairn.Node
		if v.Now().UnixMilli() > epoch+1000 {
			late = T("late")
		}
		return seq(T("a"), late, T("out"))
	})
	s.now = s.now.Add(time.Hour)
	s.resume(s.def)
	s.status(core.Running)
	s.done("a", 1)
	s.wants("late")
}

func TestEffectsAreThoseOfAcceptedResults(t *testing.T) {
	s := run(t, mount(T("a"), T("out")))
	e := s.doneEvent("a", 1)
	e.Effects = []cairn.Effect{{Kind: "mail"}, {Kind: "mail"}}
	s.step(e)
	if len(s.last.Effects) != 2 || s.last.Effects[0].ID != "run/a@1#0" || s.last.Effects[1].ID != "run/a@1#1" {
		t.Fatalf("effects: %+v", s.last.Effects)
	}
	if s.step(e); len(s.last.Effects) != 0 {
		t.Fatal("effects of a stale result")
	}
}

func TestLabelsAreThoseOfAcceptedResults(t *testing.T) {
	s := run(t, mount(T("a"), T("b"), T("out")))
	e := s.doneEvent("a", 1)
	e.Label = &core.CacheLabel{Key: "k", Schema: "s"}
	s.step(e)
	if len(s.last.Labelled) != 1 || s.last.Labelled[0].Key != "k" || s.last.Labelled[0].Path != "a" || string(s.last.Labelled[0].Output) != "1" || s.last.Labelled[0].Hit {
		t.Fatalf("labelled: %+v", s.last.Labelled)
	}
	if s.step(e); len(s.last.Labelled) != 0 {
		t.Fatal("a label of a stale result")
	}
	e = s.doneEvent("b", 2)
	e.Label, e.Cached = &core.CacheLabel{Key: "k"}, true
	if s.step(e); len(s.last.Labelled) != 1 || !s.last.Labelled[0].Hit {
		t.Fatalf("labels of a hit: %+v", s.last.Labelled)
	}
	if tasks := s.m.State().Tasks; tasks["a"].Cached || !tasks["b"].Cached || !strings.Contains(string(s.bodies[len(s.bodies)-1]), `"cached":true`) {
		t.Errorf("cached outputs are not told apart: %s", s.bodies[len(s.bodies)-1])
	}
	s.wants("out")
	failed := s.failEvent("out", "A")
	failed.Label, failed.Cached = &core.CacheLabel{Key: "k"}, true
	if s.step(failed); len(s.last.Labelled) != 0 || strings.Contains(string(s.bodies[len(s.bodies)-1]), "cached") {
		t.Errorf("a failure is cached: %s", s.bodies[len(s.bodies)-1])
	}
}

func TestFramesAreChained(t *testing.T) {
	s := run(t, mount(T("a"), T("out")))
	s.all("a", "out")
	prev := ""
	for i, body := range s.bodies {
		f, err := core.Decode(body)
		if err != nil || f.N != int64(i+1) || f.Prev != prev {
			t.Fatalf("frame %d: number %d, after %q, want %q: %v", i+1, f.N, f.Prev, prev, err)
		}
		prev = core.Hash(body)
	}
	f, _ := core.Decode(s.bodies[1])
	for what, state := range map[string]*core.State{"a gap": core.NewState()} {
		if err := state.Fold(f, core.Hash(s.bodies[1])); err == nil {
			t.Errorf("%s was folded", what)
		}
	}
	first, _ := core.Decode(s.bodies[0])
	forged := core.NewState()
	if err := forged.Fold(first, "another hash"); err != nil {
		t.Fatal(err)
	}
	if err := forged.Fold(f, core.Hash(s.bodies[1])); err == nil {
		t.Error("a frame after another frame was folded")
	}
}

// TestOutputsAreTheSameReadOrRemembered: what a task gave must not depend on whether the owner still has its bytes.
func TestOutputsAreTheSameReadOrRemembered(t *testing.T) {
	s := run(t, mount(T("a"), T("out")))
	e := s.doneEvent("a", 1)
	e.Output = json.RawMessage("  1\n")
	s.step(e)
	if got := string(s.m.State().Tasks["a"].Output); got != "1" {
		t.Fatalf("the output is %q", got)
	}
	s.done("out", 2)
	s.finished(2)
}

// TestUnusableResultFailsItsTask: bytes that are no JSON (a NaN, say) must be the task's failure, not the engine's crash.
func TestUnusableResultFailsItsTask(t *testing.T) {
	s := run(t, mount(retry(3, T("out"))))
	e := s.doneEvent("out", 1)
	e.Output = json.RawMessage("NaN")
	s.step(e)
	s.failed(cairn.InvalidOutput, "out")
}

func TestFailureIsStoredAsItWillBeRead(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Finally: mount(T("f"))}, T("out")))
	e := s.failEvent("a", "X")
	e.Failure.Message, e.Failure.Detail = "bad \xff text", json.RawMessage("{")
	s.step(e) // the twin forgets and reads nothing but what was stored
	s.done("f", 1)
	if got := s.failed("X", "a").Message; got != "bad \ufffd text" {
		t.Fatalf("message %q", got)
	}
}

func TestFailureWithoutAReasonIsAFailure(t *testing.T) {
	s := run(t, mount(T("out")))
	st := s.take("out")
	s.step(core.Event{Kind: core.TaskFailed, Path: "out", Attempt: st.Attempt})
	s.failed(cairn.TaskFailed, "out")
}
