package loop

import (
	"context"

	"github.com/cairnrun/cairn/task/agent/answer"
	"github.com/cairnrun/cairn/task/agent/internal/toolset"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

// mostReminder is how much of the prompt is said again, in bytes.
const mostReminder = 2 << 10

// equip puts the tools together.
func (c *conversation) equip() {
	if c.agent.Todo {
		c.todo = &tool.Todo{}
	}
	most := c.offload()
	c.tools = toolset.Set{Own: c.agent.Tools, Others: c.req.Tools, Offload: most, Aside: toolset.Long(c.req.Prompt, most), Todo: c.todo}.Tools()
}

// offload is from how many bytes on a text is put aside; 0 is never.
func (c *conversation) offload() int {
	if c.call.Artifacts == nil {
		return 0
	}
	return orDefault(c.agent.Offload, DefaultOffload, 0)
}

// opening is what the conversation begins with, for all attempts.
func (c *conversation) opening(ctx context.Context) (window.Opening, error) {
	info := c.agent.Model.Info()
	s := window.Setup{System: c.agent.System, Examples: c.agent.Examples, Provider: info.Provider, Size: info.Window, Cache: info.Cache,
		Reduces: info.Reduces, Reduction: c.agent.Reduce, Keeps: c.offload() > 0, Long: c.agent.LongCache, Remind: c.agent.Remind}
	if len(info.Models) > 0 {
		s.Model = info.Models[0]
	}
	if c.agent.Compactor == nil {
		s.Reduction.Compact = -1
	}
	for _, t := range c.tools {
		s.Tools = append(s.Tools, window.ToolOf(t))
	}
	if c.native {
		s.Schema = c.req.Schema
	}
	if s.Remind == "" {
		s.Remind = c.reminder()
	}
	within := toolcall.Scope(ctx)
	o := window.Opening{Within: within, Setup: s, Before: c.before(), First: window.Message{Role: window.User}}
	goOn(&o)
	add := func(part window.Part, said string) {
		if said != "" {
			o.First.Blocks, o.Parts = append(o.First.Blocks, text(said)...), append(o.Parts, part)
		}
	}
	prompt, err := toolset.Shorten(ctx, c.req.Prompt, c.offload())
	if err != nil {
		return window.Opening{}, err
	}
	add(window.PartMemory, c.req.Memory)
	add(window.PartPrompt, prompt)
	if c.req.Schema != nil && !c.native {
		add(window.PartSchema, window.SchemaText(c.req.Schema))
	}
	if len(c.earlier) > 0 { // at the end, where it is seen best
		add(window.PartErrors, answer.Earlier(c.earlier))
	}
	return o, nil
}

// reminder is the prompt, or its beginning, and what the answer has to be.
func (c *conversation) reminder() string {
	text := "Your task is still this:\n" + cut(c.req.Prompt, mostReminder)
	if c.req.Schema != nil {
		text += "\nYour last message must be JSON that fits the schema."
	}
	return text
}

// before is what was said in the thread that the task goes on with, or in the conversation that it forks. It is frozen with
// the task: equal in each attempt.
func (c *conversation) before() (messages []window.Message) {
	for _, m := range c.req.History {
		if kept, ok := forked(m); ok {
			messages = append(messages, kept)
			continue
		}
		role := window.User
		if m.Role == string(window.Assistant) {
			role = window.Assistant
		}
		if m.Content != "" && (role == window.User || len(messages) > 0) { // a conversation begins with the user
			messages = append(messages, window.Message{Role: role, Blocks: text(m.Content)})
		}
	}
	return messages
}
