package delegate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/calltest"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/delegate"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

// model answers by a function of the window and the number of the turn, and keeps what it saw.
type model struct {
	answer func(ctx context.Context, w loop.Window, turn int) (loop.Turn, error)

	mu   sync.Mutex // guards seen
	seen []string
}

func (m *model) Info() loop.Info {
	return loop.Info{Provider: "script", Models: []string{"m"}, Identity: "script"}
}

func (m *model) Call(ctx context.Context, w loop.Window) (loop.Turn, error) {
	turn := 1
	for _, message := range w.Messages {
		if message.Role == window.Assistant {
			turn++
		}
	}
	var names []string
	for _, t := range w.Tools {
		names = append(names, t.Name+" "+t.Description)
	}
	raw, err := json.Marshal([]any{w.System, names, w.Messages})
	if err != nil {
		return loop.Turn{}, err
	}
	m.mu.Lock()
	m.seen = append(m.seen, string(raw))
	m.mu.Unlock()
	return m.answer(ctx, w, turn)
}

func (m *model) all() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return strings.Join(m.seen, "\n")
}

func used(output int64) []cairn.Usage { return []cairn.Usage{{Model: "m", Output: output}} }

func says(text string) loop.Turn {
	return loop.Turn{Blocks: []window.Block{{Kind: window.Text, Text: text}}, Stop: loop.StopEnd, Usage: used(10)}
}

func wants(calls ...window.Block) loop.Turn {
	return loop.Turn{Blocks: calls, Stop: loop.StopEnd, Usage: used(10)}
}

func use(id, name string, in any) window.Block {
	raw, _ := json.Marshal(in)
	return window.Block{Kind: window.ToolUse, ID: id, Name: name, Input: raw}
}

func asked(text string) map[string]string { return map[string]string{"task": text} }

func does(name, answer string, options ...tool.Option) cairn.Tool {
	return tool.New(name, "does "+name, func(context.Context, struct{}) (string, error) { return answer, nil }, options...)
}

// purse is a meter.
type purse struct {
	mu    sync.Mutex // guards the rest
	own   int64
	given map[string]int64
	left  int64
}

func (p *purse) Admit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left > 0 && p.own+p.given["delegate"] >= p.left {
		return &cairn.Failure{Code: cairn.BudgetExceeded, Permanent: true}
	}
	return nil
}

func (p *purse) Spend(u cairn.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u.Delegate == "" {
		p.own += u.Tokens()
		return
	}
	if p.given == nil {
		p.given = map[string]int64{}
	}
	p.given[u.Delegate] += u.Tokens()
}

// desk runs attempts of one task.
type desk struct {
	disk    calltest.Journal
	purse   purse
	files   calltest.Files
	attempt int
	memory  string
	result  cairn.Result
}

func (d *desk) try(ctx context.Context, t testing.TB, a task.Agent) (string, error) {
	t.Helper()
	spec := task.Task[string]{ID: "lead", Agent: a, Prompt: func(*cairn.View) string { return "" }}.Lower()
	for _, err := range spec.Mistakes {
		t.Fatal(err)
	}
	d.attempt++
	call := &cairn.Call{Run: "r", Path: "lead", Key: "lead", Attempt: d.attempt, Booked: d.attempt - 1, IdempotencyKey: "r/lead", Input: json.RawMessage(`"PARENT-PROMPT"`), Prompted: true,
		Memory: d.memory, Tools: []cairn.Tool{does("parent_tool", "x")}, Journal: &d.disk, Meter: &d.purse, Artifacts: &d.files}
	var err error
	d.result, err = spec.Task.Run(cairn.WithCall(ctx, call), call)
	var text string
	_ = json.Unmarshal(d.result.Output, &text)
	return text, err
}

// conversation is the parent's.
func (d *desk) conversation(t testing.TB) string {
	t.Helper()
	raw, ok := d.disk.Lookup(loop.Conversation)
	if !ok {
		t.Fatal("no conversation")
	}
	return string(raw)
}

func lead(m loop.Model, tools ...cairn.Tool) *loop.Agent {
	return &loop.Agent{Model: m, System: "PARENT-SYSTEM", Tools: tools, Retries: -1}
}

// TestWindowsAreApart: the parent sees of its sub-agents only their answers, and they see nothing of it nor of each other.
func TestWindowsAreApart(t *testing.T) {
	sub := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		who := "ONE"
		if strings.Contains(w.Messages[0].Blocks[0].Text, "look for two") {
			who = "TWO"
		}
		if n == 1 {
			turn := wants(use("x", "look", struct{}{}), use("y", "note", struct{}{}))
			turn.Blocks = append(turn.Blocks, window.Block{Kind: window.Text, Text: "SUB-" + who + "-THOUGHT"})
			return turn, nil
		}
		return says("answer of " + who), nil
	}}
	var notes atomic.Int32
	note := tool.New("note", "keeps bulk", func(ctx context.Context, _ struct{}) (string, error) {
		_, err := task.WriteArtifact(ctx, "notes.txt", "text/plain", strings.NewReader(fmt.Sprint("bul", notes.Add(1))))
		return "kept", err
	})
	sharp := does("rm", "gone", tool.SideEffect())
	agent := &loop.Agent{Model: sub, System: "SUB-SYSTEM", Tools: []cairn.Tool{does("look", "SUB-RESULT"), note, sharp}}
	m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		switch n {
		case 1:
			turn := wants(use("a", "delegate", asked("look for one")), use("b", "delegate", asked("look for two")))
			turn.Blocks = append([]window.Block{{Kind: window.Text, Text: "PARENT-THOUGHT"}}, turn.Blocks...)
			return turn, nil
		case 2:
			return says("done"), nil
		}
		return loop.Turn{}, errors.New("no turn")
	}}
	d := desk{memory: "PARENT-MEMORY"}
	out, err := d.try(t.Context(), t, lead(m, delegate.New(delegate.Config{Agent: agent})))
	if err != nil || out != "done" {
		t.Fatalf("%s, %v", out, err)
	}
	if seen := m.all(); strings.Contains(seen, "SUB-") || !strings.Contains(seen, "answer of ONE") || !strings.Contains(seen, "answer of TWO") {
		t.Errorf("the parent saw %s", seen)
	}
	for _, seen := range sub.seen {
		if strings.Contains(seen, "PARENT-") || strings.Contains(seen, "parent_tool") || strings.Contains(seen, `rm does rm`) ||
			strings.Contains(seen, "look for one") == strings.Contains(seen, "look for two") || strings.Contains(seen, "ONE") && strings.Contains(seen, "TWO") {
			t.Errorf("a sub-agent saw %s", seen)
		}
		if !strings.Contains(seen, "You work on this task alone") || !strings.Contains(seen, "You may read and not change anything.") {
			t.Errorf("there is no notice in %s", seen)
		}
	}
	if conversation := d.conversation(t); strings.Contains(conversation, "SUB-") {
		t.Errorf("the task's conversation is %s", conversation)
	}
	if d.purse.own != 20 || d.purse.given["delegate"] != 40 {
		t.Errorf("%d tokens of its own, delegated %v", d.purse.own, d.purse.given)
	}
	if len(d.result.Artifacts) != 2 || !strings.Contains(m.all(), "artifact "+d.result.Artifacts[0].Hash+": notes.txt, 4 bytes text/plain") {
		t.Errorf("artifacts %v, the parent saw %s", d.result.Artifacts, m.all())
	}
}

// TestAnswersAreBounded: what is too long is kept as an artifact, which the parent can read.
func TestAnswersAreBounded(t *testing.T) {
	long := strings.Repeat("é0123456789\n", 5000)
	var read string
	m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		last := w.Messages[len(w.Messages)-1].Blocks[0].Text
		switch n {
		case 1:
			return wants(use("a", "delegate", asked("x"))), nil
		case 2:
			if len(last) > 4*task.MaxAnswer || !strings.HasPrefix(last, "é0123456789\n") {
				t.Errorf("%d bytes: %.200s", len(last), last)
			}
			at := strings.Index(last, "all of it is the artifact ")
			if at < 0 {
				t.Fatalf("no reference in %s", last[len(last)-200:])
			}
			hash := last[at+len("all of it is the artifact "):][:64]
			return wants(use("b", "artifact_read", map[string]any{"artifact": hash, "from": 4999, "lines": 1})), nil
		}
		read = last
		return says("ok"), nil
	}}
	var d desk
	sub := &scripted.Agent{Replies: []scripted.Reply{{Text: long, Usage: used(7)}}}
	if out, err := d.try(t.Context(), t, lead(m, delegate.New(delegate.Config{Agent: sub}), tool.ReadArtifact())); err != nil || out != "ok" {
		t.Fatalf("%s, %v", out, err)
	}
	if !strings.Contains(read, "é0123456789") || len(d.result.Artifacts) != 1 || d.purse.given["delegate"] != 7 {
		t.Errorf("read %q, artifacts %v, %v", read, d.result.Artifacts, d.purse.given)
	}
}

// TestAShareIsUsedUp: the parent is told what was spent, and goes on; a budget around ends its attempt.
func TestAShareIsUsedUp(t *testing.T) {
	sub := &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) {
		return wants(use("x", "look", struct{}{})), nil
	}}
	small := delegate.New(delegate.Config{Agent: &loop.Agent{Model: sub, Tools: []cairn.Tool{does("look", "x")}}, Share: 25})
	told := ""
	m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		if n == 1 {
			return wants(use("a", "delegate", asked("x"))), nil
		}
		b := w.Messages[2].Blocks[0]
		told = fmt.Sprint(b.Error, " ", b.Text)
		return says("did it myself"), nil
	}}
	var d desk
	if out, err := d.try(t.Context(), t, lead(m, small)); err != nil || out != "did it myself" {
		t.Fatalf("%s, %v", out, err)
	}
	if want := "true SHARE_EXHAUSTED: the sub-agent was stopped before it had an answer: it has spent 30 tokens of its share of 25; delegate a smaller part"; !strings.HasPrefix(told, want) {
		t.Errorf("told %q", told)
	}
	if len(sub.seen) != 3 || d.purse.given["delegate"] != 30 {
		t.Errorf("%d calls, %v", len(sub.seen), d.purse.given)
	}
	around := desk{purse: purse{left: 30}}
	if _, err := around.try(t.Context(), t, lead(m, small)); !errors.Is(err, cairn.BudgetExceeded) {
		t.Errorf("%v", err)
	}
	// Raised, the same conversation goes on, within what is left of the share: 20 of 25 are spent.
	around.purse.left = 0
	if out, err := around.try(t.Context(), t, lead(m, small)); err != nil || out != "did it myself" || around.purse.given["delegate"] != 30 {
		t.Errorf("%s, %v, %v", out, err, around.purse.given)
	}
}

// TestWhoCanBeDelegatedTo: what is wrong is said when the tool is made.
func TestWhoCanBeDelegatedTo(t *testing.T) {
	for want, c := range map[string]delegate.Config{
		"no agent":               {},
		"set Writer":             {Agent: stubborn{}},
		"must not be negative":   {Agent: &scripted.Agent{}, Share: -1},
		"is no name of a tool":   {Agent: &scripted.Agent{}, Name: "a b"},
		"must not be negative\n": {Agent: &scripted.Agent{}, Timeout: -1},
	} {
		func() {
			defer func() {
				if p := fmt.Sprint(recover()); !strings.Contains(p, strings.TrimSpace(want)) {
					t.Errorf("%+v: %s", c, p)
				}
			}()
			delegate.New(c)
		}()
	}
	w := delegate.New(delegate.Config{Agent: stubborn{}, Writer: true, Dir: "x/../y/", Name: "build"})
	if !w.SideEffect || !w.Idempotent || !slices.Equal(w.Delegation.Writes, []string{"y"}) {
		t.Errorf("%+v %+v", w, w.Delegation)
	}
	a := &loop.Agent{Model: &model{}, Tools: []cairn.Tool{w}}
	if spec := (task.Task[string]{ID: "t", Agent: a, Prompt: func(*cairn.View) string { return "x" }}).Lower(); !slices.Equal(spec.Task.Writes, []string{"y"}) {
		t.Errorf("%+v", spec.Task.Writes)
	}
	if got := a.ReadOnly().(*loop.Agent); len(got.Tools) != 0 || len(a.Tools) != 1 || got.Writes() != nil {
		t.Errorf("%+v", got)
	}
	if one, other := a.Identity(), (&loop.Agent{Model: &model{}, Tools: []cairn.Tool{delegate.New(delegate.Config{Agent: a, Writer: true, Name: "build"})}}).Identity(); one == other {
		t.Error("another sub-agent, and the same identity")
	}
}

// stubborn has nothing to take its tools away with.
type stubborn struct{}

func (stubborn) Run(context.Context, task.Request) (task.Response, error) {
	return task.Response{}, nil
}

// busy counts how many of it work at once.
type busy struct {
	mu        sync.Mutex // guards the rest
	now, most int
}

func (b *busy) Run(context.Context, task.Request) (task.Response, error) {
	b.mu.Lock()
	b.now++
	b.most = max(b.most, b.now)
	b.mu.Unlock()
	time.Sleep(time.Second) // of a bubble
	b.mu.Lock()
	defer b.mu.Unlock()
	b.now--
	return task.Response{Text: "ok"}, nil
}

// TestWritersTakeTurns: calls of one turn, on one directory or one inside of the other.
func TestWritersTakeTurns(t *testing.T) {
	for dir, most := range map[string]int{"d": 1, "d/e": 1, "x": 2} {
		synctest.Test(t, func(t *testing.T) {
			b := &busy{}
			one := delegate.New(delegate.Config{Agent: b, Writer: true, Dir: "d", Name: "one"})
			two := delegate.New(delegate.Config{Agent: b, Writer: true, Dir: dir, Name: "two"})
			m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
				if n == 1 {
					return wants(use("a", "one", asked("x")), use("b", "two", asked("y")), use("c", "one", asked("z"))), nil
				}
				return says("ok"), nil
			}}
			var d desk
			if out, err := d.try(t.Context(), t, lead(m, one, two)); err != nil || out != "ok" || b.most != most {
				t.Errorf("%s: %s, %v, %d at once", dir, out, err, b.most)
			}
		})
	}
}

// TestAWriterDelegatesFurther: it has its turn already.
func TestAWriterDelegatesFurther(t *testing.T) {
	inner := delegate.New(delegate.Config{Agent: &scripted.Agent{Answer: func(task.Request) scripted.Reply { return scripted.Reply{Text: "deep", Usage: used(3)} }},
		Writer: true, Dir: "d", Name: "inner"})
	middle := &loop.Agent{Model: &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		if n == 1 {
			return wants(use("a", "inner", asked("x"))), nil
		}
		return says("middle got " + w.Messages[2].Blocks[0].Text), nil
	}}, Tools: []cairn.Tool{inner}}
	m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		if n == 1 {
			return wants(use("a", "delegate", asked("x"))), nil
		}
		return says(w.Messages[2].Blocks[0].Text), nil
	}}
	var d desk
	out, err := d.try(t.Context(), t, lead(m, delegate.New(delegate.Config{Agent: middle, Writer: true, Dir: "d"})))
	if err != nil || out != "middle got deep" || d.purse.given["inner"] != 3 || d.purse.given["delegate"] != 20 {
		t.Errorf("%s, %v, %v", out, err, d.purse.given)
	}
}
