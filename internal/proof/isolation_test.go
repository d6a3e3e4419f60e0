package proof

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/delegate"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// canary is a mark that stands in one place, and must be found only where that place is meant to be seen.
func canary(kind, name string) string { return "<canary " + kind + " " + name + ">" }

var anyCanary = regexp.MustCompile(`<canary [^<>]*>`)

// witness is a model that writes down all bytes it sees, by run and path, and answers with canaries.
type witness struct {
	mu sync.Mutex // guards the rest
	// seen are the windows by run/path, whole.
	seen map[string][]string
	// failed are the tasks whose first conversation was cut.
	failed map[string]bool
}

func (w *witness) Info() loop.Info {
	return loop.Info{Provider: "script", Models: []string{"m"}, Identity: "witness", Window: 4000, Cache: window.Rules{Marks: 4}}
}

func (w *witness) Call(_ context.Context, win loop.Window) (loop.Turn, error) {
	where, _, _ := strings.Cut(win.Key, "#")
	if strings.Contains(win.System, canary("system", "sub")) {
		where += "+sub"
	}
	var tools []window.Tool
	for _, t := range win.Tools {
		tools = append(tools, window.ToolOf(t))
	}
	bytes, err := schema.Encode(struct {
		System   string
		Tools    []window.Tool
		Messages []window.Message
		Schema   json.RawMessage
		Allowed  []string
		Key      string
	}{win.System, tools, win.Messages, win.Schema, win.Allowed, win.Key})
	if err != nil {
		return loop.Turn{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[where] = append(w.seen[where], strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(string(bytes)))
	turn := loop.Turn{Stop: loop.StopEnd, Usage: []cairn.Usage{{Model: "m", Output: 1}}}
	say := func(text string, calls ...window.Block) (loop.Turn, error) {
		turn.Blocks = append([]window.Block{{Kind: window.Text, Text: text}}, calls...)
		return turn, nil
	}
	n := len(w.seen[where])
	switch path := where[strings.Index(where, "/")+1:]; {
	case path == "clumsy" && !w.failed[where]:
		w.failed[where] = true
		turn.Stop = loop.StopMaxTokens
		return say(canary("cut", where))
	case (path == "left" || path == "right") && n == 1: // works with a tool, and leaves a note
		calls := []window.Block{{Kind: window.ToolUse, ID: "a", Name: "look", Input: json.RawMessage(`{}`)}}
		if path == "left" {
			note, _ := json.Marshal(map[string]string{"text": "deployment of " + canary("note", where)})
			calls = append(calls, window.Block{Kind: window.ToolUse, ID: "b", Name: "remember", Input: note})
		}
		return say(canary("thought", where), calls...)
	case path == "lead" && n == 1:
		ask, _ := json.Marshal(map[string]string{"task": "What does the deployment need? " + canary("order", where)})
		return say(canary("thought", where), window.Block{Kind: window.ToolUse, ID: "a", Name: "look", Input: json.RawMessage(`{}`)}, window.Block{Kind: window.ToolUse, ID: "b", Name: "delegate", Input: ask})
	case path == "lead+sub" && n == 1:
		return say(canary("thought", where), window.Block{Kind: window.ToolUse, ID: "a", Name: "look", Input: json.RawMessage(`{"sub":1}`)})
	case path == "left" && n < 12: // until its own history is cleared and summed up
		return say(canary("thought", where)+fmt.Sprint(n), window.Block{Kind: window.ToolUse, ID: fmt.Sprint(n), Name: "look", Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))})
	}
	return say("deployment: " + canary("out", where))
}

// summarizer sums up for the witness.
type summarizer struct{ *witness }

func (s summarizer) Call(_ context.Context, win loop.Window) (loop.Turn, error) {
	where, _, _ := strings.Cut(win.Key, "#")
	return loop.Turn{Stop: loop.StopEnd, Blocks: []window.Block{{Kind: window.Text, Text: "They looked. " + canary("summary", where)}}}, nil
}

// look is a tool whose long results differ from task to task.
var look = cairn.Tool{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object"}`), Call: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
	call, _ := cairn.CallFrom(ctx)
	where := call.Run + "/" + call.Path
	if strings.Contains(string(in), "sub") {
		where += "+sub"
	}
	return json.Marshal(canary("tool", where) + string(in) + strings.Repeat(" and so on", 150))
}}

const (
	plan, left, right, lone, next, chat1, chat2  cairn.Key[string] = "plan", "left", "right", "lone", "next", "chat1", "chat2"
	clumsy, step, item, apart, lead, again, last cairn.Key[string] = "clumsy", "step", "item", "apart", "lead", "again", "last"
)

// tree is tasks side by side and in order, in loops and scopes, with banks, threads, tools, prior failures, sub-agents, a fork, and outputs
// that some of them depend on.
func tree(w *witness) cairn.Workflow[string, string] {
	agent := func(name string) *loop.Agent {
		return &loop.Agent{Model: w, System: "You are " + canary("system", name), Tools: []cairn.Tool{look}, Todo: true, Offload: 1000,
			Compactor: &loop.Compactor{Model: summarizer{w}}, Reduce: window.Reduction{Trigger: 1500, Free: 300, Compact: 2000}}
	}
	asks := func(key cairn.Key[string], a task.Agent, prompt func(v *cairn.View) string, with ...cairn.Attachment) task.Task[string] {
		return task.Task[string]{ID: key, Agent: a, Prompt: func(v *cairn.View) string { return "What does the deployment need? " + prompt(v) }, With: with}
	}
	nothing := func(*cairn.View) string { return "" }
	thread := memory.Conversation{Thread: "talk", Namespace: memory.Namespace{Kind: memory.WorkflowKind, ID: "tree"}}
	one, two, sub := agent("one"), agent("two"), agent("sub")
	leading := agent("lead")
	leading.Tools = append(leading.Tools, delegate.New(delegate.Config{Agent: sub}))
	return cairn.Workflow[string, string]{Name: "tree", Result: last, Render: func(_ *cairn.View, in string) cairn.Node {
		return cairn.Nodes{
			asks(plan, one, func(*cairn.View) string { return in }),
			cairn.Parallel{Children: cairn.Nodes{
				memory.Memory{Bank: "alpha", Tools: memory.On, Retain: memory.OnComplete, Children: cairn.Nodes{
					asks(left, one, func(v *cairn.View) string { return task.Dep("plan", plan.Must(v)) })}},
				memory.Memory{Bank: "beta", Tools: memory.On, Children: cairn.Nodes{asks(right, two, nothing)}},
				asks(lone, two, nothing),
				asks(clumsy, two, nothing),
				cairn.Sequence{Children: cairn.Nodes{asks(chat1, one, nothing, thread), asks(chat2, one, nothing, thread)}},
				cairn.Nodes(cairn.ForEach([]string{"x", "y"}, func(s string) string { return s }, func(_ *cairn.View, s string) cairn.Node {
					return asks(item, two, func(*cairn.View) string { return canary("item", s) })
				})),
			}},
			cairn.Loop{ID: "work", Max: 3, OnMax: cairn.ReturnLast, Until: func(*cairn.View) bool { return false }, Body: func(*cairn.View) cairn.Node {
				return memory.Memory{Bank: "gamma", Children: cairn.Nodes{asks(step, one, func(v *cairn.View) string { before, _ := step.Prev(v); return before })}}
			}},
			memory.Memory{Banks: []string{"alpha"}, Children: cairn.Nodes{asks(next, two, nothing)}},
			cairn.Parallel{Children: cairn.Nodes{
				task.Delegate[string]{ID: apart, Agent: two, Prompt: func(v *cairn.View) string { return "What does the deployment need? " + lone.Must(v) }},
				memory.Memory{Bank: "gamma", Children: cairn.Nodes{asks(lead, leading, func(v *cairn.View) string { return task.Dep("left", left.Must(v)) })}},
				task.Task[string]{ID: again, Agent: two, Fork: right, Prompt: func(*cairn.View) string { return "And what else does the deployment need?" }},
			}},
			asks(last, two, func(v *cairn.View) string { return task.Dep("right", right.Must(v)) }),
		}
	}}
}

// allowed says what a task may see: what must be there, and what may.
func allowed(run string) map[string][2][]string {
	at := func(kind, path string) string { return canary(kind, run+"/"+path) }
	own := func(path string, more ...string) []string {
		return append(more, at("tool", path), at("thought", path), at("summary", path), at("note", path))
	}
	one, two := canary("system", "one"), canary("system", "two")
	alpha, beta, gamma := canary("bank", "alpha"), canary("bank", "beta"), canary("bank", "gamma")
	var ofAlpha []string // what tasks of any run have left in the bank
	for _, other := range []string{"r1", "r2"} {
		ofAlpha = append(ofAlpha, canary("out", other+"/left"), canary("note", other+"/left"))
	}
	return map[string][2][]string{
		"plan":         {{one, canary("input", run)}},
		"left":         {{one, at("out", "plan"), alpha}, own("left", ofAlpha...)},
		"right":        {{two, beta}, own("right")},
		"lone":         {{two}},
		"clumsy":       {{two}},
		"chat1":        {{one}, chatOf("r1", "r2")},
		"chat2":        {{one}, chatOf("r1", "r2")},
		"x/item":       {{two, canary("item", "x")}},
		"y/item":       {{two, canary("item", "y")}},
		"work[0]/step": {{one, gamma}},
		"work[1]/step": {{one, gamma, at("out", "work[0]/step")}},
		"work[2]/step": {{one, gamma, at("out", "work[1]/step")}},
		"next":         {{two, alpha}, ofAlpha},
		"apart":        {{two, at("out", "lone")}},
		"lead":         {{canary("system", "lead"), gamma, at("out", "left"), at("out", "lead+sub")}, own("lead", at("order", "lead"))},
		"lead+sub":     {{canary("system", "sub"), at("order", "lead"), at("thought", "lead+sub"), at("tool", "lead+sub")}},
		"again":        {{two, beta, at("out", "right"), at("thought", "right"), at("tool", "right")}, own("right")}, // the copy of a conversation
		"last":         {{two, at("out", "right")}},
	}
}

// chatOf is what is said in the thread, which runs of one workflow share.
func chatOf(runs ...string) (list []string) {
	for _, run := range runs {
		list = append(list, canary("out", run+"/chat1"), canary("out", run+"/chat2"))
	}
	return list
}

// TestATaskSeesWhatIsMeantForIt: two runs side by side, each output, bank, tool result, system text, summary, thought and the environment with a canary of
// its own: every window of every task has those that its prompt, its banks, its thread and its own work bring along, and no other.
func TestATaskSeesWhatIsMeantForIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, dir := t.Context(), t.TempDir()
		t.Setenv("CAIRN_CANARY", canary("env", "process"))
		runs, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "cairn.db"), Synchronous: sqlite.Normal})
		must(t, err)
		defer runs.Close()
		kept, err := lanes.Open(ctx, lanes.Config{DB: runs.DB()})
		must(t, err)
		files, err := artifact.Open(filepath.Join(dir, "artifacts"))
		must(t, err)
		for _, bank := range []string{"alpha", "beta", "gamma", "delta"} {
			_, _, err := kept.SaveNote(ctx, memory.Note{Place: memory.Place{Namespace: memory.Namespace{Kind: memory.GlobalKind, ID: "g"}, Bank: bank}, Body: "the deployment needs " + canary("bank", bank)})
			must(t, err)
		}
		rt := &memory.Runtime{Store: kept}
		deliver := map[string]engine.Deliver{}
		for _, kind := range rt.Kinds() {
			deliver[kind] = func(ctx context.Context, d engine.Delivery) error {
				return rt.Deliver(ctx, d.ID, d.Effect.Kind, d.Effect.Body)
			}
		}
		w := &witness{seen: map[string][]string{}, failed: map[string]bool{}}
		e, err := engine.Open(ctx, engine.Config{Store: runs, Artifacts: files, Workflows: []cairn.Definer{tree(w)}, Middleware: []engine.Middleware{rt.Middleware}, Deliver: deliver})
		must(t, err)
		defer e.Close(context.WithoutCancel(ctx))
		var started []*engine.Run
		for _, id := range []string{"r1", "r2"} {
			in, _ := json.Marshal(canary("input", id))
			run, err := e.Start(ctx, "tree", in, engine.StartOptions{ID: id})
			must(t, err)
			started = append(started, run)
		}
		for _, run := range started {
			out, err := run.Wait(ctx)
			must(t, err)
			if out.Status != core.Finished {
				t.Fatalf("%s is %s: %v", run.ID(), out.Status, out.Failure)
			}
		}
		for _, run := range []string{"r1", "r2"} {
			for path, may := range allowed(run) {
				windows := w.seen[run+"/"+path]
				delete(w.seen, run+"/"+path)
				found := map[string]bool{}
				for i, window := range windows {
					for _, c := range anyCanary.FindAllString(window, -1) {
						found[c] = true
						if !slices.Contains(may[0], c) && !slices.Contains(may[1], c) {
							t.Errorf("%s/%s, call %d, has seen %s", run, path, i+1, c)
						}
					}
				}
				for _, c := range may[0] {
					if !found[c] {
						t.Errorf("%s/%s has not seen %s in %d windows: this test has no teeth", run, path, c, len(windows))
					}
				}
				if path == "left" && (!found[canary("summary", run+"/left")] || !found[canary("tool", run+"/left")] || !found[canary("thought", run+"/left")]) {
					t.Errorf("%s/left has seen %q of its own: this test has no teeth", run, slices.Sorted(maps.Keys(found)))
				}
			}
		}
		if len(w.seen) > 0 {
			t.Errorf("windows of tasks that nobody expects: %q", slices.Sorted(maps.Keys(w.seen)))
		}
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
