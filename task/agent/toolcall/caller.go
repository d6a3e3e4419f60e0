package toolcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/window"
)

// MostProblem is how much of an error a model is told, in bytes.
const MostProblem = 4000

// Caller makes calls. It is safe for concurrent use as long as its fields are not changed.
type Caller struct {
	// Tools are those that may be called, each with a name of its own and a Call.
	Tools []cairn.Tool
	// Allowed, if not nil, are the names of those that may be called now. The others are refused.
	Allowed []string
	// Timeout is the longest a call may take of a tool that has no Timeout of its own; 0 is no limit.
	Timeout time.Duration
	// Durable makes the intent of every call durable before it begins, not only of those that may not be repeated: for who
	// finds calls again by their intents.
	Durable bool
	// Observe is told when a call begins and when it has ended, with its error. A call whose outcome comes from the journal
	// has neither. Nil is nobody; it must be quick and safe for concurrent use.
	Observe func(use window.Block, ended bool, err error)
}

// scopeKey holds the name of the call that a context is part of.
type scopeKey struct{}

// Scope is the name of the tool call that the context is part of, "" outside of one. An agent behind a tool names its own
// records by it.
func Scope(ctx context.Context) string {
	name, _ := ctx.Value(scopeKey{}).(string)
	return name
}

// Within returns a context that is part of something that has this name in the task's journal, as if that were a call of a
// tool: conversations in it are told apart from the task's own and those of other names. In a call of a tool it stays what it
// is. The name has to be the same in each attempt.
func Within(ctx context.Context, name string) context.Context {
	if Scope(ctx) != "" {
		return ctx
	}
	return context.WithValue(ctx, scopeKey{}, name)
}

// Do gives the outcome of a call that has this name in the journal: the one that is there, or else that of the call, made
// now unless it can't be known whether that would be the second time. An error ends the attempt.
func (c *Caller) Do(ctx context.Context, name string, use window.Block) (Outcome, error) {
	var announced journal.Beside
	defer func() { _ = announced.Wait() }() // after a panic, too
	out, err := task.Step(ctx, name, func(ctx context.Context) (Outcome, error) { return c.do(ctx, name, use, &announced) })
	if lost := announced.Wait(); err == nil {
		err = lost
	}
	return out, err
}

func (c *Caller) do(ctx context.Context, name string, use window.Block, announced *journal.Beside) (Outcome, error) {
	out := Outcome{ID: use.ID, Tool: use.Name}
	refuse := func(format string, args ...any) (Outcome, error) {
		out.Text, out.Error = grapheme.Cut(fmt.Sprintf(format, args...), MostProblem), true
		return out, nil
	}
	tool, known := c.tool(use.Name)
	switch {
	case !known:
		return refuse("There is no tool %q. The tools are: %s.", use.Name, strings.Join(c.names(), ", "))
	case c.Allowed != nil && !slices.Contains(c.Allowed, use.Name):
		return refuse("%s can't be called now. The tools that can: %s.", use.Name, strings.Join(c.Allowed, ", "))
	case use.Input == nil:
		return refuse("The arguments are no JSON: %s", use.Text)
	case !isObject(use.Input):
		return refuse("The arguments must be a JSON object, and are: %s", use.Input)
	}
	var call cairn.Call
	if have, ok := cairn.CallFrom(ctx); ok {
		call = *have
	}
	before, begun, err := Lookup(call.Journal, name)
	if err != nil {
		return out, err
	}
	what := intend(&call, name, tool, use.Input)
	out.Key, out.SideEffect, out.Idempotent = what.Key, what.SideEffect, what.Idempotent
	if begun && (before.SideEffect || tool.SideEffect) && !(before.Idempotent && tool.Idempotent) {
		out.Unknown = true
		return refuse("It is unknown whether this call of %s has happened: the process was stopped in the middle of it. "+
			"It was not made again. Find out, if you can, before you call the tool once more.", use.Name)
	}
	if c.Durable || tool.SideEffect && !tool.Idempotent { // it has to be known before
		err = journal.Put(ctx, call.Journal, name+suffix, what)
	} else { // nothing depends on which is first
		announced.Put(ctx, call.Journal, name+suffix, what)
	}
	if err != nil {
		return out, err
	}
	c.tell(use, false, nil)
	meter := &tally{Meter: call.Meter}
	raw, err := c.perform(ctx, &call, name, what.Key, tool, use.Input, meter)
	if out.Usage = meter.spent(); len(out.Usage) > 0 {
		out.Attempt = call.Attempt
	}
	_ = task.Heartbeat(ctx, nil) // why to stop is read from the context
	c.tell(use, true, err)
	out.Ended = time.Now().UnixMilli()
	switch {
	case err == nil:
		out.Text = resultText(raw)
		return out, nil
	case ctx.Err() != nil: // it was interrupted, and what has become of it the next attempt has to say
		return out, err
	case errors.Is(err, cairn.BudgetExceeded), errors.Is(err, cairn.UnpricedModel): // of an agent behind the tool
		return out, err
	case errors.Is(err, errSlow) && tool.SideEffect:
		out.Unknown = true
		return refuse("%v. Whether the call has happened is unknown.", err)
	}
	return refuse("%v", err)
}

// perform calls the tool within its time. To the tool it looks like an attempt with an idempotency key of its own. A panic is
// an error.
func (c *Caller) perform(ctx context.Context, call *cairn.Call, name, key string, tool cairn.Tool, in json.RawMessage, meter *tally) (out json.RawMessage, err error) {
	if _, ok := cairn.CallFrom(ctx); ok {
		own := *call
		own.IdempotencyKey = key
		if meter.Meter != nil {
			own.Meter = meter
		}
		ctx = cairn.WithCall(ctx, &own)
	}
	ctx = context.WithValue(ctx, scopeKey{}, name)
	most := c.Timeout
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

func (c *Caller) tell(use window.Block, ended bool, err error) {
	if c.Observe != nil {
		c.Observe(use, ended, err)
	}
}

func (c *Caller) tool(name string) (cairn.Tool, bool) {
	for _, t := range c.Tools {
		if t.Name == name {
			return t, true
		}
	}
	return cairn.Tool{}, false
}

func (c *Caller) names() []string {
	names := make([]string, len(c.Tools))
	for i, t := range c.Tools {
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
