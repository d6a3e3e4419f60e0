package core_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

func TestParallelRunsSideBySide(t *testing.T) {
	s := run(t, mount(par(T("a"), seq(T("b"), T("c"))), T("out")))
	s.wants("a", "b")
	s.done("b", 1)
	s.wants("a", "c")
	s.done("c", 1)
	s.wants("a")
	s.done("a", 1)
	s.wants("out")
}

func TestEmptyParallelPassesPredecessorsOn(t *testing.T) {
	s := run(t, mount(T("a"), par(), par(nil, seq()), T("out")))
	s.wants("a")
	if plan := s.plan(); !strings.Contains(plan, "task out after [a]") {
		t.Fatalf("what comes after an empty Parallel waits for what came before it:\n%s", plan)
	}
	s.done("a", 1)
	s.wants("out")
}

func TestJoinHasOneEdge(t *testing.T) {
	s := run(t, mount(par(T("a"), T("b"), T("c")), par(T("d"), T("e")), T("out")))
	joins := map[string]bool{}
	for _, l := range s.m.Plan() {
		if l.Path == "d" || l.Path == "e" {
			if len(l.After) != 1 || !strings.HasPrefix(l.After[0], "[") {
				t.Fatalf("%s comes after %v, not after one join", l.Path, l.After)
			}
			joins[l.After[0]] = true
		}
	}
	if len(joins) != 1 {
		t.Fatalf("one meeting point has %d names", len(joins))
	}
}

func TestParallelMax(t *testing.T) {
	s := run(t, mount(max2(T("a"), seq(T("b1"), T("b2")), T("c"), T("d")), T("out")))
	s.wants("a", "b1")
	s.done("b1", 1)
	s.wants("a", "b2") // the child keeps its place between its tasks
	s.done("a", 1)
	s.wants("b2", "c")
	s.step(s.doneEvent("b2", 1), s.doneEvent("c", 1))
	s.wants("d")
	s.done("d", 1)
	s.wants("out")
}

func TestParallelMaxOpensByPriority(t *testing.T) {
	s := run(t, mount(max1(T("a"), priority(1, T("b")), priority(2, T("c"))), T("out")))
	for _, path := range []string{"c", "b", "a", "out"} {
		s.wants(path)
		s.done(path, 1)
	}
}

func TestNegativeMaxIsAMistake(t *testing.T) {
	run(t, mount(cairn.Parallel{Max: -1, Children: cairn.Nodes{T("out")}})).blocked(cairn.InvalidTree, "Max -1")
}

func TestParallelMaxNests(t *testing.T) {
	s := run(t, mount(max1(max2(T("a"), T("b"), T("c")), max2(T("d"), T("e"))), T("out")))
	s.wants("a", "b")
	s.all("a")
	s.wants("b", "c")
	s.step(s.doneEvent("b", 1), s.doneEvent("c", 1))
	s.wants("d", "e")
}

// TestPlaceIsKeptAcrossPauses: a child whose task waits for a retry keeps its place, whatever a render puts before it.
func TestPlaceIsKeptAcrossPauses(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		var first cairn.Node
		if cairn.Key[int]("go").Outcome(v).Status == cairn.Done {
			first = T("new")
		}
		return par(T("go"), seq(max1(first, retry(2, T("old"))), T("out")))
	})
	s.done("go", 1)
	s.wants("old") // new was mounted before it and has no place
	s.fail("old", "X")
	s.wants()
	s.resume(s.def)
	s.wants() // nor has it one when the plan is made anew
	s.fire("old")
	s.wants("old")
	s.done("old", 1)
	s.wants("new")
	s.all("new", "out")
	s.finished(1)
}

// TestMaxHoldsForChildrenThatGrow: finished children to which a render adds work get no more places than there are.
func TestMaxHoldsForChildrenThatGrow(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		_, review := cairn.Key[int]("review").Get(v)
		items := cairn.ForEach([]string{"a", "b", "c", "d"}, func(k string) string { return k }, func(v *cairn.View, k string) cairn.Node {
			if review {
				return seq(T("write"), T("fix"), T("check"))
			}
			return T("write")
		})
		return seq(par(cairn.Parallel{Max: 2, Children: items}, T("review")), T("out"))
	})
	s.wants("a/write", "b/write", "review")
	s.step(s.doneEvent("a/write", 1), s.doneEvent("b/write", 1))
	s.all("c/write")
	s.wants("d/write", "review")
	s.done("review", 1) // a, b and c are unfinished again, d holds its place
	s.wants("a/fix", "d/write")
	s.resume(s.def)
	s.wants("a/fix", "d/write")
	s.done("d/write", 1) // its next task comes after those of the children before it
	s.wants("a/fix", "b/fix")
	for len(s.running) > 0 {
		if n := len(s.running); n > 2 {
			t.Fatalf("%d run: %v", n, s.paths())
		}
		s.done(s.running[0].Path, 1)
	}
	s.finished(1)
}

// grows is a scope that gets another task when "go" has ended, by itself.
func grows(id string) cairn.Node {
	return cairn.Scope{ID: id, Body: func(v *cairn.View) cairn.Node {
		if _, ok := cairn.Key[int]("go").Get(v); ok {
			return seq(T("x"), T("y"))
		}
		return T("x")
	}}
}

func TestChildThatGrowsAgain(t *testing.T) {
	s := run(t, mount(par(T("go"), max1(grows("s"), seq(T("b1"), T("b2")), T("c"))), T("out")))
	s.done("s/x", 1)
	s.wants("b1", "go")
	s.done("go", 1)
	s.wants("b1") // s is unfinished again, and the place is taken
	s.resume(s.def)
	s.wants("b1")
	s.done("b1", 1)
	s.wants("s/y") // it comes before b2: it has begun as well and stands before it
	s.resume(s.def)
	s.wants("s/y")
	s.done("s/y", 1)
	s.wants("b2")
	s.all("b2", "c", "out")
	s.finished(1)
}

func TestUncappedChildThatGrowsAgain(t *testing.T) {
	s := run(t, mount(par(T("go"), par(grows("s"), T("b"))), T("out")))
	s.done("s/x", 1)
	s.done("go", 1)
	s.wants("b", "s/y")
}

// TestPlaceOfAChildThatHasNotBegun goes to one that has, when that grows.
func TestPlaceOfAChildThatHasNotBegun(t *testing.T) {
	limit := begin
	limit.Limit = 1
	s := startWith(t, flow(mount(par(max1(grows("s"), T("b")), priority(1, T("go", "s"))), T("out"))), limit)
	s.done("s/x", 1)
	s.wants("go") // b has the place, and waits for the run's limit
	s.done("go", 1)
	s.wants("s/y")
	s.done("s/y", 1)
	s.wants("b")
}

// TestPlaceOfAChildThatShrinks: with the retry it waited for unmounted, it holds its place no longer.
func TestPlaceOfAChildThatShrinks(t *testing.T) {
	s := run(t, mount(par(T("go"), T("drop"), max1(grows("s"), cairn.Scope{ID: "b", Body: func(v *cairn.View) cairn.Node {
		if _, ok := cairn.Key[int]("drop").Get(v); ok {
			return T("q")
		}
		return seq(retry(2, T("r")), T("q"))
	}})), T("out")))
	s.done("s/x", 1)
	s.fail("b/r", "X")
	s.done("go", 1)
	s.wants("drop")
	s.done("drop", 1)
	s.wants("s/y") // nothing has begun in what b is now; in s something has
}

// TestTryThatHasLostItsPlace has begun, so its Finally runs all the same when the run is cancelled.
func TestTryThatHasLostItsPlace(t *testing.T) {
	for _, restart := range []bool{false, true} {
		s := run(t, mount(par(T("go"), max1(grows("s"), cairn.Try{Body: seq(T("b1"), T("b2")), Finally: mount(T("f"))})), T("out")))
		s.done("s/x", 1)
		s.done("go", 1)
		s.done("b1", 1)
		s.wants("s/y")
		if restart {
			s.resume(s.def)
		}
		s.cancel()
		s.lose("s/y", true)
		s.wants("f")
		s.done("f", 1)
		s.status(core.CancelledRun)
		if s.starts["b2"] != 0 {
			t.Fatal("b2 was started")
		}
	}
}

// TestFinallyThatHasLostItsPlace goes on when the run is cancelled.
func TestFinallyThatHasLostItsPlace(t *testing.T) {
	s := run(t, mount(par(T("go"), max1(grows("s"), cairn.Try{Body: T("b"), Finally: mount(T("f1"), T("f2"))})), T("out")))
	s.done("s/x", 1)
	s.done("b", 1)
	s.wants("f1", "go")
	s.done("go", 1)
	s.done("f1", 1)
	s.wants("s/y")
	s.cancel()
	s.wants("f2")
	s.lose("s/y", true)
	s.done("f2", 1)
	s.status(core.CancelledRun)
}

func TestSlotIsRefilledAtOnce(t *testing.T) {
	var kids cairn.Nodes
	for i := range 20 {
		kids = append(kids, T(fmt.Sprint("t", i)))
	}
	s := run(t, mount(cairn.Parallel{Max: 3, Children: kids}, T("out")))
	for range 20 {
		want := min(3, len(s.running))
		s.done(s.running[want-1].Path, 1) // the last started ends first: the slow ones hold up nobody
	}
	s.done("out", 1)
	s.finished(1)
}

// TestBatchLosesNoDecision: the ancestor kept only the last decision of a concurrent batch (smithers.md §14.1).
func TestBatchLosesNoDecision(t *testing.T) {
	s := run(t, mount(max2(retry(2, T("a")), T("b"), T("c")), T("out")))
	s.step(s.failEvent("a", "X"), s.doneEvent("b", 1))
	s.wants("c")
	s.done("c", 1)
	s.wants()
	s.fire("a")
	s.wants("a")
	s.all("a", "out")
	s.finished(1)
}

// TestPlacesThatCannotCome: what holds the only place waits for what has none. Nothing waits for what can't come.
func TestPlacesThatCannotCome(t *testing.T) {
	s := run(t, mount(max1(T("x", "y"), T("y")), T("out")))
	s.blocked(cairn.InvalidTree, "x", "nothing can go on")
	s.resume(flow(mount(max1(T("y"), T("x", "y")), T("out"))))
	s.wants("y")
	s.all("y", "x", "out")
	s.status(core.Finished)
}
