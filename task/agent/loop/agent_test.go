package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

var (
	_ task.Agent      = (*loop.Agent)(nil)
	_ task.Identifier = (*loop.Agent)(nil)
	_ task.Modeler    = (*loop.Agent)(nil)
)

func TestToolsAreRunUntilThereIsAnAnswer(t *testing.T) {
	m := replies(wants(use("a", "one", `{"n":1}`), use("b", "two", `{"n":2}`)), wants(use("c", "one", `{}`)), says("done"))
	d := desk{memory: "<memory>old</memory>", tools: []cairn.Tool{echo("two")}}
	a := &loop.Agent{Model: m, System: "be good", Tools: []cairn.Tool{echo("one")}}
	out, err := d.try(t.Context(), t, textTask(a))
	if err != nil || out != `"done"` {
		t.Fatalf("%s, %v", out, err)
	}
	got, _ := json.Marshal(d.final(t))
	const want = `[{"role":"user","blocks":[{"kind":"text","text":"\u003cmemory\u003eold\u003c/memory\u003e"},{"kind":"text","text":"do it"}]},` +
		`{"role":"assistant","blocks":[{"kind":"text","text":"let me see"},{"kind":"tool_use","id":"a","name":"one","input":{"n":1}},{"kind":"tool_use","id":"b","name":"two","input":{"n":2}}]},` +
		`{"role":"user","blocks":[{"kind":"tool_result","text":"one of {\"n\":1}","id":"a","name":"one"},{"kind":"tool_result","text":"two of {\"n\":2}","id":"b","name":"two"}]},` +
		`{"role":"assistant","blocks":[{"kind":"text","text":"let me see"},{"kind":"tool_use","id":"c","name":"one","input":{}}]},` +
		`{"role":"user","blocks":[{"kind":"tool_result","text":"one of {}","id":"c","name":"one"}]},` +
		`{"role":"assistant","blocks":[{"kind":"text","text":"done"}]}]`
	if string(got) != want {
		t.Errorf("conversation\n%s, want\n%s", got, want)
	}
	if w := m.windows[2]; w.System != "be good" || len(w.Tools) != 2 || w.Tools[0].Name != "one" || len(w.Messages) != 5 {
		t.Errorf("third window: %+v", w)
	}
	if d.purse.asked != 3 || d.purse.output() != 3 {
		t.Errorf("%d admissions, %d tokens", d.purse.asked, d.purse.output())
	}
	seen := map[string]bool{}
	for _, w := range m.windows {
		if seen[w.Key] || !strings.HasPrefix(w.Key, "r/work/step#loop.") {
			t.Errorf("key %q", w.Key)
		}
		seen[w.Key] = true
	}
}

// TestParallelCalls: no call of a turn waits for another, and the results come in the order of the calls.
func TestParallelCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := tool("slow", func(ctx context.Context, in string) (string, error) {
			var asked struct{ S int }
			if err := json.Unmarshal([]byte(in), &asked); err != nil {
				return "", err
			}
			time.Sleep(time.Duration(asked.S) * time.Second)
			return in, nil
		})
		d := desk{tools: []cairn.Tool{slow}}
		start := time.Now()
		a := &loop.Agent{Model: replies(wants(use("a", "slow", `{"S":3}`), use("b", "slow", `{"S":1}`), use("c", "slow", `{"S":2}`)), says("ok"))}
		if out, err := d.try(t.Context(), t, textTask(a)); err != nil || out != `"ok"` {
			t.Fatalf("%s, %v", out, err)
		}
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %s", took)
		}
		var ids []string
		for _, b := range d.final(t)[2].Blocks {
			ids = append(ids, b.ID+b.Text)
		}
		if got := fmt.Sprint(ids); got != `[a{"S":3} b{"S":1} c{"S":2}]` {
			t.Errorf("results %s", got)
		}
	})
}

// TestWhatGoesWrongWithATool is told to the model, and fails nothing.
func TestWhatGoesWrongWithATool(t *testing.T) {
	for name, c := range map[string]struct {
		call window.Block
		tool cairn.Tool
		want string
	}{
		"unknown":    {use("a", "fly", `{}`), echo("walk"), `There is no tool "fly". The tools are: walk.`},
		"no JSON":    {window.Block{Kind: window.ToolUse, ID: "a", Name: "walk", Text: `{"x":`}, echo("walk"), `The arguments are no JSON: {"x":`},
		"no object":  {use("a", "walk", `[1]`), echo("walk"), `The arguments must be a JSON object, and are: [1]`},
		"error":      {use("a", "walk", `{}`), tool("walk", func(context.Context, string) (string, error) { return "", errors.New("it rains") }), `it rains`},
		"panic":      {use("a", "walk", `{}`), tool("walk", func(context.Context, string) (string, error) { panic("ouch") }), `the tool has panicked: ouch`},
		"time":       {use("a", "walk", `{}`), tool("walk", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }), `the tool took longer than 1m0s`},
		"long error": {use("a", "walk", `{}`), tool("walk", func(context.Context, string) (string, error) { return "", errors.New(strings.Repeat("x", 9999)) }), strings.Repeat("x", 3997) + "…"},
		"unknown fate": {use("a", "walk", `{}`), func() cairn.Tool {
			x := tool("walk", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() })
			x.SideEffect = true
			return x
		}(), `the tool took longer than 1m0s. Whether the call has happened is unknown.`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := desk{tools: []cairn.Tool{c.tool}}
				a := &loop.Agent{Model: replies(wants(c.call), says("ok")), ToolTimeout: time.Minute}
				if out, err := d.try(t.Context(), t, textTask(a)); err != nil || out != `"ok"` {
					t.Fatalf("%s, %v", out, err)
				}
				if got := d.final(t)[2].Blocks[0]; got.Text != c.want || !got.Error || got.ID != "a" {
					t.Errorf("result %+v, want %q", got, c.want)
				}
			})
		})
	}
}

func TestStops(t *testing.T) {
	for stop, want := range map[loop.Stop]struct {
		code      cairn.Code
		permanent bool
	}{
		loop.StopRefusal:   {loop.ModelRefused, true},
		loop.StopMaxTokens: {loop.MaxTokens, false},
		loop.StopContext:   {loop.ContextFull, false},
	} {
		d := desk{tools: []cairn.Tool{echo("walk")}}
		turn := wants(use("a", "walk", `{}`))
		turn.Stop = stop
		_, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: replies(turn)}))
		if f := cairn.FailureOf(err); f.Code != want.code || f.Permanent != want.permanent {
			t.Errorf("%s: %+v", stop, f)
		}
		if d.purse.output() != 1 {
			t.Errorf("%s: the usage is lost", stop)
		}
	}
	paused := says("half")
	paused.Stop = loop.StopPause
	d := desk{}
	if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: replies(paused, says("whole"))})); err != nil || out != `"whole"` {
		t.Errorf("pause: %s, %v", out, err)
	}
}

func TestTurnsAreBounded(t *testing.T) {
	m := &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) { return wants(use("a", "walk", `{}`)), nil }}
	d := desk{tools: []cairn.Tool{echo("walk")}}
	_, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m, MaxTurns: 4}))
	if !errors.Is(err, loop.TurnsExhausted) || m.calls() != 4 {
		t.Errorf("%v after %d calls", err, m.calls())
	}
}

func TestRepairs(t *testing.T) {
	const good = `{"title":"t","score":3}`
	for name, c := range map[string]struct {
		replies []loop.Turn
		native  bool
		want    string
		code    cairn.Code
		told    string // the first repair
	}{
		"at once":       {replies: []loop.Turn{says(good)}, want: good},
		"fenced":        {replies: []loop.Turn{says("Here:\n```json\n{\"title\":\"old\",\"score\":1}\n```\nno, better:\n```json\n" + good + "\n```\nBye")}, want: good},
		"in prose":      {replies: []loop.Turn{says(`I think {"title":"x"} is less than ` + good + ` as in [1].`)}, want: good},
		"broken rule":   {replies: []loop.Turn{says(`{"title":"t","score":11}`), says(good)}, want: good, told: "score: max=10"},
		"native, too":   {replies: []loop.Turn{says(`{"title":"","score":1}`), says(good)}, native: true, want: good, told: "title: required"},
		"no JSON":       {replies: []loop.Turn{says("I can't"), says(good)}, want: good, told: "it is no JSON"},
		"empty":         {replies: []loop.Turn{{Stop: loop.StopEnd}, {Stop: loop.StopEnd}}, code: loop.TurnsExhausted},
		"thrice":        {replies: []loop.Turn{says("1"), says("2"), says("3"), says(good)}, want: good, told: "can't be read"},
		"four times":    {replies: []loop.Turn{says("1"), says("2"), says("3"), says("4")}, code: cairn.InvalidOutput},
		"tools between": {replies: []loop.Turn{says("no"), wants(use("a", "walk", `{}`)), says(good)}, want: good},
	} {
		t.Run(name, func(t *testing.T) {
			m := replies(c.replies...)
			m.native = c.native
			d := desk{tools: []cairn.Tool{echo("walk")}}
			a := &loop.Agent{Model: m}
			if name == "empty" {
				m.answer = func(context.Context, loop.Window, int) (loop.Turn, error) { return loop.Turn{Stop: loop.StopEnd}, nil }
				a.MaxTurns = 2
			}
			out, err := d.try(t.Context(), t, reportTask(a))
			if c.code != "" {
				if !errors.Is(err, c.code) || cairn.FailureOf(err).Permanent {
					t.Errorf("%v, want %s", err, c.code)
				}
				return
			}
			if err != nil || out != c.want {
				t.Fatalf("%s, %v", out, err)
			}
			first := m.windows[0]
			if instructed := len(first.Messages[0].Blocks) > 1; instructed == c.native || (first.Schema != nil) != c.native {
				t.Errorf("first window: %+v", first)
			}
			if c.told != "" {
				if repair := m.windows[1].Messages[2].Blocks[0].Text; !strings.Contains(repair, c.told) {
					t.Errorf("repair %q", repair)
				}
			}
			if d.attempt != 1 || d.purse.asked != len(c.replies) {
				t.Errorf("%d attempts, %d admissions", d.attempt, d.purse.asked)
			}
		})
	}
}

// TestAFailedAttemptIsTold: the next one begins anew, and the window ends with what went wrong.
func TestAFailedAttemptIsTold(t *testing.T) {
	var fine atomic.Bool
	m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		if fine.Load() {
			return says("well"), nil
		}
		turn := says("never ends")
		turn.Stop = loop.StopMaxTokens
		return turn, nil
	}}
	d := desk{}
	for range 5 {
		if _, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); !errors.Is(err, loop.MaxTokens) {
			t.Fatal(err)
		}
	}
	fine.Store(true)
	if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); err != nil || out != `"well"` {
		t.Fatalf("%s, %v", out, err)
	}
	if len(m.windows[0].Messages[0].Blocks) != 1 {
		t.Errorf("first: %+v", m.windows[0].Messages)
	}
	last := m.windows[5].Messages
	const want = "Earlier attempts at this task have failed. Do not repeat what led there.\n<earlier_attempts>\n(2 older ones are left out)\n" +
		"Attempt 3: MAX_TOKENS: the answer was cut after 1 tokens; raise the agent's MaxTokens\n" +
		"Attempt 4: MAX_TOKENS: the answer was cut after 1 tokens; raise the agent's MaxTokens\n" +
		"Attempt 5: MAX_TOKENS: the answer was cut after 1 tokens; raise the agent's MaxTokens\n</earlier_attempts>"
	if len(last) != 1 || last[0].Blocks[len(last[0].Blocks)-1].Text != want {
		t.Errorf("last window: %+v", last)
	}
	if d.purse.output() != 6 {
		t.Errorf("%d tokens", d.purse.output())
	}
}

// TestAFullWindowBeginsAnew: but not where the first message alone does not fit.
func TestAFullWindowBeginsAnew(t *testing.T) {
	m := &model{}
	m.answer = func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		switch {
		case n == 2 && m.calls() == 2:
			return loop.Turn{}, &cairn.Failure{Code: loop.ContextFull, Message: "too long" + strings.Repeat("!", 5000)}
		case n == 1 && m.calls() == 1:
			return wants(use("a", "walk", `{}`)), nil
		}
		return says("ok"), nil
	}
	d := desk{tools: []cairn.Tool{echo("walk")}}
	if _, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); !errors.Is(err, loop.ContextFull) || cairn.FailureOf(err).Permanent {
		t.Fatal(err)
	}
	if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); err != nil || out != `"ok"` || len(d.final(t)) != 2 {
		t.Errorf("%s, %v", out, err)
	}
	told := m.windows[2].Messages[0].Blocks
	if last := told[len(told)-1].Text; !strings.Contains(last, "Attempt 1: CONTEXT_FULL: too long!") || len(last) > 1300 {
		t.Errorf("the next attempt is told %d bytes: %.300s", len(last), last)
	}
	m.answer = func(context.Context, loop.Window, int) (loop.Turn, error) {
		return loop.Turn{}, &cairn.Failure{Code: loop.ContextFull, Message: "too long"}
	}
	if _, err := new(desk).try(t.Context(), t, textTask(&loop.Agent{Model: m})); !cairn.FailureOf(err).Permanent {
		t.Error(err)
	}
}

// TestTransientErrors: a bad moment of the provider costs the call, not the conversation.
func TestTransientErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := map[int]int{1: 1, 2: 4}
		m := &model{answer: func(_ context.Context, _ loop.Window, n int) (loop.Turn, error) {
			if bad[n] > 0 {
				bad[n]--
				return loop.Turn{Usage: used(10)}, &cairn.Failure{Code: loop.ModelOverloaded, Message: "529"}
			}
			if n == 1 {
				return wants(use("a", "walk", `{}`)), nil
			}
			return says("ok"), nil
		}}
		var walks atomic.Int32
		d := desk{tools: []cairn.Tool{tool("walk", func(context.Context, string) (string, error) { walks.Add(1); return "x", nil })}}
		start := time.Now()
		if _, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); !errors.Is(err, loop.ModelOverloaded) {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 4*time.Second || m.calls() != 5 {
			t.Errorf("%d calls in %s", m.calls(), took)
		}
		if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); err != nil || out != `"ok"` {
			t.Fatalf("%s, %v", out, err)
		}
		if m.calls() != 7 || walks.Load() != 1 || d.purse.output() != 52 { // turn 1 is neither asked nor paid for again
			t.Errorf("%d calls, %d walks, %d tokens", m.calls(), walks.Load(), d.purse.output())
		}
		if len(d.final(t)) != 4 {
			t.Errorf("conversation %+v", d.final(t))
		}
	})
}

func TestLongPausesAreTheEngines(t *testing.T) {
	m := &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) {
		return loop.Turn{}, &cairn.Failure{Code: loop.RateLimited, RetryAfter: time.Minute}
	}}
	d := desk{}
	_, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m}))
	if f := cairn.FailureOf(err); f.RetryAfter != time.Minute || f.Permanent || m.calls() != 1 {
		t.Errorf("%+v after %d calls", f, m.calls())
	}
}

// TestARefusedBudgetKeepsTheConversation: who raises the limit pays for nothing twice.
func TestARefusedBudgetKeepsTheConversation(t *testing.T) {
	m := replies(wants(use("a", "walk", `{}`)), says("ok"))
	d := desk{tools: []cairn.Tool{echo("walk")}}
	d.purse.admit = func(calls int) error {
		if calls == 2 {
			return &cairn.Failure{Code: cairn.BudgetExceeded, Permanent: true}
		}
		return nil
	}
	if _, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); !errors.Is(err, cairn.BudgetExceeded) {
		t.Fatal(err)
	}
	if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); err != nil || out != `"ok"` || m.calls() != 2 || d.purse.output() != 2 {
		t.Errorf("%s, %v, %d calls, %d tokens", out, err, m.calls(), d.purse.output())
	}
}

// TestABudgetBehindAToolEndsTheAttempt: the model could do nothing about it. Once there is room the tool is called again.
func TestABudgetBehindAToolEndsTheAttempt(t *testing.T) {
	full := true
	delegate := tool("delegate", func(context.Context, string) (string, error) {
		if full {
			return "", fmt.Errorf("a sub-agent: %w", &cairn.Failure{Code: cairn.BudgetExceeded, Permanent: true})
		}
		return "done", nil
	})
	m := replies(wants(use("a", "delegate", `{}`)), says("ok"))
	d := desk{tools: []cairn.Tool{delegate}}
	if _, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); !errors.Is(err, cairn.BudgetExceeded) {
		t.Fatal(err)
	}
	full = false
	if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); err != nil || out != `"ok"` || m.calls() != 2 || d.final(t)[2].Blocks[0].Text != "done" {
		t.Errorf("%s, %v, %d calls", out, err, m.calls())
	}
}

// TestAPanicOfAModel is the engine's affair; the conversation goes on, and what was spent is booked once.
func TestAPanicOfAModel(t *testing.T) {
	m := replies(wants(use("a", "walk", `{}`)), says("ok"))
	plain := m.answer
	m.answer = func(ctx context.Context, w loop.Window, n int) (loop.Turn, error) {
		if m.calls() == 2 {
			panic("ouch")
		}
		return plain(ctx, w, n)
	}
	d := desk{tools: []cairn.Tool{echo("walk")}}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("no panic")
			}
		}()
		_, _ = d.try(t.Context(), t, textTask(&loop.Agent{Model: m}))
	}()
	if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); err != nil || out != `"ok"` || m.calls() != 3 || d.purse.output() != 2 {
		t.Errorf("%s, %v, %d calls, %d tokens", out, err, m.calls(), d.purse.output())
	}
}

// TestATimedOutAttemptIsAFailedOne, and one that was stopped for another reason is not.
func TestATimedOutAttemptIsAFailedOne(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		fresh bool
	}{
		"timeout":   {&cairn.Failure{Code: cairn.TaskTimeout, Message: "the attempt took longer than 1s"}, true},
		"silence":   {&cairn.Failure{Code: cairn.HeartbeatTimeout, Message: "no heartbeat for 1s"}, true},
		"stop":      {errors.New("the engine is closing"), false},
		"cancelled": {cairn.Cancelled, false},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			m := replies(wants(use("a", "walk", `{}`)), says("ok"))
			plain := m.answer
			m.answer = func(ctx context.Context, w loop.Window, n int) (loop.Turn, error) {
				if n == 2 && ctx.Err() == nil && m.calls() == 2 {
					cancel(c.cause)
					return loop.Turn{}, ctx.Err()
				}
				return plain(ctx, w, n)
			}
			d := desk{tools: []cairn.Tool{echo("walk")}}
			if _, err := d.try(ctx, t, textTask(&loop.Agent{Model: m})); err == nil {
				t.Fatal("no error")
			}
			if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); err != nil || out != `"ok"` {
				t.Fatalf("%s, %v", out, err)
			}
			want := 3
			if c.fresh {
				want = 4
			}
			if m.calls() != want || d.purse.output() != int64(want)-1 {
				t.Errorf("%d calls, %d tokens", m.calls(), d.purse.output())
			}
		})
	}
}

// TestToolsInsideOfATask: to a tool its call looks like an attempt with a key of its own, and what it emits belongs to
// whichever attempt gets the result.
func TestToolsInsideOfATask(t *testing.T) {
	var keys []string
	emits := tool("walk", func(ctx context.Context, _ string) (string, error) {
		keys = append(keys, task.IdempotencyKey(ctx))
		return "x", task.Emit(ctx, "told", 1)
	})
	m := replies(wants(use("a", "walk", `{}`)), wants(use("b", "walk", `{}`)), says("ok"))
	d := desk{tools: []cairn.Tool{emits}}
	for range 2 { // the second attempt gets all from the journal
		call := d.call()
		result, err := textTask(&loop.Agent{Model: m}).Lower().Task.Run(t.Context(), call)
		if err != nil || len(result.Effects) != 2 {
			t.Fatalf("%v, effects %v", err, result.Effects)
		}
	}
	if len(keys) != 2 || keys[0] == keys[1] || !strings.HasSuffix(keys[0], ".turn.1.tool.1") || m.calls() != 3 {
		t.Errorf("keys %q, %d calls", keys, m.calls())
	}
}

// TestSeveralConversationsInATask: those about other prompts, of other agents by ID, and of agents behind tools have records
// of their own.
func TestSeveralConversationsInATask(t *testing.T) {
	inner := &loop.Agent{Model: replies(says("inner"))}
	nested := tool("ask", func(ctx context.Context, _ string) (string, error) {
		resp, err := inner.Run(ctx, task.Request{Prompt: "do it"})
		return resp.Text, err
	})
	outer := &loop.Agent{Model: replies(wants(use("a", "ask", `{}`), use("b", "ask", `{}`)), says("outer")), Tools: []cairn.Tool{nested}}
	other := &loop.Agent{Model: replies(says("other")), ID: "other"}
	ask := func(ctx context.Context) (string, error) {
		var all []string
		for _, do := range []func() (task.Response, error){
			func() (task.Response, error) { return outer.Run(ctx, task.Request{Prompt: "do it"}) },
			func() (task.Response, error) { return other.Run(ctx, task.Request{Prompt: "do it"}) },
			func() (task.Response, error) { return inner.Run(ctx, task.Request{Prompt: "something else"}) },
		} {
			resp, err := do()
			if err != nil {
				return "", err
			}
			all = append(all, resp.Text)
		}
		return strings.Join(all, " "), nil
	}
	d := desk{}
	for range 2 {
		if out, err := d.try(t.Context(), t, task.Task[string]{ID: "step", Do: ask}); err != nil || out != `"outer other inner"` {
			t.Fatalf("%s, %v", out, err)
		}
	}
	if d.purse.output() != 6 { // two turns outside, two inside, two more
		t.Errorf("%d tokens", d.purse.output())
	}
}

func TestTwoConversationsAtOnceNeedIDs(t *testing.T) {
	var a *loop.Agent
	var inner error
	m := &model{answer: func(ctx context.Context, _ loop.Window, _ int) (loop.Turn, error) {
		_, inner = a.Run(ctx, task.Request{Prompt: "do it"})
		return says("ok"), nil
	}}
	a = &loop.Agent{Model: m}
	d := desk{}
	if _, err := d.try(t.Context(), t, textTask(a)); err != nil {
		t.Fatal(err)
	}
	if inner == nil || !strings.Contains(inner.Error(), "an ID each") {
		t.Errorf("%v", inner)
	}
}

func TestMistakesOfAnAgent(t *testing.T) {
	for name, a := range map[string]*loop.Agent{
		"no model":   {},
		"tool twice": {Model: replies(says("x")), Tools: []cairn.Tool{echo("a"), echo("a")}},
		"no call":    {Model: replies(says("x")), Tools: []cairn.Tool{{Name: "a"}}},
	} {
		_, err := a.Run(t.Context(), task.Request{Prompt: "x"})
		if err == nil || !cairn.FailureOf(err).Permanent {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestOutsideOfATask an agent works without a journal, and reports its usage in the response.
func TestOutsideOfATask(t *testing.T) {
	a := &loop.Agent{Model: replies(wants(use("a", "walk", `{}`)), says("ok")), Tools: []cairn.Tool{echo("walk")}}
	resp, err := a.Run(t.Context(), task.Request{Prompt: "x"})
	if err != nil || resp.Text != "ok" || len(resp.Usage) != 2 {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestIdentity(t *testing.T) {
	base := func() *loop.Agent { return &loop.Agent{Model: replies(), System: "s", Tools: []cairn.Tool{echo("a")}} }
	if one, two := base(), base(); one.Identity() != two.Identity() || one.Models()[0] != "m" {
		t.Error("equal agents differ")
	}
	seen := map[string]string{base().Identity(): "base"}
	for name, change := range map[string]func(*loop.Agent){
		"system": func(a *loop.Agent) { a.System = "t" },
		"tool":   func(a *loop.Agent) { a.Tools[0].Description = "t" },
		"model":  func(a *loop.Agent) { a.Model = &model{name: "n"} },
		"tokens": func(a *loop.Agent) { a.MaxTokens = 9 },
	} {
		a := base()
		change(a)
		if other, twice := seen[a.Identity()]; twice {
			t.Errorf("%s is as %s", name, other)
		}
		seen[a.Identity()] = name
	}
}

func TestEvents(t *testing.T) {
	m := replies(wants(use("a", "walk", `{}`)), says("ok"))
	plain := m.answer
	m.answer = func(ctx context.Context, w loop.Window, n int) (loop.Turn, error) {
		w.Observe(loop.Event{Kind: loop.TextDelta, Text: "x"})
		return plain(ctx, w, n)
	}
	var seen []string
	d := desk{tools: []cairn.Tool{echo("walk")}}
	a := &loop.Agent{Model: m, Observe: func(ev loop.Event) {
		seen = append(seen, fmt.Sprintf("%s/%d%s%s", ev.Kind, ev.Turn, ev.Name, ev.Text))
		if ev.Path != "work/step" {
			t.Errorf("path %q", ev.Path)
		}
	}}
	for range 2 {
		if _, err := d.try(t.Context(), t, textTask(a)); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Join(seen, " "); got != "turn_begun/1 text/1x turn_ended/1 tool_begun/1walk tool_ended/1walk turn_begun/2 text/2x turn_ended/2" {
		t.Errorf("events %s", got)
	}
}
