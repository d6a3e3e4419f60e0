package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/internal/wiretest"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// TestNativeTool: the provider's own type stands for description and schema, and what the model sends reaches the tool.
func TestNativeTool(t *testing.T) {
	var got string
	memory := cairn.Tool{Name: "memory", Description: "notes", Schema: json.RawMessage(`{"type":"object","properties":{"command":{"type":"string"}}}`),
		Native: map[string]string{"anthropic": "memory_20250818", "other": "notes_1"},
		Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			got = string(in)
			return json.Marshal("nothing yet")
		}}
	s := serve(t, message("tool_use", toolBlock(0, "m", "memory", `{"command":"view","path":"/memories"}`)), says("ok"))
	if _, err := (&loop.Agent{Model: s.model()}).Run(t.Context(), wiretest.Ask("go", memory)); err != nil {
		t.Fatal(err)
	}
	var sent struct{ Tools json.RawMessage }
	if err := json.Unmarshal([]byte(s.request(0)), &sent); err != nil {
		t.Fatal(err)
	}
	wiretest.Same(t, "the tools", string(sent.Tools), `[{"name":"weather","description":"tells it","input_schema":`+string(wiretest.Weather.Schema)+`},
		{"type":"memory_20250818","name":"memory","cache_control":{"type":"ephemeral"}}]`)
	if got != `{"command":"view","path":"/memories"}` || s.betas[0] != "context-management-2025-06-27" {
		t.Errorf("the tool got %s, betas %q", got, s.betas[0])
	}
	if !strings.Contains(s.request(1), `"tool_use_id":"m"`) || !strings.Contains(s.request(1), "nothing yet") {
		t.Errorf("%s", s.request(1))
	}
}

// TestMemoryOnTheWire: the files of memory.Files go to the provider as its own type of tool, and what the model does with them, in
// that type's words, is done to the notes of the bank.
func TestMemoryOnTheWire(t *testing.T) {
	s := serve(t, message("tool_use", toolBlock(0, "m1", "memory", `{"command":"create","path":"/memories/build.md","file_text":"Use `+"`make`"+`.\n"}`)),
		message("tool_use", toolBlock(0, "m2", "memory", `{"command":"view","path":"/memories/build.md"}`)), says("noted"))
	runs, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "cairn.db"), Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer runs.Close()
	notes, err := lanes.Open(t.Context(), lanes.Config{DB: runs.DB()})
	if err != nil {
		t.Fatal(err)
	}
	lane := &memory.Runtime{Store: notes}
	wf := cairn.Workflow[struct{}, string]{Name: "keep", Result: answerKey, Render: func(*cairn.View, struct{}) cairn.Node {
		return memory.Memory{Bank: "project-x", Recall: memory.RecallOff, Tools: memory.Files, Children: cairn.Nodes{
			task.Task[string]{ID: answerKey, Agent: &loop.Agent{Model: s.model()}, Prompt: func(*cairn.View) string { return "go" }}}}
	}}
	e, err := engine.Open(t.Context(), engine.Config{Store: runs, Workflows: []cairn.Definer{wf}, Middleware: []engine.Middleware{lane.Middleware}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.WithoutCancel(t.Context()))
	run, err := e.Start(t.Context(), "keep", json.RawMessage(`{}`), engine.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run.Wait(t.Context()); err != nil || string(out.Result) != `"noted"` {
		t.Fatalf("%+v, %v", out, err)
	}
	var sent struct{ Tools []json.RawMessage }
	if err := json.Unmarshal([]byte(s.request(0)), &sent); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(sent.Tools, func(raw json.RawMessage) bool { return strings.Contains(string(raw), `"memory"`) })
	if i < 0 {
		t.Fatalf("there is no tool memory: %s", s.request(0))
	}
	if i < len(sent.Tools)-1 {
		wiretest.Same(t, "the tool", string(sent.Tools[i]), `{"type":"memory_20250818","name":"memory"}`)
	} else {
		wiretest.Same(t, "the tool", string(sent.Tools[i]), `{"type":"memory_20250818","name":"memory","cache_control":{"type":"ephemeral"}}`)
	}
	if s.betas[0] != "context-management-2025-06-27" {
		t.Errorf("betas %q", s.betas[0])
	}
	if !strings.Contains(s.request(1), "File created successfully at: /memories/build.md") || !strings.Contains(s.request(2), "Use `make`.") {
		t.Errorf("the model is told\n%s\n%s", s.request(1), s.request(2))
	}
}

// compactionBlock is one as it is streamed: all of it in one delta.
func compactionBlock(i int, delta string) []string {
	return []string{
		fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"compaction","content":null,"encrypted_content":null,"tool_changes":[]}}`, i),
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, i, delta),
		fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i),
	}
}

// iterated is a message that took a compaction and an answer.
func iterated(reason string, blocks ...[]string) answer {
	events := []string{start}
	for _, b := range blocks {
		events = append(events, b...)
	}
	const compaction = `{"type":"compaction","input_tokens":180000,"output_tokens":3500,"cache_read_input_tokens":9,"cache_creation_input_tokens":30,"cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20}}`
	return stream(append(events, `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"context_management":{"applied_edits":[]},`+
		`"usage":{"output_tokens":42,"iterations":[`+compaction+`,{"type":"message","input_tokens":7,"output_tokens":42}]}}`, `{"type":"message_stop"}`)...)
}

// TestNativeReduction: the provider is told to reduce, its summary comes back as it was, and what it cost is counted.
func TestNativeReduction(t *testing.T) {
	s := serve(t,
		iterated("tool_use", compactionBlock(0, `{"type":"compaction_delta","content":"Rome <is> next","encrypted_content":"eHg=","later":1}`), textBlock(1, "I see"), toolBlock(2, "a", "weather", `{"city":"Rome"}`)),
		iterated("compaction", compactionBlock(0, `{"type":"compaction_delta","content":null,"encrypted_content":null}`)),
		says("sunny"))
	var m *anthropic.Model
	resp, err := (&loop.Agent{Model: s.model(func(c *anthropic.Config) {
		c.Clear, c.Compact = &anthropic.Clear{Exclude: []string{"fs_read"}}, &anthropic.Compact{}
		m = anthropic.New(*c)
	})}).Run(t.Context(), wiretest.Ask("go"))
	if err != nil || resp.Text != "sunny" {
		t.Fatalf("%+v, %v", resp, err)
	}
	var sent struct {
		Management json.RawMessage `json:"context_management"`
		Messages   []json.RawMessage
	}
	for i := range 3 {
		if err := json.Unmarshal([]byte(s.request(i)), &sent); err != nil {
			t.Fatal(err)
		}
		wiretest.Same(t, "what is asked for", string(sent.Management), `{"edits":[
			{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":100000},"keep":{"type":"tool_uses","value":3},
				"clear_at_least":{"type":"input_tokens","value":20000},"exclude_tools":["fs_read"]},
			{"type":"compact_20260112","trigger":{"type":"input_tokens","value":150000}}]}`)
		if s.betas[i] != "context-management-2025-06-27,compact-2026-01-12" {
			t.Errorf("betas %q", s.betas[i])
		}
	}
	wiretest.Same(t, "the turn", string(sent.Messages[1]), `{"role":"assistant","content":[
		{"type":"compaction","content":"Rome <is> next","encrypted_content":"eHg=","tool_changes":[],"later":1},{"type":"text","text":"I see"},
		{"type":"tool_use","id":"a","name":"weather","input":{"city":"Rome"}}]}`)
	wiretest.Same(t, "a failed compaction", string(sent.Messages[3]), `{"role":"assistant","content":[{"type":"compaction","content":null,"encrypted_content":null,"tool_changes":[]}]}`)
	answer := cairn.Usage{Model: "claude-opus-4-8", Input: 7, Output: 42, CacheRead: 2000, CacheWrite: 300, CacheWrite1h: 200}
	compaction := cairn.Usage{Model: "claude-opus-4-8", Input: 180_000, Output: 3500, CacheRead: 9, CacheWrite: 30, CacheWrite1h: 20}
	if got, want := fmt.Sprint(resp.Usage), fmt.Sprint([]cairn.Usage{compaction, answer, compaction, answer, answer}); got != want {
		t.Errorf("usage is\n%s, want\n%s", got, want)
	}
	if info := m.Info(); !info.Reduces || !strings.Contains(info.Identity, "compact_20260112") || !strings.Contains(info.Identity, "fs_read") {
		t.Errorf("%+v", info)
	}
}

// TestProviderSaysWhatItHasCleared: what a stream tells of edits is in the turn, as long as it is told of each call anew, and observers
// learn of it once; so do they of a summary, unless it has failed.
func TestProviderSaysWhatItHasCleared(t *testing.T) {
	turn := func(edits, reason string, blocks ...[]string) answer {
		events := []string{start}
		for _, b := range blocks {
			events = append(events, b...)
		}
		return stream(append(events, `{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null,"stop_details":null},"context_management":`+edits+
			`,"usage":{"output_tokens":42}}`, `{"type":"message_stop"}`)...)
	}
	asks := func(n int) []string { return toolBlock(0, fmt.Sprint("t", n), "weather", `{"city":"Rome"}`) }
	const two = `{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":8,"cleared_input_tokens":50000},{"type":"clear_thinking_20251015","cleared_thinking_turns":3,"cleared_input_tokens":15000}]}`
	s := serve(t, turn(`null`, "tool_use", asks(1)), turn(two, "tool_use", asks(2)), turn(two, "tool_use", asks(3)),
		turn(`{"applied_edits":[{"type":"clear_tool_uses_20250919","cleared_tool_uses":9,"cleared_input_tokens":70000}]}`, "tool_use", asks(4)),
		turn(`{"applied_edits":[]}`, "compaction", compactionBlock(0, `{"type":"compaction_delta","content":null}`)),
		turn(`{"applied_edits":[]}`, "compaction", compactionBlock(0, `{"type":"compaction_delta","content":"so far"}`)), says("sunny"))
	clear := func(c *anthropic.Config) { c.Clear, c.Compact = &anthropic.Clear{}, &anthropic.Compact{} }
	var told []string
	agent := &loop.Agent{Model: s.model(clear), Observe: func(ev loop.Event) {
		if ev.Kind == loop.Cleared || ev.Kind == loop.Compacted {
			told = append(told, fmt.Sprint(ev.Turn, " ", ev.Kind))
		}
	}}
	if resp, err := agent.Run(t.Context(), wiretest.Ask("go")); err != nil || resp.Text != "sunny" {
		t.Fatalf("%+v, %v", resp, err)
	}
	if got := strings.Join(told, ", "); got != "2 cleared, 4 cleared, 6 compacted" {
		t.Errorf("observers are told %s", got)
	}
	got, err := serve(t, turn(two, "end_turn", textBlock(0, "sunny"))).model(clear).Call(t.Context(), planned())
	if want := []loop.Edit{{Type: "clear_tool_uses_20250919", Results: 8, Tokens: 50_000}, {Type: "clear_thinking_20251015", Tokens: 15_000}}; err != nil || !slices.Equal(got.Edits, want) {
		t.Errorf("%+v, %v", got.Edits, err)
	}
}

// TestReductionAsConfigured: every field is sent, and nothing that was not asked for.
func TestReductionAsConfigured(t *testing.T) {
	for name, c := range map[string]struct {
		change      func(*anthropic.Config)
		want, betas string
	}{
		"none": {func(*anthropic.Config) {}, `null`, ""},
		"clear": {func(c *anthropic.Config) { c.Clear = &anthropic.Clear{Trigger: 5, Keep: -1, AtLeast: -1, Inputs: true} },
			`{"edits":[{"type":"clear_tool_uses_20250919","trigger":{"type":"input_tokens","value":5},"keep":{"type":"tool_uses","value":0},"clear_tool_inputs":true}]}`,
			"context-management-2025-06-27"},
		"compact": {func(c *anthropic.Config) {
			c.Compact = &anthropic.Compact{Trigger: 60_000, Instructions: "Keep paths."}
		},
			`{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":60000},"instructions":"Keep paths."}]}`, "compact-2026-01-12"},
	} {
		s := serve(t, says("ok"))
		if _, err := s.model(c.change).Call(t.Context(), planned([]window.Mark{}...)); err != nil {
			t.Fatal(err)
		}
		var sent struct {
			Management json.RawMessage `json:"context_management"`
			Cache      json.RawMessage `json:"cache_control"`
		}
		if err := json.Unmarshal([]byte(s.request(0)), &sent); err != nil {
			t.Fatal(err)
		}
		if sent.Management == nil {
			sent.Management = json.RawMessage(`null`)
		}
		wiretest.Same(t, name, string(sent.Management), c.want)
		if s.betas[0] != c.betas || sent.Cache != nil {
			t.Errorf("%s: betas %q, %s", name, s.betas[0], sent.Cache)
		}
	}
}

// TestNoCompaction: a model that has none is not asked to.
func TestNoCompaction(t *testing.T) {
	s := serve(t, says("ok"))
	_, err := s.model(func(c *anthropic.Config) { c.Model, c.Compact = "claude-haiku-4-5", &anthropic.Compact{} }).Call(t.Context(), planned())
	if f := cairn.FailureOf(err); f.Code != loop.ModelRequest || !f.Permanent || !strings.Contains(f.Message, "Config.Compact") || len(s.bodies) != 0 {
		t.Errorf("%v", err)
	}
}

// TestRefusedBetas: an error of a request with betas tells no more than others, and a cut one counts what was compacted.
func TestRefusedBetas(t *testing.T) {
	compacts := func(c *anthropic.Config) { c.Compact = &anthropic.Compact{} }
	s := serve(t, refuse(400, "invalid_request_error"))
	_, err := s.model(compacts).Call(t.Context(), planned())
	if f := cairn.FailureOf(err); f.Code != loop.ModelRequest || strings.Contains(fmt.Sprintf("%+v %#v", err, f), secret) || strings.Contains(err.Error(), s.URL) {
		t.Errorf("%v", err)
	}
	begun := strings.Replace(start, `"output_tokens":1`, `"output_tokens":1,"iterations":[{"type":"compaction","input_tokens":180000,"output_tokens":3500}]`, 1)
	turn, err := serve(t, stream(begun)).model(compacts).Call(t.Context(), planned())
	if err == nil || len(turn.Usage) != 2 || turn.Usage[0].Input != 180_000 {
		t.Errorf("%+v, %v", turn, err)
	}
}
