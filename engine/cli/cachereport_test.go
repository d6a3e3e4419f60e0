package cli_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// provider simulates a provider with a prompt cache, by rules of its own making: a token is three bytes.
type provider struct {
	name, model string
	rules       window.Rules
	// took is how long an answer takes; what a call caches is there when it has answered. drops makes it forget everything
	// before a call.
	took  time.Duration
	drops bool
	// size is the model's window.
	size   int
	answer func(w loop.Window, n int) (loop.Turn, error)
	// reduces is what the provider makes of the messages of a call by itself, and what it says of that.
	reduces func(messages []window.Message, n int) ([]window.Message, []loop.Edit)

	mu      sync.Mutex // guards entries
	entries map[[32]byte]cacheEntry
}

type cacheEntry struct {
	used time.Time
	life time.Duration
}

func (p *provider) Info() loop.Info {
	return loop.Info{Provider: p.name, Models: []string{p.model}, Identity: p.name + " " + p.model, Cache: p.rules, Window: p.size}
}

func (p *provider) Call(_ context.Context, w loop.Window) (loop.Turn, error) {
	n := 1
	var all []string
	behind := map[window.Mark]int{}
	add := func(v any, m window.Mark) {
		raw, _ := schema.Encode(v)
		all = append(all, string(raw))
		behind[m] = len(all)
	}
	for _, t := range w.Tools {
		add(window.ToolOf(t), window.Mark{Message: window.OfTools})
	}
	add(w.System, window.Mark{Message: window.OfSystem})
	for _, m := range w.Messages {
		if m.Role == window.Assistant {
			n++
		}
	}
	shown, edits := w.Messages, []loop.Edit(nil)
	if p.reduces != nil {
		shown, edits = p.reduces(shown, n)
	}
	for i, m := range shown {
		for j, b := range m.Blocks {
			add([]any{m.Role, b}, window.Mark{Message: i, Block: j})
		}
	}
	turn, err := p.answer(w, n)
	if err != nil {
		return turn, err
	}
	hashes, tokens := make([][32]byte, len(all)+1), make([]int64, len(all)+1)
	for i, one := range all {
		hashes[i+1] = sha256.Sum256(append(hashes[i][:], one...))
		tokens[i+1] = tokens[i] + int64(len(one)/3)
	}
	type place struct {
		at   int
		long bool
	}
	var marks []place
	for _, m := range w.Marks {
		long := m.Long
		m.Long = false
		marks = append(marks, place{behind[m], long})
	}
	if p.rules.Marks == 0 {
		marks = []place{{len(all), false}}
	}
	p.mu.Lock()
	if p.entries == nil || p.drops {
		p.entries = map[[32]byte]cacheEntry{}
	}
	now := time.Now()
	read := 0
	for _, m := range marks {
		for at := m.at; at > read && (p.rules.Lookback == 0 || m.at-at <= p.rules.Lookback); at-- {
			if e, ok := p.entries[hashes[at]]; ok && now.Sub(e.used) <= e.life {
				read = at
			}
		}
	}
	for at := range read + 1 {
		if e, ok := p.entries[hashes[at]]; ok && now.Sub(e.used) <= e.life {
			e.used = now
			p.entries[hashes[at]] = e
		}
	}
	p.mu.Unlock()
	time.Sleep(p.took)
	p.mu.Lock()
	defer p.mu.Unlock()
	last := read
	for _, m := range marks {
		for at := m.at; at > 0; at-- {
			if tokens[at] >= int64(p.rules.Minimum) {
				life := p.rules.Life
				if m.long {
					life = p.rules.Long
				}
				p.entries[hashes[at]] = cacheEntry{now, life}
				last = max(last, at)
			}
			if p.rules.Marks > 0 {
				break
			}
		}
	}
	u := cairn.Usage{Model: p.model, Output: 10, CacheRead: tokens[read], CacheWrite: tokens[last] - tokens[read], Input: tokens[len(all)] - tokens[last]}
	if p.rules == (window.Rules{}) {
		u.Input, u.CacheRead, u.CacheWrite = tokens[len(all)], 0, 0
	}
	turn.Usage, turn.Edits = []cairn.Usage{u}, edits
	return turn, nil
}

// clears takes out so many of the oldest results, by the number of a call.
func clears(gone func(n int) int) func([]window.Message, int) ([]window.Message, []loop.Edit) {
	return func(messages []window.Message, n int) ([]window.Message, []loop.Edit) {
		out := slices.Clone(messages)
		edit := loop.Edit{Type: "clear_tool_uses_20250919"}
		for i, m := range out {
			out[i].Blocks = slices.Clone(m.Blocks)
			for j, b := range m.Blocks {
				if b.Kind == window.ToolResult && edit.Results < gone(n) {
					edit.Results++
					edit.Tokens += int64(len(b.Text) / 3)
					out[i].Blocks[j].Text = "[cleared]"
				}
			}
		}
		if edit.Results == 0 {
			return messages, nil
		}
		return out, []loop.Edit{edit}
	}
}

// sumsUp answers the n-th call with a summary, and reads from then on what stands behind the last one.
func (p *provider) sumsUp(at int) {
	summary := window.Block{Kind: window.Compaction, Provider: p.name, Raw: json.RawMessage(`{"type":"compaction","content":"` + strings.Repeat("all is well ", 200) + `"}`)}
	rest := p.answer
	p.answer = func(w loop.Window, n int) (loop.Turn, error) {
		turn, err := rest(w, n)
		if n == at {
			turn.Blocks = append([]window.Block{summary}, turn.Blocks...)
		}
		return turn, err
	}
	p.reduces = func(messages []window.Message, n int) ([]window.Message, []loop.Edit) {
		if n == at {
			return []window.Message{{Role: window.Assistant, Blocks: []window.Block{summary}}}, nil
		}
		out := slices.Clone(messages)
		for i, m := range messages {
			if window.Compacts(m.Blocks) {
				clear(out[:i])
			}
		}
		return out, nil
	}
}

// five are rules like those of a provider that wants breakpoints.
var five = window.Rules{Marks: 4, Minimum: 100, Lookback: 20, Life: 5 * time.Minute, Long: time.Hour}

// short has no longer life to ask for.
var short = window.Rules{Marks: 4, Minimum: 100, Lookback: 20, Life: 5 * time.Minute}

// turns answers with so many calls of a tool, and then with done.
func turns(calls int, name string) func(w loop.Window, n int) (loop.Turn, error) {
	return func(w loop.Window, n int) (loop.Turn, error) {
		said := 0
		for _, m := range w.Messages {
			if m.Role == window.Assistant && len(window.Uses(m.Blocks)) > 0 {
				said++
			}
		}
		if said >= calls {
			return loop.Turn{Stop: loop.StopEnd, Blocks: []window.Block{{Kind: window.Text, Text: "done"}}}, nil
		}
		return loop.Turn{Stop: loop.StopEnd, Blocks: []window.Block{{Kind: window.ToolUse, ID: fmt.Sprint("t", n), Name: name, Input: json.RawMessage(fmt.Sprintf(`{"n":%d}`, n))}}}, nil
	}
}

func reads(name string, text string, wait time.Duration) cairn.Tool {
	return cairn.Tool{Name: name, Description: "Reads " + name + ".", Schema: json.RawMessage(`{"type":"object"}`),
		Call: func(_ context.Context, in json.RawMessage) (json.RawMessage, error) {
			time.Sleep(wait)
			return json.Marshal(string(in) + text)
		}}
}

// given is an agent that has memory and history put before its prompt.
type given struct {
	*loop.Agent
	memory  func() string
	history []cairn.Message
}

func (g given) Run(ctx context.Context, req task.Request) (task.Response, error) {
	if g.memory != nil {
		req.Memory = g.memory()
	}
	req.History = g.history
	return g.Agent.Run(ctx, req)
}

// manual is a system text that is long enough to be cached.
var manual = strings.Repeat("You are careful and you read before you write. ", 30)

// asks is a task of an agent.
func asks(id cairn.Key[string], a task.Agent, prompt string) cairn.Node {
	return task.Task[string]{ID: id, Agent: a, Prompt: func(*cairn.View) string { return prompt }, Retry: task.Retry{Max: 1}, Optional: true}
}

// flow is a workflow of one tree.
func flow(name string, tree func(v *cairn.View) cairn.Nodes) cairn.Definer {
	return cairn.Workflow[ask, string]{Name: name, Result: last, Example: new(ask{Name: "ape"}),
		Render: func(v *cairn.View, _ ask) cairn.Node { return append(tree(v), say(last, "bye")) }}
}

// bubble runs command lines in virtual time, and gives what they have written.
func bubble(t *testing.T, fn func(run func(code int, args ...string) string), workflows ...cairn.Definer) {
	t.Helper()
	p := newPlace(t)
	synctest.Test(t, func(t *testing.T) {
		fn(func(code int, args ...string) string {
			t.Helper()
			var out, errOut bytes.Buffer
			if got := cli.Run(t.Context(), append(args, "--db", p.db()), strings.NewReader(""), &out, &errOut, workflows...); got != code {
				t.Fatalf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", args, got, code, out.String(), errOut.String())
			}
			return out.String()
		})
	})
}

// with runs a command line of a program with one workflow.
func (p place) with(code int, wf cairn.Definer, args ...string) string {
	p.t.Helper()
	var out, errOut bytes.Buffer
	if got := cli.Run(p.t.Context(), append(args, "--db", p.db()), strings.NewReader(""), &out, &errOut, wf); got != code {
		p.t.Fatalf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", args, got, code, out.String(), errOut.String())
	}
	return out.String()
}

// told is what the tests read of cache-report --json.
type told struct {
	Run   string
	Total struct {
		Calls, Unpriced                int
		Read, Written, Uncached, Saved int64
		HitRate                        float64
		Misses                         map[string]int
	}
	Agents, Nodes []struct {
		Name                    string
		Calls                   int
		Read, Written, Uncached int64
		HitRate                 float64
	}
	Calls []struct {
		Path, Conversation, Model, State, Verdict, Why, Because string
		Call                                                    int
		Read, Written, Uncached, Expected, Saved                int64
		Difference                                              *struct {
			Part, Name, Cause, Was, Is string
			Byte, Window               int
		}
	}
}

// lines are the verdicts, and what there is to say for them.
func (r told) lines() (list []string) {
	for _, c := range r.Calls {
		text := fmt.Sprintf("%s %d %s", c.Path, c.Call, c.Verdict)
		if c.Why != "" {
			text += " " + c.Why
		}
		if c.Difference != nil && c.Why == "differs" {
			text += " " + c.Difference.Part + " " + c.Difference.Cause
		}
		list = append(list, text)
	}
	return list
}

// TestCacheReportReasons: each reason is found in a real run whose provider has a cache that knows nothing of the report.
func TestCacheReportReasons(t *testing.T) {
	page := strings.Repeat(" and so on", 100)
	marked := func(rules window.Rules) *provider {
		return &provider{name: "acme", model: "claude-haiku-4-5", rules: rules}
	}
	again := func(n int, node func(v *cairn.View) cairn.Node) cairn.Nodes {
		return cairn.Nodes{cairn.Loop{ID: "work", Max: n, OnMax: cairn.ReturnLast, Body: node}}
	}
	cases := map[string]struct {
		tree    func() func(v *cairn.View) cairn.Nodes
		want    string
		because string
	}{
		"hit": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(2, "read")
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", page, 0)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go"), asks("b", a, "go on")} }
		}, "a 1 first; a 2 hit; a 3 hit; b 1 hit; b 2 hit; b 3 hit", "no earlier call of the run begins like it"},
		"automatic": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(window.Rules{Minimum: 100, Life: 5 * time.Minute})
			m.answer = turns(2, "read")
			a := &loop.Agent{Model: m, System: manual, Todo: true, Vary: []string{"Go on.", "Well?"}, Tools: []cairn.Tool{reads("read", page, 0)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go"), asks("b", a, "on")} }
		}, "a 1 first; a 2 hit; a 3 hit; b 1 hit; b 2 hit; b 3 hit", ""},
		"below": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(window.Rules{Marks: 4, Minimum: 2000, Lookback: 20, Life: 5 * time.Minute})
			m.answer = turns(2, "read")
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", page, 0)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go"), asks("b", a, "go on")} }
		}, "a 1 first; a 2 miss below_minimum; a 3 miss below_minimum; b 1 miss below_minimum; b 2 miss below_minimum; b 3 miss below_minimum",
			"what it could share has about"},
		"expired": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(short)
			m.answer = turns(1, "read")
			a := &loop.Agent{Model: m, System: manual, ToolTimeout: -1, Tools: []cairn.Tool{reads("read", page, 6*time.Minute)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 miss expired", "the entry was last used 6m0s before, and lives 5m0s"},
		"longer": {func() func(v *cairn.View) cairn.Nodes { // a longer life is asked for once a call has come late
			m := marked(five)
			m.answer = turns(3, "read")
			a := &loop.Agent{Model: m, System: manual, ToolTimeout: -1, Tools: []cairn.Tool{reads("read", page, 6*time.Minute)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 miss expired; a 3 hit; a 4 hit", ""},
		"hour": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(2, "read")
			waits := []time.Duration{59 * time.Minute, 61 * time.Minute}
			slow := reads("read", page, 0)
			slow.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) {
				time.Sleep(waits[0])
				waits = waits[1:]
				return json.Marshal(page)
			}
			a := &loop.Agent{Model: m, System: manual, ToolTimeout: -1, LongCache: true, Tools: []cairn.Tool{slow}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 hit; a 3 miss expired", "the entry was last used 1h1m0s before, and lives 1h0m0s"},
		"recited": {func() func(v *cairn.View) cairn.Nodes { // what is said anew in each call is nobody's loss
			m := marked(window.Rules{Minimum: 100, Life: 5 * time.Minute})
			m.answer = turns(2, "read")
			a := &loop.Agent{Model: m, System: manual, Vary: []string{"Go on." + page + page, "Well?" + page + page}, Tools: []cairn.Tool{reads("read", "", 0)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 hit; a 3 hit", ""},
		"lookback": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(0, "")
			said := func(n int) (list []cairn.Message) {
				for i := range n {
					list = append(list, cairn.Message{Role: "user", Content: fmt.Sprint("question ", i, page)}, cairn.Message{Role: "assistant", Content: fmt.Sprint("answer ", i)})
				}
				return list
			}
			long := func(n int) task.Agent { return given{Agent: &loop.Agent{Model: m, System: manual}, history: said(n)} }
			return func(*cairn.View) cairn.Nodes {
				return cairn.Nodes{asks("a", long(3), "go"), asks("b", long(5), "on"), asks("c", long(30), "and on")}
			}
		}, "a 1 first; b 1 hit; c 1 partial lookback_exceeded", "blocks before a breakpoint, and 20 are looked at"},
		"few": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(window.Rules{Marks: 1, Minimum: 100, Lookback: 20, Life: 5 * time.Minute})
			m.answer = turns(1, "read")
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", page, 0)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go"+page)} }
		}, "a 1 first; a 2 partial too_few_breakpoints", "a call may have 1 breakpoint"},
		"rewrite": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(6, "read")
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", strings.Repeat(page, 3), 0)}, Reduce: window.Reduction{Trigger: 3500, Free: 500, Keep: 1, Compact: -1}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 hit; a 3 hit; a 4 partial planned_rewrite; a 5 hit; a 6 partial planned_rewrite; a 7 hit", "old results were cleared"},
		"provider clears": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(6, "read")
			m.reduces = clears(func(n int) int { return map[int]int{4: 2, 5: 2, 6: 4, 7: 4}[n] })
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", strings.Repeat(page, 3), 0)}, Reduce: window.Reduction{Trigger: -1, Compact: -1}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 hit; a 3 hit; a 4 partial planned_rewrite; a 5 hit; a 6 partial planned_rewrite; a 7 hit", "the provider has cleared 2 old results of 2,004 tokens"},
		"provider sums up": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(6, "read")
			m.sumsUp(4)
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", strings.Repeat(page, 3), 0)}, Reduce: window.Reduction{Trigger: -1, Compact: -1}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 hit; a 3 hit; a 4 partial planned_rewrite; a 5 partial planned_rewrite; a 6 hit; a 7 hit", "the provider has put a summary in the place of what was said before"},
		"clock": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(0, "")
			return func(*cairn.View) cairn.Nodes {
				return again(2, func(v *cairn.View) cairn.Node {
					now := v.Now().UTC().Add(time.Duration(v.Iteration()) * time.Second).Format(time.RFC3339)
					return asks("a", &loop.Agent{Model: m, System: "It is " + now + ". " + manual}, "go")
				})
			}
		}, "work[0]/a 1 first; work[1]/a 1 miss differs system clock", `byte 24 of the window, byte 24 of system: a clock: "2000-01-01T00:00:01Z" was "2000-01-01T00:00:00Z"`},
		"id": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(0, "")
			return func(*cairn.View) cairn.Nodes {
				return again(2, func(v *cairn.View) cairn.Node {
					return asks("a", &loop.Agent{Model: m, System: fmt.Sprintf("Session 0b9e2c1a-7f3d-4c55-9a21-3f1c2b4d5e%02d. ", v.Iteration()) + manual}, "go")
				})
			}
		}, "work[0]/a 1 first; work[1]/a 1 miss differs system id", "an id"},
		"keys": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(0, "")
			config := []string{`{"b":{"y":1,"x":2},"a":1}`, `{"b":{"x":2,"y":1},"a":1}`}
			return func(*cairn.View) cairn.Nodes {
				return again(2, func(v *cairn.View) cairn.Node {
					return asks("a", &loop.Agent{Model: m, System: "Settings: " + config[v.Iteration()] + "\n" + manual}, "go")
				})
			}
		}, "work[0]/a 1 first; work[1]/a 1 miss differs system key_order", "equal JSON with its keys in another order"},
		"text": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(0, "")
			return func(*cairn.View) cairn.Nodes {
				return again(2, func(v *cairn.View) cairn.Node {
					return asks("a", &loop.Agent{Model: m, System: fmt.Sprintf("Step %c. ", 'A'+v.Iteration()) + manual}, "go")
				})
			}
		}, "work[0]/a 1 first; work[1]/a 1 miss differs system text", `"Step B.`},
		"tools": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = turns(0, "")
			all := []cairn.Tool{reads("one", "", 0), reads("two", "", 0), reads("three", "", 0)}
			return func(*cairn.View) cairn.Nodes {
				return again(3, func(v *cairn.View) cairn.Node {
					list := [][]cairn.Tool{all, {all[1], all[0], all[2]}, {all[0], all[1]}}[v.Iteration()]
					return asks("a", &loop.Agent{Model: m, System: manual, Tools: list, Offload: -1}, "go")
				})
			}
		}, "work[0]/a 1 first; work[1]/a 1 miss differs tools tool_set; work[2]/a 1 miss differs tools tool_set", "a varying tool set: in another order: two, one, three, not one, two, three"},
		"memory": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(window.Rules{Minimum: 100, Life: 5 * time.Minute})
			m.answer = turns(0, "")
			recalled := 0
			a := given{Agent: &loop.Agent{Model: m, System: "Short."}, memory: func() string {
				recalled++
				return fmt.Sprintf("<memory>\nlesson %d: %s\n</memory>", recalled, page)
			}}
			return func(*cairn.View) cairn.Nodes {
				return again(2, func(*cairn.View) cairn.Node { return asks("a", a, "the same"+page) })
			}
		}, "work[0]/a 1 first; work[1]/a 1 miss differs memory memory", "another memory block"},
		"concurrent": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer, m.took = turns(0, ""), 10*time.Second
			a := &loop.Agent{Model: m, System: manual}
			return func(*cairn.View) cairn.Nodes {
				return cairn.Nodes{cairn.Parallel{Children: cairn.Nodes{asks("a", a, "this"), asks("b", a, "that")}}}
			}
		}, "a 1 first; b 1 miss concurrent", "may not have answered by then"},
		"other": {func() func(v *cairn.View) cairn.Nodes {
			first, second := marked(five), &provider{name: "other", model: "gpt-5-mini", rules: five}
			second.answer = turns(1, "read")
			first.answer = func(w loop.Window, n int) (loop.Turn, error) {
				if n > 1 {
					return loop.Turn{}, &cairn.Failure{Code: loop.ModelOverloaded, Message: "busy"}
				}
				return second.answer(w, n)
			}
			a := &loop.Agent{Model: &loop.Fallback{Models: []loop.Model{first, second}}, System: manual, Tools: []cairn.Tool{reads("read", page, 0)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 miss other_model", "the call before went to claude-haiku-4-5"},
		"dropped": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer, m.drops = turns(1, "read"), true
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", page, 0)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 miss not_kept", "tokens were there to be read"},
		"none": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(window.Rules{})
			m.answer = turns(1, "read")
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", page, 0)}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 none no_cache; a 2 none no_cache", "not known to have a cache"},
		"agents": {func() func(v *cairn.View) cairn.Nodes { // that two agents differ is no miss
			m := marked(five)
			m.answer = turns(0, "")
			return func(*cairn.View) cairn.Nodes {
				return cairn.Nodes{asks("a", &loop.Agent{Model: m, System: manual}, "go"),
					asks("b", &loop.Agent{Model: m, System: strings.Repeat("Say what is wrong with it, and nothing else. ", 30)}, "go")}
			}
		}, "a 1 first; b 1 first", ""},
		"lost": {func() func(v *cairn.View) cairn.Nodes {
			m := marked(five)
			m.answer = func(loop.Window, int) (loop.Turn, error) { return loop.Turn{}, task.Permanent(errors.New("no")) }
			return func(*cairn.View) cairn.Nodes {
				return cairn.Nodes{asks("a", &loop.Agent{Model: m, System: manual}, "go")}
			}
		}, "a 1 none not_answered", "its answer was lost"},
		"compactor": {func() func(v *cairn.View) cairn.Nodes {
			m, small := marked(five), &provider{name: "acme", model: "gpt-5-nano"}
			small.answer = turns(0, "")
			m.answer = func(w loop.Window, n int) (loop.Turn, error) {
				if strings.HasSuffix(w.Key, ".turn.11") {
					return turns(0, "")(w, n)
				}
				return turns(100, "read")(w, n)
			}
			a := &loop.Agent{Model: m, System: manual, Tools: []cairn.Tool{reads("read", strings.Repeat(page, 2), 0)},
				Reduce: window.Reduction{Trigger: -1, Compact: 3000, Free: 500}, Compactor: &loop.Compactor{Model: small}}
			return func(*cairn.View) cairn.Nodes { return cairn.Nodes{asks("a", a, "go")} }
		}, "a 1 first; a 2 hit; a 3 hit; a 4 hit; a 5 none compactor; a 5 partial planned_rewrite; a 6 hit; a 7 hit; a 8 none compactor; a 8 hit; " + // its window is that of the call 6 once more
			"a 9 hit; a 10 hit; a 11 none compactor; a 11 hit", "was replaced by a summary"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			tree := c.tree()
			bubble(t, func(run func(code int, args ...string) string) {
				run(0, "up", name, "--run-id", "r1", "-q")
				r := lines[told](t, run(0, "cache-report", "r1", "--json"))[0]
				text := run(0, "cache-report", "r1")
				if got := strings.Join(r.lines(), "; "); got != c.want {
					t.Errorf("got %s\nwant %s\n%s", got, c.want, text)
				}
				if !strings.Contains(text, c.because) {
					t.Errorf("%q is missing in:\n%s", c.because, text)
				}
				var read, written, uncached, saved int64
				for _, l := range r.Calls {
					if l.Expected > l.Read+l.Written+l.Uncached && l.State == "answered" {
						t.Errorf("%s %d is expected to have read %d tokens, of %d", l.Path, l.Call, l.Expected, l.Read+l.Written+l.Uncached)
					}
					read, written, uncached, saved = read+l.Read, written+l.Written, uncached+l.Uncached, saved+l.Saved
				}
				if r.Total.Read != read || r.Total.Written != written || r.Total.Uncached != uncached || r.Total.Saved != saved || r.Total.Calls != len(r.Calls) {
					t.Errorf("the total is %+v", r.Total)
				}
			}, flow(name, tree))
		})
	}
}

// TestProvidersReductionIsShown: what the provider has left out of a window by itself is told where the window is shown and counted.
func TestProvidersReductionIsShown(t *testing.T) {
	tools := []cairn.Tool{reads("read", strings.Repeat(" and so on", 300), 0)}
	clearing := &provider{name: "acme", model: "claude-haiku-4-5", rules: five, answer: turns(4, "read")}
	clearing.reduces = clears(func(n int) int { return map[int]int{4: 2, 5: 3}[n] })
	summing := &provider{name: "acme", model: "claude-haiku-4-5", rules: five, answer: turns(4, "read")}
	summing.sumsUp(4)
	tree := flow("reduced", func(*cairn.View) cairn.Nodes {
		return cairn.Nodes{asks("a", &loop.Agent{Model: clearing, System: manual, Tools: tools}, "go"), asks("b", &loop.Agent{Model: summing, System: manual, Tools: tools}, "go")}
	})
	const unread = "NOT seen by the model"
	bubble(t, func(run func(code int, args ...string) string) {
		run(0, "up", "reduced", "--run-id", "r1", "-q")
		for _, c := range []struct {
			path, call string
			want       []string
		}{
			{"a", "4", []string{"# 2 old results cleared before this call\n", "# " + unread + ": 2 old results of 2,004 tokens that the provider has left out by itself (clear_tool_uses_20250919)\n"}},
			{"a", "5", []string{"# 1 old result cleared before this call\n", "# " + unread + ": 3 old results of 3,006 tokens"}},
			{"b", "4", []string{unread + ": what stands before the provider's own summary"}},
			{"b", "5", []string{unread + ": what stands before the provider's own summary", "--- history, assistant, compaction"}},
		} {
			has(t, run(0, "prompt", "r1", c.path, "--call", c.call), c.want...)
		}
		for _, path := range []string{"a", "b"} {
			if text := run(0, "prompt", "r1", path, "--call", "3"); strings.Contains(text, unread) {
				t.Errorf("%s", text)
			}
		}
		has(t, run(0, "prompt", "r1", "a", "--call", "5", "--json"), `"cleared":1`, `"edits":[{"type":"clear_tool_uses_20250919","results":3,"tokens":3006}]`)
		has(t, run(0, "prompt", "r1", "b", "--call", "5", "--json"), `"summed":true`)
		has(t, run(0, "node", "r1", "a", "--json"), `"windows":{"pointers":0,"cleared":3,"compactions":0}`)
		has(t, run(0, "node", "r1", "b"), "0 results told by a pointer, 0 cleared, 1 compaction")
	}, tree)
}

// TestCacheReport: the report of a run with a loop, a task that is tried twice, and a call that is under way.
func TestCacheReport(t *testing.T) {
	page := strings.Repeat(" and so on", 100)
	m := &provider{name: "acme", model: "claude-haiku-4-5", rules: short, took: time.Second}
	m.answer = turns(2, "read")
	home := &provider{name: "home", model: "homemade", rules: window.Rules{Minimum: 100, Life: time.Hour}, took: time.Second, answer: turns(1, "read")}
	tools := []cairn.Tool{reads("read", page, 0)}
	tries := 0
	moody := &provider{name: "acme", model: "claude-haiku-4-5", rules: short, took: time.Second}
	moody.answer = func(w loop.Window, n int) (loop.Turn, error) {
		if tries++; tries == 1 {
			return loop.Turn{Stop: loop.StopMaxTokens, Blocks: []window.Block{{Kind: window.Text, Text: "I was cut"}}}, nil
		}
		return turns(0, "")(w, n)
	}
	var held chan struct{} // of the bubble
	slow := &provider{name: "acme", model: "claude-haiku-4-5", rules: short, took: time.Second, answer: func(w loop.Window, n int) (loop.Turn, error) {
		if n == 2 {
			<-held
		}
		return turns(1, "read")(w, n)
	}}
	tree := flow("report", func(*cairn.View) cairn.Nodes {
		return cairn.Nodes{
			cairn.Loop{ID: "work", Max: 2, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node {
				return asks("step", &loop.Agent{Model: m, Tools: tools, System: fmt.Sprintf("It is 10:00:0%d. ", v.Iteration()) + manual}, "go")
			}},
			asks("home", &loop.Agent{Model: home, Tools: tools, System: manual}, "go"),
			task.Task[string]{ID: "moody", Agent: &loop.Agent{Model: moody, System: strings.Repeat("Be brief, and say no more than you know. ", 30)}, Prompt: func(*cairn.View) string { return "go" }, Retry: task.Retry{Max: 2}},
			asks("slow", &loop.Agent{Model: slow, Tools: tools, System: strings.Repeat("Take your time, for nobody is waiting. ", 30)}, "go"),
		}
	})
	bubble(t, func(run func(code int, args ...string) string) {
		held = make(chan struct{})
		var up sync.WaitGroup
		up.Go(func() { run(0, "up", "report", "--run-id", "r1", "-q") })
		time.Sleep(time.Minute) // of the bubble's: until all that is left is the call that waits
		during := run(0, "cache-report", "r1")
		has(t, during, "slow 2", "in flight")
		close(held)
		up.Wait()
		golden(t, "cachereport.golden", run(0, "cache-report", "r1"))
		r := lines[told](t, run(0, "cache-report", "r1", "--json"))[0]
		if len(r.Nodes) != 5 || len(r.Agents) != 5 || r.Total.Unpriced != 2 || r.Total.Misses["differs"] != 1 {
			t.Errorf("%+v", r.Total)
		}
		// All that was read was 90 % cheaper, and all that was written 25 % dearer: at $1 per million.
		var read, written int64
		for _, c := range r.Calls {
			if c.Model == "claude-haiku-4-5" {
				read, written = read+c.Read, written+c.Written
			}
		}
		if exact := (read*90 - written*25) / 100; r.Total.Saved < exact-10 || r.Total.Saved > exact+10 { // each call is rounded
			t.Errorf("saved %d, not %d", r.Total.Saved, exact)
		}
		if d := r.Calls[3].Difference; r.Calls[3].Why != "differs" || d == nil || d.Was != "10:00:00" || d.Is != "10:00:01" || d.Byte != len("It is 10:00:0") {
			t.Errorf("%+v", r.Calls[3])
		}
	}, tree)
}

func TestCacheReportOfNothing(t *testing.T) {
	p := newPlace(t)
	has(t, p.must(2, "cache-report", "r1").err, "NO_DATABASE")
	p.must(0, "up", "zoo", "--run-id", "r1", "-q")
	has(t, p.must(0, "cache-report", "r1").out, "run r1 has made no calls of a model")
	if r := lines[told](t, p.must(0, "cache-report", "r1", "--json").out)[0]; r.Run != "r1" || r.Total.Calls != 0 {
		t.Errorf("%+v", r)
	}
	has(t, p.must(2, "cache-report", "r2").err, "RUN_NOT_FOUND run r2")
}
