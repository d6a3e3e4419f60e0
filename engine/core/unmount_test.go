package core_test

import (
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// switched mounts nodes by the latest value of a task "n" in a loop: 0 before the first. A negative one ends the loop
// and mounts the last side.
func switched(sides ...cairn.Node) renderFunc {
	return func(v *cairn.View) cairn.Node {
		n, _ := cairn.Key[int]("n").Latest(v)
		if n < 0 {
			n = len(sides) - 1
		}
		return par(cairn.Loop{ID: "l", Max: 9, OnMax: cairn.ReturnLast,
			Until: func(v *cairn.View) bool { n, _ := cairn.Key[int]("n").Get(v); return n < 0 },
			Body:  mount(T("n"))}, seq(sides[n], T("out")))
	}
}

func TestUnmountedPendingIsForgotten(t *testing.T) {
	s := run(t, switched(seq(T("a"), T("b")), T("a")))
	s.done("l[0]/n", 1)
	s.wants("a", "l[1]/n")
	if len(s.last.Frame.Plan.Gone) != 2 || s.m.State().Tasks["b"] != nil {
		t.Fatalf("plan %+v", s.last.Frame.Plan)
	}
	s.done("a", 1)
	s.wants("l[1]/n", "out")
}

func TestUnmountedRetryIsForgotten(t *testing.T) {
	var o cairn.Outcome[int]
	s := run(t, func(v *cairn.View) cairn.Node {
		o = cairn.Key[int]("a").Outcome(v)
		return switched(retry(2, T("a")), nil)(v)
	})
	s.fail("a", "X")
	if o.Status != cairn.Pending {
		t.Fatalf("a task that is tried again has an outcome: %+v", o)
	}
	s.done("l[0]/n", 1)
	if _, ok := s.timers["a"]; ok {
		t.Fatal("its timer is still set")
	}
	if o.Status != cairn.Stopped {
		t.Fatalf("the render that reads its outcome was not repeated: %+v", o)
	}
	s.done("l[1]/n", 0) // mounted again, it starts anew, with all its attempts, under a new number
	s.wants("a", "l[2]/n", "out")
	if got := s.attempt("a").Attempt; got != 2 {
		t.Fatalf("attempt %d", got)
	}
	s.fail("a", "X")
	if _, ok := s.timers["a"]; !ok {
		t.Fatal("it did not get all its attempts")
	}
}

func TestUnmountedRunningIsCancelledAndDiscarded(t *testing.T) {
	s := run(t, switched(T("a"), nil))
	s.done("l[0]/n", 1)
	s.stops("a")
	s.wants("l[1]/n", "out")
	e := s.doneEvent("a", 9)
	e.Effects = []cairn.Effect{{Kind: "mail"}}
	s.step(e)
	if a := s.m.State().Tasks["a"]; a.Status != core.TaskCancelled || a.Output != nil || len(s.last.Effects) != 0 {
		t.Fatalf("a discarded result counts: %+v, effects %v", a, s.last.Effects)
	}
	if len(s.last.Frame.Events) != 1 || string(s.last.Frame.Events[0].Output) != "9" {
		t.Fatalf("what was discarded is not recorded: %s", s.last.Body)
	}
	s.done("l[1]/n", 0)
	if got := s.attempt("a").Attempt; got != 2 {
		t.Fatalf("mounted again it has attempt %d", got)
	}
}

// TestUnmountedRunIsWaitedFor: a run does not end over a running attempt.
func TestUnmountedRunIsWaitedFor(t *testing.T) {
	s := run(t, switched(T("a"), nil))
	s.done("l[0]/n", 1)
	s.step(s.doneEvent("l[1]/n", -1), s.doneEvent("out", 5))
	s.status(core.Running)
	s.fail("a", "X") // nobody minds
	s.finished(5)
}

// TestRemountedWhileStopping: mounted again before its attempt has ended, it runs anew afterwards.
func TestRemountedWhileStopping(t *testing.T) {
	s := run(t, switched(T("a"), nil))
	s.done("l[0]/n", 1)
	s.stops("a")
	s.done("l[1]/n", 0)
	s.stops("a")
	s.done("a", 9)
	if got := s.attempt("a").Attempt; got != 2 {
		t.Fatalf("attempt %d", got)
	}
}

func TestUnmountedFinishedStays(t *testing.T) {
	var got int
	s := run(t, func(v *cairn.View) cairn.Node {
		got, _ = cairn.Key[int]("a").Get(v)
		return switched(seq(T("a"), T("b")), T("c"))(v)
	})
	s.done("a", 7)
	s.done("l[0]/n", 1)
	s.stops("b")
	s.done("b", 1)
	if got != 7 {
		t.Fatal("the result of an unmounted task is gone")
	}
	s.done("l[1]/n", 0)
	s.wants("b", "l[2]/n")
	if s.starts["a"] != 1 {
		t.Fatal("a finished task was started again")
	}
	s.done("b", 1)
	s.wants("l[2]/n", "out")
}

func TestUnmountedLoopGoesOnWhereItWas(t *testing.T) {
	s := run(t, switched(cairn.Loop{ID: "w", Max: 3, OnMax: cairn.ReturnLast, Body: mount(T("x"))}, nil))
	s.done("w[0]/x", 1)
	s.wants("l[0]/n", "w[1]/x")
	s.done("l[0]/n", 1)
	s.lose("w[1]/x", true)
	s.done("l[1]/n", 0)
	s.wants("l[2]/n", "out", "w[1]/x")
}

func TestUnmountedFailureIsForgotten(t *testing.T) {
	s := run(t, switched(retry(2, T("a")), nil))
	s.done("l[0]/n", 1)
	s.fail("a", "X")
	s.status(core.Running)
	s.wants("l[1]/n", "out")
}
