package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

var errKilled = errors.New("the process is gone")

// world is what a kill leaves: the journal, what was done outside, and the frames with their usage.
type world struct {
	t    testing.TB
	disk disk

	mu sync.Mutex // guards what follows
	// asked counts model calls by turn; durable says that the turn was in the journal.
	asked map[string]int
	// done counts executions of tools by idempotency key.
	done map[string]int
	// committed is the usage in frames, output tokens.
	committed int64
	// repeated are calls that were made although their results were in the journal.
	repeated []string
	attempts int
	// booked is the last attempt that came to its frame.
	booked int
}

// life is one process: it ends at the n-th operation, before or after that has had its effect.
type life struct {
	w      *world
	cancel context.CancelFunc

	mu    sync.Mutex // guards the rest
	left  int
	after bool
	dead  bool
	spent int64
}

// op does something that a kill can come before or after. A dead process does nothing any more.
func (l *life) op(effect func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return errKilled
	}
	l.left--
	killed := l.left == 0
	if !killed || l.after {
		effect()
	}
	if killed {
		l.dead = true
		l.cancel()
		return errKilled
	}
	return nil
}

func (l *life) Lookup(name string) (json.RawMessage, bool) { return l.w.disk.Lookup(name) }
func (l *life) Heartbeat(json.RawMessage)                  {}
func (l *life) Admit() error                               { return nil }

func (l *life) Record(_ context.Context, name string, value json.RawMessage) error {
	return l.op(func() { _ = l.w.disk.Record(context.Background(), name, value) })
}

func (l *life) Spend(u cairn.Usage) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.spent += u.Output
}

// agent is the one that lives in this process.
func (l *life) agent(fate bool) *loop.Agent {
	m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		var turn loop.Turn
		err := l.op(func() { turn = l.w.turn(w, n) })
		return turn, err
	}}
	does := func(name string) cairn.Tool {
		return tool(name, func(ctx context.Context, in string) (out string, err error) {
			call, _ := cairn.CallFrom(ctx)
			err = l.op(func() { out = l.w.do(call.IdempotencyKey, name, in) })
			return out, err
		})
	}
	read, write, send := does("read"), does("write"), does("send")
	write.SideEffect, write.Idempotent = true, true
	send.SideEffect = true
	send.Idempotent = !fate
	return &loop.Agent{Model: m, System: "s", Tools: []cairn.Tool{read, write, send}, Retries: -1}
}

// turn is the model's: it depends on the window alone.
func (w *world) turn(win loop.Window, n int) loop.Turn {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := win.Key[len("r/work/step#"):]
	if _, ok := w.disk.Lookup(name); ok {
		w.repeated = append(w.repeated, name)
	}
	w.asked[name]++
	out := func(calls ...window.Block) loop.Turn {
		turn := wants(calls...)
		turn.Usage = used(1 << n)
		return turn
	}
	id := func(i int) string { return fmt.Sprintf("toolu_%d_%d", n, i) }
	switch n {
	case 1:
		return out(use(id(1), "read", `{"f":"a"}`), use(id(2), "write", `{"f":"b"}`), use(id(3), "read", `{"f":"c"}`))
	case 2:
		return out(use(id(1), "send", `{"to":"x"}`), use(id(2), "unknown", `{}`), use(id(3), "send", `{"to":"y"}`))
	case 3:
		turn := says("not yet JSON")
		turn.Usage = used(1 << n)
		return turn
	case 4:
		return out(use(id(1), "read", `{"f":"a"}`))
	}
	turn := says(`{"title":"t","score":3}`)
	turn.Usage = used(1 << n)
	return turn
}

func (w *world) do(key, name, in string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.disk.Lookup(key[len("r/work/step#"):]); ok {
		w.repeated = append(w.repeated, key)
	}
	w.done[name+" "+in+" "+key]++
	return name + " of " + in
}

// live runs one process of the world; it is over when the attempt is, or at the n-th operation. It is true when that was
// never reached.
func (w *world) live(n int, after, fate bool) (string, bool) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := &life{w: w, cancel: cancel, left: n, after: after}
	w.attempts++
	input, _ := json.Marshal("do it")
	call := &cairn.Call{Run: "r", Path: "work/step", Attempt: w.attempts, IdempotencyKey: "r/work/step", Input: input, Booked: w.booked, Journal: l, Meter: l}
	result, err := reportTask(l.agent(fate)).Lower().Task.Run(cairn.WithCall(ctx, call), call)
	if l.dead {
		return "", false
	}
	if err != nil {
		w.t.Fatalf("attempt %d: %v", w.attempts, err)
	}
	w.booked = w.attempts
	w.committed += l.spent // with the frame of the attempt
	return string(result.Output), true
}

func newWorld(t testing.TB) *world {
	return &world{t: t, asked: map[string]int{}, done: map[string]int{}}
}

// peace is the world without kills.
func peace(t testing.TB) (conversation string, ops int) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	l := &life{w: w, cancel: cancel, left: 1 << 30}
	w.attempts++
	call := &cairn.Call{Run: "r", Path: "work/step", Attempt: 1, IdempotencyKey: "r/work/step", Input: json.RawMessage(`"do it"`), Journal: l, Meter: l}
	if _, err := reportTask(l.agent(false)).Lower().Task.Run(cairn.WithCall(ctx, call), call); err != nil {
		t.Fatal(err)
	}
	raw, _ := w.disk.Lookup(loop.Conversation)
	return string(raw), 1<<30 - l.left
}

// allTurns is what the five turns use.
const allTurns = 2 + 4 + 8 + 16 + 32

// check holds a finished world to what is promised. lost is how many processes were killed.
func (w *world) check(t interface {
	Errorf(format string, args ...any)
}, kills int, undisturbed string, fate bool) {
	if len(w.repeated) > 0 {
		t.Errorf("finished calls were repeated: %q", w.repeated)
	}
	model := 0
	for name, n := range w.asked {
		model += n
		if n > 1+kills {
			t.Errorf("%s was asked %d times", name, n)
		}
	}
	if model > 5+kills {
		t.Errorf("%d model calls after %d kills", model, kills)
	}
	kept, tools := map[string]bool{}, 0
	for call, n := range w.done {
		tools += n
		var name, in string
		fmt.Sscanf(call, "%s %s", &name, &in)
		if fate && name == "send" && n > 1 {
			t.Errorf("%s was done %d times", call, n)
		}
		kept[call] = true
	}
	// A kill can interrupt the calls that run side by side, three here, and none else.
	if tools > 6+3*kills || !fate && len(kept) != 6 {
		t.Errorf("%d executions, %d keys, after %d kills: %v", tools, len(kept), kills, w.done)
	}
	raw, _ := w.disk.Lookup(loop.Conversation)
	if !fate && string(raw) != undisturbed {
		t.Errorf("the conversation is\n%s, undisturbed\n%s", raw, undisturbed)
	}
	var messages []window.Message
	if err := json.Unmarshal(raw, &messages); err != nil {
		t.Errorf("%v", err)
	}
}

// TestAKillAnywhere: at every operation on journal, model or tool, before or after it has had its effect, a kill costs at
// most what was in flight. The conversation ends up as if there had been none, and all usage is in frames.
func TestAKillAnywhere(t *testing.T) {
	undisturbed, ops := peace(t)
	if ops < 30 {
		t.Fatalf("only %d operations", ops)
	}
	t.Logf("%d operations", ops)
	for _, fate := range []bool{false, true} {
		for _, after := range []bool{false, true} {
			for n := 1; ; n++ {
				w := newWorld(t)
				if _, finished := w.live(n, after, fate); finished {
					if n < ops {
						t.Fatalf("over after %d operations", n)
					}
					break
				}
				if out, finished := w.live(0, after, fate); !finished || out != `{"title":"t","score":3}` {
					t.Fatalf("kill at %d: %s", n, out)
				}
				t.Run(fmt.Sprintf("fate=%t/after=%t/%d", fate, after, n), func(t *testing.T) {
					w.check(t, 1, undisturbed, fate)
					if w.committed != allTurns {
						t.Errorf("%d tokens in frames, want %d", w.committed, allTurns)
					}
				})
			}
		}
	}
}

// TestKillsInARow: the same for any sequence of kills.
func TestKillsInARow(t *testing.T) {
	undisturbed, _ := peace(t)
	rapid.Check(t, func(rt *rapid.T) {
		fate := rapid.Bool().Draw(rt, "fate")
		w := newWorld(t)
		kills := 0
		for _, n := range rapid.SliceOfN(rapid.IntRange(1, 14), 1, 8).Draw(rt, "lives") {
			if _, finished := w.live(n, rapid.Bool().Draw(rt, "after"), fate); finished {
				break
			}
			kills++
		}
		if out, finished := w.live(0, false, fate); !finished || out != `{"title":"t","score":3}` {
			rt.Fatalf("%s", out)
		}
		w.check(rt, kills, undisturbed, fate)
	})
}

// TestAnUnknownOutcomeIsTold: a side effect that may have happened is not repeated, and the model learns of it.
func TestAnUnknownOutcomeIsTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var sent int
	send := cairn.Tool{Name: "send", SideEffect: true, Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
		sent++
		cancel()
		return nil, errKilled
	}}
	m := replies(wants(use("a", "send", `{}`)), says("ok"))
	d := desk{tools: []cairn.Tool{send}}
	if _, err := d.try(ctx, t, textTask(&loop.Agent{Model: m})); err == nil {
		t.Fatal("no error")
	}
	for range 2 { // and it stays what the model was told
		if out, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m})); err != nil || out != `"ok"` {
			t.Fatalf("%s, %v", out, err)
		}
	}
	const want = "It is unknown whether this call of send has happened: the process was stopped in the middle of it. " +
		"It was not made again. Find out, if you can, before you call the tool once more."
	if got := d.final(t)[2].Blocks[0]; got.Text != want || !got.Error || sent != 1 {
		t.Errorf("%+v, sent %d times", got, sent)
	}
	if i := slices.IndexFunc(d.disk.names(), func(n string) bool { return n[len(n)-7:] == ".intent" }); i < 0 {
		t.Errorf("no intent among %q", d.disk.names())
	}
}
