package loop_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// TestOffloadBeginsAt16KiB: a result of 16 KiB and a part of a prompt of as many stay in the window, a byte more goes.
func TestOffloadBeginsAt16KiB(t *testing.T) {
	const most = 16 << 10
	for _, size := range []int{most, most + 1} {
		whole := strings.Repeat("x", size)
		m := replies(wants(use("a", "read", `{}`)), says("done"))
		agent := &loop.Agent{Model: m, Tools: []cairn.Tool{tool("read", func(context.Context, string) (string, error) { return whole, nil })}}
		var d desk
		call := d.call()
		call.Artifacts = &shelf{}
		call.Input = mustJSON("Look: " + task.Dep("part", whole))
		node := task.Task[string]{ID: "step", Agent: agent, Prompt: func(*cairn.View) string { return "x" }}.Lower()
		if _, err := node.Task.Run(cairn.WithCall(t.Context(), call), call); err != nil {
			t.Fatal(err)
		}
		said := m.windows[1].Messages
		for what, text := range map[string]string{"the prompt": said[0].Blocks[0].Text, "the result": said[2].Blocks[0].Text} {
			if stays := strings.Contains(text, whole); stays != (size == most) || !stays && (!strings.Contains(text, window.Hash(whole)) || len(text) > 3<<10) {
				t.Errorf("with %d bytes %s has %d: %.200s", size, what, len(text), text)
			}
		}
	}
}

// TestALongSummaryIsTightened: recall first, and precision in a second call, where the summary is over its bound.
func TestALongSummaryIsTightened(t *testing.T) {
	for _, words := range []int{900, 1100} { // tokens
		asked := 0
		compactor := &model{answer: func(_ context.Context, w loop.Window, _ int) (loop.Turn, error) {
			asked++
			switch prompt := w.Messages[0].Blocks[0].Text; {
			case strings.HasPrefix(prompt, window.CompactPrompt):
				return says(strings.Repeat("abc ", words)), nil
			case strings.HasPrefix(prompt, fmt.Sprintf(window.TightenPrompt, 750)) && strings.Contains(prompt, "<summary>\nabc abc"):
				return says("abc, often"), nil
			default:
				t.Errorf("asked %.300s", prompt)
				return says(""), nil
			}
		}}
		m := &model{answer: func(_ context.Context, w loop.Window, _ int) (loop.Turn, error) {
			turn := says("done")
			if n := numbered(w); n < 4 {
				turn = wants(use("a", "read", fmt.Sprintf(`{"n":%d}`, n)))
			}
			turn.Usage = nil // the estimate counts
			return turn, nil
		}}
		agent := &loop.Agent{Model: sized{m, func(i *loop.Info) { i.Window = 8000 }}, Compactor: &loop.Compactor{Model: compactor}, Offload: -1,
			Reduce: window.Reduction{Trigger: -1, Free: 10, Compact: 3000},
			Tools:  []cairn.Tool{tool("read", func(context.Context, string) (string, error) { return strings.Repeat("text ", 1000), nil })}}
		var d desk
		if _, err := d.try(t.Context(), t, textTask(agent)); err != nil {
			t.Fatal(err)
		}
		first := m.windows[3].Messages[0].Blocks
		last := first[len(first)-1].Text
		if asked == 0 || words < 1000 && (asked != 1 || !strings.Contains(last, "abc abc")) || words > 1000 && (asked != 2 || !strings.Contains(last, "\nabc, often\n")) {
			t.Errorf("a summary of %d tokens: the compactor is asked %d times, and the window begins with %.300s", words, asked, last)
		}
	}
}

// TestAgentsShareNoTools: what a conversation brings along goes into no list that others have too.
func TestAgentsShareNoTools(t *testing.T) {
	tools := make([]cairn.Tool, 1, 4)
	tools[0] = echo("read")
	agent := &loop.Agent{Model: replies(says("done")), Tools: tools, Todo: true, Offload: -1}
	var d desk
	if _, err := d.try(t.Context(), t, textTask(agent)); err != nil {
		t.Fatal(err)
	}
	if extra := tools[:2][1]; extra.Name != "" {
		t.Errorf("the agent's list has got %s", extra.Name)
	}
}
