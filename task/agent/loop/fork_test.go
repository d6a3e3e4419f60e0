package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
)

// forge runs workflows on a real engine and store.
type forge struct {
	t     *testing.T
	store *sqlite.Store
	wf    cairn.Definer
}

const lastKey cairn.Key[string] = "last"

func flowOf(render func(v *cairn.View) cairn.Node) cairn.Workflow[struct{}, string] {
	return cairn.Workflow[struct{}, string]{Name: "w", Result: lastKey, Render: func(v *cairn.View, _ struct{}) cairn.Node { return render(v) }}
}

func runs(t *testing.T, id string, render func(v *cairn.View) cairn.Node) (*forge, engine.Outcome) {
	t.Helper()
	s := &forge{t: t, wf: flowOf(render)}
	var err error
	if s.store, err = sqlite.Open(context.Background(), sqlite.Config{Path: filepath.Join(t.TempDir(), "cairn.db")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.store.Close() })
	return s, s.run(id)
}

func (s *forge) run(id string) engine.Outcome {
	s.t.Helper()
	e, err := engine.Open(context.Background(), engine.Config{Store: s.store, Workflows: []cairn.Definer{s.wf}})
	if err != nil {
		s.t.Fatal(err)
	}
	defer e.Close(context.Background())
	run, err := e.Start(s.t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: id})
	if err != nil {
		s.t.Fatal(err)
	}
	out, err := run.Wait(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return out
}

// conversation is what a task's journal keeps, as bytes.
func (s *forge) conversation(path string) []byte {
	s.t.Helper()
	entries, err := s.store.Entries(s.t.Context(), "r", path)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name == loop.Conversation {
			return e.Value
		}
	}
	s.t.Fatalf("%s has no conversation", path)
	return nil
}

// replayed says that today's code makes the same of the recorded run.
func (s *forge) replayed(id string) {
	s.t.Helper()
	var out bytes.Buffer
	if err := engine.Export(s.t.Context(), s.store, nil, id, &out); err != nil {
		s.t.Fatal(err)
	}
	report, err := engine.Replay(s.wf.Define(), &out)
	if err != nil || report.Divergence != nil || len(report.Drift) > 0 {
		s.t.Errorf("replay: %v %v %v", err, report.Divergence, report.Drift)
	}
}

// says answers what it is asked last, with a tool and blocks that only a provider understands on the way.
func thinker() *model {
	return &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		last := w.Messages[len(w.Messages)-1].Blocks[0]
		if last.Kind != window.Text {
			return says("so " + last.Text), nil
		}
		turn := wants(use(fmt.Sprint("id", n), "look", fmt.Sprintf(`{"for":%q,"n":1e2}`, last.Text)))
		turn.Blocks = append([]window.Block{
			{Kind: window.Thinking, Text: "hm", Provider: "script", Raw: json.RawMessage(`{"z":"<&>","signature":"xyz","a":1.0}`)},
			{Kind: window.Opaque, Provider: "script", Raw: json.RawMessage(`{"redacted":"é"}`)}}, turn.Blocks...)
		return turn, nil
	}}
}

func asks(id cairn.Key[string], a task.Agent, fork cairn.AnyKey) task.Task[string] {
	return task.Task[string]{ID: id, Agent: a, Fork: fork, Prompt: func(*cairn.View) string { return "prompt of " + string(id) }}
}

// TestAForkBeginsWithTheConversation: the window of a fork begins with the bytes of its source's final one, memory, schema,
// thinking, tools and results included, under the same tools and system text; several fork one, and a fork is forked.
func TestAForkBeginsWithTheConversation(t *testing.T) {
	m := thinker()
	agent := &loop.Agent{Model: m, System: "s", Tools: []cairn.Tool{echo("look")}}
	s, out := runs(t, "r", func(*cairn.View) cairn.Node {
		return cairn.Nodes{asks("a", agent, nil), cairn.Parallel{Children: cairn.Nodes{
			asks("b", agent, cairn.Key[string]("a")), asks("c", agent, cairn.Key[string]("a"))}}, asks("last", agent, cairn.Key[string]("b"))}
	})
	if out.Status != core.Finished {
		t.Fatalf("%+v", out)
	}
	for fork, source := range map[string]string{"b": "a", "c": "a", "last": "b"} {
		was, is := s.conversation(source), s.conversation(fork)
		if prefix := bytes.TrimSuffix(was, []byte("]")); !bytes.HasPrefix(is, prefix) {
			t.Errorf("%s does not begin with the bytes of %s:\n%s\n%s", fork, source, is, was)
		}
		// And what the model was sent is just that, from the first call on.
		found := 0
		for _, w := range m.windows {
			raw, err := json.Marshal(w.Messages)
			if err != nil {
				t.Fatal(err)
			}
			if w.System != "s" || len(w.Tools) != 1 {
				t.Errorf("system %q, %d tools", w.System, len(w.Tools))
			}
			if !strings.Contains(string(raw), "prompt of "+fork+`"`) || fork == "b" && strings.Contains(string(raw), "prompt of last") {
				continue
			}
			found++
			var messages []window.Message
			if err := json.Unmarshal(was, &messages); err != nil {
				t.Fatal(err)
			}
			head, _ := json.Marshal(w.Messages[:len(messages)])
			kept, _ := json.Marshal(messages)
			if !bytes.Equal(head, kept) || !strings.HasPrefix(w.Messages[len(messages)].Blocks[0].Text, "prompt of "+fork) {
				t.Errorf("the window of %s begins\n%s, and not\n%s", fork, head, kept)
			}
		}
		if found != 2 {
			t.Errorf("%d calls of %s", found, fork)
		}
	}
	if raw := string(s.conversation("last")); strings.Count(raw, "signature") != 3 || strings.Contains(raw, "prompt of c") {
		t.Errorf("%s", raw)
	}
	s.replayed("r")
}

// TestForksInALoop: the task's own key is its iteration before, and from outside it is the latest finished.
func TestForksInALoop(t *testing.T) {
	agent := &loop.Agent{Model: thinker(), Tools: []cairn.Tool{echo("look")}}
	const step cairn.Key[string] = "step"
	s, out := runs(t, "r", func(*cairn.View) cairn.Node {
		return cairn.Nodes{cairn.Loop{ID: "work", Max: 3, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node {
			n := asks(step, agent, nil)
			if v.Iteration() > 0 {
				n.Fork = step
			}
			n.Prompt = func(v *cairn.View) string { return fmt.Sprint("round ", v.Iteration()) }
			return n
		}}, asks("last", agent, step)}
	})
	if out.Status != core.Finished {
		t.Fatalf("%+v", out)
	}
	raw := string(s.conversation("last"))
	at := -1
	for _, prompt := range []string{"round 0", "round 1", "round 2", "prompt of last"} {
		i := strings.Index(raw, prompt)
		if i <= at {
			t.Errorf("%s at %d, after %d: %s", prompt, i, at, raw)
		}
		at = i
	}
	s.replayed("r")
}

// TestWrongForks: a source without a conversation fails the task for good, with a code that can be caught.
func TestWrongForks(t *testing.T) {
	agent := &loop.Agent{Model: thinker(), Tools: []cairn.Tool{echo("look")}}
	const a cairn.Key[string] = "a"
	silent := &scripted.Agent{Answer: func(task.Request) scripted.Reply { return scripted.Reply{Text: "x"} }}
	stored := asks(a, agent, nil)
	stored.With = cairn.With{cache.Policy{Scope: cache.Workflow}}
	skips := asks(a, agent, nil)
	skips.SkipIf = func(*cairn.View) bool { return true }
	for name, c := range map[string]struct {
		source cairn.Node
		warm   bool
		want   string
	}{
		"keeps none": {asks(a, silent, nil), false, "kept no conversation"},
		"cached":     {stored, true, "taken from the cache"},
		"skipped":    {skips, false, "was skipped"},
	} {
		t.Run(name, func(t *testing.T) {
			render := func(*cairn.View) cairn.Node { return cairn.Nodes{c.source, asks("last", agent, a)} }
			first := "r"
			if c.warm {
				first = "before"
			}
			s, out := runs(t, first, render)
			if c.warm {
				if out.Status != core.Finished {
					t.Fatalf("%+v", out)
				}
				out = s.run("r")
			}
			f := out.Failure
			if out.Status != core.Failed || f.Code != cairn.ForkSource || f.Path != "last" || f.Attempt != 1 || !strings.Contains(f.Message, "it forks a") || !strings.Contains(f.Message, c.want) {
				t.Errorf("%+v %+v", out, f)
			}
			s.replayed("r")
		})
	}
	_, out := runs(t, "r", func(*cairn.View) cairn.Node {
		return cairn.Nodes{asks(a, silent, nil), cairn.Try{Only: cairn.Codes{cairn.ForkSource}, Body: asks("b", agent, a),
			Catch: func(*cairn.View, cairn.Failure) cairn.Node { return asks("last", agent, nil) }}}
	})
	if out.Status != core.Finished {
		t.Errorf("not caught: %+v", out)
	}
}

// TestTwoUserMessagesAreOne: a prompt goes on in the message that the user has said last.
func TestTwoUserMessagesAreOne(t *testing.T) {
	m := replies(says("done"))
	agent := &loop.Agent{Model: m}
	_, err := agent.Run(t.Context(), task.Request{Prompt: "and now?", History: []cairn.Message{
		{Role: "user", Content: "ignored", Data: json.RawMessage(`{"role":"user","blocks":[{"kind":"tool_result","id":"x","text":"r"}]}`)}}})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(m.windows[0].Messages)
	if string(got) != `[{"role":"user","blocks":[{"kind":"tool_result","text":"r","id":"x"},{"kind":"text","text":"and now?"}]}]` {
		t.Errorf("%s", got)
	}
}
