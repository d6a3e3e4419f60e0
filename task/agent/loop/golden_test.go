package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

var update = flag.Bool("update", false, "write the golden prompts anew")

// assembly is a way in which windows come about: an agent with a script, and what its task brings along.
type assembly struct {
	agent   *loop.Agent
	script  []loop.Turn
	native  bool
	typed   bool
	prompt  string
	memory  string
	tools   []cairn.Tool
	history []cairn.Message
	// size is the model's window.
	size int
	// fails is how many attempts come to a bad end first.
	fails int
}

var claude = window.Rules{Marks: 4, Minimum: 1, Lookback: 20}

// page is a result of a tool that can be told from others.
func page(n int) string {
	return fmt.Sprintf("page %d%s\nend of page %d", n, strings.Repeat(" and so on", 60), n)
}

var reading = tool("read", func(_ context.Context, in string) (string, error) {
	var n int
	if _, err := fmt.Sscanf(in, `{"page":%d}`, &n); err != nil {
		return "", errors.New("there is no such page")
	}
	return page(n), nil
})

// reads is a turn that reads a page.
func reads(n int, words string) loop.Turn {
	turn := wants(use(fmt.Sprint("r", n), "read", fmt.Sprintf(`{"page":%d}`, n)))
	turn.Blocks[0].Text = words
	turn.Usage = nil
	return turn
}

// onAndOn reads four pages, and one that is not there.
var onAndOn = []loop.Turn{reads(1, "One."), reads(2, "Two."), {Blocks: []window.Block{use("x", "read", `{"book":1}`)}, Stop: loop.StopEnd}, reads(3, "Three."), reads(4, "Four."), says("done")}

// another is a task's conversation as one that forks it gets it.
var another = []cairn.Message{
	said(window.User, window.Block{Kind: window.Text, Text: "Read page 1."}),
	said(window.Assistant, window.Block{Kind: window.Thinking, Text: "hm", Provider: "p", Raw: json.RawMessage(`{"signature":"c2ln"}`)}, use("a", "read", `{"page":1}`)),
	said(window.User, window.Block{Kind: window.ToolResult, ID: "a", Name: "read", Text: page(1)}),
	said(window.Assistant, window.Block{Kind: window.Text, Text: "It is long."}),
}

func said(role window.Role, blocks ...window.Block) cairn.Message {
	return cairn.Message{Role: string(role), Data: mustJSON(window.Message{Role: role, Blocks: blocks})}
}

// assemblies are the cases; the golden files have all windows of each.
var assemblies = map[string]assembly{
	"plain":    {agent: &loop.Agent{System: "You are careful."}},
	"memory":   {agent: &loop.Agent{System: "You are careful."}, memory: "<cairn_memory_context>\nadvisory\n</cairn_memory_context>"},
	"history":  {agent: &loop.Agent{}, history: []cairn.Message{{Role: "assistant", Content: "cut off"}, {Role: "user", Content: "hello"}, {Role: "assistant", Content: "hi"}}},
	"schema":   {agent: &loop.Agent{System: "You report."}, typed: true, script: []loop.Turn{says("no JSON"), says(`{"title":"t","score":3}`)}},
	"native":   {agent: &loop.Agent{System: "You report."}, typed: true, native: true, script: []loop.Turn{says(`{"title":"t","score":3}`)}},
	"examples": {agent: &loop.Agent{System: "You add.", Examples: []window.Example{{Prompt: "1+1", Answer: "2"}, {Prompt: "2+3", Answer: "5"}}}},
	"deps": {agent: &loop.Agent{Offload: 200}, prompt: "Compare " + task.Dep("plan", map[string]int{"b": 1, "a": 2}) + " with " + task.Dep("log", page(1)) + ".",
		script: []loop.Turn{wants(use("a", "artifact_read", fmt.Sprintf(`{"artifact":%q,"from":2,"lines":1}`, window.Hash(page(1))))), says("done")}},
	"offload": {agent: &loop.Agent{Offload: 200, Tools: []cairn.Tool{reading}}, script: []loop.Turn{reads(1, "I read."), says("done")}},
	"errors":  {agent: &loop.Agent{System: "You are careful."}, fails: 4},
	"cleared": {agent: &loop.Agent{Tools: []cairn.Tool{reading}, Reduce: window.Reduction{Trigger: 800, Free: 200, Keep: 1}}, script: onAndOn},
	"gone":    {agent: &loop.Agent{Offload: -1, Tools: []cairn.Tool{reading}, Reduce: window.Reduction{Trigger: 600, Free: 200, Keep: 1}}, script: onAndOn},
	"compacted": {agent: &loop.Agent{Offload: -1, Tools: []cairn.Tool{reading}, Reduce: window.Reduction{Trigger: -1, Free: 60, Compact: 500}, Compactor: &loop.Compactor{Model: replies(says("They read two pages."))}},
		script: []loop.Turn{reads(1, "We decided to keep docs/one.md."), reads(2, "There is a bug in two.go: it wraps."), reads(3, "Three."), reads(4, "Four."), reads(5, "Five."), says("done")}},
	"pointer": {agent: &loop.Agent{Offload: -1, Tools: []cairn.Tool{reading}}, script: []loop.Turn{reads(1, "I read."), reads(1, "I read again."), says("done")}},
	"todo": {agent: &loop.Agent{Offload: -1, Todo: true, Tools: []cairn.Tool{reading}},
		script: []loop.Turn{wants(use("a", "todo", `{"add":["read","report"]}`)), reads(1, "I read."), wants(use("b", "todo", `{"done":[1]}`)), reads(2, "On."), says("done")}},
	"half": {agent: &loop.Agent{Offload: -1, Tools: []cairn.Tool{reading}, Reduce: window.Reduction{Trigger: -1}}, size: 700, typed: true, native: true,
		script: []loop.Turn{reads(1, "One."), reads(2, "Two."), says(`{"title":"t","score":3}`)}},
	"masked": {agent: &loop.Agent{Offload: -1, Tools: []cairn.Tool{reading, echo("write")}, Mask: func(turn int, _ []window.Message) []string {
		if turn == 1 {
			return []string{"read"}
		}
		return nil
	}}, script: []loop.Turn{wants(use("a", "write", `{}`)), says("done")}},
	"varied": {agent: &loop.Agent{Offload: -1, Vary: []string{"Go on.", "Continue."}, Tools: []cairn.Tool{reading}}, script: []loop.Turn{reads(1, "I read."), says("done")}},
	"fork":   {agent: &loop.Agent{System: "You are careful.", Offload: -1, Tools: []cairn.Tool{reading}}, history: another, prompt: "Now the next one.", script: []loop.Turn{reads(2, "I read."), says("done")}},
	"open":   {agent: &loop.Agent{Offload: -1, Tools: []cairn.Tool{reading}}, history: another[:3], prompt: "Say it otherwise."},
	"all": {agent: &loop.Agent{System: "You report.", Examples: []window.Example{{Prompt: "p", Answer: "a"}}, Todo: true, Tools: []cairn.Tool{reading}}, typed: true, fails: 1, memory: "<mem>", tools: []cairn.Tool{echo("recall")},
		history: []cairn.Message{{Role: "user", Content: "hello"}, {Role: "assistant", Content: "hi"}}, prompt: "Use " + task.Dep("plan", "a plan") + " well.",
		script: []loop.Turn{wants(use("a", "todo", `{"add":["read"]}`)), reads(1, "I read."), says(`{"title":"t","score":3}`)}},
}

// TestGoldenPrompts: what a model sees, part by part, in each way in which a window is put together, as the journal gives it back.
func TestGoldenPrompts(t *testing.T) {
	for name, a := range assemblies {
		t.Run(name, func(t *testing.T) {
			held := a.hold(t)
			var got strings.Builder
			for i, h := range held {
				for _, c := range h.Calls {
					view, same, err := h.Window(c.N)
					if err != nil || !same {
						t.Fatalf("call %d can't be made again: %t, %v", c.N, same, err)
					}
					fmt.Fprintf(&got, "===== conversation %d, call %d%s\n", i+1, c.N, planned(c.Plan))
					got.WriteString(shown(view))
				}
			}
			golden(t, name, got.String())
		})
	}
}

// hold runs attempts until one succeeds, and reads their conversations.
func (a assembly) hold(t *testing.T) []loop.Held {
	t.Helper()
	if a.script == nil {
		a.script = []loop.Turn{says("done")}
		if a.typed {
			a.script = []loop.Turn{says(`{"title":"t","score":3}`)}
		}
	}
	fails := a.fails
	m := replies(a.script...)
	answer := m.answer
	m.answer = func(ctx context.Context, w loop.Window, _ int) (loop.Turn, error) {
		if fails > 0 {
			fails--
			return loop.Turn{Blocks: says("no").Blocks, Stop: loop.StopMaxTokens, Usage: used(7)}, nil
		}
		return answer(ctx, w, numbered(w))
	}
	m.native = a.native
	agent := *a.agent
	agent.Model = sized{m, func(i *loop.Info) { i.Window, i.Cache = a.size, claude }}
	node := textTask(&agent)
	if a.typed {
		node = reportTask(&agent)
	}
	var files shelf
	d := desk{memory: a.memory, tools: a.tools, prompt: a.prompt}
	for range a.fails + 1 {
		call := d.call()
		call.Artifacts, call.History = &files, a.history
		_, err := node.Lower().Task.Run(cairn.WithCall(t.Context(), call), call)
		if err != nil && !errors.Is(err, loop.MaxTokens) {
			t.Fatal(err)
		}
	}
	held, err := loop.Read(d.disk.Records)
	if err != nil || len(held) != a.fails+1 {
		t.Fatalf("%d conversations, %v", len(held), err)
	}
	return held
}

// planned is what a plan does beside appending.
func planned(p window.Plan) string {
	var b strings.Builder
	if len(p.Clear) > 0 {
		fmt.Fprintf(&b, ", clears %v", p.Clear)
	}
	if p.Compact != nil {
		fmt.Fprintf(&b, ", compacts up to turn %d", p.Compact.Upto)
	}
	if p.Half {
		b.WriteString(", half full")
	}
	if p.Allowed != nil {
		fmt.Fprintf(&b, ", allows %q", p.Allowed)
	}
	return b.String()
}

// shown is a window by its parts; a | is a cache breakpoint.
func shown(v window.View) string {
	var b strings.Builder
	for _, s := range v.Spans() {
		head := strings.Join(slices.DeleteFunc([]string{string(s.Part), string(s.Role), string(s.Kind), s.Name}, func(s string) bool { return s == "" }), " ")
		fmt.Fprintf(&b, "--- %s, %d tokens\n%s\n", head, s.Tokens, s.Text)
		if s.Marked {
			b.WriteString("|\n")
		}
	}
	return b.String()
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", "prompts", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs (-update writes it anew); got:\n%s", file, got)
	}
}
