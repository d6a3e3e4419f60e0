package transcript_test

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/window"
)

func block(text string) window.Block { return window.Block{Kind: window.Text, Text: text} }

// TestStartsCanBeMadeAgain: the records alone give each start back as it was decided, whatever stood in it; and with another setup they
// say that they do not.
func TestStartsCanBeMadeAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringN(1, 40, -1)
		o := window.Opening{Setup: window.Setup{Provider: "p", System: rapid.String().Draw(t, "system"), Reduces: true}, Parts: []window.Part{window.PartMemory, window.PartPrompt},
			First: window.Message{Role: window.User, Blocks: []window.Block{block(text.Draw(t, "memory")), block(text.Draw(t, "prompt"))}}}
		records := map[string]json.RawMessage{}
		put := func(name string, v any) {
			raw, err := schema.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			records[name] = raw
		}
		step := func(v any) map[string]any { return map[string]any{"value": v} }
		put(journal.OpeningName("command.a.1"), step(o))
		var told []string
		turn := 0
		for i := range rapid.IntRange(1, 5).Draw(t, "starts") {
			s := transcript.Start{Attempt: i + 1, Turn: turn + 1, Whole: i == 0 || rapid.Bool().Draw(t, "whole"), Say: text.Draw(t, "say")}
			view := s.Decide(o, window.Now{At: int64(i + 1), Todo: rapid.String().Draw(t, "todo")})
			put(transcript.StartName("command.a.1", i+1), s)
			told = append(told, transcript.Text(view.Messages[0]))
			if rapid.Bool().Draw(t, "ended") {
				turn++
				put(transcript.TurnName("command.a.1", turn), step(transcript.Turn{Text: "said"}))
			}
		}
		held, err := transcript.Read(records)
		if err != nil || len(held) != 1 || len(held[0].Starts) != len(told) || len(held[0].Turns) != turn {
			t.Fatalf("%+v, %v", held, err)
		}
		answered := 0
		for i, want := range told {
			view, same, err := held[0].Window(i + 1)
			if got := transcript.Text(view.Messages[0]); err != nil || !same || got != want {
				t.Fatalf("start %d has told %q, not %q: %t, %v", i+1, want, got, same, err)
			}
			var shown []string
			for _, s := range view.Spans() {
				if s.Role != "" {
					shown = append(shown, s.Text)
				}
			}
			if got := strings.Join(shown, "\n\n"); got != want {
				t.Fatalf("start %d is shown as %q, not %q", i+1, got, want)
			}
			if held[0].Answered(i + 1) {
				answered++
			}
		}
		if answered != turn {
			t.Fatalf("%d starts have led to %d turns", answered, turn)
		}
		held[0].Opening.Setup.System += "."
		if _, same, _ := held[0].Window(1); same {
			t.Fatal("another system text is the same")
		}
		if _, _, err := held[0].Window(len(told) + 1); err == nil {
			t.Fatal("there is one start more")
		}
	})
}
