package loop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
)

// Agent is a task.Agent that asks a model and does what it wants with tools until there is an answer. It is safe for
// concurrent use as long as its fields are not changed.
type Agent struct {
	// Model answers. It is required.
	Model Model
	// System is the instructions, the same for all tasks. Nothing that changes belongs into it: it is the prefix that the
	// provider caches.
	System string
	// Tools are the agent's own. They stand before those of the task, and their order is part of the prefix too.
	Tools []cairn.Tool
	// ID tells conversations apart that are held in one task about equal prompts.
	ID string
	// MaxTokens bounds one answer of the model; 0 is the model's default.
	MaxTokens int
	// MaxTurns bounds the model calls of a conversation, repairs included. 0 is DefaultMaxTurns, cairn.Unbounded no limit.
	MaxTurns int
	// Repairs is how often a final answer that does not fit is sent back, with what is wrong, in the same conversation. 0 is
	// DefaultRepairs, negative none.
	Repairs int
	// Retries is how often in a row a call is made again within the attempt, after a rate limit, an overload or a broken
	// stream. 0 is DefaultRetries, negative none. Where the provider asks for more than MaxPause the attempt fails with the
	// hint instead, so that the engine waits; the next attempt goes on with the conversation.
	Retries int
	// ToolTimeout is the longest a call of a tool may take that has no Timeout of its own. 0 is DefaultToolTimeout, negative no limit. A tool that does not
	// look at its context is waited for nevertheless.
	ToolTimeout time.Duration
	// Parallel is how many tools of one turn run at once. 0 is DefaultParallel.
	Parallel int
	// Observe is told what is going on. It must be quick and safe for concurrent use.
	Observe func(Event)
}

// Defaults of Agent.
const (
	DefaultMaxTurns    = 100
	DefaultRepairs     = 3
	DefaultRetries     = 2
	DefaultToolTimeout = 5 * time.Minute
	DefaultParallel    = 8
	// MaxPause is the longest pause between calls within an attempt.
	MaxPause = 30 * time.Second
)

// orDefault is n, or the default for 0, or most for a negative n.
func orDefault[N int | time.Duration](n, normal, negative N) N {
	switch {
	case n == 0:
		return normal
	case n < 0:
		return negative
	}
	return n
}

// Run holds the conversation, or goes on with one that an earlier attempt has begun. See the package comment.
func (a *Agent) Run(ctx context.Context, req task.Request) (task.Response, error) {
	c, err := a.open(ctx, req)
	if err != nil {
		return task.Response{}, err
	}
	defer c.leave()
	return c.run(ctx)
}

// Identity is the model's with all configuration that answers depend on; "" if the model has none.
func (a *Agent) Identity() string {
	config := struct {
		System    string
		Tools     []spec
		MaxTokens int
		MaxTurns  int
		Repairs   int
	}{a.System, nil, a.MaxTokens, a.MaxTurns, a.Repairs}
	for _, t := range a.Tools {
		config.Tools = append(config.Tools, spec{t.Name, t.Description, string(t.Schema)})
	}
	raw, err := schema.Encode(config) // of text and numbers: it can't fail
	if err != nil {
		panic(err)
	}
	sum := sha256.Sum256(raw)
	model := "no model"
	if a.Model != nil {
		if model = a.Model.Info().Identity; model == "" {
			return ""
		}
	}
	return "loop/1 " + model + " " + hex.EncodeToString(sum[:8])
}

// spec is a tool as a model sees it.
type spec struct{ Name, Description, Schema string }

// Models are those that calls are billed under.
func (a *Agent) Models() []string {
	if a.Model == nil {
		return nil
	}
	return a.Model.Info().Models
}

// open finds the conversation of this agent and prompt in the task's journal.
func (a *Agent) open(ctx context.Context, req task.Request) (*conversation, error) {
	c := &conversation{agent: a, req: req, tools: slices.Concat(a.Tools, req.Tools), leave: func() {}}
	if a.Model == nil {
		return nil, task.Permanent(errors.New("loop: the agent has no Model"))
	}
	c.byName = map[string]cairn.Tool{}
	for _, t := range c.tools {
		if _, twice := c.byName[t.Name]; twice || t.Name == "" || t.Call == nil {
			return nil, task.Permanent(fmt.Errorf("loop: the tool %q has no name or no Call, or is there twice", t.Name))
		}
		c.byName[t.Name] = t
	}
	if s, ok := a.Model.(Structurer); ok && req.Schema != nil {
		c.native = s.Structures(req.Schema)
	}
	if call, ok := cairn.CallFrom(ctx); ok {
		c.call = *call
	}
	scope, _ := ctx.Value(scopeKey{}).(string)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", scope, a.ID, req.Prompt))
	c.id = "loop." + hex.EncodeToString(sum[:6])
	if scope == "" {
		c.final = Conversation
	} else {
		c.final = c.id + "." + Conversation
	}
	if err := c.enter(); err != nil {
		return nil, err
	}
	if err := c.find(); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

// lookup reads a record of the journal.
func lookup[T any](journal cairn.Journal, name string) (out T, found bool, err error) {
	if journal == nil {
		return out, false, nil
	}
	raw, found := journal.Lookup(name)
	if !found {
		return out, false, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, false, task.Permanent(fmt.Errorf("loop: the journal's %s can't be read: %w", name, err))
	}
	return out, true, nil
}
