package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

func drawBlock(t *rapid.T) window.Block {
	raw := func(name string) json.RawMessage {
		out, err := schema.Encode(map[string]any{"z": rapid.String().Draw(t, name), "a": rapid.Int64().Draw(t, name), "n": []any{nil, 1.5}})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	text := rapid.String()
	switch rapid.IntRange(0, 4).Draw(t, "kind") {
	case 0:
		return window.Block{Kind: window.Text, Text: text.Draw(t, "text")}
	case 1:
		return window.Block{Kind: window.Thinking, Text: text.Draw(t, "text"), Provider: "p", Raw: raw("raw")}
	case 2:
		return window.Block{Kind: window.ToolUse, ID: text.Draw(t, "id"), Name: text.Draw(t, "name"), Input: raw("input")}
	case 3:
		return window.Block{Kind: window.ToolResult, ID: text.Draw(t, "id"), Name: "n", Text: text.Draw(t, "text"), Error: rapid.Bool().Draw(t, "error")}
	}
	return window.Block{Kind: window.Opaque, Provider: "p", Raw: raw("raw")}
}

// TestBlocksGoRound: whole content blocks come out of JSON as they went in, byte for byte the second time too.
func TestBlocksGoRound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := window.Message{Role: window.Assistant, Blocks: rapid.SliceOfN(rapid.Custom(drawBlock), 1, 4).Draw(t, "blocks")}
		one, err := schema.Encode(in)
		if err != nil {
			t.Fatal(err)
		}
		var back window.Message
		if err := json.Unmarshal(one, &back); err != nil {
			t.Fatal(err)
		}
		two, err := schema.Encode(back)
		if err != nil || !bytes.Equal(one, two) {
			t.Fatalf("%s became %s, %v", one, two, err)
		}
	})
}

// TestWindowsOnlyGrow: equal states give equal windows, and a further turn only adds messages at the end.
func TestWindowsOnlyGrow(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var turns []loop.Turn
		for i := range rapid.IntRange(0, 6).Draw(rt, "turns") {
			turn := loop.Turn{Stop: loop.StopEnd, Usage: used(1)}
			for _, b := range rapid.SliceOfN(rapid.Custom(drawBlock), 0, 3).Draw(rt, "blocks") {
				if b.Kind == window.ToolResult {
					continue
				}
				if b.Kind == window.ToolUse {
					b.Name = rapid.SampledFrom([]string{"a", "b", "none"}).Draw(rt, "tool")
				}
				turn.Blocks = append(turn.Blocks, b)
			}
			turn.Blocks = append(turn.Blocks, use(fmt.Sprint(i), "a", `{}`))
			turns = append(turns, turn)
		}
		turns = append(turns, says("done"))
		build := func() (windows [][]byte, prefix [][]byte) {
			m := replies(turns...)
			d := desk{memory: "m", tools: []cairn.Tool{echo("b")}}
			if _, err := d.try(context.Background(), t, textTask(&loop.Agent{Model: m, System: "s", Tools: []cairn.Tool{echo("a")}})); err != nil {
				rt.Fatal(err)
			}
			for _, w := range m.windows {
				messages, err := schema.Encode(w.Messages)
				if err != nil {
					rt.Fatal(err)
				}
				windows = append(windows, messages)
				head := w.System
				for _, tool := range w.Tools {
					head += "\n" + tool.Name + tool.Description + string(tool.Schema)
				}
				prefix = append(prefix, []byte(head))
			}
			return windows, prefix
		}
		one, head := build()
		two, _ := build()
		for i := range one {
			if !bytes.Equal(one[i], two[i]) {
				rt.Fatalf("window %d differs:\n%s\n%s", i, one[i], two[i])
			}
			if i > 0 && (!bytes.HasPrefix(one[i], bytes.TrimSuffix(one[i-1], []byte("]"))) || !bytes.Equal(head[i], head[0])) {
				rt.Fatalf("window %d does not begin with the one before:\n%s\n%s", i, one[i-1], one[i])
			}
		}
	})
}

// TestHistoryComesFirst: what was said before in the thread stands before the prompt, the user first.
func TestHistoryComesFirst(t *testing.T) {
	m := &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) { return says("done"), nil }}
	agent := &loop.Agent{Model: m}
	_, err := agent.Run(t.Context(), task.Request{Prompt: "and now?", History: []cairn.Message{
		{Role: "assistant", Content: "cut off"}, {Role: "user", Content: "hello"}, {Role: "assistant", Content: "hi"}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, message := range m.windows[0].Messages {
		got = append(got, string(message.Role)+": "+message.Blocks[0].Text)
	}
	if s := fmt.Sprint(got); s != "[user: hello assistant: hi user: and now?]" {
		t.Error(s)
	}
}
