package loop_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/cachereport"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// kept is the journal of a conversation that has all there is: marks, pointers, cleared results, summaries, a repair, and what the
// provider reduces by itself.
func kept(t *testing.T) map[string]json.RawMessage {
	t.Helper()
	compactor := &model{answer: func(context.Context, loop.Window, int) (loop.Turn, error) { return says("They read."), nil }}
	m := long(25)
	answer := m.answer
	m.answer = func(ctx context.Context, w loop.Window, n int) (loop.Turn, error) {
		turn, err := answer(ctx, w, n)
		if n%4 == 0 {
			turn.Edits = []loop.Edit{{Type: "clear", Results: n / 4, Tokens: 10}}
		}
		if n == 9 {
			turn.Blocks = append([]window.Block{{Kind: window.Compaction, Provider: "script", Raw: json.RawMessage(`{}`)}}, turn.Blocks...)
		}
		return turn, err
	}
	agent := &loop.Agent{Model: sized{m, func(i *loop.Info) { i.Window, i.Cache = 4000, claude }}, Todo: true, Vary: []string{"Go on."},
		Reduce: window.Reduction{Trigger: 2000, Free: 500, Compact: 2500}, Compactor: &loop.Compactor{Model: compactor},
		Tools: []cairn.Tool{tool("read", func(_ context.Context, in string) (string, error) { return in + strings.Repeat(" and so on", 100), nil })}}
	var d desk
	call := d.call()
	call.Artifacts = &shelf{}
	if _, err := reportTask(agent).Lower().Task.Run(cairn.WithCall(t.Context(), call), call); err != nil {
		t.Fatal(err)
	}
	return d.disk.Records
}

// nodes are all places in a JSON value, each with what sets it.
func nodes(v any, set func(any), all *[]func(any)) {
	*all = append(*all, set)
	switch v := v.(type) {
	case []any:
		for i := range v {
			nodes(v[i], func(is any) { v[i] = is }, all)
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			nodes(v[key], func(is any) { v[key] = is }, all)
		}
	}
}

// TestDamagedJournals: whatever stands in a journal, it is read or refused, and what is read can be looked at: nothing panics.
func TestDamagedJournals(t *testing.T) {
	whole := kept(t)
	names := slices.Sorted(maps.Keys(whole))
	read := 0
	rapid.Check(t, func(t *rapid.T) {
		journal := maps.Clone(whole)
		for range rapid.IntRange(1, 3).Draw(t, "damages") {
			name := rapid.SampledFrom(names).Draw(t, "record")
			if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
				delete(journal, name)
				continue
			}
			var v any
			if json.Unmarshal(journal[name], &v) != nil {
				continue
			}
			var places []func(any)
			nodes(v, func(is any) { v = is }, &places)
			with := rapid.SampledFrom([]any{nil, "", "user", "assistant", "text", "tool_result", -1, 0, 1, 7, 1 << 40, true, []any{}, map[string]any{}, []any{map[string]any{}}, []any{map[string]any{"turn": 1, "result": 1}}, map[string]any{"upto": 3}})
			places[rapid.IntRange(0, len(places)-1).Draw(t, "place")](with.Draw(t, "with"))
			raw, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			journal[name] = raw
		}
		held, err := loop.Read(journal)
		if err != nil {
			return
		}
		read++
		for _, h := range held {
			for _, view := range h.Windows() {
				view.Spans()
			}
			for n := range len(h.Calls) + 2 {
				if _, _, err := h.Window(n); (err != nil) != (n < 1 || n > len(h.Calls)) {
					t.Fatalf("call %d of %d: %v", n, len(h.Calls), err)
				}
			}
			h.Original()
			h.Reduced()
		}
		cachereport.Of(cachereport.Calls("p", held, func(int) (int64, bool) { return 0, false }), func(cairn.Usage) (int64, bool) { return 1, true })
	})
	if read == 0 {
		t.Error("no damaged journal could be read: this test has no teeth")
	}
}

// TestVariationIsSeeded: the sentences of one task are the same whenever it is played, those of its turns are not, and another task has
// them in another order.
func TestVariationIsSeeded(t *testing.T) {
	play := func(key string) string {
		var said []string
		m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
			last := w.Messages[len(w.Messages)-1].Blocks
			said = append(said, last[len(last)-1].Text)
			if n == 20 {
				return says("done"), nil
			}
			return wants(use("a", "read", `{}`)), nil
		}}
		var d desk
		call := d.call()
		call.IdempotencyKey = key
		node := task.Task[string]{ID: "step", Agent: &loop.Agent{Model: m, Vary: []string{"A.", "B.", "C."}, Tools: []cairn.Tool{echo("read")}}, Prompt: func(*cairn.View) string { return "x" }}.Lower()
		if _, err := node.Task.Run(cairn.WithCall(t.Context(), call), call); err != nil {
			t.Fatal(err)
		}
		return strings.Join(said, "")
	}
	one, again, other := play("r/a"), play("r/a"), play("r/b")
	if one != again || one == other || !strings.Contains(one, "A.") || !strings.Contains(one, "B.") || !strings.Contains(one, "C.") {
		t.Errorf("%s\n%s\n%s", one, again, other)
	}
}
