package scripted_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

var _ interface {
	loop.Model
	loop.Structurer
} = (*scripted.Model)(nil)

func user(blocks ...window.Block) window.Message {
	return window.Message{Role: window.User, Blocks: blocks}
}

func says(text string) window.Block { return window.Block{Kind: window.Text, Text: text} }

func result(tool, text string) window.Block {
	return window.Block{Kind: window.ToolResult, ID: "1", Name: tool, Text: text}
}

// talk holds a conversation with a model by hand: each turn is answered by the next message. It returns what was said.
func talk(t *testing.T, m *scripted.Model, messages ...window.Message) (said []string) {
	t.Helper()
	w := loop.Window{Key: "k"}
	for _, message := range messages {
		w.Messages = append(w.Messages, message)
		turn, err := m.Call(t.Context(), w)
		if err != nil {
			return append(said, err.Error())
		}
		text := window.Said(turn.Blocks)
		for _, use := range window.Uses(turn.Blocks) {
			text += fmt.Sprintf(" %s %s(%s)", use.ID, use.Name, use.Input)
		}
		said = append(said, text)
		w.Messages = append(w.Messages, window.Message{Role: window.Assistant, Blocks: turn.Blocks})
	}
	return said
}

// TestTurns: which one comes is in the window, and so the same however often it is asked, and in whatever order.
func TestTurns(t *testing.T) {
	m := &scripted.Model{
		Turns: []scripted.Turn{{Text: "hello", Calls: []scripted.Call{{Name: "a"}, {Name: "b", Input: map[string]int{"x": 1}}}}},
		Rules: []scripted.TurnRule{
			{Result: "failed", Turns: []scripted.Turn{{Text: "once more"}, {Text: "and again"}}},
			{Tool: "b", Turns: []scripted.Turn{{Text: "b is done"}}},
			{Contains: "special", Turns: []scripted.Turn{{Text: "s1"}}},
			{When: func(w loop.Window) bool { return len(w.Messages) == 11 }, Turns: []scripted.Turn{{Text: "eleven"}}},
			{Turns: []scripted.Turn{{Text: "one"}, {Text: "last"}}, Repeat: true},
		},
	}
	script := []window.Message{user(says("special case")), user(result("a", "it failed"), result("b", "ok")), user(result("b", "ok")), user(result("a", "failed")),
		user(result("a", "failed")), user(says("go on")), user(says("go on")), user(result("b", "x"))}
	want := []string{`hello call_1_1 a({}) call_1_2 b({"x":1})`, "once more", "b is done", "and again", "s1", "eleven", "one", "last"}
	for range 2 {
		if got := talk(t, m, script...); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := talk(t, m, user(says("plain")), user(says("x")), user(says("y"))); !slices.Equal(got, []string{want[0], "one", "last"}) {
		t.Errorf("another conversation: %q", got)
	}
	if got := talk(t, &scripted.Model{}, user(says("question"))); !strings.Contains(got[0], `there is no turn 1 in the script of the model scripted; the last message begins "question"`) {
		t.Errorf("without a script: %q", got)
	}
	if n := len(m.Windows()); n != 2*8+3 {
		t.Errorf("%d windows", n)
	}
}

// TestTurnsSay what a provider's would: all kinds of blocks, stops, errors, usage, events.
func TestTurnsSay(t *testing.T) {
	var events []loop.Event
	w := loop.Window{Key: "k", Messages: []window.Message{user(says("12345678"))}, Observe: func(ev loop.Event) { events = append(events, ev) }}
	raw := []window.Block{{Kind: window.Opaque, Provider: "p", Raw: json.RawMessage(`{}`)}}
	usage := []cairn.Usage{{Model: "x", Input: 9}}
	overloaded := &cairn.Failure{Code: loop.ModelOverloaded}
	ask := func(turn scripted.Turn) (loop.Turn, error) {
		return (&scripted.Model{Name: "m", Turns: []scripted.Turn{turn}}).Call(t.Context(), w)
	}
	got, err := ask(scripted.Turn{Thinking: "hm", Text: "look", Calls: []scripted.Call{{Name: "t", Text: "{no json", ID: "id"}}})
	want := []window.Block{{Kind: window.Thinking, Text: "hm", Provider: "scripted"}, says("look"), {Kind: window.ToolUse, ID: "id", Name: "t", Text: "{no json"}}
	if err != nil || fmt.Sprint(got.Blocks) != fmt.Sprint(want) || got.Stop != loop.StopEnd || !slices.Equal(got.Usage, []cairn.Usage{{Model: "m", Input: 2, Output: 4}}) {
		t.Errorf("%+v, %v", got, err)
	}
	if fmt.Sprint(events) != fmt.Sprint([]loop.Event{{Kind: loop.ThinkingDelta, Text: "hm"}, {Kind: loop.TextDelta, Text: "look"}, {Kind: loop.ToolNamed, Name: "t", ID: "id"}}) {
		t.Errorf("%+v", events)
	}
	if got, err := ask(scripted.Turn{Blocks: raw, Stop: loop.StopRefusal, Why: "no", Usage: usage}); err != nil || got.Stop != loop.StopRefusal || got.Why != "no" ||
		fmt.Sprint(got.Blocks) != fmt.Sprint(raw) || !slices.Equal(got.Usage, usage) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := ask(scripted.Turn{Err: overloaded, Usage: usage}); !errors.Is(err, loop.ModelOverloaded) || !slices.Equal(got.Usage, usage) {
		t.Errorf("%+v, %v", got, err)
	}
	m := &scripted.Model{Turns: []scripted.Turn{{Text: "ok", Fails: []error{overloaded, errors.New("second")}}}}
	for i, want := range []string{"MODEL_OVERLOADED", "second", ""} {
		turn, err := m.Call(t.Context(), w)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) || err == nil && window.Said(turn.Blocks) != "ok" {
			t.Errorf("call %d: %+v, %v", i, turn, err)
		}
	}
	if _, err := (&scripted.Model{Size: 1, Auto: true}).Call(t.Context(), w); !errors.Is(err, loop.ContextFull) {
		t.Errorf("too large a window: %v", err)
	}
}

// TestAutoOfAModel: an answer of the schema, wherever that is, mended as the refusals say.
func TestAutoOfAModel(t *testing.T) {
	for _, native := range []bool{false, true} {
		m := &scripted.Model{Auto: true, Native: native}
		node := task.Task[ruled]{ID: "t", Agent: &loop.Agent{Model: m}, Prompt: func(*cairn.View) string { return "go" }}
		result, err := node.Lower().Task.Run(t.Context(), &cairn.Call{Input: json.RawMessage(`"go"`)})
		if err != nil || string(result.Output) != auto[ruled](t) {
			t.Errorf("native %t: %s, %v", native, result.Output, err)
		}
		if first := m.Windows()[0]; native != (first.Schema != nil) || len(m.Windows()) < 2 {
			t.Errorf("native %t: %d calls, %s", native, len(m.Windows()), first.Schema)
		}
	}
	resp, err := (&loop.Agent{Model: &scripted.Model{Auto: true}}).Run(t.Context(), task.Request{Prompt: "go"})
	if err != nil || resp.Text != "An answer to: go" {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestIdentityOfAModel(t *testing.T) {
	script := func(text, variant string) *scripted.Model {
		return &scripted.Model{Name: "m", Variant: variant, Rules: []scripted.TurnRule{{Turns: []scripted.Turn{{Text: text, Calls: []scripted.Call{{Name: "t", Input: 1}}}}}}}
	}
	one, again, other := script("1", "").Info().Identity, script("1", "").Info().Identity, script("2", "").Info().Identity
	if one != again || one == other || one == "" || one == script("1", "v").Info().Identity {
		t.Errorf("%q, %q, %q", one, again, other)
	}
	when := script("1", "")
	when.Rules[0].When = func(loop.Window) bool { return true }
	if id := (&loop.Agent{Model: when}).Identity(); id != "" {
		t.Errorf("functions: %q", id)
	}
	if id := (&loop.Fallback{Models: []loop.Model{script("1", ""), when}}).Info().Identity; id != "" {
		t.Errorf("a fallback to functions: %q", id)
	}
	when.Variant = "1"
	if id := (&loop.Agent{Model: when}).Identity(); id == "" {
		t.Error("a variant names what functions do")
	}
}

// cached calls a model whose cache has rules, with texts of so many tokens, and marks behind some of them.
func cached(t *testing.T, m *scripted.Model, marks []window.Mark, tokens ...int) cairn.Usage {
	t.Helper()
	w := loop.Window{System: strings.Repeat("s", 4*tokens[0]), Marks: marks}
	for i, n := range tokens[1:] {
		w.Messages = append(w.Messages, user(says(strings.Repeat(string(rune('a'+i)), 4*n))))
	}
	turn, err := m.Call(t.Context(), w)
	if err != nil {
		t.Fatal(err)
	}
	return turn.Usage[0]
}

// TestPromptCache: what a call reads is what earlier ones have written, as far as the rules of the provider let it be found.
func TestPromptCache(t *testing.T) {
	at := func(message int) window.Mark { return window.Mark{Message: message} }
	long := func(message int) window.Mark { return window.Mark{Message: message, Long: true} }
	const min, hour = time.Minute, time.Hour
	type call struct {
		after                         time.Duration
		marks                         []window.Mark
		tokens                        []int
		input, read, written, write1h int64
	}
	for name, c := range map[string]struct {
		rules window.Rules
		calls []call
	}{
		"no cache": {window.Rules{}, []call{{0, nil, []int{10, 20}, 30, 0, 0, 0}, {0, nil, []int{10, 20}, 30, 0, 0, 0}}},
		"by itself": {window.Rules{Minimum: 1}, []call{
			{0, nil, []int{10, 20}, 30, 0, 0, 0}, {0, nil, []int{10, 20, 5}, 5, 30, 0, 0}, {0, nil, []int{10, 21}, 21, 10, 0, 0}, {0, nil, []int{11, 20}, 31, 0, 0, 0}}},
		"with marks": {window.Rules{Marks: 2, Life: 5 * min}, []call{
			{0, []window.Mark{at(window.OfSystem), at(0)}, []int{10, 20, 3}, 3, 0, 30, 0},
			{0, []window.Mark{at(0), at(2)}, []int{10, 20, 3, 4, 2}, 2, 30, 7, 0},
			{0, []window.Mark{at(0)}, []int{10, 99}, 0, 10, 99, 0},
			{0, nil, []int{10, 20}, 30, 0, 0, 0},
		}},
		"minimum": {window.Rules{Marks: 2, Minimum: 15}, []call{
			{0, []window.Mark{at(window.OfSystem), at(0)}, []int{10, 20}, 0, 0, 30, 0}, {0, []window.Mark{at(window.OfSystem)}, []int{10, 21}, 31, 0, 0, 0}}},
		"lookback": {window.Rules{Marks: 1, Lookback: 2}, []call{
			{0, []window.Mark{at(0)}, []int{10, 20}, 0, 0, 30, 0},
			{0, []window.Mark{at(3)}, []int{10, 20, 1, 1, 1}, 0, 0, 33, 0}, // three blocks on
			{0, []window.Mark{at(2)}, []int{10, 20, 1, 1, 1}, 1, 30, 2, 0},
		}},
		"life": {window.Rules{Marks: 2, Life: 5 * min, Long: hour}, []call{
			{0, []window.Mark{long(window.OfSystem), at(0)}, []int{10, 20}, 0, 0, 30, 10},
			{4 * min, []window.Mark{at(0)}, []int{10, 20}, 0, 30, 0, 0},
			{4 * min, []window.Mark{at(0)}, []int{10, 20}, 0, 30, 0, 0}, // it was used since
			{6 * min, []window.Mark{at(0)}, []int{10, 20}, 0, 10, 20, 0},
			{2 * hour, []window.Mark{at(0)}, []int{10, 20}, 0, 0, 30, 0},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := &scripted.Model{Auto: true, Cache: c.rules}
				for i, call := range c.calls {
					time.Sleep(call.after)
					u := cached(t, m, call.marks, call.tokens...)
					if u.Input != call.input || u.CacheRead != call.read || u.CacheWrite != call.written || u.CacheWrite1h != call.write1h {
						t.Errorf("call %d: %+v, want %+v", i, u, call)
					}
				}
			})
		})
	}
	m := &scripted.Model{Auto: true, Cache: window.Rules{Marks: 1}}
	for _, marks := range [][]window.Mark{{at(0), at(window.OfSystem)}, {at(7)}, {at(window.OfTools)}} {
		w := loop.Window{System: "s", Messages: []window.Message{user(says("x"))}, Marks: marks}
		if _, err := m.Call(t.Context(), w); !errors.Is(err, loop.ModelRequest) {
			t.Errorf("%v: %v", marks, err)
		}
	}
	if m.Info().Cache.Marks != 1 {
		t.Error("the rules are not told")
	}
}

func TestModelSideBySide(t *testing.T) {
	m := &scripted.Model{Auto: true, Cache: window.Rules{Minimum: 1}}
	var group sync.WaitGroup
	for i := range 20 {
		group.Go(func() {
			w := loop.Window{Key: fmt.Sprint(i), Messages: []window.Message{user(says("same")), user(says(fmt.Sprint(i)))}}
			if _, err := m.Call(t.Context(), w); err != nil {
				t.Error(err)
			}
			m.Windows()
		})
	}
	group.Wait()
}

// TestPromptCacheOfALoop: with the marks that a loop sets each call reads what those before it have written.
func TestPromptCacheOfALoop(t *testing.T) {
	m := &scripted.Model{Cache: window.Rules{Marks: 4, Lookback: 20, Life: time.Hour}, Auto: true}
	long := strings.Repeat("long ", 400)
	look := tool.New("look", "Looks.", func(_ context.Context, in seen) (string, error) { return in.What + long, nil })
	for i := range 5 {
		m.Turns = append(m.Turns, scripted.Turn{Text: "on", Calls: []scripted.Call{{Name: "look", Input: seen{fmt.Sprint(i)}}}})
	}
	resp, err := (&loop.Agent{Model: m, System: long, Tools: []cairn.Tool{look}}).Run(t.Context(), task.Request{Prompt: long})
	if err != nil || len(resp.Usage) != 6 {
		t.Fatalf("%+v, %v", resp, err)
	}
	for i, u := range resp.Usage[1:] {
		if before := resp.Usage[i]; u.CacheRead != before.CacheRead+before.CacheWrite || u.CacheWrite < 400 || u.Input > 1 {
			t.Errorf("call %d: %+v after %+v", i+2, u, before)
		}
	}
}
