package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

var (
	_ loop.Structurer = (*loop.Fallback)(nil)
	_ loop.Structurer = loop.Limited{}
)

// shop is a model of a provider that can be shut.
type shop struct {
	name  string
	err   atomic.Pointer[cairn.Failure]
	calls atomic.Int32
	plain bool
}

func (s *shop) Info() loop.Info {
	return loop.Info{Provider: s.name, Models: []string{s.name}, Identity: s.name}
}
func (s *shop) Structures(json.RawMessage) bool { return !s.plain }
func (s *shop) Call(context.Context, loop.Window) (loop.Turn, error) {
	s.calls.Add(1)
	if f := s.err.Load(); f != nil {
		return loop.Turn{Usage: used(100)}, f
	}
	return says(s.name), nil
}

func TestFallback(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := &shop{name: "a"}, &shop{name: "b"}
		f := &loop.Fallback{Models: []loop.Model{a, b}}
		ask := func(want string, code cairn.Code, tokens int64) {
			t.Helper()
			turn, err := f.Call(t.Context(), loop.Window{})
			var sum int64
			for _, u := range turn.Usage {
				sum += u.Output
			}
			if code != "" && !errors.Is(err, code) || code == "" && (err != nil || turn.Blocks[0].Text != want) || sum != tokens {
				t.Fatalf("%+v, %v; want %s %s", turn, err, want, code)
			}
		}
		shut := func(s *shop, f *cairn.Failure) { s.err.Store(f) }
		busy := &cairn.Failure{Code: loop.ModelOverloaded}
		ask("a", "", 1)
		shut(a, busy)
		for range 3 {
			ask("b", "", 101)
		}
		ask("b", "", 1) // a is left alone now
		if a.calls.Load() != 4 {
			t.Errorf("a was asked %d times", a.calls.Load())
		}
		time.Sleep(time.Minute)
		ask("b", "", 101) // one call has tried it
		ask("b", "", 1)
		shut(b, &cairn.Failure{Code: loop.RateLimited, RetryAfter: 10 * time.Minute})
		for range 3 {
			ask("", loop.RateLimited, 100)
		}
		ask("", loop.ModelUnavailable, 0) // both are left alone
		if _, err := f.Call(t.Context(), loop.Window{}); cairn.FailureOf(err).RetryAfter != time.Minute {
			t.Errorf("%+v", err)
		}
		time.Sleep(time.Minute)
		shut(a, nil)
		ask("a", "", 1)
		time.Sleep(9 * time.Minute)
		shut(a, &cairn.Failure{Code: loop.ModelAuth, Permanent: true})
		ask("", loop.ModelAuth, 100) // no key will do elsewhere, and nothing is hidden
		shut(a, &cairn.Failure{Code: loop.RateLimited, Permanent: true})
		shut(b, nil)
		ask("b", "", 101) // a quota that is used up is no reason to stop
	})
}

// TestAnOpenCircuitHonoursRetryAfter: a provider that asks to be left alone for longer than the cooldown is.
func TestAnOpenCircuitHonoursRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &shop{name: "a"}
		a.err.Store(&cairn.Failure{Code: loop.RateLimited, RetryAfter: 10 * time.Minute})
		f := &loop.Fallback{Models: []loop.Model{a}, Failures: 1, Cooldown: time.Second}
		for _, step := range []struct {
			after time.Duration
			calls int32
		}{{0, 1}, {9 * time.Minute, 1}, {time.Minute, 2}} {
			time.Sleep(step.after)
			if _, err := f.Call(t.Context(), loop.Window{}); err == nil || a.calls.Load() != step.calls {
				t.Errorf("%v, asked %d times, want %d", err, a.calls.Load(), step.calls)
			}
		}
	})
}

// TestOneCallTries a provider that was left alone, also when a call from before ends meanwhile.
func TestOneCallTries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		m := &model{answer: func(ctx context.Context, _ loop.Window, _ int) (loop.Turn, error) {
			switch asked.Add(1) {
			case 1:
				<-ctx.Done()
				return loop.Turn{}, ctx.Err()
			case 2:
				return loop.Turn{}, &cairn.Failure{Code: loop.ModelOverloaded}
			}
			time.Sleep(time.Hour)
			return says("ok"), nil
		}}
		f := &loop.Fallback{Models: []loop.Model{m}, Failures: 1}
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		ask := func(ctx context.Context) {
			group.Go(func() { _, _ = f.Call(ctx, loop.Window{}) })
			synctest.Wait()
		}
		ask(ctx)
		ask(t.Context())
		time.Sleep(loop.DefaultCooldown)
		ask(t.Context()) // tries
		cancel()
		synctest.Wait()
		ask(t.Context())
		if asked.Load() != 3 {
			t.Errorf("asked %d times, want 3", asked.Load())
		}
		group.Wait()
	})
}

// TestWhoGivesUpGivesTheTurnBack: the next in a paced queue does not wait for a call that was cancelled.
func TestWhoGivesUpGivesTheTurnBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := loop.Limited{Model: &shop{name: "a"}, By: &loop.Limit{PerMinute: 1, Concurrent: 1}}
		begun := time.Now()
		for _, limit := range []time.Duration{time.Hour, time.Second, time.Hour} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			if _, err := m.Call(ctx, loop.Window{}); (err != nil) != (limit == time.Second) {
				t.Errorf("within %s: %v", limit, err)
			}
			cancel()
		}
		if took := time.Since(begun).Round(time.Second); took != time.Minute {
			t.Errorf("two calls, one a minute, took %s", took)
		}
	})
}

func TestFallbackAsksBudgets(t *testing.T) {
	a, b := &shop{name: "a"}, &shop{name: "b"}
	a.err.Store(&cairn.Failure{Code: loop.ModelOverloaded})
	d := desk{}
	d.purse.admit = func(calls int) error {
		if calls == 2 {
			return &cairn.Failure{Code: cairn.BudgetExceeded, Permanent: true}
		}
		return nil
	}
	_, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: &loop.Fallback{Models: []loop.Model{a, b}}}))
	if !errors.Is(err, cairn.BudgetExceeded) || b.calls.Load() != 0 || d.purse.output() != 100 {
		t.Errorf("%v, %d calls, %d tokens", err, b.calls.Load(), d.purse.output())
	}
}

func TestFallbackIsOneModel(t *testing.T) {
	f := &loop.Fallback{Models: []loop.Model{&shop{name: "a"}, loop.Limited{Model: &shop{name: "b"}}}}
	if info := f.Info(); fmt.Sprint(info.Provider, info.Models, info.Identity) != "a[a b]fallback [a, b]" || !f.Structures(nil) {
		t.Errorf("%+v", info)
	}
	f.Models = append(f.Models, &shop{name: "c", plain: true})
	if f.Structures(nil) {
		t.Error("c does not")
	}
	if _, err := new(loop.Fallback).Call(t.Context(), loop.Window{}); err == nil || !cairn.FailureOf(err).Permanent {
		t.Errorf("%v", err)
	}
}

// TestSwitchingKeepsTheConversation: the failed call is paid for, and the task does not notice.
func TestSwitchingKeepsTheConversation(t *testing.T) {
	a, b := &shop{name: "a"}, &shop{name: "b"}
	a.err.Store(&cairn.Failure{Code: loop.ModelUnavailable})
	d := desk{}
	if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: &loop.Fallback{Models: []loop.Model{a, b}}})); err != nil || out != `"b"` || d.purse.output() != 101 {
		t.Errorf("%s, %v, %d tokens", out, err, d.purse.output())
	}
}

func TestLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		slow := &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) {
			n := now.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			time.Sleep(10 * time.Second)
			now.Add(-1)
			return says("x"), nil
		}}
		by := &loop.Limit{Concurrent: 2}
		var signs atomic.Int32
		w := loop.Window{Observe: func(ev loop.Event) {
			if ev.Kind == loop.Progress {
				signs.Add(1)
			}
		}}
		start := time.Now()
		var group sync.WaitGroup
		for range 6 {
			group.Go(func() {
				if _, err := (loop.Limited{Model: slow, By: by}).Call(t.Context(), w); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		if took := time.Since(start); most.Load() != 2 || took != 30*time.Second || signs.Load() < 30 {
			t.Errorf("%d at once, %s, %d signs of life", most.Load(), took, signs.Load())
		}

		quick, paced := &shop{name: "q"}, &loop.Limit{PerMinute: 6, Burst: 2, Concurrent: 9}
		start = time.Now()
		for range 4 {
			if _, err := (loop.Limited{Model: quick, By: paced}).Call(t.Context(), w); err != nil {
				t.Error(err)
			}
		}
		if took := time.Since(start).Round(time.Millisecond); took != 20*time.Second {
			t.Errorf("4 calls took %s", took)
		}
		why := errors.New("no more time")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, why)
		defer cancel()
		if _, err := (loop.Limited{Model: quick, By: paced}).Call(ctx, w); err != why {
			t.Errorf("%v", err)
		}
	})
}

func TestLimitedAsksBudgetsAfterWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		by := &loop.Limit{PerMinute: 1}
		d := desk{}
		d.purse.admit = func(calls int) error {
			if calls == 3 {
				return &cairn.Failure{Code: cairn.BudgetExceeded, Message: "meanwhile", Permanent: true}
			}
			return nil
		}
		m := replies(wants(use("a", "x", `{}`)), says("ok"))
		_, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: loop.Limited{Model: m, By: by}}))
		if !errors.Is(err, cairn.BudgetExceeded) || !strings.Contains(err.Error(), "meanwhile") || m.calls() != 1 {
			t.Errorf("%v, %d calls", err, m.calls())
		}
	})
}

// TestFallbackMarks: a provider with breakpoints that stands in for one without places its own.
func TestFallbackMarks(t *testing.T) {
	for _, first := range []int{0, 4} {
		busy := &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) {
			return loop.Turn{}, &cairn.Failure{Code: loop.ModelOverloaded}
		}}
		m := replies(says("yes"))
		f := &loop.Fallback{Models: []loop.Model{sized{busy, func(i *loop.Info) { i.Cache.Marks = first }}, sized{m, func(i *loop.Info) { i.Cache.Marks = 4 }}}}
		if _, err := f.Call(t.Context(), loop.Window{Marks: []window.Mark{{Long: true}}}); err != nil {
			t.Fatal(err)
		}
		if got := m.windows[0].Marks; (got != nil) != (first > 0) {
			t.Errorf("the first takes %d marks, the second is given %v", first, got)
		}
	}
}
