package loop

import (
	"context"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/window"
)

// A Compactor sums up a conversation that has become too long for its window.
type Compactor struct {
	// Model writes the summary. It is required, and may be a cheaper one than the agent's.
	Model Model
	// Prompt is what it is asked. "" is window.CompactPrompt.
	Prompt string
	// Tokens is how long a summary may be: a longer one is tightened in a second call. 0 is window.DefaultSummary, or an eighth of the
	// model's window if that is less.
	Tokens int
}

func (c *Compactor) identity() string {
	if c == nil || c.Model == nil {
		return ""
	}
	return fmt.Sprintf("%s %q %d", c.Model.Info().Identity, c.Prompt, c.Tokens)
}

// decide plans the n-th call, and does what has to be done before it: what is taken out is put aside, or summed up.
func (c *conversation) decide(ctx context.Context, name string, n int) (window.Plan, error) {
	now := window.Now{At: time.Now().UnixMilli(), Vary: c.vary(n)}
	if c.todo != nil && !c.told {
		now.Todo = c.todo.Text()
	}
	if c.agent.Mask != nil {
		now.Allowed = c.agent.Mask(n, c.plan.Messages())
	}
	plan := c.plan.Decide(now)
	if c.plan.Opening().Setup.Keeps { // side by side: a batch has many, and the disk takes them together
		var group errgroup.Group
		group.SetLimit(DefaultParallel)
		for _, place := range plan.Clear {
			group.Go(func() error { return c.keep(ctx, place) })
		}
		if err := group.Wait(); err != nil {
			return plan, err
		}
	}
	if plan.Compact != nil {
		s, err := c.summarize(ctx, name, n, *plan.Compact)
		if err != nil {
			return plan, err
		}
		plan.Compact.Text = s.Text
	}
	c.plan.Apply(plan)
	c.allowed = plan.Allowed
	c.view = c.plan.View(plan)
	plan.Hash = c.view.Hash
	switch {
	case plan.Compact != nil:
		c.tell(Event{Kind: Compacted}, n)
	case len(plan.Clear) > 0:
		c.tell(Event{Kind: Cleared}, n)
	}
	if plan.Half {
		c.tell(Event{Kind: HalfFull}, n)
	}
	return plan, nil
}

// keep puts the whole text of a result aside.
func (c *conversation) keep(ctx context.Context, at window.Place) error {
	name, text, found := c.plan.Result(at)
	if _, aside := window.Aside(text); aside || !found { // or it was put aside when it came
		return nil
	}
	_, err := task.WriteArtifact(ctx, fmt.Sprintf("cleared-%d-%d-%s", at.Turn, at.Result, name), "text/plain; charset=utf-8", strings.NewReader(text))
	return err
}

// vary chooses a sentence.
func (c *conversation) vary(n int) string {
	if len(c.agent.Vary) == 0 {
		return ""
	}
	h := fnv.New32a()
	fmt.Fprintf(h, "%s %d", c.call.IdempotencyKey, n)
	return c.agent.Vary[int(h.Sum32()%uint32(len(c.agent.Vary)))]
}

// summary is what the journal keeps of a compaction.
type summary struct {
	Attempt int           `json:"attempt,omitempty"`
	Text    string        `json:"text"`
	Usage   []cairn.Usage `json:"usage,omitempty"`
}

// summarize has the part that is to go summed up: first so that nothing is lost, then, if that is too long, shorter; and what
// code can tell to be missing is put behind it.
func (c *conversation) summarize(ctx context.Context, name string, n int, part window.Summary) (summary, error) {
	compactor := c.agent.Compactor
	return task.Step(ctx, name+".compact", func(ctx context.Context) (summary, error) {
		out := summary{Attempt: c.call.Attempt}
		ask := compactor.Prompt
		if ask == "" {
			ask = window.CompactPrompt
		}
		text, err := c.condense(ctx, name+".compact.1", n, ask+"\n<conversation>\n"+c.plan.Brief(part)+"</conversation>", &out)
		most := orDefault(compactor.Tokens, c.plan.Opening().Setup.Summary(), 0)
		if err == nil && most > 0 && window.Tokens(len(text)) > most {
			ask := fmt.Sprintf(window.TightenPrompt, most*3/4) + "\n<summary>\n" + text + "\n</summary>"
			text, err = c.condense(ctx, name+".compact.2", n, ask, &out)
		}
		if err != nil {
			return out, err
		}
		part.Text = text
		out.Text = window.Complete(text, c.plan.Missing(part))
		return out, nil
	})
}

// condense is one call of the compactor.
func (c *conversation) condense(ctx context.Context, name string, n int, prompt string, into *summary) (string, error) {
	w := Window{Key: c.key(name), Messages: []window.Message{{Role: window.User, Blocks: text(prompt)}}}
	turn, err := c.patiently(ctx, c.agent.Compactor.Model, w, n, func() {})
	into.Usage = append(into.Usage, turn.Usage...)
	if err != nil {
		return "", fmt.Errorf("the compactor: %w", err)
	}
	text := strings.TrimSpace(window.Said(turn.Blocks))
	if turn.Stop != StopEnd || text == "" {
		return "", &cairn.Failure{Code: ContextFull, Message: fmt.Sprintf("the compactor gave no whole summary (%s)", turn.Stop)}
	}
	return text, nil
}

// window is what the model is given.
func (c *conversation) window(name string) Window {
	v := c.view
	return Window{Key: c.key(name), System: v.System, Tools: c.shown(v.Tools), Messages: v.Messages, Allowed: v.Allowed, Marks: v.Marks,
		Schema: c.plan.Opening().Setup.Schema, MaxTokens: c.agent.MaxTokens}
}

// shown are the tools as the conversation has begun with them.
func (c *conversation) shown(tools []window.Tool) []cairn.Tool {
	list := make([]cairn.Tool, len(tools))
	for i, t := range tools {
		list[i] = c.byName[t.Name] // the zero value where the program has it no longer
		list[i].Name, list[i].Description, list[i].Schema, list[i].Native = t.Name, t.Description, t.Schema, t.Native
	}
	return list
}
