package window_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/window"
)

var claude = window.Rules{Marks: 4, Minimum: 1024, Lookback: 20, Life: 5 * time.Minute, Long: time.Hour}

func text(s string) []window.Block { return []window.Block{{Kind: window.Text, Text: s}} }

func encoded(t interface{ Fatal(...any) }, v any) []byte {
	raw, err := schema.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// tools are two that read, and one that writes.
var tools = []window.Tool{{Name: "read", Description: "reads", Schema: json.RawMessage(`{"type":"object"}`), Reads: true}, {Name: "list", Reads: true}, {Name: "write"}}

func opening(s window.Setup) window.Opening {
	s.Tools = tools
	return window.Opening{Setup: s, First: window.Message{Role: window.User, Blocks: text("do it")}, Parts: []window.Part{window.PartPrompt}}
}

// play is a conversation whose turns are drawn; it gives what each call saw.
type play struct {
	views []window.View
	plans []window.Plan
}

// exchange is one turn: what the model calls, and what it is told.
type exchange struct {
	calls, results []window.Block
	used           []cairn.Usage
	todo           string
	gap            int64
}

func drawExchange(t *rapid.T) exchange {
	var e exchange
	for i := range rapid.IntRange(1, 3).Draw(t, "calls") {
		name := rapid.SampledFrom([]string{"read", "list", "write"}).Draw(t, "tool")
		id := fmt.Sprint(i)
		in := fmt.Sprintf(`{"f":%d}`, rapid.IntRange(0, 3).Draw(t, "input"))
		out := strings.Repeat(fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "digit")), rapid.SampledFrom([]int{1, 200, 4000}).Draw(t, "size"))
		e.calls = append(e.calls, window.Block{Kind: window.ToolUse, ID: id, Name: name, Input: json.RawMessage(in)})
		e.results = append(e.results, window.Block{Kind: window.ToolResult, ID: id, Name: name, Text: out, Error: rapid.IntRange(0, 4).Draw(t, "fails") == 0})
	}
	if rapid.Bool().Draw(t, "counted") {
		e.used = []cairn.Usage{{Input: int64(rapid.IntRange(100, 5000).Draw(t, "input")), Output: 50}}
	}
	if rapid.Bool().Draw(t, "listed") {
		e.todo = "[ ] 1. " + rapid.SampledFrom([]string{"look", "write"}).Draw(t, "todo")
	}
	e.gap = int64(rapid.SampledFrom([]int{1000, 400_000}).Draw(t, "gap"))
	return e
}

func run(o window.Opening, exchanges []exchange) (p play) {
	planner := window.Open(o)
	at := int64(1)
	for _, e := range exchanges {
		at += e.gap
		plan := planner.Decide(window.Now{At: at, Todo: e.todo})
		if plan.Compact != nil {
			plan.Compact.Text = window.Complete("a summary", planner.Missing(*plan.Compact))
		}
		planner.Apply(plan)
		view := planner.View(plan)
		plan.Hash = view.Hash
		p.views, p.plans = append(p.views, view), append(p.plans, plan)
		planner.Said(e.calls, e.used)
		planner.Told(e.results)
	}
	return p
}

// stable is what of a window the next one has, too.
func stable(v window.View, plan window.Plan) []window.Message {
	messages := v.Messages
	if plan.Recite == "" {
		return messages
	}
	last := messages[len(messages)-1]
	last.Blocks = last.Blocks[:len(last.Blocks)-1]
	return append(messages[:len(messages)-1:len(messages)-1], last)
}

// TestWindows: equal states give equal bytes; a turn only appends, but for a planned rewrite and what is recited; marks keep
// to the rules and never stand behind what is recited; roles alternate.
func TestWindows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := window.Setup{System: strings.Repeat("be good ", rapid.SampledFrom([]int{1, 1000}).Draw(t, "system")), Size: rapid.SampledFrom([]int{0, 8000, 200_000}).Draw(t, "size"),
			Cache: claude, Keeps: rapid.Bool().Draw(t, "keeps"), Remind: "remember", Reduction: window.Reduction{Trigger: 2000, Free: 500, Compact: rapid.SampledFrom([]int{-1, 4000}).Draw(t, "compact")}}
		exchanges := rapid.SliceOfN(rapid.Custom(drawExchange), 1, 15).Draw(t, "turns")
		one, two := run(opening(s), exchanges), run(opening(s), exchanges)
		for i, view := range one.views {
			if a, b := encoded(t, view), encoded(t, two.views[i]); !bytes.Equal(a, b) || view.Hash != two.views[i].Hash {
				t.Fatalf("call %d: two windows of one state:\n%s\n%s", i+1, a, b)
			}
			checkMarks(t, view, one.plans[i])
			checkPointers(t, view)
			for j, m := range view.Messages {
				if want := []window.Role{window.User, window.Assistant}[j%2]; m.Role != want || len(m.Blocks) == 0 {
					t.Fatalf("call %d: message %d is of %s with %d blocks", i+1, j, m.Role, len(m.Blocks))
				}
			}
			if i == 0 || one.plans[i].Rewrites() {
				continue
			}
			before, now := encoded(t, stable(one.views[i-1], one.plans[i-1])), encoded(t, stable(view, one.plans[i]))
			if !bytes.HasPrefix(now, bytes.TrimSuffix(before, []byte("]"))) {
				t.Fatalf("call %d does not begin with the one before:\n%s\n%s", i+1, before, now)
			}
		}
	})
}

// checkPointers: what a pointer stands for is in the window, or a reference to it; of the newest results it is whole.
func checkPointers(t *rapid.T, v window.View) {
	type answer struct {
		question, text string
	}
	var all []answer
	for i, m := range v.Messages {
		for j, b := range m.Blocks {
			if b.Kind == window.ToolResult {
				use := v.Messages[i-1].Blocks[j]
				all = append(all, answer{use.Name + string(use.Input), b.Text})
			}
		}
	}
	const pointer = "Same as the result of call"
	for i, a := range all {
		if !strings.HasPrefix(a.text, pointer) {
			continue
		}
		to := ""
		for _, b := range all[:i] {
			if b.question == a.question && !strings.HasPrefix(b.text, pointer) {
				to = b.text
			}
		}
		if to == "" || i >= len(all)-window.DefaultKeep && strings.HasPrefix(to, "<cleared") {
			t.Fatalf("result %d of %d, of %s, is a pointer to %.60q", i+1, len(all), a.question, to)
		}
	}
}

func checkMarks(t *rapid.T, v window.View, plan window.Plan) {
	if len(v.Marks) > 4 {
		t.Fatalf("%d marks", len(v.Marks))
	}
	last := window.Mark{Message: window.OfTools - 1}
	for _, m := range v.Marks {
		if m.Message < last.Message || m.Message == last.Message && m.Block <= last.Block {
			t.Fatalf("marks out of order: %+v", v.Marks)
		}
		if m.Long != plan.Long {
			t.Fatalf("a mark of another life: %+v", v.Marks)
		}
		if m.Message >= 0 {
			messages := stable(v, plan)
			if m.Message >= len(messages) || messages[m.Message].Role != window.User || m.Block >= len(messages[m.Message].Blocks) {
				t.Fatalf("a mark on nothing that stays: %+v", m)
			}
		}
		last = m
	}
}

// TestClearing: in batches, over the trigger, oldest first; the newest results stay, errors, and those of listed tools; what is
// gone has a reference to the whole text, and can be had.
func TestClearing(t *testing.T) {
	s := window.Setup{Cache: claude, Keeps: true, Reduction: window.Reduction{Trigger: 10_000, Free: 4000, KeepTools: []string{"list"}}}
	p := window.Open(opening(s))
	long := func(n int) string { return fmt.Sprint(n, " ", strings.Repeat("x", 4000)) } // a thousand tokens
	var rewrites []int
	var cleared []window.Place
	for n := 1; n <= 30; n++ {
		plan := p.Decide(window.Now{At: int64(n)})
		p.Apply(plan)
		if plan.Rewrites() {
			rewrites = append(rewrites, n)
			cleared = append(cleared, plan.Clear...)
			if len(plan.Clear) < 4 {
				t.Errorf("call %d clears %d results of a thousand tokens", n, len(plan.Clear))
			}
		}
		if tokens := plan.Tokens; tokens > 15_000 {
			t.Errorf("call %d has %d tokens", n, tokens)
		}
		name := "write"
		if n == 2 {
			name = "list"
		}
		p.Said([]window.Block{{Kind: window.ToolUse, ID: "a", Name: name, Input: json.RawMessage(fmt.Sprint(n))}}, nil)
		p.Told([]window.Block{{Kind: window.ToolResult, ID: "a", Name: name, Text: long(n), Error: n == 3}})
	}
	if len(rewrites) < 2 || len(rewrites) > 5 {
		t.Errorf("rewrites at %v", rewrites)
	}
	gone := map[int]bool{}
	for _, place := range cleared {
		gone[place.Turn] = true
		if _, whole, found := p.Result(place); !found || whole != long(place.Turn) {
			t.Errorf("result %v can't be had", place)
		}
	}
	if gone[2] || gone[3] || gone[30] || gone[29] || gone[28] || !gone[1] || !gone[4] {
		t.Errorf("cleared: %v", gone)
	}
	for i, m := range p.Messages() {
		for _, b := range m.Blocks {
			if b.Kind != window.ToolResult {
				continue
			}
			turn := (i + 1) / 2
			want := long(turn)
			if gone[turn] {
				want = fmt.Sprintf("<cleared artifact=%q bytes=\"%d\">This result was taken out to save room. Read it with artifact_read if it is needed.</cleared>", window.Hash(long(turn)), len(long(turn)))
			}
			if b.Text != want {
				t.Errorf("the result of turn %d is %.200s", turn, b.Text)
			}
		}
	}
}

// TestEqualResults: a pointer stands for a result that is in the window, of a tool that reads; never for an error, for one
// that has changed, or one that was cleared.
func TestEqualResults(t *testing.T) {
	p := window.Open(opening(window.Setup{Reduction: window.Reduction{Trigger: 1000, Free: 100, Keep: 1}}))
	told := func(name, in, out string, failed bool) string {
		t.Helper()
		p.Apply(p.Decide(window.Now{}))
		p.Said([]window.Block{{Kind: window.ToolUse, ID: "a", Name: name, Input: json.RawMessage(in)}}, nil)
		p.Told([]window.Block{{Kind: window.ToolResult, ID: "a", Name: name, Text: out, Error: failed}})
		m := p.Messages()
		return m[len(m)-1].Blocks[0].Text
	}
	a, b := strings.Repeat("a", 300), strings.Repeat("b", 300)
	const pointer = "Same as the result of call %d of read above, which had the same input. Nothing has changed since."
	for i, step := range []struct {
		name, in, out string
		failed        bool
		want          string
	}{
		{"read", `{"x":1,"y":2}`, a, false, a},
		{"read", `{"y":2, "x":1}`, a, false, fmt.Sprintf(pointer, 1)},
		{"read", `{"x":2}`, a, false, a},
		{"list", `{"x":1,"y":2}`, a, false, a},
		{"read", `{"x":1,"y":2}`, b, false, b},
		{"read", `{"x":1,"y":2}`, b, false, fmt.Sprintf(pointer, 4)},
		{"read", `{"x":1,"y":2}`, a, false, a},
		{"read", `{"x":3}`, a, true, a},
		{"read", `{"x":3}`, a, true, a},
		{"write", `{}`, a, false, a},
		{"write", `{}`, a, false, a},
		{"read", `{"x":4}`, "short", false, "short"},
		{"read", `{"x":4}`, "short", false, "short"},
	} {
		if got := told(step.name, step.in, step.out, step.failed); got != step.want {
			t.Errorf("step %d: %.120s, want %.120s", i+1, got, step.want)
		}
	}
	if p.Repeats() != 2 {
		t.Errorf("%d repeats", p.Repeats())
	}
	for range 10 { // until the first answers are cleared
		told("write", `{}`, a, false)
	}
	if got := told("read", `{"x":2}`, a, false); got != a {
		t.Errorf("a pointer to what is gone: %s", got)
	}
}

// TestMarks: where each call is cached.
func TestMarks(t *testing.T) {
	p := window.Open(opening(window.Setup{System: strings.Repeat("s", 5000), Cache: claude, Reduction: window.Reduction{Trigger: 4000, Free: 1000, Keep: 1}}))
	call := func(at int64) ([]window.Mark, window.Plan) {
		plan := p.Decide(window.Now{At: at})
		p.Apply(plan)
		marks := p.View(plan).Marks
		p.Said([]window.Block{{Kind: window.ToolUse, ID: "a", Name: "write"}, {Kind: window.ToolUse, ID: "b", Name: "write"}}, nil)
		p.Told([]window.Block{{Kind: window.ToolResult, ID: "a", Name: "write", Text: strings.Repeat("x", 3000)}, {Kind: window.ToolResult, ID: "b", Name: "write", Text: "y"}})
		return marks, plan
	}
	for i, want := range []string{
		"[{-2 0 false} {-1 0 false} {0 0 false}]",
		"[{-2 0 false} {-1 0 false} {0 0 false} {2 1 false}]",
		"[{-2 0 false} {-1 0 false} {2 1 false} {4 1 false}]",
	} {
		if marks, _ := call(int64(i+1) * 1000); fmt.Sprint(marks) != want {
			t.Errorf("call %d: %v, want %s", i+1, marks, want)
		}
	}
	// Pauses that are longer than an entry lives ask for the longer life, from then on.
	if marks, _ := call(400_000); fmt.Sprint(marks) != "[{-2 0 true} {-1 0 true} {4 1 true} {6 1 true}]" {
		t.Errorf("after a pause: %v", marks)
	}
	for at := int64(401_000); ; at += 1000 {
		marks, plan := call(at)
		if !plan.Rewrites() {
			continue
		}
		if fmt.Sprint(marks[:3]) != "[{-2 0 true} {-1 0 true} {0 0 true}]" || len(marks) != 4 || !marks[3].Long { // the first result is rewritten
			t.Errorf("a rewrite: %v", marks)
		}
		break
	}
	// A provider that finds prefixes by itself is only asked for the longer life, if it has one.
	for _, c := range []struct {
		setup window.Setup
		want  string
	}{
		{window.Setup{}, "[] [] []"},
		{window.Setup{Cache: window.Rules{Life: time.Minute}, Long: true}, "[] [] []"},
		{window.Setup{Cache: window.Rules{Life: time.Minute, Long: time.Hour}}, "[] [] [{4 0 true}]"},
		{window.Setup{Cache: window.Rules{Life: time.Minute, Long: time.Hour}, Long: true}, "[{0 0 true}] [{2 0 true}] [{4 0 true}]"},
	} {
		p := window.Open(opening(c.setup))
		var got []string
		for _, at := range []int64{1, 2, 100_000} {
			plan := p.Decide(window.Now{At: at})
			p.Apply(plan)
			view := p.View(plan)
			got = append(got, fmt.Sprint(view.Marks))
			for _, s := range view.Spans() {
				if s.Marked {
					t.Errorf("%+v is shown as marked", s)
				}
			}
			one(p, int(at), "write", "x", false)
		}
		if got := strings.Join(got, " "); got != c.want {
			t.Errorf("a provider without marks is given %s, want %s", got, c.want)
		}
	}
}

// TestSpans: every byte of a window, in order, with what it is.
func TestSpans(t *testing.T) {
	s := window.Setup{System: "You are careful.", Examples: []window.Example{{Prompt: "1+1", Answer: "2"}}, Size: 1000, Remind: "Answer 42.", Cache: window.Rules{Marks: 4}}
	o := opening(s)
	o.Setup.Tools = o.Setup.Tools[:1]
	o.Before = []window.Message{{Role: window.User, Blocks: text("hello")}, {Role: window.Assistant, Blocks: text("hi")}}
	o.First.Blocks = nil
	o.Parts = []window.Part{window.PartMemory, window.PartPrompt, window.PartSchema, window.PartErrors}
	for _, part := range []string{"<mem>", "Do <dep name=\"plan\">\n{}\n</dep> now.", string(window.SchemaText(json.RawMessage(`{"type":"object"}`))), "<earlier>"} {
		o.First.Blocks = append(o.First.Blocks, text(part)...)
	}
	p := window.Open(o)
	p.Apply(p.Decide(window.Now{}))
	p.Said([]window.Block{{Kind: window.Thinking, Text: "hm"}, {Kind: window.ToolUse, ID: "a", Name: "read", Input: json.RawMessage(`{"f":"a.go"}`)}}, []cairn.Usage{{Input: 600}})
	p.Told([]window.Block{{Kind: window.ToolResult, ID: "a", Name: "read", Text: "package a"}})
	plan := p.Decide(window.Now{Todo: "[ ] 1. read\n"})
	p.Apply(plan)
	var got strings.Builder
	for _, s := range p.View(plan).Spans() {
		mark := ""
		if s.Marked {
			mark = " |"
		}
		fmt.Fprintf(&got, "%s %s%s%s: %s\n", s.Part, s.Role, s.Name, mark, s.Text)
	}
	const want = `tools read |: {"name":"read","description":"reads","schema":{"type":"object"}}
system : You are careful.
examples  |: <examples>
<example>
<prompt>
1+1
</prompt>
<answer>
2
</answer>
</example>
</examples>
history user: hello
history assistant: hi
memory user: <mem>
prompt user: Do 
deps userplan: <dep name="plan">
{}
</dep>
prompt user:  now.
schema user: Your last message must be JSON that fits this schema, and nothing else.
<output_schema>
{"type":"object"}
</output_schema>
errors user |: <earlier>
history assistant: hm
history assistantread: {"name":"read","input":{"f":"a.go"}}
history userread |: package a
recitation user: <todo>
[ ] 1. read
</todo>

<reminder>
Answer 42.
</reminder>
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
	if !plan.Half {
		t.Error("over half full, and not told")
	}
}

// one is a turn that calls a tool once.
func one(p *window.Planner, n int, name, result string, failed bool, used ...cairn.Usage) {
	p.Said([]window.Block{{Kind: window.ToolUse, ID: "a", Name: name, Input: json.RawMessage(fmt.Sprint(n))}}, used)
	p.Told([]window.Block{{Kind: window.ToolResult, ID: "a", Name: name, Text: result, Error: failed}})
}

// TestDefaults: what is taken out, and from where on, where nothing is said; smaller windows begin earlier.
func TestDefaults(t *testing.T) {
	for _, c := range []struct{ size, trigger, free, compact int }{
		{0, 100_000, 20_000, 150_000},
		{1_000_000, 100_000, 20_000, 150_000},
		{200_000, 100_000, 20_000, 150_000},
		{32_000, 16_000, 3200, 24_000},
	} {
		// plan is that of a window of so many tokens, with as many to be freed in old results, a hundred each, and three newer ones.
		plan := func(tokens, old int, failed bool) window.Plan {
			p := window.Open(opening(window.Setup{Size: c.size, Keeps: true}))
			for n := range old/100 + 3 {
				p.Apply(p.Decide(window.Now{}))
				one(p, n, "write", strings.Repeat("x", 4*(100+48)), failed) // a reference has 48
			}
			p.Apply(p.Decide(window.Now{}))
			p.Said(text("so"), []cairn.Usage{{Input: int64(tokens)}})
			return p.Decide(window.Now{})
		}
		if got := plan(c.trigger, c.free, false); got.Rewrites() {
			t.Errorf("a window of %d is rewritten at its trigger: %+v", c.size, got)
		}
		if got := plan(c.trigger+1, c.free-200, false); got.Rewrites() {
			t.Errorf("a window of %d is rewritten for too little: %d results", c.size, len(got.Clear))
		}
		if got := plan(c.trigger+1, c.free+200, false); len(got.Clear) != c.free/100+2 || got.Compact != nil {
			t.Errorf("a window of %d over its trigger: %d results go, %+v", c.size, len(got.Clear), got.Compact)
		}
		if got := plan(c.compact, 2*c.free, true); got.Rewrites() {
			t.Errorf("a window of %d is compacted at its trigger: %+v", c.size, got)
		}
		if got := plan(c.compact+1, 2*c.free, true); got.Compact == nil || got.Clear != nil {
			t.Errorf("a window of %d over its trigger is not compacted: %+v", c.size, got)
		}
	}
}

// TestABatchFreesEnough: where something else fills the window a result that has become old is no reason to rewrite it.
func TestABatchFreesEnough(t *testing.T) {
	o := opening(window.Setup{Keeps: true, Reduction: window.Reduction{Trigger: 1000, Free: 3500, Keep: 1}})
	o.First.Blocks = text(strings.Repeat("a long prompt ", 1000))
	p := window.Open(o)
	var rewrites []int
	for n := 1; n <= 12; n++ {
		plan := p.Decide(window.Now{})
		p.Apply(plan)
		if plan.Rewrites() {
			rewrites = append(rewrites, n)
		}
		one(p, n, "write", strings.Repeat("x", 4000), false)
	}
	if fmt.Sprint(rewrites) != "[6 10]" { // four old ones and the newest
		t.Errorf("rewritten before the calls %v", rewrites)
	}
}

// TestDecidingReadsNoOldResults: a call over the trigger whose results are not worth a batch costs no look at their texts.
func TestDecidingReadsNoOldResults(t *testing.T) {
	p := window.Open(opening(window.Setup{Keeps: true, Reduction: window.Reduction{Trigger: 1000, Free: 1 << 40}}))
	for n := range 1000 {
		p.Apply(p.Decide(window.Now{}))
		one(p, n, "write", strings.Repeat("x", 1000), false)
	}
	if n := testing.AllocsPerRun(5, func() { p.Decide(window.Now{}) }); n > 50 {
		t.Errorf("%v allocations for a thousand results", n)
	}
}

// TestTheProviderReduces: then nobody else does.
func TestTheProviderReduces(t *testing.T) {
	for _, reduces := range []bool{false, true} {
		p := window.Open(opening(window.Setup{Reduces: reduces, Reduction: window.Reduction{Trigger: 1000, Free: 100, Compact: 1500}}))
		rewrites := 0
		for n := range 20 {
			plan := p.Decide(window.Now{})
			if plan.Rewrites() {
				rewrites++
			}
			p.Apply(plan)
			one(p, n, "write", strings.Repeat("x", 1000), false)
		}
		if (rewrites > 0) == reduces {
			t.Errorf("the provider reduces: %t, and %d windows are rewritten", reduces, rewrites)
		}
	}
}

// TestWhatAPointerStandsForStays: when it is cleared, in the place of a pointer that is one of the newest results; and beyond a compaction.
func TestWhatAPointerStandsForStays(t *testing.T) {
	whole := strings.Repeat("x", 4000)
	p := window.Open(opening(window.Setup{Reduction: window.Reduction{Trigger: 2000, Free: 500, Compact: -1}}))
	read := func() {
		p.Said([]window.Block{{Kind: window.ToolUse, ID: "a", Name: "read", Input: json.RawMessage(`{"f":1}`)}}, nil)
		p.Told([]window.Block{{Kind: window.ToolResult, ID: "a", Name: "read", Text: whole}})
	}
	next := func() window.Plan {
		plan := p.Decide(window.Now{})
		p.Apply(plan)
		return plan
	}
	next()
	read()
	next()
	one(p, 1, "write", whole, false)
	next()
	read()
	if m := p.Messages(); !strings.HasPrefix(m[len(m)-1].Blocks[0].Text, "Same as the result of call 1 of read above") {
		t.Fatalf("no pointer: %.100s", m[len(m)-1].Blocks[0].Text)
	}
	next()
	one(p, 2, "write", whole, false)
	if plan := next(); fmt.Sprint(plan.Clear) != "[]" {
		t.Errorf("clearing what a pointer says from then on frees nothing: %v", plan.Clear)
	}
	clear := window.Plan{Clear: []window.Place{{Turn: 1, Result: 1}, {Turn: 2, Result: 1}}}
	if p.Apply(clear); !strings.HasPrefix(p.Messages()[2].Blocks[0].Text, "<cleared") || p.Messages()[6].Blocks[0].Text != whole {
		t.Errorf("cleared: %.100s, in the place of the pointer %.100s", p.Messages()[2].Blocks[0].Text, p.Messages()[6].Blocks[0].Text)
	}
	read() // and is what another points to
	if m := p.Messages(); !strings.HasPrefix(m[len(m)-1].Blocks[0].Text, "Same as the result of call 2 of read above") {
		t.Errorf("no pointer to it: %.100s", m[len(m)-1].Blocks[0].Text)
	}
	p.Apply(window.Plan{Compact: &window.Summary{Upto: 4, Text: "a summary"}})
	if m := p.Messages(); len(m) != 5 || m[4].Blocks[0].Text != whole {
		t.Errorf("compacted: %d messages, and in the place of the pointer stands %.100s", len(m), m[len(m)-1].Blocks[0].Text)
	}
}
