package loop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/window"
)

// outcome is what the journal keeps of a call of a tool: what the model is told.
type outcome struct {
	ID    string `json:"id,omitempty"`
	Tool  string `json:"tool"`
	Text  string `json:"text,omitempty"`
	Error bool   `json:"error,omitempty"`
	// Unknown says that an earlier attempt may have made the call, and that it was not made again.
	Unknown bool `json:"unknown,omitempty"`
	// Usage is that of agents behind the tool, told by Attempt.
	Usage   []cairn.Usage `json:"usage,omitempty"`
	Attempt int           `json:"attempt,omitempty"`
}

// block is what the model is told.
func (o outcome) block(use window.Block) window.Block {
	return window.Block{Kind: window.ToolResult, ID: use.ID, Name: use.Name, Text: o.Text, Error: o.Error}
}

// results runs the tools that a turn asks for, side by side. The results come in the order of the calls.
func (c *conversation) results(ctx context.Context, n int, calls []window.Block) ([]window.Block, error) {
	results, outs, meters := make([]window.Block, len(calls)), make([]outcome, len(calls)), make([]*tally, len(calls))
	var group errgroup.Group
	group.SetLimit(orDefault(c.agent.Parallel, DefaultParallel, DefaultParallel))
	for i, use := range calls {
		// The number stands for the call, not its id: some servers give the same id twice, or none.
		name := fmt.Sprintf("%s.turn.%d.tool.%d", c.name, n, i+1)
		group.Go(func() error {
			var announced announcement
			out, err := task.Step(ctx, name, func(ctx context.Context) (outcome, error) {
				meters[i] = &tally{Meter: c.call.Meter}
				return c.do(ctx, name, n, use, &announced, meters[i])
			})
			outs[i] = out
			if lost := announced.wait(); err == nil {
				err = lost
			}
			results[i] = out.block(use)
			return err
		})
	}
	err := group.Wait()
	for i := range calls {
		switch {
		case meters[i] != nil: // told as it was used
			c.spent = c.spent || len(meters[i].spent()) > 0
		case outs[i].Attempt > c.booked:
			c.spend(ctx, outs[i].Usage) // by an attempt that died before it could be committed
		}
	}
	return results, err
}

// do makes one call, unless it can't be known whether that would be the second time. Its error is one that ends the attempt.
func (c *conversation) do(ctx context.Context, name string, n int, use window.Block, announced *announcement, meter *tally) (outcome, error) {
	out := outcome{ID: use.ID, Tool: use.Name}
	refuse := func(format string, args ...any) (outcome, error) {
		out.Text, out.Error = cut(fmt.Sprintf(format, args...), mostProblem), true
		return out, nil
	}
	tool, known := c.byName[use.Name]
	switch {
	case !known:
		return refuse("There is no tool %q. The tools are: %s.", use.Name, strings.Join(c.names(), ", "))
	case c.allowed != nil && !slices.Contains(c.allowed, use.Name):
		return refuse("%s can't be called now. The tools that can: %s.", use.Name, strings.Join(c.allowed, ", "))
	case use.Input == nil:
		return refuse("The arguments are no JSON: %s", use.Text)
	case !isObject(use.Input):
		return refuse("The arguments must be a JSON object, and are: %s", use.Input)
	}
	before, begun, err := lookup[intent](c.call.Journal, name+".intent")
	if err != nil {
		return out, err
	}
	if begun && (before.SideEffect || tool.SideEffect) && !(before.Idempotent && tool.Idempotent) {
		out.Unknown = true
		return refuse("It is unknown whether this call of %s has happened: the process was stopped in the middle of it. "+
			"It was not made again. Find out, if you can, before you call the tool once more.", use.Name)
	}
	key := c.key(name)
	what := intent{Key: key, Attempt: c.call.Attempt, Tool: tool.Name, SideEffect: tool.SideEffect, Idempotent: tool.Idempotent}
	if tool.SideEffect && !tool.Idempotent { // it has to be known before
		err = c.record(ctx, name+".intent", what)
	} else {
		c.announce(ctx, name, what, announced)
	}
	if err != nil {
		return out, err
	}
	c.tell(Event{Kind: ToolBegun, Name: use.Name, ID: use.ID}, n)
	raw, err := c.perform(ctx, name, key, tool, use.Input, meter)
	if out.Usage = meter.spent(); len(out.Usage) > 0 {
		out.Attempt = c.call.Attempt
	}
	_ = task.Heartbeat(ctx, nil) // why to stop is read from the context
	c.tell(Event{Kind: ToolEnded, Name: use.Name, ID: use.ID, Failed: err != nil}, n)
	switch {
	case err == nil:
		out.Text = resultText(raw)
		return out, nil
	case ctx.Err() != nil: // it was interrupted, and what has become of it the next attempt has to say
		return out, err
	case errors.Is(err, cairn.BudgetExceeded), errors.Is(err, cairn.UnpricedModel): // of an agent behind the tool
		return out, err
	case errors.Is(err, errSlow) && tool.SideEffect:
		return refuse("%v. Whether the call has happened is unknown.", err)
	}
	return refuse("%v", err)
}

// perform calls the tool within its time. To the tool it looks like an attempt with an idempotency key of its own. A panic is
// an error.
func (c *conversation) perform(ctx context.Context, name, key string, tool cairn.Tool, in json.RawMessage, meter *tally) (out json.RawMessage, err error) {
	if _, ok := cairn.CallFrom(ctx); ok {
		own := c.call
		own.IdempotencyKey = key
		if meter.Meter != nil {
			own.Meter = meter
		}
		ctx = cairn.WithCall(ctx, &own)
	}
	ctx = context.WithValue(ctx, scopeKey{}, name)
	most := orDefault(c.agent.ToolTimeout, DefaultToolTimeout, 0)
	if tool.Timeout > 0 {
		most = tool.Timeout
	}
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, most, fmt.Errorf("%w than %s", errSlow, most))
		defer cancel()
		defer func() {
			if cause := context.Cause(ctx); err != nil && errors.Is(cause, errSlow) {
				err = cause
			}
		}()
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("the tool has panicked: %v", p)
		}
	}()
	return tool.Call(ctx, bytes.Clone(in))
}

var errSlow = errors.New("the tool took longer")

func (c *conversation) names() []string {
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		names[i] = t.Name
	}
	return names
}

func isObject(raw json.RawMessage) bool { return bytes.HasPrefix(bytes.TrimSpace(raw), []byte("{")) }

// resultText is a tool's result as a model reads it: a text as it is, anything else as JSON.
func resultText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}
