package core_test

import (
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestBreachDrains: what runs beside a breach is paid for. It is not told to stop, its result counts, and Catch waits.
func TestBreachDrains(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: par(T("a"), T("b"), retry(3, T("c"))), Catch: catch("catch")}, T("out")))
	s.fail("a", cairn.BudgetExceeded)
	s.stops()
	s.wants("b", "c")
	s.done("b", 2)
	s.fail("c", "BROKEN") // no attempt follows: its part is closed
	s.wants("catch")
	if b, c := s.m.State().Tasks["b"], s.m.State().Tasks["c"]; b.Status != core.TaskFinished || c.Status != core.TaskCancelled {
		t.Fatalf("b is %s and c is %s", b.Status, c.Status)
	}
	s.all("catch", "out")
	s.finished(1)
}

// TestDrainingIsCancelledAfterAll: a cancellation of the run, or another failure around it, does not wait for what drains.
func TestDrainingIsCancelledAfterAll(t *testing.T) {
	body := mount(par(T("x"), cairn.Try{Body: par(T("a"), T("b")), Catch: catch("catch")}), T("out"))
	s := run(t, body)
	s.fail("a", cairn.BudgetExceeded)
	s.stops()
	s.fail("x", "BROKEN")
	s.stops("b")
	s.done("b", 1)
	s.failed("BROKEN", "x")

	s = run(t, body)
	s.fail("a", cairn.BudgetExceeded)
	s.cancel()
	s.stops("b", "x")

	s = run(t, mount(par(T("a"), T("b")), T("out"))) // nobody catches it: the root drains
	s.fail("a", cairn.BudgetExceeded)
	s.stops()
	s.cancel()
	s.stops("b")
}

// TestDrainingDoesNotSurviveAKill: what was lost with its process is not started again in a closed part.
func TestDrainingDoesNotSurviveAKill(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: par(T("a"), T("b")), Catch: catch("catch")}, T("out")))
	s.fail("a", cairn.BudgetExceeded)
	s.resume(s.def)
	s.wants("catch")
}
