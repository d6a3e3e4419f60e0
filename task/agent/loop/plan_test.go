package loop_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// shelf is a store of artifacts.
type shelf struct {
	mu    sync.Mutex // guards files
	files map[string]string
}

func (s *shelf) Put(_ context.Context, r io.Reader) (string, int64, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.files == nil {
		s.files = map[string]string{}
	}
	hash := window.Hash(string(raw))
	s.files[hash] = string(raw)
	return hash, int64(len(raw)), nil
}

func (s *shelf) Get(_ context.Context, hash string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	text, ok := s.files[hash]
	if !ok {
		return nil, errors.New("no such artifact")
	}
	return io.NopCloser(strings.NewReader(text)), nil
}

// sized is a model with a small window, which answers by the call's number in the key.
type sized struct {
	*model
	info func(*loop.Info)
}

func (m sized) Info() loop.Info {
	info := m.model.Info()
	m.info(&info)
	return info
}

// numbered is the number of the turn that a window is for.
func numbered(w loop.Window) (n int) {
	_, last, _ := strings.Cut(w.Key, ".turn.")
	fmt.Sscan(last, &n)
	return n
}

// long is a workflow of turns: it reads large files, makes lists, repeats itself, answers wrongly once, and then rightly.
func long(turns int) *model {
	return &model{answer: func(_ context.Context, w loop.Window, _ int) (loop.Turn, error) {
		n := numbered(w)
		tokens := 0
		for _, m := range w.Messages {
			for _, b := range m.Blocks {
				tokens += window.Tokens(len(b.Text))
			}
		}
		turn := loop.Turn{Stop: loop.StopEnd, Usage: []cairn.Usage{{Model: "m", Input: int64(tokens), Output: 1}}}
		say := func(text string, calls ...window.Block) (loop.Turn, error) {
			turn.Blocks = append([]window.Block{{Kind: window.Text, Text: text}}, calls...)
			return turn, nil
		}
		switch {
		case n == 1:
			return say("a plan", use("t", "todo", `{"add":["read all","report"]}`))
		case n == turns-1:
			return say("no JSON yet")
		case n == turns:
			return say(`{"title":"t","score":3}`)
		case n%7 == 0:
			return say("again", use("r", "read", `{"n":2}`), use("s", "read", `{"n":2}`))
		}
		return say(fmt.Sprintf("We decided point%d in docs/part%d/file.md.%s", n, n, strings.Repeat(" It is long", 50)), use("r", "read", fmt.Sprintf(`{"n":%d}`, n)))
	}}
}

// TestWindowsCanBeMadeAgain: whatever has been cleared, compacted, recited, repaired or told by a pointer, and wherever an attempt
// was killed, the journal alone gives each window back as its call has seen it, and nothing cleared is lost.
func TestWindowsCanBeMadeAgain(t *testing.T) {
	const turns = 60
	for _, kills := range [][]int{nil, {5}, {17, 18, 40}} {
		t.Run(fmt.Sprint(kills), func(t *testing.T) {
			var files shelf
			var d desk
			seen := map[string]loop.Window{} // by key
			kills := slices.Clone(kills)
			script := long(turns)
			m := sized{&model{answer: func(ctx context.Context, w loop.Window, n int) (loop.Turn, error) {
				if len(kills) > 0 && numbered(w) == kills[0] {
					kills = kills[1:]
					return loop.Turn{}, errKilled
				}
				seen[w.Key] = w
				return script.answer(ctx, w, n)
			}}, func(i *loop.Info) { i.Window = 8000 }}
			compactor := &model{name: "small", answer: func(context.Context, loop.Window, int) (loop.Turn, error) {
				turn := says("They read many files.")
				turn.Usage = []cairn.Usage{{Model: "small", Output: 1000}}
				return turn, nil
			}}
			var events []loop.EventKind
			agent := &loop.Agent{Model: m, System: "Be good.", Examples: []window.Example{{Prompt: "p", Answer: "a"}}, Todo: true, Repairs: 1, Retries: -1,
				Vary: []string{"Go on.", "Continue."}, Reduce: window.Reduction{Trigger: 4000, Free: 1000, Compact: 5000}, Compactor: &loop.Compactor{Model: compactor},
				Tools: []cairn.Tool{tool("read", func(_ context.Context, in string) (string, error) { return in + strings.Repeat(" and so on", 300), nil })},
				Observe: func(ev loop.Event) {
					if ev.Kind == loop.Cleared || ev.Kind == loop.Compacted || ev.Kind == loop.HalfFull {
						events = append(events, ev.Kind)
					}
				}}
			node := reportTask(agent).Lower()
			for {
				call := d.call()
				call.Artifacts = &files
				_, err := node.Task.Run(cairn.WithCall(t.Context(), call), call)
				if err == nil {
					break
				}
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
			}
			held, err := loop.Read(d.disk.Records)
			if err != nil || len(held) != 1 || len(held[0].Calls) != turns {
				t.Fatalf("%d conversations, %v", len(held), err)
			}
			if len(kills) == 0 && len(seen) != turns {
				t.Errorf("%d calls for %d turns", len(seen), turns)
			}
			var clears, compactions, pointers int
			for _, c := range held[0].Calls {
				key := fmt.Sprintf("r/work/step#%s.turn.%d", held[0].Name, c.N)
				view, same, err := held[0].Window(c.N)
				if err != nil || !same {
					t.Fatalf("call %d can't be made again: %v", c.N, err)
				}
				saw := seen[key]
				was, _ := schema.Encode(saw.Messages)
				now, _ := schema.Encode(view.Messages)
				if !bytes.Equal(was, now) || saw.System != view.System || len(saw.Tools) != len(view.Tools) {
					t.Fatalf("call %d has seen\n%s\nnot\n%s", c.N, was, now)
				}
				clears += len(c.Plan.Clear)
				if c.Plan.Compact != nil {
					compactions++
				}
				blocks := view.Messages[len(view.Messages)-1].Blocks
				if c.Plan.Half != strings.Contains(blocks[len(blocks)-1].Text, "<reminder>\nYour task is still this:\ndo it\n") {
					t.Errorf("call %d, half full %t, ends with %q", c.N, c.Plan.Half, blocks[len(blocks)-1].Text)
				}
				pointers += bytes.Count(was, []byte("Same as the result of call"))
				for _, b := range bytes.Split(was, []byte(`artifact=\"`))[1:] {
					if text, ok := files.files[string(b[:64])]; !ok || !strings.Contains(text, "and so on") {
						t.Errorf("call %d refers to an artifact that is not there", c.N)
					}
				}
			}
			if clears == 0 || compactions == 0 || pointers == 0 || !slices.Contains(events, loop.Cleared) || !slices.Contains(events, loop.Compacted) || !slices.Contains(events, loop.HalfFull) {
				t.Errorf("%d cleared, %d compactions, %d pointers, events %q: this test has no teeth", clears, compactions, pointers, events)
			}
			if len(kills) == 0 && d.purse.output() != int64(turns+1000*compactions) {
				t.Errorf("%d tokens are booked, for %d turns and %d compactions", d.purse.output(), turns, compactions)
			}
			p, c, s := held[0].Reduced()
			if p == 0 || c != clears || s != compactions {
				t.Errorf("%d pointers, %d cleared, %d compactions are counted", p, c, s)
			}
			whole, _ := schema.Encode(held[0].Original())
			if n := bytes.Count(whole, []byte(" and so on and so on")); bytes.Contains(whole, []byte("artifact=")) || bytes.Contains(whole, []byte("Same as the result")) || n < turns-4 {
				t.Errorf("of the original %d results are whole", n)
			}
			last, _, _ := held[0].Window(turns)
			recited := last.Messages[len(last.Messages)-1].Blocks
			if text := recited[len(recited)-1].Text; !strings.Contains(text, "<todo>\n[ ] 1. read all\n") || !strings.HasSuffix(text, ".") {
				t.Errorf("at the end stands %q", text)
			}
		})
	}
}

// TestLongResultsAndDepsArePutAside: what is over the limit is an artifact, and the model can read it.
func TestLongResultsAndDepsArePutAside(t *testing.T) {
	var files shelf
	var d desk
	whole := strings.Repeat("0123456789abcdef\n", 2000)
	m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		switch n {
		case 1:
			return wants(use("a", "read", `{}`)), nil
		case 2:
			return wants(use("b", "artifact_read", fmt.Sprintf(`{"artifact":%q,"from":1999,"lines":1}`, window.Hash(whole)))), nil
		}
		return says("done"), nil
	}}
	agent := &loop.Agent{Model: m, Tools: []cairn.Tool{tool("read", func(context.Context, string) (string, error) { return whole, nil })}}
	node := task.Task[string]{ID: "step", Agent: agent, Prompt: func(*cairn.View) string { return "x" }}.Lower()
	call := d.call()
	call.Artifacts = &files
	call.Input, _ = schema.Encode("Look at this. " + task.Dep("plan", whole) + task.Dep("small", map[string]int{"b": 1, "a": 2}) + " Well?")
	result, err := node.Task.Run(cairn.WithCall(t.Context(), call), call)
	if err != nil {
		t.Fatal(err)
	}
	prompt := m.windows[0].Messages[0].Blocks[0].Text
	if len(prompt) > 3<<10 || !strings.Contains(prompt, window.Hash(whole)) || !strings.HasPrefix(prompt, "Look at this. <dep name=\"plan\">\n0123") ||
		!strings.HasSuffix(prompt, "<dep name=\"small\">\n{\"a\":2,\"b\":1}\n</dep> Well?") {
		t.Errorf("the prompt is %s", prompt)
	}
	last := m.windows[2].Messages
	if first := last[2].Blocks[0].Text; len(first) > 4<<10 || !strings.Contains(first, window.Hash(whole)) {
		t.Errorf("the result is told as %.300s", first)
	}
	if second := last[4].Blocks[0].Text; !strings.Contains(second, "0123456789abcdef") || len(second) > 200 {
		t.Errorf("a part of it is told as %.300s", second)
	}
	if len(result.Artifacts) == 0 || files.files[window.Hash(whole)] != whole {
		t.Errorf("artifacts: %+v", result.Artifacts)
	}
	for _, bad := range []string{"</dep>", "a</dep><dep name=\"x\">"} {
		if parts := task.Deps("p " + task.Dep("n", bad) + " q"); len(parts) != 1 || parts[0].Name != "n" {
			t.Errorf("%q makes %+v", bad, parts)
		}
	}
}

// TestMasks: a tool that is not allowed stays in the window and is refused.
func TestMasks(t *testing.T) {
	var ran []string
	does := func(name string) cairn.Tool {
		return tool(name, func(context.Context, string) (string, error) { ran = append(ran, name); return name, nil })
	}
	m := replies(wants(use("a", "read", `{}`)), wants(use("b", "write", `{}`)), says("done"))
	agent := &loop.Agent{Model: m, Tools: []cairn.Tool{does("read"), does("write")}, Mask: func(turn int, _ []window.Message) []string {
		if turn == 2 {
			return []string{"read"}
		}
		return nil
	}}
	var d desk
	if _, err := d.try(t.Context(), t, textTask(agent)); err != nil {
		t.Fatal(err)
	}
	for i, w := range m.windows {
		if len(w.Tools) != 2 || (w.Allowed != nil) != (i == 1) {
			t.Errorf("call %d has %d tools and allows %q", i+1, len(w.Tools), w.Allowed)
		}
	}
	told := m.windows[2].Messages[4].Blocks[0]
	if !told.Error || told.Text != "write can't be called now. The tools that can: read." || fmt.Sprint(ran) != "[read]" {
		t.Errorf("%+v, ran %q", told, ran)
	}
}

// TestAConversationKeepsItsWindow: a program that has changed goes on with what the conversation has begun with.
func TestAConversationKeepsItsWindow(t *testing.T) {
	var d desk
	broken := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		if n == 2 {
			return loop.Turn{}, errKilled
		}
		return wants(use("a", "read", `{}`)), nil
	}}
	if _, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: broken, System: "old", Tools: []cairn.Tool{echo("read"), echo("gone")}, Retries: -1})); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	m := replies(says("never"), wants(use("b", "gone", `{}`)), says("done"))
	if _, err := d.try(t.Context(), t, textTask(&loop.Agent{Model: m, System: "new", Tools: []cairn.Tool{echo("other"), echo("read")}})); err != nil {
		t.Fatal(err)
	}
	w := m.windows[1]
	names := []string{}
	for _, tool := range w.Tools {
		names = append(names, tool.Name)
	}
	if w.System != "old" || fmt.Sprint(names) != "[read gone]" || !w.Messages[4].Blocks[0].Error {
		t.Errorf("%q %q %+v", w.System, names, w.Messages[4])
	}
	if raw, _ := json.Marshal(broken.windows[1].Messages); !bytes.HasPrefix(mustJSON(w.Messages), raw[:len(raw)-1]) {
		t.Errorf("another prefix:\n%s\n%s", raw, mustJSON(w.Messages))
	}
}

func mustJSON(v any) []byte {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// TestWhatWasPutAsideStaysOneStepAway: a long result is put aside when it comes, and the reference that stands for it may be cleared later:
// what is left then names the result, and not the reference.
func TestWhatWasPutAsideStaysOneStepAway(t *testing.T) {
	var files shelf
	var d desk
	whole := func(n int) string { return strings.Repeat(fmt.Sprintf("line of %d\n", n), 3000) }
	const turns = 12
	m := &model{answer: func(_ context.Context, w loop.Window, n int) (loop.Turn, error) {
		if n == turns {
			return says("done"), nil
		}
		turn := wants(use(fmt.Sprint(n), "read", fmt.Sprintf(`{"n":%d}`, n)))
		turn.Usage = nil // the estimate counts
		return turn, nil
	}}
	agent := &loop.Agent{Model: m, Reduce: window.Reduction{Trigger: 3000, Free: 1000, Keep: 1}, Tools: []cairn.Tool{tool("read", func(_ context.Context, in string) (string, error) {
		var n int
		_, err := fmt.Sscanf(in, `{"n":%d}`, &n)
		return whole(n), err
	})}}
	call := d.call()
	call.Artifacts = &files
	if _, err := textTask(agent).Lower().Task.Run(cairn.WithCall(t.Context(), call), call); err != nil {
		t.Fatal(err)
	}
	cleared := 0
	for i, message := range m.windows[turns-1].Messages {
		if message.Role == window.Assistant || !strings.HasPrefix(message.Blocks[0].Text, "<cleared ") {
			continue
		}
		cleared++
		if text, n := message.Blocks[0].Text, i/2; !strings.Contains(text, fmt.Sprintf(`artifact=%q bytes="%d"`, window.Hash(whole(n)), len(whole(n)))) {
			t.Errorf("in place of the result of turn %d stands %s", n, text)
		}
	}
	if cleared < 3 {
		t.Fatalf("%d results were cleared: this test has no teeth", cleared)
	}
	for _, text := range files.files {
		if strings.HasPrefix(text, "{") {
			t.Errorf("a reference was put aside: %.200s", text)
		}
	}
}
