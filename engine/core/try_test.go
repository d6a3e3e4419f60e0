package core_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// catch mounts a task, whatever the failure.
func catch(id string) func(v *cairn.View, f cairn.Failure) cairn.Node {
	return func(*cairn.View, cairn.Failure) cairn.Node { return T(id) }
}

func TestTryCatchesAndRunsFinally(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: par(T("a"), T("b")), Catch: catch("catch"), Finally: mount(T("finally"))}, T("out")))
	s.wants("a", "b")
	s.fail("a", "BROKEN")
	s.stops("b")
	s.wants() // b was told to stop and has not settled: Catch waits
	s.done("b", 1)
	s.wants("catch")
	s.done("catch", 1)
	s.wants("finally")
	s.done("finally", 1)
	s.wants("out")
	s.done("out", 1)
	s.finished(1)
}

func TestFinallyOnSuccess(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Catch: catch("catch"), Finally: mount(T("finally"))}, T("out")))
	s.done("a", 1)
	s.wants("finally")
	s.done("finally", 1)
	s.wants("out")
}

// TestCatchIsAFunctionOfTheFailure: the ancestor's function catch was never mounted (smithers032, row 3).
func TestCatchIsAFunctionOfTheFailure(t *testing.T) {
	var got cairn.Failure
	s := run(t, mount(cairn.Try{Body: T("a"), Catch: func(v *cairn.View, f cairn.Failure) cairn.Node {
		got = f
		return T("catch-" + string(f.Code))
	}}, T("out")))
	s.fail("a", "BROKEN")
	s.wants("catch-BROKEN")
	if !errors.Is(&got, cairn.Code("BROKEN")) || got.Path != "a" || got.Attempt != 1 || got.Message != "no" {
		t.Fatalf("Catch was given %+v", got)
	}
	s.resume(s.def)
	s.wants("catch-BROKEN")
}

func TestTryCatchesOnly(t *testing.T) {
	for _, c := range []struct {
		only   cairn.Codes
		caught bool
	}{{nil, true}, {cairn.Codes{"X", "Y"}, true}, {cairn.Codes{"Z"}, false}} {
		s := run(t, mount(cairn.Try{Body: T("a"), Only: c.only, Catch: catch("catch"), Finally: mount(T("finally"))}, T("out")))
		s.fail("a", "Y")
		if c.caught {
			s.wants("catch")
			s.all("catch", "finally", "out")
			s.finished(1)
			continue
		}
		s.wants("finally")
		s.done("finally", 1)
		s.failed("Y", "a") // the failure itself, not another in its place
	}
}

func TestTryWithoutCatchPassesOutward(t *testing.T) {
	s := run(t, mount(cairn.Try{ID: "outer", Only: cairn.Codes{"X"}, Catch: catch("catch"),
		Body: cairn.Try{ID: "inner", Body: T("a"), Finally: mount(T("finally"))}}, T("out")))
	s.fail("a", "X")
	s.wants("finally")
	s.done("finally", 1)
	s.wants("catch")
	s.all("catch", "out")
	s.finished(1)
}

func TestNestedTries(t *testing.T) {
	nested := func(inner cairn.Try) *sim {
		inner.ID, inner.Body = "inner", seq(T("a"), T("never"))
		return run(t, mount(cairn.Try{ID: "outer", Catch: catch("outer-catch"), Body: seq(inner, T("rest"))}, T("out")))
	}
	t.Run("the inner one catches", func(t *testing.T) {
		s := nested(cairn.Try{Catch: catch("inner-catch")})
		s.fail("a", "X")
		s.all("inner-catch", "rest", "out")
		s.finished(1)
	})
	t.Run("the inner one is not for it", func(t *testing.T) {
		s := nested(cairn.Try{Catch: catch("inner-catch"), Only: cairn.Codes{"OTHER"}})
		s.fail("a", "X")
		s.wants("outer-catch")
		s.all("outer-catch", "out")
		s.finished(1)
	})
	t.Run("the inner catch fails", func(t *testing.T) {
		s := nested(cairn.Try{Catch: catch("inner-catch"), Finally: mount(T("inner-finally"))})
		s.fail("a", "X")
		s.fail("inner-catch", "Y")
		s.wants("inner-finally")
		s.done("inner-finally", 1)
		s.wants("outer-catch")
		f := s.m.State().Tries["#outer"].Caught
		if f.Code != "Y" || f.Cause == nil || f.Cause.Code != "X" || !errors.Is(f, cairn.Code("X")) {
			t.Fatalf("the outer Catch was given %+v", f)
		}
	})
}

func TestFailingFinally(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Catch: catch("catch"), Finally: mount(T("f1"), T("f2"))}, T("out")))
	s.done("a", 1)
	s.fail("f1", "F")
	if f := s.failed("F", "f1"); f.Cause != nil {
		t.Fatalf("a cause out of nowhere: %v", f.Cause)
	}

	s = run(t, mount(cairn.Try{Body: T("a"), Finally: mount(T("f"))}, T("out")))
	s.fail("a", "A")
	s.fail("f", "F")
	if f := s.failed("F", "f"); f.Cause == nil || f.Cause.Code != "A" {
		t.Fatalf("the failure that Finally's replaced is lost: %+v", f)
	}
}

// TestCausesAreNotLost: a failure with a cause of its own keeps it, and gets the one it replaces below.
func TestCausesAreNotLost(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Catch: catch("c"), Finally: mount(T("f"))}, T("out")))
	s.fail("a", "A")
	e := s.failEvent("c", "C")
	e.Failure.Cause = &cairn.Failure{Code: "C2"}
	s.step(e)
	s.fail("f", "F")
	var chain []cairn.Code
	for f := s.m.State().Failure; f != nil; f = f.Cause {
		chain = append(chain, f.Code)
	}
	if fmt.Sprint(chain) != "[F C C2 A]" {
		t.Fatalf("causes %v", chain)
	}
}

func TestTryInLoopCatchesPerIteration(t *testing.T) {
	s := run(t, mount(cairn.Loop{ID: "l", Max: 3, OnMax: cairn.ReturnLast, Body: mount(cairn.Try{
		Body: T("a"), Catch: catch("catch"), Finally: mount(T("f"))})}, T("out")))
	s.fail("l[0]/a", "X")
	s.all("l[0]/catch", "l[0]/f")
	s.wants("l[1]/a") // the failure stayed with its iteration
	s.all("l[1]/a", "l[1]/f")
	s.fail("l[2]/a", "X")
	s.all("l[2]/catch", "l[2]/f", "out")
	s.finished(1)
}

func TestSeveralFailuresAtOnce(t *testing.T) {
	for _, order := range [][]string{{"a", "b"}, {"b", "a"}} {
		s := run(t, mount(cairn.Try{Body: par(T("a"), T("b"), T("c")), Catch: catch("catch")}, T("out")))
		s.step(s.failEvent(order[0], "X"), s.failEvent(order[1], "Y"), s.doneEvent("c", 3))
		s.wants("catch")
		if f := s.m.State().Tries["#try"].Caught; f.Path != order[0] {
			t.Fatalf("the first failure counts, Catch was given %v", f)
		}
		if st := s.m.State().Tasks[order[1]]; st.Status != core.TaskGaveUp || st.Failure.Code != "Y" {
			t.Fatalf("the other failure is lost: %+v", st)
		}
		if st := s.m.State().Tasks["c"]; st.Status != core.TaskFinished {
			t.Fatalf("a result that came with a failure is lost: %+v", st)
		}
		s.all("catch", "out")
		s.finished(1)
	}
}

// TestFailureAndResultInOneStep in either order keep the result, and start nothing in a Try that is closed.
func TestFailureAndResultInOneStep(t *testing.T) {
	for _, first := range []string{"a", "b"} {
		s := run(t, mount(cairn.Try{Body: par(T("a"), seq(T("b"), T("next"))), Catch: catch("catch")}, T("out")))
		failed, done := s.failEvent("a", "X"), s.doneEvent("b", 1)
		if first == "a" {
			s.step(failed, done)
		} else {
			s.step(done, failed)
		}
		s.wants("catch")
		if s.m.State().Tasks["b"].Status != core.TaskFinished || s.starts["next"] > 0 {
			t.Fatalf("b is %+v, next was started %d times", s.m.State().Tasks["b"], s.starts["next"])
		}
	}
}

func TestSiblingsInFlightSettleBeforeCatch(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: par(T("a"), T("b"), retry(3, T("c")), cairn.Scope{ID: "s", Body: mount(T("d"))}, seq(T("e"), T("never"))), Catch: catch("catch")}, T("out")))
	s.fail("c", "FLAKY") // c waits for its second attempt
	s.fail("a", "X")
	s.stops("b", "e", "s/d")
	s.wants()
	if _, ok := s.timers["c"]; ok || s.m.State().Tasks["c"].Status != core.TaskCancelled {
		t.Fatalf("a retry that will not come keeps its timer: %+v", s.m.State().Tasks["c"])
	}
	s.done("b", 1)        // finished in spite of it: paid work is kept
	s.fail("s/d", "LATE") // its failure is part of having been stopped
	s.wants()
	s.lose("e", true)
	s.wants("catch")
	for path, want := range map[string]core.TaskStatus{"b": core.TaskFinished, "s/d": core.TaskCancelled, "e": core.TaskCancelled, "c": core.TaskCancelled} {
		if got := s.m.State().Tasks[path].Status; got != want {
			t.Errorf("%s is %s, want %s", path, got, want)
		}
	}
	s.all("catch", "out")
	s.finished(1)
}

func TestTryWithNothingStarted(t *testing.T) {
	limit := begin
	limit.Limit = 1
	s := startWith(t, flow(mount(par(T("a"), cairn.Try{ID: "waits", Body: T("b"), Finally: mount(T("f"))}), seq(cairn.Try{ID: "later", Body: T("c"), Finally: mount(T("g"))}), T("out"))), limit)
	s.fail("a", "X")
	s.wants("f") // its turn had come: it may have counted on its Finally; that of the later one had not
	s.done("f", 1)
	s.failed("X", "a")
	if s.starts["g"]+s.starts["b"]+s.starts["c"] != 0 {
		t.Fatalf("starts: %v", s.starts)
	}
}

func TestFinallyOfSiblingsWhenTheRunFails(t *testing.T) {
	s := run(t, mount(par(
		T("a"),
		cairn.Try{ID: "body", Body: T("b"), Finally: mount(T("bf"))},
		cairn.Try{ID: "deep", Body: cairn.Try{ID: "in", Body: T("c"), Catch: catch("never1"), Finally: mount(T("cf"))}, Catch: catch("never2"), Finally: mount(T("df"))},
		cairn.Try{ID: "catching", Body: T("d"), Catch: catch("dc"), Finally: mount(T("ddf"))},
		cairn.Try{ID: "finishing", Body: nil, Finally: mount(T("e1"), T("e2"))},
	), T("out")))
	s.fail("d", "D")
	s.wants("a", "b", "c", "dc", "e1")
	s.fail("a", "X")
	s.stops("b", "c", "dc")
	s.wants("e1") // a Finally under way goes on
	s.lose("b", true)
	s.wants("bf", "e1")
	s.lose("c", true)
	s.wants("bf", "cf", "e1") // inside out
	s.fail("dc", "Y")
	s.wants("bf", "cf", "ddf", "e1")
	s.resume(s.def)
	s.wants("bf", "cf", "ddf", "e1")
	s.all("bf", "cf")
	s.wants("ddf", "df", "e1")
	s.all("ddf", "df", "e1")
	s.wants("e2")
	s.done("e2", 1)
	s.failed("X", "a")
}

func TestCatchThatMountsNothing(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Catch: func(*cairn.View, cairn.Failure) cairn.Node { return nil }}, T("out")))
	s.fail("a", "X")
	s.wants("out")
}

func TestTryThatIsEmpty(t *testing.T) {
	s := run(t, mount(cairn.Try{}, T("out")))
	s.wants("out")
}

func TestTryAroundOptional(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: optional(T("a")), Catch: catch("catch")}, T("out")))
	s.fail("a", "X")
	s.wants("out")
}

// TestFailureOfAFailedTryIsNotForgotten: mounted again elsewhere, it fails what is around it, and is not waited for.
func TestFailureOfAFailedTryIsNotForgotten(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		inner := cairn.Try{ID: "inner", Body: T("a"), Finally: mount(T("f"))}
		if _, ok := cairn.Key[int]("rescue").Get(v); ok {
			return seq(inner, T("out"))
		}
		return cairn.Try{ID: "outer", Body: inner, Catch: catch("rescue")}
	})
	s.fail("a", "X")
	s.all("f", "rescue")
	s.failed("X", "a")
}

// TestNothingStartsInABodyThatIsOver though a render adds to it while Finally runs.
func TestNothingStartsInABodyThatIsOver(t *testing.T) {
	s := run(t, mount(par(T("go"), cairn.Try{
		Body: cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node {
			if _, ok := cairn.Key[int]("go").Get(v); ok {
				return seq(T("x"), T("late"))
			}
			return T("x")
		}},
		Finally: mount(T("f")),
	}), T("out")))
	s.done("s/x", 1)
	s.wants("f", "go")
	s.done("go", 1)
	s.wants("f")
	s.done("f", 1)
	s.wants("out")
	s.done("out", 1)
	s.finished(1)
}

// TestFailureWhereAllIsClosed stays with its task: a Try without a Finally has nothing to do about it.
func TestFailureWhereAllIsClosed(t *testing.T) {
	s := run(t, mount(par(T("a"), cairn.Try{Body: seq(T("b"), T("c"))}), T("out")))
	s.step(s.failEvent("a", "X"), s.failEvent("b", "Y"))
	s.failed("X", "a")
	if st := s.m.State().Tries["#try"]; st != nil {
		t.Fatalf("the Try is left behind as %+v", st)
	}
}

// TestInnerTryEndsBeforeTheOuterGoesOn though both have waited for the same attempt.
func TestInnerTryEndsBeforeTheOuterGoesOn(t *testing.T) {
	s := run(t, mount(cairn.Try{ID: "outer", Body: par(T("a"), cairn.Try{ID: "inner", Body: T("b"), Catch: catch("c")}), Catch: catch("d")}, T("out")))
	s.fail("b", "X")
	s.wants("a", "c")
	s.fail("a", "Y")
	s.stops("c")
	s.lose("c", true)
	s.wants("d")
	if st := s.m.State().Tries["#inner"]; st.Phase != core.PhaseDone {
		t.Fatalf("the inner Try is left behind as %+v", st)
	}
}
