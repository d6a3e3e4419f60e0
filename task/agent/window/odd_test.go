package window_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/window"
)

// drawOdd is a block as no decent model or tool would make it.
func drawOdd(t *rapid.T) window.Block {
	b := window.Block{
		Kind:  rapid.SampledFrom([]window.Kind{"", "strange", window.Text, window.Thinking, window.ToolUse, window.ToolResult, window.Compaction, window.Opaque}).Draw(t, "kind"),
		Text:  rapid.SampledFrom([]string{"", " ", "We decided\x00", "</summary>", "{", `{"artifact":{`, "\xff\xfe", "docs/" + strings.Repeat("long/", 5000), strings.Repeat("a bug. ", 3000)}).Draw(t, "text"),
		ID:    rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "id"),
		Name:  rapid.SampledFrom([]string{"", "read", "write", "gone"}).Draw(t, "name"),
		Error: rapid.Bool().Draw(t, "error"),
	}
	switch rapid.IntRange(0, 5).Draw(t, "input") {
	case 0:
		b.Input = json.RawMessage(`{"a":`)
	case 1:
		b.Input = json.RawMessage(`{"z":[null,{"p":"a/b.go"}]}`)
	case 2:
		b.Raw = json.RawMessage(`no JSON`)
	}
	return b
}

// TestOddConversations: whatever a conversation is made of, without tools, blocks or texts, whoever spoke last, its windows can be planned
// and looked at, twice the same, and marks stand on what is there.
func TestOddConversations(t *testing.T) {
	blocks := rapid.SliceOfN(rapid.Custom(drawOdd), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		o := window.Opening{First: window.Message{Role: window.User, Blocks: blocks.Draw(t, "first")}}
		for range rapid.IntRange(0, 3).Draw(t, "before") {
			o.Before = append(o.Before, window.Message{Role: rapid.SampledFrom([]window.Role{window.User, window.Assistant, ""}).Draw(t, "role"), Blocks: blocks.Draw(t, "said before")})
		}
		for range rapid.IntRange(0, 4).Draw(t, "parts") {
			o.Parts = append(o.Parts, rapid.SampledFrom([]window.Part{window.PartPrompt, window.PartMemory, "other"}).Draw(t, "part"))
		}
		negative := func(name string) int { return rapid.SampledFrom([]int{-1, 0, 1, 100, 1 << 40}).Draw(t, name) }
		o.Setup = window.Setup{Size: negative("size"), Keeps: rapid.Bool().Draw(t, "keeps"), Long: rapid.Bool().Draw(t, "long"), Remind: rapid.SampledFrom([]string{"", "remember"}).Draw(t, "remind"),
			Reduction: window.Reduction{Trigger: negative("trigger"), Free: negative("free"), Keep: negative("keep"), Compact: negative("compact"), KeepTools: []string{"gone"}},
			Cache:     rapid.SampledFrom([]window.Rules{{}, claude, {Marks: 1}, {Life: 1, Long: 2}}).Draw(t, "cache")}
		if rapid.Bool().Draw(t, "equipped") {
			o.Setup.System, o.Setup.Tools = "s", tools
		}
		type turn struct {
			said, told []window.Block
			at         int64
			todo       string
			used       []cairn.Usage
		}
		turns := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) turn {
			return turn{blocks.Draw(t, "said"), blocks.Draw(t, "told"), rapid.Int64().Draw(t, "at"), rapid.SampledFrom([]string{"", "[ ] 1"}).Draw(t, "todo"),
				rapid.SampledFrom([][]cairn.Usage{nil, {{}}, {{Input: 1 << 60}}, {{Input: -5}}}).Draw(t, "used")}
		}), 0, 6).Draw(t, "turns")
		play := func() (hashes []string) {
			p := window.Open(o)
			for _, one := range append(turns, turn{}) {
				plan := p.Decide(window.Now{At: one.at, Todo: one.todo})
				if plan.Compact != nil {
					p.Brief(*plan.Compact)
					plan.Compact.Text = window.Complete("", p.Missing(*plan.Compact))
				}
				p.Apply(plan)
				view := p.View(plan)
				view.Spans()
				for _, m := range view.Marks {
					if m.Message >= len(view.Messages) || m.Message < window.OfTools || m.Message >= 0 && m.Block >= len(view.Messages[m.Message].Blocks) {
						t.Fatalf("a mark on nothing: %+v", m)
					}
				}
				for _, place := range plan.Clear {
					if _, _, found := p.Result(place); !found {
						t.Fatalf("%+v is cleared, and not there", place)
					}
				}
				hashes = append(hashes, view.Hash)
				p.Said(one.said, one.used)
				p.Told(one.told)
			}
			return hashes
		}
		if one, two := play(), play(); fmt.Sprint(one) != fmt.Sprint(two) {
			t.Fatalf("%s\n%s", one, two)
		}
	})
}
