package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/calltest"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// model answers as its script says, from the window alone: so it can be asked again.
type model struct {
	answer func(ctx context.Context, w loop.Window, turn int) (loop.Turn, error)
	native bool
	name   string

	mu      sync.Mutex // guards windows
	windows []loop.Window
}

func (m *model) Info() loop.Info {
	name := m.name
	if name == "" {
		name = "m"
	}
	return loop.Info{Provider: "script", Models: []string{name}, Identity: "script " + name}
}

func (m *model) Structures(json.RawMessage) bool { return m.native }

func (m *model) Call(ctx context.Context, w loop.Window) (loop.Turn, error) {
	m.mu.Lock()
	m.windows = append(m.windows, w)
	m.mu.Unlock()
	turn := 1
	for _, message := range w.Messages {
		if message.Role == window.Assistant {
			turn++
		}
	}
	return m.answer(ctx, w, turn)
}

func (m *model) calls() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.windows)
}

// replies are the turns of a script, by their number.
func replies(turns ...loop.Turn) *model {
	return &model{answer: func(_ context.Context, _ loop.Window, n int) (loop.Turn, error) {
		if n > len(turns) {
			return loop.Turn{}, task.Permanent(fmt.Errorf("the script has no turn %d", n))
		}
		return turns[n-1], nil
	}}
}

// used is the usage of a call that wrote so much.
func used(output int64) []cairn.Usage { return []cairn.Usage{{Model: "m", Input: 1, Output: output}} }

func says(text string) loop.Turn {
	return loop.Turn{Blocks: []window.Block{{Kind: window.Text, Text: text}}, Stop: loop.StopEnd, Usage: used(1)}
}

// wants is a turn that calls tools, "name:json" each.
func wants(calls ...window.Block) loop.Turn {
	return loop.Turn{Blocks: append([]window.Block{{Kind: window.Text, Text: "let me see"}}, calls...), Stop: loop.StopEnd, Usage: used(1)}
}

func use(id, name, input string) window.Block {
	return window.Block{Kind: window.ToolUse, ID: id, Name: name, Input: json.RawMessage(input)}
}

// tool answers with a function of its input.
func tool(name string, fn func(ctx context.Context, in string) (string, error)) cairn.Tool {
	return cairn.Tool{Name: name, Description: "does " + name, Schema: json.RawMessage(`{"type":"object"}`),
		Call: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
			out, err := fn(ctx, string(in))
			if err != nil {
				return nil, err
			}
			return json.Marshal(out)
		}}
}

func echo(name string) cairn.Tool {
	return tool(name, func(_ context.Context, in string) (string, error) { return name + " of " + in, nil })
}

// disk is a journal that outlives attempts.
type disk struct {
	calltest.Journal
	mu     sync.Mutex // guards writes
	writes int
}

func (d *disk) Record(ctx context.Context, name string, value json.RawMessage) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.writes++
	return d.Journal.Record(ctx, name, value)
}

func (d *disk) names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Sorted(maps.Keys(d.Records))
}

// purse is a meter.
type purse struct {
	mu    sync.Mutex // guards the rest
	spent []cairn.Usage
	admit func(calls int) error
	asked int
}

func (p *purse) Admit() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	if p.admit != nil {
		return p.admit(p.asked)
	}
	return nil
}

func (p *purse) Spend(u cairn.Usage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent = append(p.spent, u)
}

func (p *purse) output() (sum int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.spent {
		sum += u.Output
	}
	return sum
}

// desk runs attempts of one task, as an engine does.
type desk struct {
	disk    disk
	purse   purse
	attempt int
	prompt  string
	tools   []cairn.Tool
	memory  string
}

func (d *desk) call() *cairn.Call {
	d.attempt++
	prompt := d.prompt
	if prompt == "" {
		prompt = "do it"
	}
	input, _ := json.Marshal(prompt)
	return &cairn.Call{Run: "r", Path: "work/step", Key: "step", Attempt: d.attempt, Booked: d.attempt - 1, IdempotencyKey: "r/work/step", Input: input, Prompted: true,
		Memory: d.memory, Tools: d.tools, Journal: &d.disk, Meter: &d.purse}
}

func (d *desk) try(ctx context.Context, t testing.TB, node cairn.Node) (string, error) {
	t.Helper()
	spec := node.Lower()
	for _, err := range spec.Mistakes {
		t.Fatal(err)
	}
	call := d.call()
	result, err := spec.Task.Run(cairn.WithCall(ctx, call), call)
	return string(result.Output), err
}

// final is the conversation that the journal keeps.
func (d *desk) final(t testing.TB) (messages []window.Message) {
	t.Helper()
	raw, ok := d.disk.Lookup(loop.Conversation)
	if !ok {
		t.Fatalf("no conversation among %q", d.disk.names())
	}
	if err := json.Unmarshal(raw, &messages); err != nil {
		t.Fatal(err)
	}
	return messages
}

func textTask(a task.Agent) cairn.Node {
	return task.Task[string]{ID: "step", Agent: a, Prompt: func(*cairn.View) string { return "do it" }}
}

// report is a structured output.
type report struct {
	Title string `json:"title" validate:"required"`
	Score int    `json:"score" validate:"min=1,max=10"`
}

func reportTask(a task.Agent) cairn.Node {
	return task.Task[report]{ID: "step", Agent: a, Prompt: func(*cairn.View) string { return "do it" }}
}
