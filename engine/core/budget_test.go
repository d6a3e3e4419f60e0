package core_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// limited is an Aspects node as the core sees it.
type limited struct {
	id string
	cairn.AspectsSpec
	children cairn.Nodes
}

func (l limited) Lower() cairn.Spec {
	return cairn.Spec{Kind: cairn.KindAspects, ID: l.id, Children: l.children, Aspects: &l.AspectsSpec}
}

// tokens limits the tokens of what is below it.
func tokens(most int64, ns ...cairn.Node) limited {
	return limited{AspectsSpec: cairn.AspectsSpec{Tokens: cairn.Budget{Max: most}}, children: ns}
}

func named(id string, l limited) limited { l.id = id; return l }

// mode sets what a token limit does.
func mode(m cairn.OnExceeded, l limited) limited { l.Tokens.OnExceeded = m; return l }

// breachOf reads a failure's detail.
func breachOf(t *testing.T, f *cairn.Failure) (b cairn.Breach) {
	t.Helper()
	if !errors.Is(f, cairn.BudgetExceeded) {
		t.Fatalf("%v is no breach", f)
	}
	if err := json.Unmarshal(f.Detail, &b); err != nil {
		t.Fatal(err)
	}
	return b
}

// used ends an attempt that has used tokens.
func (s *sim) used(path string, tokens int64) {
	s.t.Helper()
	ev := s.doneEvent(path, 1)
	ev.Usage = []cairn.Usage{{Model: "m", Output: tokens}}
	s.step(ev)
}

func (s *sim) failUsing(path string, tokens int64) {
	s.t.Helper()
	ev := s.failEvent(path, "BROKEN")
	ev.Usage = []cairn.Usage{{Model: "m", Output: tokens}}
	s.step(ev)
}

// breaches lists those that were told, from all frames.
func (s *sim) breaches() (all []string) {
	s.t.Helper()
	for _, body := range s.bodies {
		f, err := core.Decode(body)
		if err != nil {
			s.t.Fatal(err)
		}
		for _, d := range f.Decisions {
			if d.Kind == core.Breached {
				all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s", d.Breach, d.Reason)))
			}
		}
	}
	return all
}

func (s *sim) wantBreaches(want ...string) {
	s.t.Helper()
	if got := s.breaches(); fmt.Sprint(got) != fmt.Sprint(want) {
		s.t.Fatalf("told of %q, want %q", got, want)
	}
}

// skipped checks which of the tasks were skipped because of a budget.
func (s *sim) skipped(paths ...string) {
	s.t.Helper()
	for _, p := range paths {
		if task := s.m.State().Tasks[p]; task == nil || task.Status != core.TaskSkipped || !strings.Contains(task.Reason, "spent of") {
			s.t.Fatalf("%s is not skipped: %+v", p, task)
		}
	}
}

func TestBudgetFailsAtDispatch(t *testing.T) {
	s := run(t, mount(tokens(250, T("a"), T("b"), T("c"), T("d")), T("out")))
	s.used("a", 100)
	s.used("b", 100)
	s.used("c", 100)
	f := s.failed(cairn.BudgetExceeded, "#aspects")
	if b := breachOf(t, f); b != (cairn.Breach{Budget: "#aspects", Measure: cairn.Tokens, Limit: 250, Spent: 300, Path: "d"}) || !f.Permanent {
		t.Fatalf("the breach is %+v, of %+v", b, f)
	}
	if s.m.State().Tasks["d"] != nil {
		t.Fatal("the refused task has used an attempt")
	}
	s.wantBreaches("tokens of #aspects: 300 spent of 250")
}

// TestBudgetIsOnlyOfWhatIsBelow: the ancestor counts what ran before and beside the budget too (smithers032, row 1).
func TestBudgetIsOnlyOfWhatIsBelow(t *testing.T) {
	s := run(t, mount(T("before"), tokens(250, T("a"), T("b")), T("out")))
	s.used("before", 1000)
	s.used("a", 100)
	s.used("b", 1000)
	s.used("out", 1)
	s.finished(1)
	s.wantBreaches("tokens of #aspects: 1,100 spent of 250") // its last task goes over: nothing is refused, and it is told
}

// TestBreachIsCaught: in the ancestor a breach can't be (smithers032, row 1).
func TestBreachIsCaught(t *testing.T) {
	var got cairn.Failure
	s := run(t, mount(cairn.Try{Only: cairn.Codes{cairn.BudgetExceeded},
		Body: tokens(100, T("a"), T("b")),
		Catch: func(_ *cairn.View, f cairn.Failure) cairn.Node {
			got = f
			return T("catch")
		},
		Finally: mount(T("finally"))}, T("out")))
	s.used("a", 100)
	s.wants("catch")
	if breachOf(t, &got).Path != "b" {
		t.Fatalf("Catch was given %+v", got)
	}
	s.resume(s.def)
	s.used("catch", 1000) // outside of the budget
	s.all("finally", "out")
	s.finished(1)
}

// TestBreachDrainsItsBudget: what runs below is paid for: it ends, and counts; nothing more starts.
func TestBreachDrainsItsBudget(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: tokens(100, cairn.Parallel{Max: 2, Children: cairn.Nodes{T("a"), T("b"), T("c")}}), Catch: catch("catch")}, T("out")))
	s.used("a", 100)
	s.wants("b")
	s.stops()
	s.used("b", 100)
	s.wants("catch")
	if s.m.State().Tasks["b"].Status != core.TaskFinished {
		t.Fatal("what drained does not count")
	}
}

// TestNestedBudgetsAllHold: in the ancestor an inner one that is looser replaces the outer one (smithers032, row 1).
func TestNestedBudgetsAllHold(t *testing.T) {
	s := run(t, mount(named("outer", tokens(250, named("inner", tokens(10_000, T("a"), T("b"), T("c"), T("d"))))), T("out")))
	s.used("a", 100)
	s.used("b", 100)
	s.used("c", 100)
	s.failed(cairn.BudgetExceeded, "#outer")

	s = run(t, mount(named("outer", tokens(10_000, named("inner", tokens(250, T("a"), T("b"), T("c"), T("d"))))), T("out")))
	s.used("a", 100)
	s.used("b", 100)
	s.used("c", 100)
	s.failed(cairn.BudgetExceeded, "#inner")
}

func TestWarnGoesOn(t *testing.T) {
	s := run(t, mount(mode(cairn.WarnExceeded, tokens(150, T("a"), T("b"), T("c"))), T("out")))
	s.used("a", 100)
	s.used("b", 100)
	s.used("c", 100)
	s.done("out", 1)
	s.finished(1)
	s.wantBreaches("tokens of #aspects: 200 spent of 150 warn") // once
}

func TestSkipRemaining(t *testing.T) {
	s := run(t, mount(mode(cairn.SkipExceeded, tokens(150, T("a"), T("b"), T("c"), T("d"))), T("out")))
	s.used("a", 100)
	s.used("b", 100)
	s.wants("out")
	s.skipped("c", "d")
	s.resume(s.def)
	s.done("out", 1)
	s.finished(1)
}

// TestSkipRemainingEndsLoops: in the ancestor a loop burns its iterations without a call (smithers032, row 2).
func TestSkipRemainingEndsLoops(t *testing.T) {
	asked := 0
	s := single(t, flow(mount(mode(cairn.SkipExceeded, tokens(150, cairn.Loop{ID: "work", Max: 50,
		Until: func(*cairn.View) bool { asked++; return false },
		Body:  mount(T("step"), T("more"))})), T("out"))))
	s.used("work[0]/step", 100)
	s.used("work[0]/more", 100)
	s.wants("out") // no iteration of skipped tasks
	if l := s.m.State().Loops["work"]; asked != 1 || l.Iteration != 0 || !l.Exhausted || !l.Done {
		t.Fatalf("Until was asked %d times, and the loop is at %+v", asked, l)
	}
}

// TestBudgetOfAnIteration: a budget in a loop's body is new for each iteration, one around it is for all.
func TestBudgetOfAnIteration(t *testing.T) {
	loop := func(body cairn.Node) cairn.Loop {
		return cairn.Loop{ID: "work", Max: 3, OnMax: cairn.ReturnLast, Body: func(*cairn.View) cairn.Node { return body }}
	}
	s := run(t, mount(loop(tokens(150, T("a"), T("b"))), T("out")))
	for i := range 3 {
		s.used(fmt.Sprintf("work[%d]/a", i), 100)
		s.used(fmt.Sprintf("work[%d]/b", i), 100)
	}
	s.wants("out")

	s = run(t, mount(tokens(250, loop(T("a"))), T("out")))
	s.used("work[0]/a", 100)
	s.used("work[1]/a", 100)
	s.used("work[2]/a", 100)
	s.wants("out")
	s.wantBreaches("tokens of #aspects: 300 spent of 250")
}

func TestFailedAttemptsCount(t *testing.T) {
	s := run(t, mount(tokens(250, retry(5, T("a"))), T("out")))
	s.failUsing("a", 100)
	s.fire("a")
	s.resume(s.def) // the attempt is lost, and what the first one used is not
	s.failUsing("a", 100)
	s.fire("a")
	s.failUsing("a", 100)
	s.fire("a")
	s.failed(cairn.BudgetExceeded, "#aspects")
	if l := s.m.State().Ledgers["#aspects"]; l.Spent.Tokens != 300 || s.m.State().Tasks["a"].Attempt != 4 {
		t.Fatalf("%+v", l)
	}
}

// TestPerTaskIsFinal: a task that has used what each may gets no further attempt, and no pause before it is told.
func TestPerTaskIsFinal(t *testing.T) {
	each := func(m cairn.OnExceeded, task cairn.Node) limited {
		return limited{AspectsSpec: cairn.AspectsSpec{Tokens: cairn.Budget{PerTask: 150, OnExceeded: m}}, children: cairn.Nodes{task}}
	}
	a := retry(cairn.Unbounded, T("a"))
	s := run(t, mount(each(cairn.FailExceeded, a), T("out")))
	s.failUsing("a", 100)
	s.fire("a")
	s.failUsing("a", 100)
	if b := breachOf(t, s.failed(cairn.BudgetExceeded, "a")); !b.PerTask || b.Spent != 200 || b.Limit != 150 {
		t.Fatalf("%+v", b)
	}

	s = run(t, mount(each(cairn.SkipExceeded, a), T("out")))
	s.failUsing("a", 200)
	s.skipped("a")
	s.wants("out")

	s = run(t, mount(each(cairn.WarnExceeded, a), T("out")))
	s.failUsing("a", 200)
	s.fire("a")
	s.failUsing("a", 200)
	s.fire("a")
	s.wants("a")
	s.wantBreaches("tokens of #aspects: 200 spent of 150 per task warn")

	s = run(t, mount(each(cairn.FailExceeded, optional(a)), T("out")))
	s.failUsing("a", 200)
	s.wants("out")

	s = run(t, mount(each(cairn.FailExceeded, a), T("out")))
	s.used("a", 200) // in one call: it is paid for, and told
	s.wants("out")
	s.wantBreaches("tokens of #aspects: 200 spent of 150 per task")
}

// TestLatencyIsWhileSomethingRuns: attempts side by side count once, pauses and the time after a kill do not.
func TestLatencyIsWhileSomethingRuns(t *testing.T) {
	pass := func(s *sim, d time.Duration) { s.now = s.now.Add(d) }
	slow := limited{AspectsSpec: cairn.AspectsSpec{Latency: cairn.Budget{Max: 10_000}}, children: cairn.Nodes{par(T("a"), T("b")), retry(3, T("c")), T("d")}}
	s := run(t, mount(slow, T("out")))
	pass(s, 2*time.Second)
	s.done("a", 1)
	pass(s, 2*time.Second)
	s.done("b", 1) // 4 s, not 6
	pass(s, time.Second)
	s.fail("c", "BROKEN") // 5 s
	pass(s, time.Hour)    // a pause
	s.fire("c")
	pass(s, time.Second)
	s.step(core.Event{Kind: core.PauseAsked}) // a frame at 6 s
	pass(s, time.Hour)                        // and a kill: nobody drove the run
	s.resume(s.def)
	s.step(core.Event{Kind: core.Unpaused})
	if l := s.m.State().Ledgers["#aspects"]; l.Spent.Latency != 6000 || l.Running != 1 {
		t.Fatalf("%+v", l)
	}
	pass(s, 4*time.Second)
	s.done("c", 1)
	if b := breachOf(t, s.failed(cairn.BudgetExceeded, "#aspects")); b.Measure != cairn.Latency || b.Spent != 10_000 || b.Path != "d" {
		t.Fatalf("%+v", b)
	}
}

func TestCostInMicroDollars(t *testing.T) {
	s := run(t, mount(limited{AspectsSpec: cairn.AspectsSpec{Cost: cairn.Budget{Max: 1_500_000}}, children: cairn.Nodes{T("a"), T("b"), T("c")}}, T("out")))
	for _, path := range []string{"a", "b"} {
		ev := s.doneEvent(path, 1)
		ev.Usage = []cairn.Usage{{Model: "m", Input: 7, Cost: 500_000}, {Model: "m", Cost: 250_001}}
		s.step(ev)
	}
	f := s.failed(cairn.BudgetExceeded, "#aspects")
	if breachOf(t, f).Spent != 1_500_002 || !strings.Contains(f.Message, "$1.500002 spent of $1.50") {
		t.Fatal(f)
	}
}

// TestRefusedInside: a body that was refused a model call has not failed. The limit that refused it holds, though the
// ledger has not reached it, until it is raised.
func TestRefusedInside(t *testing.T) {
	refuse := func(s *sim, path string, b cairn.Breach, used int64) {
		ev := s.failEvent(path, cairn.BudgetExceeded)
		ev.Refused, ev.Usage = &b, []cairn.Usage{{Model: "m", Output: used}}
		s.step(ev)
	}
	b := cairn.Breach{Budget: "#aspects", Measure: cairn.Tokens, Limit: 100, Spent: 120}
	both := func(most int64, m cairn.OnExceeded) renderFunc {
		return mount(mode(m, tokens(most, par(T("a"), T("b")))), T("out"))
	}
	s := run(t, both(100, cairn.FailExceeded))
	refuse(s, "a", b, 60)
	s.stops()
	if task := s.m.State().Tasks["a"]; task.Failures != 0 || task.Attempt != 1 {
		t.Fatalf("%+v", task)
	}
	s.wants("b") // it drains
	s.used("b", 60)
	if got := breachOf(t, s.failed(cairn.BudgetExceeded, "#aspects")); got.Spent != 120 || got.Path != "a" {
		t.Fatalf("%+v", got)
	}

	s = run(t, both(100, cairn.SkipExceeded))
	refuse(s, "a", b, 60)
	s.skipped("a")
	s.wants("b")

	b.PerTask = true
	s = run(t, mount(limited{AspectsSpec: cairn.AspectsSpec{Tokens: cairn.Budget{PerTask: 100}}, children: cairn.Nodes{T("a")}}, T("out")))
	refuse(s, "a", b, 60)
	s.failed(cairn.BudgetExceeded, "a")

	// The refusal stands over a block, and a raised limit lifts it.
	b.PerTask = false
	s = run(t, both(100, cairn.FailExceeded))
	s.step(core.Event{Kind: core.PauseAsked})
	refuse(s, "a", b, 60)
	s.resume(flow(both(200, cairn.FailExceeded)))
	s.step(core.Event{Kind: core.Unpaused})
	s.wants("a", "b")
	if l := s.m.State().Ledgers["#aspects"]; l.Limits.Tokens.Max != 200 {
		t.Fatalf("%+v", l)
	}
}

// TestReserve: while others run, a task starts only if what all may use fits; alone it always may.
func TestReserve(t *testing.T) {
	l := tokens(100, par(T("a"), T("b"), T("c"), T("d")))
	l.Tokens.Reserve = 40
	s := run(t, mount(cairn.Try{Body: l, Catch: catch("catch")}, T("out")))
	s.wants("a", "b")
	s.used("a", 10) // less than reserved: 10 + 2×40 fit
	s.wants("b", "c")
	s.used("b", 40)
	s.wants("c") // 50 + 2×40 do not
	s.used("c", 40)
	s.wants("d") // alone
	s.used("d", 40)
	s.wants("out")
	s.wantBreaches("tokens of #aspects: 130 spent of 100")
}

func TestContextBuckets(t *testing.T) {
	s := run(t, mount(tokens(1e9, retry(9, T("a"))), T("out")))
	call := func(used ...cairn.Usage) {
		ev := s.failEvent("a", "BROKEN")
		ev.Usage = used
		s.step(ev)
		s.fire("a")
	}
	call(cairn.Usage{Model: "m", Input: 50_000, Output: 1e6})                        // the first bucket is no news
	call(cairn.Usage{Model: "m", Input: 1, CacheRead: 50_000})                       // the second
	call(cairn.Usage{Model: "m", CacheRead: 60_000, CacheWrite1h: 40_000})           // the same
	call(cairn.Usage{Model: "m", Input: 600_000, Window: 1_000_000})                 // the fifth, half full
	call(cairn.Usage{Model: "n", Input: 600_000, Window: 1_000_000, Unpriced: true}) // told
	call(cairn.Usage{Model: "n", Input: 2_000_000, Unpriced: true})                  // the one without end
	var got []string
	for _, body := range s.bodies {
		f, _ := core.Decode(body)
		for _, d := range f.Decisions {
			if d.Kind == core.Crowded || d.Kind == core.Unpriced {
				got = append(got, d.String())
			}
		}
	}
	want := []string{"context a: 50,001 tokens of context, over 50k", "context a: 600,000 tokens of context, over 500k",
		"context a: 600,000 tokens of context, over half of the model's window", `unpriced a: model "n" has no price`, "context a: 2,000,000 tokens of context, over 1M"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got:\n%s", strings.Join(got, "\n"))
	}
}

func TestUnpricedModels(t *testing.T) {
	cost := func(allow bool, ns ...cairn.Node) limited {
		return limited{AspectsSpec: cairn.AspectsSpec{Cost: cairn.Budget{Max: 10}, AllowUnpriced: allow}, children: ns}
	}
	// An agent that does not tell its model is found out by its first call.
	s := run(t, mount(cost(false, T("a"), T("b")), T("out")))
	ev := s.doneEvent("a", 1)
	ev.Usage = []cairn.Usage{{Model: "homemade", Input: 1, Unpriced: true}}
	s.step(ev)
	s.blocked(cairn.UnpricedModel, `"homemade"`, "#aspects")
	s.resume(flow(mount(cost(true, T("a"), T("b")), T("out"))))
	s.wants("b")

	// One that does tell is refused before anything starts.
	m := core.New(flow(mount(cost(false, modelled{T("a"), "homemade"}), T("out"))))
	m.Priced = func(model string) bool { return false }
	if step := m.Step(time.UnixMilli(epoch), []core.Event{begin}, true); step.Status != core.Blocked || m.State().Block.Code != cairn.UnpricedModel {
		t.Fatalf("%s: %v", step.Status, m.State().Block)
	}
}

type modelled struct {
	node
	model string
}

func (n modelled) Lower() cairn.Spec {
	spec := n.node.Lower()
	spec.Task.Models = []string{n.model}
	return spec
}

func TestBudgetMistakes(t *testing.T) {
	s := run(t, mount(cairn.Try{Only: cairn.Codes{"X", cairn.BudgetExceeded}, Body: T("a"), Catch: catch("c")}, T("out")))
	s.blocked(cairn.InvalidTree, "no Aspects in its Body")
	s = run(t, mount(tokens(1, T("a")), tokens(2, T("b")), T("out")))
	s.blocked(cairn.InvalidTree, "two nodes on one path", "another ID")
	s = run(t, mount(cairn.Try{Only: cairn.Codes{cairn.BudgetExceeded}, Body: seq(cairn.Loop{ID: "l", Body: mount(tokens(1, T("a")))}), Catch: catch("c")}, T("out")))
	s.wants("l[0]/a")
}

// TestRaisedLimitsAreNoDivergence: limits are policy.
func TestRaisedLimitsAreNoDivergence(t *testing.T) {
	s := run(t, mount(tokens(150, T("a"), T("b"), T("c")), T("out")))
	s.used("a", 100)
	s.resume(flow(mount(tokens(1000, T("a"), T("b"), T("c")), T("out"))))
	s.used("b", 100)
	s.used("c", 100)
	s.used("out", 100)
	s.finished(1)
	s.wantBreaches()
}
