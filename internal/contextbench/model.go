package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// priced is the model whose prices and cache rules count.
const priced = "claude-opus-4-8"

var rules = anthropic.New(anthropic.Config{Model: priced}).Info().Cache

// worker is a model that goes through the steps of a world. What it does next depends on its window alone: what it has to know
// and does not see there it looks up first.
type worker struct {
	world *world
	// size is the window it tells of; 0 is none.
	size    int
	meter   *meter
	mu      sync.Mutex
	lookups int
}

func (m *worker) Info() loop.Info {
	return loop.Info{Provider: "script", Models: []string{priced}, Identity: "contextbench", Window: m.size, Cache: rules}
}

func (m *worker) Call(_ context.Context, w loop.Window) (loop.Turn, error) {
	began := time.Now()
	defer m.meter.outside(began, "model")
	turn, err := m.answer(w)
	if err == nil {
		turn.Stop = loop.StopEnd
		turn.Usage = []cairn.Usage{m.meter.call(w, turn.Blocks)}
	}
	return turn, err
}

var numbered = regexp.MustCompile(`(?m)^Step (\d+)\.`)

// answer is the next turn.
func (m *worker) answer(w loop.Window) (turn loop.Turn, err error) {
	n, again := progress(w.Messages)
	say := func(text string, calls ...window.Block) (loop.Turn, error) {
		turn.Blocks = append([]window.Block{{Kind: window.Text, Text: text}}, calls...)
		return turn, nil
	}
	said := ""
	if n > 0 {
		s := m.world.steps[n-1]
		for i, need := range s.needs {
			if shows(w.Messages, need.line) {
				continue
			}
			if again > 2*len(s.needs) {
				return turn, task.Permanent(fmt.Errorf("contextbench: step %d has looked up %q and does not see it", n, need.line))
			}
			m.mu.Lock()
			m.lookups++
			m.mu.Unlock()
			return say(fmt.Sprintf("Step %d. The line I need is not in view, so I look it up.", n), lookup(w, need, fmt.Sprintf("s%d_%d_%d", n, i, again)))
		}
		if s.says != "" {
			said = s.says + "\n\n"
		}
	}
	if n == len(m.world.steps) {
		return say(said + "Everything on the list is done.")
	}
	s := m.world.steps[n]
	n++
	calls := []window.Block{{Kind: window.ToolUse, ID: fmt.Sprintf("s%d", n), Name: s.tool, Input: s.input}}
	if in := todo(n); in != nil {
		calls = append(calls, window.Block{Kind: window.ToolUse, ID: fmt.Sprintf("t%d", n), Name: "todo", Input: in})
	}
	return say(fmt.Sprintf("%sStep %d. %s", said, n, remarks(n)), calls...)
}

// todo changes the list every ten steps, beside another call: it costs no turn.
func todo(n int) json.RawMessage {
	switch {
	case n == 1:
		return json.RawMessage(`{"add":["read the dispatcher and its callers","find who swallows the error","write the change for the queue","write the change for the handlers","run all tests","report decisions, bugs and paths"]}`)
	case n%20 == 1 && n/20 <= 5:
		return json.RawMessage(fmt.Sprintf(`{"done":[%d]}`, n/20))
	}
	return nil
}

// progress is the last step that was taken, and how often something was looked up for it.
func progress(messages []window.Message) (n, again int) {
	for _, m := range slices.Backward(messages) {
		if m.Role != window.Assistant {
			continue
		}
		at := numbered.FindStringSubmatch(window.Said(m.Blocks))
		if at == nil {
			continue
		}
		k, _ := strconv.Atoi(at[1]) // digits
		if n != 0 && k != n {
			break
		}
		if n == k {
			again++
		}
		n = k
	}
	return n, again
}

// shows says whether a result in the window has a line.
func shows(messages []window.Message, line string) bool {
	for _, m := range slices.Backward(messages) {
		for _, b := range m.Blocks {
			if b.Kind == window.ToolResult && strings.Contains(b.Text, line) {
				return true
			}
		}
	}
	return false
}

var hash = regexp.MustCompile(`\b[0-9a-f]{64}\b`)

// lookup searches the artifact of a result that was put aside or taken out, if there is a reference, and else makes the call again.
func lookup(w loop.Window, need need, id string) window.Block {
	target, _ := json.Marshal(need.target) // a string
	again := json.RawMessage(fmt.Sprintf(`{%q:%s}`, argument[need.tool], target))
	asked := map[string]bool{}
	for _, m := range w.Messages {
		for _, b := range m.Blocks {
			switch {
			case b.Kind == window.ToolUse && b.Name == need.tool && string(b.Input) == string(again):
				asked[b.ID] = true
			case b.Kind == window.ToolResult && asked[b.ID]:
				if kept := hash.FindString(b.Text); kept != "" {
					in, _ := json.Marshal(map[string]any{"artifact": kept, "grep": regexp.QuoteMeta(need.line), "context": 10})
					return window.Block{Kind: window.ToolUse, ID: id, Name: "artifact_read", Input: in}
				}
			}
		}
	}
	return window.Block{Kind: window.ToolUse, ID: id, Name: need.tool, Input: again}
}

// careless is a compactor that keeps every fourth of the facts it reads, and overlooks the others.
type careless struct {
	facts []fact
	meter *meter
}

func (c *careless) Info() loop.Info {
	return loop.Info{Provider: "script", Models: []string{priced}, Identity: "careless"}
}

func (c *careless) Call(_ context.Context, w loop.Window) (loop.Turn, error) {
	began := time.Now()
	defer c.meter.outside(began, "model")
	brief := w.Messages[0].Blocks[0].Text
	text := "The agent goes through the services and reads, searches, tests and writes.\nDecisions, problems and files so far:"
	for i, f := range c.facts {
		if i%4 == 0 && strings.Contains(brief, f.says) {
			text += "\n- " + f.says
		}
	}
	turn := loop.Turn{Blocks: []window.Block{{Kind: window.Text, Text: text}}, Stop: loop.StopEnd}
	turn.Usage = []cairn.Usage{c.meter.aside(w, turn.Blocks)}
	return turn, nil
}
