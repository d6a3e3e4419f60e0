package core_test

import (
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

func TestCancel(t *testing.T) {
	s := run(t, mount(par(T("a"), retry(2, T("b"))), T("out")))
	s.fail("b", "X")
	s.cancel()
	s.stops("a")
	s.status(core.Running)
	if _, ok := s.timers["b"]; ok {
		t.Fatal("a retry of a cancelled run keeps its timer")
	}
	s.lose("a", true)
	s.status(core.CancelledRun)
	if s.commands[len(s.commands)-1].Kind != core.Cancel {
		t.Fatalf("commands %v", s.commands)
	}
}

func TestCancelWithNothingRunning(t *testing.T) {
	s := run(t, mount(retry(2, T("out"))))
	s.fail("out", "X")
	s.cancel()
	s.status(core.CancelledRun)
}

func TestCancelRunsFinally(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Catch: catch("never"), Finally: mount(T("f1"), T("f2"))}, T("out")))
	s.cancel()
	s.stops("a")
	s.done("a", 1)
	s.wants("f1") // CANCELLED is not caught
	s.done("f1", 1)
	s.wants("f2")
	s.resume(s.def)
	s.wants("f2")
	s.done("f2", 1)
	s.status(core.CancelledRun)
	if f := s.m.State().Tries["#try"].Pending; f == nil || f.Code != cairn.Cancelled {
		t.Fatalf("what goes outward is %v", f)
	}
}

func TestCancelledRunsFinallyFails(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Finally: mount(T("f"))}, T("out")))
	s.cancel()
	s.lose("a", true)
	s.fail("f", "X")
	s.status(core.CancelledRun)
}

func TestGrace(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Finally: mount(T("f1"), T("f2"))}, T("out")))
	s.cancel()
	if at := s.timers["#cancel"]; at != epoch+10_000 {
		t.Fatalf("the grace ends at %d", at)
	}
	s.done("a", 1)
	s.wants("f1")
	s.fire("#cancel")
	s.stops("f1") // its time is over
	s.lose("f1", true)
	s.status(core.CancelledRun)
	if s.starts["f2"] != 0 {
		t.Fatal("Finally went on after the grace")
	}
}

func TestGraceIsNotEarly(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Finally: mount(T("f"))}, T("out")))
	s.cancel()
	s.done("a", 1)
	s.now = s.now.Add(9 * time.Second)
	s.step(core.Event{Kind: core.TimerFired, Path: "#cancel"})
	s.wants("f")
}

// TestGraceSurvivesTheProcess: a new owner must end what the old one had promised to.
func TestGraceSurvivesTheProcess(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Finally: mount(T("f"))}, T("out")))
	s.cancel()
	s.done("a", 1)
	s.resume(s.def)
	s.wants("f")
	s.fire("#cancel")
	s.stops("f")
	s.lose("f", true)
	s.status(core.CancelledRun)
}

func TestCancelTwice(t *testing.T) {
	s := run(t, mount(T("out")))
	s.cancel()
	s.now = s.now.Add(time.Second)
	s.cancel()
	if s.last.Frame != nil || s.m.State().Cancelling.Deadline != epoch+10_000 {
		t.Fatal("a second cancel counts")
	}
}

func TestCancelOfAFailingRun(t *testing.T) {
	s := run(t, mount(par(T("a"), T("b"), cairn.Try{Body: T("c"), Finally: mount(T("f"))}), T("out")))
	s.fail("a", "X")
	s.cancel()
	s.lose("b", true)
	s.lose("c", true)
	s.wants("f")
	s.fire("#cancel")
	s.lose("f", true)
	s.failed("X", "a")
}

func TestCancelOfAPausedRun(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Finally: mount(T("f"))}, T("out")))
	s.step(core.Event{Kind: core.PauseAsked})
	s.done("a", 1)
	s.wants()
	s.cancel()
	s.wants("f")
	s.step(core.Event{Kind: core.PauseAsked}) // would keep Finally from running, for nothing
	s.status(core.Running)
	s.done("f", 1)
	s.status(core.CancelledRun)
}

func TestCancelFinallyOrder(t *testing.T) {
	s := run(t, mount(cairn.Try{ID: "o", Body: cairn.Loop{ID: "l", Body: mount(cairn.Try{Body: T("a"), Finally: mount(T("in"))})}, Finally: mount(T("out2"))}, T("out")))
	s.cancel()
	s.lose("l[0]/a", true)
	s.wants("l[0]/in")
	s.done("l[0]/in", 1)
	s.wants("out2")
	s.done("out2", 1)
	s.status(core.CancelledRun)
}

func TestPause(t *testing.T) {
	s := run(t, mount(retry(2, T("a")), T("b"), T("out")))
	s.step(core.Event{Kind: core.PauseAsked})
	s.status(core.Paused)
	if len(s.commands) != 0 {
		t.Fatalf("the run rests while an attempt runs: %v", s.commands)
	}
	s.done("a", 1) // what runs goes on and is kept
	s.wants()
	if s.commands[len(s.commands)-1].Kind != core.Pause {
		t.Fatalf("commands %v", s.commands)
	}
	s.resume(s.def)
	s.status(core.Paused)
	s.wants()
	s.step(core.Event{Kind: core.Unpaused})
	s.wants("b")
	s.all("b", "out")
	s.finished(1)
}

func TestPauseOverATimer(t *testing.T) {
	s := run(t, mount(retry(2, T("out"))))
	s.fail("out", "X")
	s.step(core.Event{Kind: core.PauseAsked})
	s.fire("out")
	s.wants()
	s.resume(s.def)
	s.step(core.Event{Kind: core.Unpaused})
	s.wants("out")
}
