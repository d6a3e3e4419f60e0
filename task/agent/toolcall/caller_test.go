package toolcall_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/calltest"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
)

// disk is a journal that outlives attempts. It forgets what it is told not to keep, as a kill does.
type disk struct {
	calltest.Journal
	mu   sync.Mutex // lets records be made one by one
	lose func(name string) error
}

func (d *disk) Record(ctx context.Context, name string, value json.RawMessage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.lose != nil {
		if err := d.lose(name); err != nil {
			return err
		}
	}
	return d.Journal.Record(ctx, name, value)
}

func (d *disk) all() map[string]json.RawMessage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.Records)
}

// attempt runs body as an attempt of a task over the journal.
func (d *disk) attempt(t *testing.T, n int, body func(ctx context.Context) error) error {
	t.Helper()
	call := &cairn.Call{Run: "r", Path: "step", Attempt: n, IdempotencyKey: "r/step", Journal: d}
	_, err := task.Task[bool]{ID: "step", Do: func(ctx context.Context) (bool, error) { return true, body(ctx) }}.Lower().Task.Run(cairn.WithCall(t.Context(), call), call)
	return err
}

var errGone = errors.New("the process is gone")

func does(name string, fn func(ctx context.Context) (string, error), opts ...func(*cairn.Tool)) cairn.Tool {
	t := cairn.Tool{Name: name, Call: func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
		out, err := fn(ctx)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}}
	for _, opt := range opts {
		opt(&t)
	}
	return t
}

func effect(t *cairn.Tool)     { t.SideEffect = true }
func idempotent(t *cairn.Tool) { t.SideEffect, t.Idempotent = true, true }

func use(name, in string) window.Block { return window.Block{Name: name, Input: json.RawMessage(in)} }

// TestACallIsMadeOnce: a finished call is answered from the journal; one in flight is made again under its key, unless that
// might be for the second time.
func TestACallIsMadeOnce(t *testing.T) {
	for name, tt := range map[string]struct {
		opt func(*cairn.Tool)
		// made is how often a call is made that was in flight when the process was gone; state is what becomes of it.
		made  int
		state toolcall.State
	}{"reads": {func(*cairn.Tool) {}, 2, toolcall.Done}, "idempotent": {idempotent, 2, toolcall.Done}, "effect": {effect, 1, toolcall.Unknown}} {
		t.Run(name, func(t *testing.T) {
			var d disk
			keys := map[string]int{}
			caller := &toolcall.Caller{Tools: []cairn.Tool{does("t", func(ctx context.Context) (string, error) {
				keys[task.IdempotencyKey(ctx)]++
				if toolcall.Scope(ctx) != strings.TrimPrefix(task.IdempotencyKey(ctx), "r/step#") {
					t.Errorf("scope %q", toolcall.Scope(ctx))
				}
				return fmt.Sprint("made ", len(keys)), nil
			}, tt.opt)}}
			d.lose = func(name string) error {
				if name == "b" {
					return errGone
				}
				return nil
			}
			both := func(ctx context.Context) error {
				for _, name := range []string{"a", "b"} {
					if out, err := caller.Do(ctx, name, use("t", `{}`)); err != nil {
						return err
					} else if name == "a" && out.Text != "made 1" {
						t.Errorf("%+v", out)
					}
				}
				return nil
			}
			if err := d.attempt(t, 1, both); !errors.Is(err, errGone) {
				t.Fatal(err)
			}
			made, err := toolcall.Read(d.all())
			if err != nil || len(made) != 2 || made[0].State != toolcall.Done || made[1].State != toolcall.Begun || made[1].Attempt != 1 {
				t.Fatalf("%+v, %v", made, err)
			}
			d.lose = nil
			for n := range 2 { // and it stays so
				if err := d.attempt(t, 2+n, both); err != nil {
					t.Fatal(err)
				}
			}
			made, err = toolcall.Read(d.all())
			if err != nil || len(made) != 2 || made[1].State != tt.state || keys["r/step#a"] != 1 || keys["r/step#b"] != tt.made {
				t.Errorf("%+v, %v, made %v", made, err, keys)
			}
		})
	}
}

// TestWhatAModelIsTold: nothing that a call comes to fails the attempt, but what ends it.
func TestWhatAModelIsTold(t *testing.T) {
	var d disk
	enough := &cairn.Failure{Code: cairn.BudgetExceeded, Message: "enough"}
	caller := &toolcall.Caller{Timeout: time.Millisecond, Tools: []cairn.Tool{
		does("ok", func(context.Context) (string, error) { return "fine", nil }),
		does("err", func(context.Context) (string, error) { return "", errors.New(strings.Repeat("é", 5000)) }),
		does("panic", func(context.Context) (string, error) { panic("oh") }),
		does("slow", func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() }, effect),
		does("poor", func(context.Context) (string, error) { return "", enough }),
	}}
	err := d.attempt(t, 1, func(ctx context.Context) error {
		for i, tt := range []struct {
			use     window.Block
			want    string
			error   bool
			unknown bool
		}{
			{use("ok", `{}`), "fine", false, false},
			{use("err", `{}`), "éé", true, false},
			{use("panic", `{}`), "the tool has panicked: oh", true, false},
			{use("slow", `{}`), "the tool took longer than 1ms. Whether the call has happened is unknown.", true, true},
			{use("none", `{}`), `There is no tool "none". The tools are: ok, err, panic, slow, poor.`, true, false},
			{use("ok", `[1]`), "The arguments must be a JSON object, and are: [1]", true, false},
			{window.Block{Name: "ok", Text: "{"}, "The arguments are no JSON: {", true, false},
		} {
			out, err := caller.Do(ctx, fmt.Sprint("c.", i), tt.use)
			if err != nil || !strings.HasPrefix(out.Text, tt.want) || out.Error != tt.error || out.Unknown != tt.unknown || len(out.Text) > toolcall.MostProblem {
				t.Errorf("%s: %+v, %v", tt.use.Name, out, err)
			}
		}
		_, err := caller.Do(ctx, "c.x", use("poor", `{}`))
		return err
	})
	if !errors.Is(err, cairn.BudgetExceeded) {
		t.Error(err)
	}
	made, err := toolcall.Read(d.all())
	var got []string
	for _, r := range made {
		got = append(got, r.Tool+" "+string(r.State))
	}
	if want := "[ok done err failed panic failed slow unknown poor begun]"; err != nil || fmt.Sprint(got) != want {
		t.Errorf("%v, %v", got, err)
	}
	// Outside of a task there is no journal, and it works all the same.
	if out, err := caller.Do(t.Context(), "x", use("ok", `{}`)); err != nil || out.Text != "fine" {
		t.Errorf("%+v, %v", out, err)
	}
}

// TestDurable: an intent is there before the call where it has to be, or where that is asked for.
func TestDurable(t *testing.T) {
	for _, durable := range []bool{false, true} {
		var d disk
		begun := map[string]bool{}
		look := func(name string) func(context.Context) (string, error) {
			return func(context.Context) (string, error) {
				_, begun[name] = d.Lookup(name + ".intent")
				return "", nil
			}
		}
		hold := make(chan struct{})
		d.lose = func(name string) error {
			if !durable && name == "reads.intent" {
				d.mu.Unlock()
				<-hold // the disk takes its time
				d.mu.Lock()
			}
			return nil
		}
		reads := look("reads")
		caller := &toolcall.Caller{Durable: durable, Tools: []cairn.Tool{does("reads", func(ctx context.Context) (string, error) { defer close(hold); return reads(ctx) }), does("effect", look("effect"), effect)}}
		err := d.attempt(t, 1, func(ctx context.Context) error {
			_, err := caller.Do(ctx, "reads", use("reads", `{}`))
			if err == nil {
				_, err = caller.Do(ctx, "effect", use("effect", `{}`))
			}
			return err
		})
		if err != nil || !begun["effect"] || begun["reads"] != durable {
			t.Errorf("durable %t: %v, %v", durable, begun, err)
		}
	}
}
