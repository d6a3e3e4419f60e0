package loop

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/answer"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

// Names of the tools that the loop brings along, and how much of what is put aside stays in view.
const (
	todoTool     = "todo"
	artifactTool = "artifact_read"
	offloadHead  = 2 << 10
	mostReminder = 2 << 10
)

// equip puts the tools together: the agent's own, those of the loop, and those of the task, which may differ from task to task
// and so stand last.
func (c *conversation) equip() {
	most := c.offload()
	wrap := func(tools []cairn.Tool) []cairn.Tool {
		if most == 0 {
			return slices.Clip(tools) // the agent's own list is for all of its conversations
		}
		return tool.Offload{Max: most, Head: min(offloadHead, most/2), Store: task.WriteArtifact}.Wrap(tools)
	}
	own, others := wrap(c.agent.Tools), wrap(c.req.Tools)
	if c.agent.Todo {
		c.todo = &tool.Todo{}
		own = append(own, c.todo.Tool())
	}
	named := func(t cairn.Tool) bool { return t.Name == artifactTool }
	if most > 0 && (len(own)+len(others) > 0 || c.long(most)) && !slices.ContainsFunc(own, named) && !slices.ContainsFunc(others, named) {
		own = append(own, tool.ReadArtifact())
	}
	c.tools = slices.Concat(own, others)
}

// offload is from how many bytes on a text is put aside; 0 is never.
func (c *conversation) offload() int {
	if c.call.Artifacts == nil {
		return 0
	}
	return orDefault(c.agent.Offload, DefaultOffload, 0)
}

// long says that the prompt has a part to put aside.
func (c *conversation) long(most int) bool {
	return slices.ContainsFunc(task.Deps(c.req.Prompt), func(d task.DepPart) bool { return len(d.Body) > most })
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
	prompt, err := c.prompt(ctx)
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

// prompt is the task's, with its long parts put aside.
func (c *conversation) prompt(ctx context.Context) (string, error) {
	most := c.offload()
	if most == 0 || !c.long(most) {
		return c.req.Prompt, nil
	}
	var b strings.Builder
	at := 0
	for i, dep := range task.Deps(c.req.Prompt) {
		if len(dep.Body) <= most {
			continue
		}
		kept, err := task.WriteArtifact(ctx, fmt.Sprintf("dep-%d", i+1), "text/plain; charset=utf-8", strings.NewReader(dep.Body))
		if err != nil {
			return "", err
		}
		b.WriteString(c.req.Prompt[at:dep.From])
		b.WriteString(task.Dep(dep.Name, fmt.Sprintf("%s\n[This is the beginning of %d bytes. All of it is the artifact %s: read parts of it with %s.]",
			cut(dep.Body, min(offloadHead, most/2)), len(dep.Body), kept.Hash, artifactTool)))
		at = dep.To
	}
	b.WriteString(c.req.Prompt[at:])
	return b.String(), nil
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
