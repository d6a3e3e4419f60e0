package core_test

import (
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// reopen raises the limit of a failed run, in a new process.
func (s *sim) reopen(def cairn.Definition) {
	s.t.Helper()
	s.restart(def, core.Event{Kind: core.RunReopened})
}

// TestReopenGoesOn: raising Max and resuming goes on where the run was; what is finished stays, and the ways out run anew.
func TestReopenGoesOn(t *testing.T) {
	tree := func(most int64) cairn.Definition {
		return flow(mount(T("first"),
			cairn.Try{ID: "outer", Finally: mount(T("sweep")), Body: seq(
				tokens(most, T("a"), cairn.Try{ID: "inner", Body: par(T("b"), T("c")), Finally: mount(T("tidy"))}))},
			T("out")))
	}
	s := start(t, tree(150))
	s.done("first", 1)
	s.used("a", 150)
	s.wants("tidy") // in the budget, and yet a Finally: it always runs
	s.used("tidy", 1)
	s.done("sweep", 1)
	s.failed(cairn.BudgetExceeded, "#aspects")

	s.reopen(tree(300))
	s.wants("b", "c")
	s.used("b", 100)
	s.done("c", 1)
	s.all("tidy", "sweep", "out")
	s.finished(1)
	for task, times := range map[string]int{"first": 1, "a": 1, "b": 1, "tidy": 2, "sweep": 2} {
		if s.starts[task] != times {
			t.Errorf("%s has run %d times, want %d", task, s.starts[task], times)
		}
	}
}

// TestReopenEachTask: a task that was stopped by a limit on each starts a new series.
func TestReopenEachTask(t *testing.T) {
	tree := func(most int64) cairn.Definition {
		return flow(mount(limited{AspectsSpec: cairn.AspectsSpec{Tokens: cairn.Budget{PerTask: most}}, children: cairn.Nodes{retry(9, T("a"))}}, T("out")))
	}
	s := start(t, tree(100))
	s.failUsing("a", 100)
	s.failed(cairn.BudgetExceeded, "a")
	s.reopen(tree(1000))
	s.used("a", 100)
	s.done("out", 1)
	s.finished(1)
	if s.m.State().Reopened != 1 {
		t.Fatal(s.m.State().Reopened)
	}
}

// TestReopenOnlyAfterABreach: a run that has failed otherwise, or ended well, is final.
func TestReopenOnlyAfterABreach(t *testing.T) {
	s := run(t, mount(T("out")))
	s.fail("out", "BROKEN")
	s.failed("BROKEN", "out")
	s.reopen(s.def)
	s.failed("BROKEN", "out")
	if s.last.Frame != nil {
		t.Fatal("a frame was made")
	}
	s = run(t, mount(tokens(1, T("a"), T("b")), T("out"))) // with other code it stays failed, too
	s.used("a", 1)
	s.reopen(flow(mount(tokens(9, T("a"), T("x")), T("out"))))
	s.failed(cairn.BudgetExceeded, "#aspects")
	s.reopen(flow(mount(tokens(9, T("a"), T("b")), T("out"))))
	s.wants("b")
}
