package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestAfterGates: the ancestor's `needs` did not (smithers.md §14.5, smithers032 row 7).
func TestAfterGates(t *testing.T) {
	s := run(t, mount(par(T("x", "a", "b"), T("a"), T("b")), T("out")))
	s.wants("a", "b")
	s.done("a", 1)
	s.wants("b")
	s.done("b", 1)
	s.wants("x")
	if !strings.Contains(s.plan(), "task x after [a b]") {
		t.Fatalf("the edges are not in the plan:\n%s", s.plan())
	}
}

func TestAfterAcrossScopes(t *testing.T) {
	s := run(t, mount(par(
		T("a"),
		cairn.Loop{ID: "l", Max: 2, OnMax: cairn.ReturnLast, Body: mount(cairn.Scope{ID: "s", Body: mount(T("x", "a"))})},
		seq(T("b"), cairn.Scope{ID: "t", Body: mount(T("y", "l"))}, T("z", "t"))), T("out")))
	s.wants("a", "b")
	s.done("b", 1)
	s.wants("a")
	s.done("a", 1)
	s.wants("l[0]/s/x")
	s.done("l[0]/s/x", 1)
	s.wants("l[1]/s/x") // a loop is over when it is, not with an iteration
	s.done("l[1]/s/x", 1)
	s.wants("t/y")
	s.done("t/y", 1)
	s.wants("z")
}

func TestAfterWhatGivesNoValue(t *testing.T) {
	s := run(t, mount(par(optional(T("a")), skipIf(true, T("b")), cairn.Branch{If: false, Then: T("c")}), par(T("x", "a"), T("y", "b"), T("z", "c")), T("out")))
	s.fail("a", "X")
	s.wants("x", "y", "z")
}

func TestAfterOptionalAlone(t *testing.T) {
	s := run(t, mount(par(optional(T("a")), T("x", "a")), T("out")))
	s.wants("a")
	s.fail("a", "X")
	s.wants("x")
}

func TestAfterWhatIsNoLongerMounted(t *testing.T) {
	for name, was := range map[string]cairn.Node{
		"a":    T("a"),
		"loop": cairn.Loop{ID: "loop", Max: 1, OnMax: cairn.ReturnLast, Body: mount(T("a"))},
	} {
		s := run(t, switched(was, seq(T("x", name))))
		for _, path := range []string{"a", "loop[0]/a"} {
			if slices.Contains(s.paths(), path) {
				s.done(path, 1)
			}
		}
		s.done("l[0]/n", 1)
		s.wants("l[1]/n", "out", "x") // out had begun
	}
}

func TestAfterUnknownIsAMistake(t *testing.T) {
	s := run(t, mount(par(T("x", "nope"), T("y", "x")), T("out")))
	s.blocked(cairn.InvalidTree, "x", `After "nope"`)
	s = run(t, mount(cairn.Scope{ID: "s", Body: mount(T("a"))}, T("out", "a")))
	s.blocked(cairn.InvalidTree, `After "a"`) // nobody looks into a scope
}

// TestAfterWhatIsUnmountedUnfinished: it does not come any more, so it is a mistake as of that frame.
func TestAfterWhatIsUnmountedUnfinished(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		var first cairn.Node = T("a")
		if _, ok := b.Get(v); ok {
			first = nil
		}
		return par(T("b"), first, T("out", "a"))
	})
	s.done("b", 1)
	s.blocked(cairn.InvalidTree, `After "a"`)
}

func TestAfterCyclesAreMistakes(t *testing.T) {
	for name, tree := range map[string]cairn.Node{
		"of two":                 par(T("x", "y"), T("y", "x")),
		"of one":                 par(T("x", "x"), T("y")),
		"with the order":         seq(T("x", "y"), T("y")),
		"with a loop around it":  cairn.Loop{ID: "y", Body: mount(T("x", "y"))},
		"with a scope around it": cairn.Scope{ID: "y", Body: mount(T("x", "y"))},
		"through groups":         seq(par(seq(T("b"), T("x", "y")), T("c")), T("y")),
		"with a try's order":     seq(cairn.Try{Body: T("x", "y")}, T("y")),
	} {
		t.Run(name, func(t *testing.T) {
			s := run(t, mount(tree, T("out")))
			s.blocked(cairn.InvalidTree, "x")
			if n := len(s.running); n > 0 {
				t.Fatalf("%d tasks started in a tree with a mistake", n)
			}
		})
	}
}

func TestLongCycleIsNamedWhole(t *testing.T) {
	s := run(t, mount(par(T("a", "c"), T("b", "a"), T("c", "b"), T("d", "a")), T("out")))
	s.blocked(cairn.InvalidTree, "a, b, c")
}

func TestAfterATryThatCaught(t *testing.T) {
	s := run(t, mount(par(
		cairn.Try{Body: seq(T("a"), T("never")), Catch: func(*cairn.View, cairn.Failure) cairn.Node { return T("c", "never") }},
		T("x", "a"), T("y", "never")), T("out")))
	s.fail("a", "X")
	s.wants("c") // in Catch the body is over; outside, only the whole is
	s.done("c", 1)
	s.wants("x", "y")
	s.all("x", "y", "out")
	s.finished(1)
}

// TestFinallyAfterWhatWillNotCome: in a run that fails, a Finally must not wait for what has been given up around it.
func TestFinallyAfterWhatWillNotCome(t *testing.T) {
	s := run(t, mount(par(T("a"), T("b"), seq(T("c"), T("d")), cairn.Try{Body: T("e"), Finally: mount(par(T("fa", "a"), T("fb", "b"), T("fd", "d"), T("f2", "fb")))}), T("out")))
	s.fail("a", "X")
	s.stops("b", "c", "e")
	s.lose("e", true)
	s.wants("fa", "fd") // b still runs: that is waited for
	s.lose("b", true)   // stopped, without an outcome
	s.wants("fa", "fb", "fd")
	s.all("fa", "fb", "fd")
	s.wants("f2")
	s.done("f2", 1)
	s.status(core.Running)
	s.lose("c", true)
	s.failed("X", "a")
}

// TestAfterStaysWithWhatIsRenderedAnew: a task outside of a scope that renders again still waits for it.
func TestAfterStaysWithWhatIsRenderedAnew(t *testing.T) {
	s := run(t, mount(par(T("go"), cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node {
		cairn.Key[int]("go").Get(v)
		return T("in")
	}}, T("x", "s")), T("out")))
	s.done("go", 1)
	s.wants("s/in")
	s.done("s/in", 1)
	s.wants("x")
}

// TestFinallyThatWaitsWhenTheRunFails for what was still to come: that does not come any more.
func TestFinallyThatWaitsWhenTheRunFails(t *testing.T) {
	s := run(t, mount(par(T("a"), seq(T("b"), T("c")), cairn.Try{Finally: mount(par(T("f"), T("g", "c")))}), T("out")))
	s.wants("a", "b", "f")
	s.fail("a", "X")
	s.wants("f", "g")
	s.all("f", "g")
	s.lose("b", true)
	s.failed("X", "a")
}
