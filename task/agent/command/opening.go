package command

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/answer"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/internal/toolset"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

// todoSays describes the list to a program: when it is said again is not what it is in a loop.
const todoSays = "Keeps the list of what you have to do: add what you plan, mark as done what is, change what turns out otherwise. " +
	"Each answer has all of the list. You are told it again when you were interrupted, and when your answer is refused."

// equip puts the tools together.
func (c *conversation) equip() {
	if c.agent.cfg.Todo {
		c.todo = &tool.Todo{}
	}
	most := c.offload()
	c.tools = slices.Clone(toolset.Set{Own: c.agent.cfg.Tools, Others: c.req.Tools, Offload: most, Aside: toolset.Long(c.req.Prompt, most), Todo: c.todo}.Tools())
	for i := range c.tools {
		if c.todo != nil && c.tools[i].Name == toolset.Todo {
			c.tools[i].Description = todoSays
		}
	}
}

// offload is from how many bytes on a text is put aside; 0 is never, as where the program could not read it.
func (c *conversation) offload() int {
	if c.call.Artifacts == nil || c.agent.template.MCP == nil {
		return 0
	}
	return c.agent.cfg.Offload
}

// begin finds what the conversation has begun with, or begins it.
func (c *conversation) begin(ctx context.Context) error {
	var err error
	if c.opening, err = task.Step(ctx, journal.OpeningName(c.name), c.first); err != nil {
		return err
	}
	c.opening.Setup = c.setup()
	return nil
}

// first is what the conversation begins with, for all attempts: what was said before, memory and prompt, what the answer has to look
// like, and at the end, where it is seen best, what went wrong before.
func (c *conversation) first(ctx context.Context) (window.Opening, error) {
	prompt, err := toolset.Shorten(ctx, c.req.Prompt, c.offload())
	if err != nil {
		return window.Opening{}, err
	}
	o := window.Opening{Within: toolcall.Scope(ctx), Setup: c.setup(), First: window.Message{Role: window.User}}
	add := func(part window.Part, said string) {
		if said != "" {
			o.First.Blocks, o.Parts = append(o.First.Blocks, window.Block{Kind: window.Text, Text: said}), append(o.Parts, part)
		}
	}
	add(window.PartHistory, c.before())
	add(window.PartMemory, c.req.Memory)
	add(window.PartPrompt, prompt)
	if c.req.Schema != nil && c.native == nil {
		add(window.PartSchema, window.SchemaText(c.req.Schema))
	}
	if len(c.earlier) > 0 {
		add(window.PartErrors, answer.Earlier(c.earlier))
	}
	return o, nil
}

// setup is what the program is given besides what it is told. What becomes of its window is its own affair.
func (c *conversation) setup() window.Setup {
	t := &c.agent.template
	s := window.Setup{Provider: t.Name, Model: c.agent.cfg.Model, Schema: c.native, Reduces: true}
	if mentions(t.Args, "{system}", "{system_json}") {
		s.System = c.agent.cfg.System
	}
	for _, one := range c.tools {
		s.Tools = append(s.Tools, window.ToolOf(one))
	}
	return s
}

// before is what was said in the thread that the task goes on with: a program has no other place for it.
func (c *conversation) before() string {
	var b strings.Builder
	for _, m := range c.req.History {
		if m.Content != "" {
			fmt.Fprintf(&b, "<%s>\n%s\n</%[1]s>\n", cmp.Or(m.Role, "user"), strings.ReplaceAll(m.Content, "</", "<\\/"))
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "What was said before:\n<conversation>\n" + b.String() + "</conversation>"
}

// tells puts together what the program is told at a start, with the list of things to do at its end, and writes it down.
func (c *conversation) tells(ctx context.Context, s transcript.Start) (string, error) {
	s.Attempt = c.call.Attempt
	now := window.Now{At: time.Now().UnixMilli()}
	if c.todo != nil {
		now.Todo = c.todo.Text()
	}
	view := s.Decide(c.opening, now)
	c.starts++
	return transcript.Text(view.Messages[0]), journal.Put(ctx, c.call.Journal, transcript.StartName(c.name, c.starts), s)
}
