package core_test

import (
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// expect compares what Why says, also when the plan was made anew from the state.
func (p *play) expect(path, want string) {
	p.t.Helper()
	if got := p.m.Why(path); !strings.Contains(got, want) {
		p.t.Errorf("why %s: %q, want %q", path, got, want)
	}
}

func (p *play) expectAnew(path, want string) {
	p.t.Helper()
	p.expect(path, want)
	p.m.Forget()
	p.m.Verify()
	p.expect(path, want)
}

func TestWhyOrder(t *testing.T) {
	p := newPlay(t, 0, garden)
	p.expectAnew(`quo"te\<b>`, "is running, attempt 1.")
	p.expectAnew("a", `a waits for what comes before it in sequence: quo"te\<b> (running).`)
	p.expectAnew("#careful", "#careful waits for what comes before it in sequence")
	p.done(`quo"te\<b>`)
	p.expectAnew("inner/rounds[0]/c", "waits for a place: the Parallel around it takes 2 at once, and has a (running) and the sequence with b1 in progress.")
	p.expectAnew("inner/rounds", "inner/rounds waits for a place")
	p.expectAnew("then", "then is on the side of a branch that is not taken.")
	p.done("b1")
	p.expectAnew("b2", "is running")
	p.done("b2", "b3")
	p.expectAnew("inner/rounds", "Loop inner/rounds is in iteration 0, which waits for inner/rounds[0]/c (running) and inner/rounds[0]/d (pending).")
	p.done("inner/rounds[0]/c")
	p.expectAnew("inner/rounds[0]/d", "inner/rounds[0]/d waits for a (running), which it comes After.")
	p.expectAnew("inner", "inner has begun, and waits for inner/rounds[0]/d (pending).")
	p.expect("inner/rounds[2]/d", "inner/rounds[2]/d is not mounted: loop inner/rounds is in iteration 0.")
	p.expect("inner/rounds[0]", "Loop inner/rounds is in iteration 0")
	p.expect("iner/rounds", "Nothing is mounted at iner/rounds, as of frame 6. Did you mean inner/rounds?")
	p.expect("c", "Did you mean inner/rounds[0]/c?")
	p.done("a", "inner/rounds[0]/d")
	p.expectAnew("inner/rounds", "Loop inner/rounds has ended: Until was true for iteration 0.")
	p.expectAnew("inner", "All in scope inner has ended.")
	p.expectAnew("a", "a has finished: its value is that of attempt 1, committed in frame 7.")
}

func TestWhyFailures(t *testing.T) {
	p := newPlay(t, 1, func(*cairn.View) cairn.Node {
		return cairn.Nodes{
			cairn.Parallel{Children: cairn.Nodes{
				cairn.Try{ID: "t", Body: cairn.Parallel{Children: cairn.Nodes{leaf{id: "x"}, leaf{id: "y"}}},
					Catch: func(*cairn.View, cairn.Failure) cairn.Node { return leaf{id: "caught"} }},
				leaf{id: "z", policy: cairn.Policy{Optional: true}},
				leaf{id: "s", skip: true},
			}},
			leaf{id: "end"},
		}
	})
	p.expectAnew("y", "y is ready, and waits for a place: the run makes 1 attempts at once, its limit.")
	p.expectAnew("#t", "Try #t is in its body and has met no failure; it waits for x (running) and y (pending).")
	p.fail("x", cairn.Failure{Code: cairn.TaskFailed, Message: "no luck\nat all"})
	p.expectAnew("x", "x waits until 1970-01-01 00:00:01.0")
	p.expectAnew("x", "for attempt 2, because attempt 1 failed: TASK_FAILED: no luck ….")
	p.fail("y", cairn.Failure{Code: cairn.TaskFailed, Permanent: true})
	p.expectAnew("x", "x was left behind: the Try #t around it went on, because of TASK_FAILED at y.")
	p.expectAnew("y", "y has failed for good in frame 3, with attempt 1: TASK_FAILED.")
	p.expectAnew("#t", "Try #t is in its Catch, because of TASK_FAILED at y, and waits for caught (running).")
	p.done("caught")
	p.expectAnew("#t", "Try #t has ended: it caught TASK_FAILED at y.")
	p.fail("z", cairn.Failure{Code: "Z", Permanent: true})
	p.expectAnew("z", "z has failed for good in frame 5, with attempt 1: Z. It is optional, so nothing around it fails.")
}

// A failure closes the Try around it, and what had not started does not any more.
func TestWhyClosed(t *testing.T) {
	p := newPlay(t, 0, func(*cairn.View) cairn.Node {
		return cairn.Nodes{cairn.Try{
			Body:    cairn.Nodes{cairn.Parallel{Children: cairn.Nodes{leaf{id: "x"}, leaf{id: "y"}}}, leaf{id: "later"}},
			Finally: func(*cairn.View) cairn.Node { return leaf{id: "tidy"} },
		}, leaf{id: "end"}}
	})
	p.fail("x", cairn.Failure{Code: cairn.TaskFailed, Permanent: true})
	p.expectAnew("later", "later does not start: the Try #try around it is closed because of TASK_FAILED at x.")
	p.expectAnew("#try", "Try #try is closed to new starts because of TASK_FAILED at x; it waits for y to settle.")
	p.expectAnew("end", "end waits for what comes before it in sequence")
	p.fail("y", cairn.Failure{Code: cairn.Cancelled})
	p.expectAnew("#try", "Try #try is in its Finally, which waits for tidy (running).")
	p.expectAnew("later", "later was left behind: the Try #try around it went on, because of TASK_FAILED at x.")
	p.done("tidy")
	p.expectAnew("#try", "Try #try has ended, and its failure went outward: TASK_FAILED at x.")
}

func TestWhyRun(t *testing.T) {
	p := newPlay(t, 0, func(*cairn.View) cairn.Node {
		return cairn.Nodes{cairn.Parallel{Children: cairn.Nodes{leaf{id: "x"}, leaf{id: "y"}}}, leaf{id: "z", skip: true}, leaf{id: "end"}}
	})
	p.step(core.Event{Kind: core.PauseAsked})
	p.expectAnew("end", "end does not go on because the run is paused")
	p.step(core.Event{Kind: core.Unpaused})
	p.fail("x", cairn.Failure{Code: cairn.TaskFailed, Message: "broken.", Permanent: true})
	p.expectAnew("y", "y is running, attempt 1, and was told to stop: failure around it. It ends when its body notices.")
	p.expectAnew("end", "end does not start: the run is failing because of TASK_FAILED at x: broken.")
	p.fail("y", cairn.Failure{Code: cairn.Cancelled})
	p.expectAnew("end", "end did not get its turn: the run is failed, because of TASK_FAILED at x: broken.")
	p.expectAnew("y", "y was cancelled during attempt 1.")
	p.expectAnew("nothing", "Nothing is mounted at nothing")

	p = newPlay(t, 0, func(*cairn.View) cairn.Node {
		return cairn.Nodes{leaf{id: "x"}, leaf{id: "z", skip: true}, leaf{id: "end"}}
	})
	p.done("x")
	p.expectAnew("z", "z was skipped in frame 2: its SkipIf said so.")
	p.step(core.Event{Kind: core.CancelAsked, Name: "enough"})
	p.expectAnew("end", "and was told to stop: the run is cancelled.")

	p = newPlay(t, 0, func(v *cairn.View) cairn.Node {
		if cairn.Key[int]("x").Outcome(v).Status == cairn.Done {
			panic("out of ideas")
		}
		return cairn.Nodes{leaf{id: "x"}, leaf{id: "end"}}
	})
	p.done("x")
	p.expect("end", "end does not go on because the run is blocked: RENDER_PANICKED: out of ideas.")
}
