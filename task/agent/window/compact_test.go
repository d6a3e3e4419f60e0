package window_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/window"
)

// planted are things that have to outlive a compaction: ten decisions, ten bugs, ten paths, each with what must be in the window for a
// question about it to be answered.
func planted() (said []string, needs [][]string) {
	for i := range 10 {
		said = append(said,
			fmt.Sprintf("We decided to keep the queue%d in Postgres because the broker loses message%d.", i, i),
			fmt.Sprintf("There is a bug in module%d: the counter wraps at %d and nobody notices.", i, 1000+i),
			fmt.Sprintf("The handler is in services/part%d/handler_%d.go, next to its test.", i, i))
		needs = append(needs, []string{fmt.Sprintf("queue%d", i), fmt.Sprintf("message%d", i)},
			[]string{fmt.Sprintf("module%d", i), fmt.Sprint(1000 + i)}, []string{fmt.Sprintf("services/part%d/handler_%d.go", i, i)})
	}
	return said, needs
}

// answerable counts the planted things that the window still knows.
func answerable(v window.View, needs [][]string) (n int) {
	var all strings.Builder
	for _, m := range v.Messages {
		for _, b := range m.Blocks {
			all.WriteString(b.Text + string(b.Input) + "\n")
		}
	}
	for _, words := range needs {
		if !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(all.String(), word) }) {
			n++
		}
	}
	return n
}

// TestCompactionKeepsWhatMatters: of thirty decisions, bugs and paths in a long conversation all that are worth keeping are there after
// several compactions, also when the compactor has overlooked most of them, or of each kind some: what is said of one is nearly what is
// said of the next.
func TestCompactionKeepsWhatMatters(t *testing.T) {
	for _, every := range []int{2, 3, 4, 7} {
		t.Run(fmt.Sprint(every), func(t *testing.T) { compactionKeeps(t, every) })
	}
}

func compactionKeeps(t *testing.T, every int) {
	said, needs := planted()
	p := window.Open(opening(window.Setup{Reduction: window.Reduction{Trigger: -1, Free: 1500, Compact: 20_000}}))
	careless := func(brief string) string { // keeps some of what it should
		var kept []string
		for i, s := range said {
			if i%every == 0 && strings.Contains(brief, s) {
				kept = append(kept, s)
			}
		}
		return "The agent works on the services.\n" + strings.Join(kept, "\n")
	}
	compactions := 0
	var last window.View
	for n := 0; n < 120; n++ {
		plan := p.Decide(window.Now{At: int64(n)})
		if c := plan.Compact; c != nil {
			compactions++
			brief := p.Brief(*c)
			if !strings.Contains(brief, "do it") {
				t.Error("the compactor is not told the task")
			}
			c.Text = careless(brief)
			c.Text = window.Complete(c.Text, p.Missing(*c))
		}
		p.Apply(plan)
		last = p.View(plan)
		if plan.Tokens > 25_000 {
			t.Fatalf("call %d has %d tokens", n, plan.Tokens)
		}
		words := "Going on. " + strings.Repeat("The weather of the module is fine and stays so. ", 20)
		if n%3 == 0 && n/3 < len(said) {
			words += said[n/3]
		}
		p.Said([]window.Block{{Kind: window.Text, Text: words}, {Kind: window.ToolUse, ID: "a", Name: "write", Input: json.RawMessage(`{"text":"x"}`)}}, nil)
		p.Told([]window.Block{{Kind: window.ToolResult, ID: "a", Name: "write", Text: strings.Repeat("noise ", 300)}})
	}
	if compactions < 2 {
		t.Fatalf("%d compactions", compactions)
	}
	if n := answerable(last, needs); n < 28 {
		t.Errorf("after %d compactions %d of 30 are answerable, want 28", compactions, n)
	}
	if last.Messages[0].Blocks[0].Text != "do it" || last.Messages[1].Role != window.Assistant {
		t.Errorf("a window begins with %+v", last.Messages[:2])
	}
	for _, b := range last.Messages[0].Blocks { // the noise of results is not what is kept
		if strings.Contains(b.Text, "noise noise") || strings.Contains(b.Text, "- -") {
			t.Errorf("kept: %.300s", b.Text)
		}
		for _, words := range needs { // and once
			if strings.Count(b.Text, words[len(words)-1]) > 1 {
				t.Errorf("%q is kept more than once: %s", words, b.Text)
			}
		}
	}
}

// TestCompactionIsBounded: a conversation that states a thing in every sentence is not kept word for word.
func TestCompactionIsBounded(t *testing.T) {
	for size, most := range map[int]int{0: 12 << 10, 200_000: 12 << 10, 8000: 4000} {
		t.Run(fmt.Sprint(size), func(t *testing.T) { compactionIsBounded(t, size, most) })
	}
	for size, most := range map[int]int{0: 4000, 200_000: 4000, 32_000: 4000, 8000: 1000} {
		if got := (window.Setup{Size: size}).Summary(); got != most {
			t.Errorf("a summary in a window of %d may have %d tokens, want %d", size, got, most)
		}
	}
}

func compactionIsBounded(t *testing.T, size, most int) {
	p := window.Open(opening(window.Setup{Size: size, Reduction: window.Reduction{Trigger: -1, Free: 100, Compact: 5000}}))
	for n := range 200 {
		plan := p.Decide(window.Now{})
		if plan.Compact != nil {
			missing := p.Missing(*plan.Compact)
			if size := len(strings.Join(missing, "")); size > most || len(missing) == 0 {
				t.Fatalf("%d bytes are kept word for word", size)
			}
			return
		}
		p.Apply(plan)
		p.Said(text(fmt.Sprintf("We decided number %d, a decision about thing%d. ", n, n)), []cairn.Usage{{Input: int64(40 * n)}})
		p.Told(text("go on"))
	}
	t.Fatal("no compaction")
}

// TestCompactionHasToHelp: where the beginning fills the window a summary of the few turns behind it comes only when they are worth
// it; where what was said before does, at once.
func TestCompactionHasToHelp(t *testing.T) {
	r := window.Reduction{Trigger: -1, Free: 2000, Compact: 5000}
	full := strings.Repeat("a long text ", 2500)
	play := func(o window.Opening) (at []int, last window.View) {
		p := window.Open(o)
		for n := 1; n <= 12; n++ {
			plan := p.Decide(window.Now{})
			if plan.Compact != nil {
				at = append(at, n)
				if len(at) == 1 && !strings.Contains(p.Brief(*plan.Compact), "a long text") {
					t.Error("the compactor is not told what fills the window")
				}
				plan.Compact.Text = "a summary"
			}
			p.Apply(plan)
			last = p.View(plan)
			p.Said(text(strings.Repeat("so ", 670)), nil) // five hundred tokens
			p.Told(text(strings.Repeat("go on ", 335)))
		}
		return at, last
	}
	o := opening(window.Setup{Reduction: r})
	o.First.Blocks = text(full)
	if at, _ := play(o); fmt.Sprint(at) != "[5 7 9 11]" {
		t.Errorf("with a long first message it is compacted before the calls %v", at)
	}
	o = opening(window.Setup{Size: 10_000, Reduction: r})
	o.First.Blocks = text(full)
	if at, _ := play(o); len(at) < 6 {
		t.Errorf("the window is full, and compacted before the calls %v", at)
	}
	o = opening(window.Setup{Reduction: r})
	o.Before = []window.Message{{Role: window.User, Blocks: text(full)}, {Role: window.Assistant, Blocks: text("yes")}}
	at, last := play(o)
	if len(at) == 0 || at[0] != 1 {
		t.Errorf("what was said before is compacted before the calls %v", at)
	}
	if first := last.Messages[0].Blocks; first[0].Text != "do it" || !strings.Contains(first[1].Text, "a summary") {
		t.Errorf("a window begins with %+v", first)
	}
}

// TestTheFirstMessageIsNotKeptTwice: it stays, so nothing of it is missing in a summary; what a summary before has kept is.
func TestTheFirstMessageIsNotKeptTwice(t *testing.T) {
	o := opening(window.Setup{})
	o.First.Blocks = text("We decided to keep docs/first.md as it is.")
	p := window.Open(o)
	for _, said := range []string{"We decided to rename docs/second.md soon.", "We decided to drop docs/third.md now."} {
		p.Apply(p.Decide(window.Now{}))
		p.Said(text(said), nil)
		p.Told(text("go on"))
		s := window.Summary{Upto: 9, Text: "a summary"}
		missing := strings.Join(p.Missing(s), "\n")
		if strings.Contains(missing, "first.md") || !strings.Contains(missing, "second.md") || strings.Contains(said, "third") && !strings.Contains(missing, "third.md") {
			t.Errorf("missing: %s", missing)
		}
		s.Text = window.Complete(s.Text, p.Missing(s))
		p.Apply(window.Plan{Compact: &s})
	}
}
