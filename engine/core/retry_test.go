package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// pauses fails a task until it gives up, and returns the pauses in between.
func pauses(t *testing.T, name string, p cairn.RetryPolicy, most int) (ps []time.Duration) {
	t.Helper()
	named := begin
	named.Path = name
	s := startWith(t, flow(mount(node{id: "out", policy: cairn.Policy{Retry: p}})), named)
	s.twin = nil
	for len(ps) < most {
		s.fail("out", "X")
		at, ok := s.timers["out"]
		if !ok {
			s.failed("X", "out")
			return ps
		}
		ps = append(ps, time.Duration(at-s.now.UnixMilli())*time.Millisecond)
		s.fire("out")
	}
	return ps
}

// near says that a pause is the one wanted, with up to a tenth of jitter, milliseconds rounded.
func near(got, want time.Duration) bool { return got >= want-time.Millisecond && got <= want*11/10 }

func TestRetryDefaults(t *testing.T) {
	ps := pauses(t, "run", cairn.RetryPolicy{}, 100)
	if len(ps) != 2 || !near(ps[0], time.Second) || !near(ps[1], 2*time.Second) {
		t.Fatalf("three attempts, from a second on, each pause twice as long; got %v", ps)
	}
	ps = pauses(t, "run", cairn.RetryPolicy{Max: cairn.Unbounded}, 15)
	if len(ps) != 15 {
		t.Fatalf("unbounded retries ended: %v", ps)
	}
	for i, p := range ps {
		want := min(time.Second<<i, 5*time.Minute)
		if p > 5*time.Minute || !near(p, want) {
			t.Fatalf("pause %d is %v, want about %v and never above five minutes", i, p, want)
		}
	}
}

func TestRetryPolicy(t *testing.T) {
	if ps := pauses(t, "run", cairn.RetryPolicy{Max: 1}, 100); len(ps) != 0 {
		t.Fatalf("Max 1 is no retry: %v", ps)
	}
	ps := pauses(t, "run", cairn.RetryPolicy{Max: 5, Initial: 100 * time.Millisecond, Factor: 10, Cap: 5 * time.Second}, 100)
	want := []time.Duration{100 * time.Millisecond, time.Second, 5 * time.Second, 5 * time.Second}
	if len(ps) != len(want) {
		t.Fatalf("pauses %v", ps)
	}
	for i := range want {
		if !near(ps[i], want[i]) {
			t.Fatalf("pauses %v, want about %v", ps, want)
		}
	}
}

func TestJitterIsSeeded(t *testing.T) {
	p := cairn.RetryPolicy{Max: 8}
	a, b := pauses(t, "one", p, 100), pauses(t, "one", p, 100)
	if fmt.Sprint(a) != fmt.Sprint(b) {
		t.Fatalf("one run, two jitters: %v %v", a, b)
	}
	if fmt.Sprint(a) == fmt.Sprint(pauses(t, "two", p, 100)) {
		t.Fatalf("two runs retry in step: %v", a)
	}
}

func TestRetryAfterIsHonoured(t *testing.T) {
	s := run(t, mount(retry(3, T("out"))))
	e := s.failEvent("out", "BUSY")
	e.Failure.RetryAfter = time.Hour
	s.step(e)
	if at := s.timers["out"]; at != epoch+3_600_000 {
		t.Fatalf("the retry comes after %d ms", at-epoch)
	}
	s.fire("out")
	e = s.failEvent("out", "BUSY")
	e.Failure.RetryAfter = time.Millisecond // shorter than the pause
	s.step(e)
	if wait := time.Duration(s.timers["out"]-s.now.UnixMilli()) * time.Millisecond; !near(wait, 2*time.Second) {
		t.Fatalf("the retry comes after %v", wait)
	}
}

func TestPermanentIsNotRetried(t *testing.T) {
	s := run(t, mount(retry(cairn.Unbounded, T("out"))))
	e := s.failEvent("out", "AUTH")
	e.Failure.Permanent = true
	s.step(e)
	s.failed("AUTH", "out")
}

func TestAttemptsAreNumbered(t *testing.T) {
	s := run(t, mount(retry(3, T("out"))))
	for n := 1; n <= 3; n++ {
		if got := s.attempt("out").Attempt; got != n {
			t.Fatalf("attempt %d has number %d", n, got)
		}
		s.fail("out", "X")
		if n < 3 {
			s.wants()
			s.fire("out")
		}
	}
	if f := s.failed("X", "out"); f.Attempt != 3 {
		t.Fatalf("the failure is of attempt %d", f.Attempt)
	}
}

func TestTimerIsNotEarly(t *testing.T) {
	s := run(t, mount(retry(2, T("out"))))
	s.fail("out", "X")
	at := s.timers["out"]
	for _, now := range []int64{epoch, at - 1, epoch - 1_000_000} {
		delete(s.timers, "out")
		s.now = time.UnixMilli(now)
		s.step(core.Event{Kind: core.TimerFired, Path: "out"})
		s.wants()
		if s.timers["out"] != at {
			t.Fatalf("a timer that came at %d was not set again for %d: %v", now, at, s.timers)
		}
	}
	s.now = time.UnixMilli(at)
	s.step(core.Event{Kind: core.TimerFired, Path: "out"})
	s.wants("out")
	if s.step(core.Event{Kind: core.TimerFired, Path: "out"}); s.last.Frame != nil {
		t.Fatal("a timer fired twice")
	}
}

// TestTimerHoldsByHighestTime: the clock steps back after a later time was committed; what is due by that stays due.
func TestTimerHoldsByHighestTime(t *testing.T) {
	s := run(t, mount(par(retry(2, T("a")), T("b")), T("out")))
	s.fail("a", "X")
	s.now = time.UnixMilli(s.timers["a"])
	s.done("b", 1) // commits that time
	s.now = time.UnixMilli(epoch)
	s.step(core.Event{Kind: core.TimerFired, Path: "a"})
	s.wants("a")
}

// TestDueTimerStartsNothingByItself: only its event does, or a plan made anew would start what another one does not.
func TestDueTimerStartsNothingByItself(t *testing.T) {
	s := run(t, mount(par(retry(2, T("a")), T("b")), T("out")))
	s.fail("a", "X")
	s.now = s.now.Add(time.Hour)
	s.done("b", 1)
	s.wants()
	s.resume(s.def)
	s.wants()
	s.fire("a")
	s.wants("a")
}

func TestTimeoutOverAllAttempts(t *testing.T) {
	n := retry(cairn.Unbounded, T("out"))
	n.policy.Timeout = 10 * time.Second
	s := run(t, mount(n))
	if got := s.attempt("out").Deadline; got != epoch+10_000 {
		t.Fatalf("the attempt has to end at %d", got)
	}
	for range 3 { // pauses of 1, 2 and 4 s
		s.fail("out", "X")
		s.fire("out")
		if got := s.attempt("out").Deadline; got != epoch+10_000 {
			t.Fatalf("a later attempt has to end at %d", got)
		}
	}
	s.fail("out", "X") // the next pause would be longer than what is left
	f := s.failed(cairn.TaskTimeout, "out")
	if f.Cause == nil || f.Cause.Code != "X" {
		t.Fatalf("the timeout hides why: %+v", f)
	}
}

func TestInputIsFrozen(t *testing.T) {
	reads := 0
	n := retry(3, T("out", "a"))
	n.input = func(v *cairn.View) string {
		reads++
		got, _ := cairn.Key[int]("b").Get(v)
		return fmt.Sprint(cairn.Key[int]("a").Must(v), " ", got)
	}
	s := single(t, flow(mount(par(T("a"), T("b"), n))))
	s.done("a", 1)
	d := s.last.Frame.Decisions[0]
	if d.Kind != core.Started || string(d.Input) != `"1 0"` || fmt.Sprint(d.Reads) != "[a]" {
		t.Fatalf("the start is %+v: it must have the input and what that read", d)
	}
	s.done("b", 7)
	s.fail("out", "X")
	s.resume(s.def)
	s.fire("out")
	if got := string(s.attempt("out").Input); got != `"1 0"` || reads != 1 {
		t.Fatalf("the second attempt got %s, the input was made %d times", got, reads)
	}
	if d := s.last.Frame.Decisions[0]; d.Input != nil {
		t.Fatal("the input stands in more than one frame")
	}
}

// TestBookedOnTheStart: what a completion means is said by its start, not by today's plan.
func TestBookedOnTheStart(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		n := retry(2, T("x"))
		if _, ok := cairn.Key[int]("go").Get(v); ok {
			n = optional(retry(1, T("x")))
		}
		return seq(par(T("go"), n), T("out"))
	})
	s.done("go", 1)
	s.fail("x", "X")
	if _, ok := s.timers["x"]; !ok {
		t.Fatal("the attempt was started with a retry to come, and has none")
	}
	s.fire("x")
	s.fail("x", "X") // this one was started as optional
	s.wants("out")
}

func TestLostAttemptUsesNoAttempt(t *testing.T) {
	s := run(t, mount(retry(1, T("out"))))
	for n := 2; n <= 5; n++ {
		s.resume(s.def)
		if got := s.attempt("out").Attempt; got != n {
			t.Fatalf("after %d losses the attempt has number %d", n-1, got)
		}
	}
	s.resume(s.def)
	f := s.failed(cairn.WorkerLost, "out")
	if f.Attempt != 5 {
		t.Fatalf("%+v", f)
	}
}

// TestAnAttemptIsToldWhatIsBooked: the last attempt whose end, with all that it has used, is in a frame. One that was lost with its
// process has no end, however many of them there are.
func TestAnAttemptIsToldWhatIsBooked(t *testing.T) {
	s := run(t, mount(retry(9, T("out"))))
	booked := func(want int) {
		t.Helper()
		if got := s.attempt("out").Booked; got != want {
			t.Fatalf("attempt %d is told that %d is booked, want %d", s.attempt("out").Attempt, got, want)
		}
	}
	booked(0)
	s.fail("out", "X")
	s.fire("out")
	booked(1)
	s.resume(s.def)
	s.resume(s.def)
	booked(1)
	s.lose("out", true)
	booked(4)
	s.resume(s.def)
	booked(4)
	e := s.failEvent("out", "X") // it has not come as far as to book what attempt 5 has used
	e.Unbegun = true
	s.step(e)
	s.fire("out")
	booked(4)
}

func TestGracefulStopIsNoLoss(t *testing.T) {
	s := run(t, mount(retry(1, T("out"))))
	for range 20 {
		s.lose("out", true)
		s.wants("out")
	}
	for range 4 {
		s.lose("out", false)
		s.wants("out")
	}
	s.lose("out", false)
	s.failed(cairn.WorkerLost, "out")
}

// TestLossAfterAFailureStartsAtOnce: it is no failure, so there is no pause.
func TestLossAfterAFailureStartsAtOnce(t *testing.T) {
	s := run(t, mount(retry(2, T("out"))))
	s.fail("out", "X")
	s.fire("out")
	s.resume(s.def)
	s.wants("out")
	s.fail("out", "Y") // the second failure
	s.failed("Y", "out")
}

func TestOptionalMayFail(t *testing.T) {
	var o cairn.Outcome[int]
	s := run(t, func(v *cairn.View) cairn.Node {
		o = cairn.Key[int]("a").Outcome(v)
		return seq(optional(T("a")), T("out"))
	})
	s.fail("a", "X")
	s.wants("out")
	if o.Status != cairn.Failed || o.Failure == nil || o.Failure.Code != "X" {
		t.Fatalf("outcome %+v", o)
	}
}

func TestSkipIf(t *testing.T) {
	asked := 0
	n := T("a")
	n.skip = func(v *cairn.View) bool { asked++; got, _ := cairn.Key[int]("first").Get(v); return got == 1 }
	var o cairn.Outcome[int]
	s := single(t, flow(func(v *cairn.View) cairn.Node {
		o = cairn.Key[int]("a").Outcome(v)
		return seq(T("first"), n, T("out"))
	}))
	if asked != 0 {
		t.Fatal("SkipIf was asked before the task's turn")
	}
	s.done("first", 1)
	s.wants("out")
	if asked != 1 || o.Status != cairn.Skipped || o.Reason == "" || s.starts["a"] != 0 {
		t.Fatalf("asked %d times, outcome %+v", asked, o)
	}
	s.resume(s.def)
	s.done("out", 1)
	if asked != 1 {
		t.Fatalf("asked %d times", asked)
	}
}

func TestSkipIfIsNotAskedOfARetry(t *testing.T) {
	fail := false
	n := retry(2, T("out"))
	n.skip = func(*cairn.View) bool { return fail }
	s := run(t, mount(n))
	s.fail("out", "X")
	fail = true
	s.fire("out")
	s.wants("out")
}
