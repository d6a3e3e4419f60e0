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
	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/internal/toolset"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
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
	// Examples are shown behind the system text: few, and different ones.
	Examples []window.Example
	// Reduce says when a long window is made smaller; the zero value has the defaults. A provider that reduces by itself
	// (Info.Reduces) is left alone.
	Reduce window.Reduction
	// Compactor, if set, sums up what clearing results can't make small enough.
	Compactor *Compactor
	// Offload is the most bytes of a tool's result, or of a task.Dep in the prompt, that stay in the window, where the engine
	// stores artifacts: longer ones are put aside, and the model gets the beginning, a reference, and artifact_read. 0 is
	// DefaultOffload, negative never.
	Offload int
	// Todo gives the agent a list of what it has to do, which is repeated at the end of each window: for work of many turns.
	Todo bool
	// Remind is said once more at the end of a window that is over half full. "" is the prompt, as far as it is short.
	Remind string
	// Mask, if set, names the tools that may be called in the next turn; nil is all. The others stay in the window, so that its
	// prefix does. It must be a function of what it is given.
	Mask func(turn int, messages []window.Message) []string
	// Vary are sentences of which one, chosen by the task's key and the turn, ends each window: against falling into a rhythm. Mostly there
	// should be none.
	Vary []string
	// LongCache asks the provider to keep prefixes longer from the first call on, and not only once calls turn out to be far apart.
	LongCache bool
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
	DefaultOffload     = 16 << 10
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
		Tools     []window.Tool
		Examples  []window.Example
		Reduce    window.Reduction
		Compactor string
		Offload   int
		Todo      bool
		Remind    string
		Vary      []string
		MaxTokens int
		MaxTurns  int
		Repairs   int
		// Delegates are who works behind the tools.
		Delegates []string `json:",omitempty"`
		// Bound is what the tools work on, as far as they tell.
		Bound []string `json:",omitempty"`
	}{a.System, nil, a.Examples, a.Reduce, a.Compactor.identity(), a.Offload, a.Todo, a.Remind, a.Vary, a.MaxTokens, a.MaxTurns, a.Repairs, nil, nil}
	config.Delegates, config.Bound = toolset.Identity(a.Tools)
	for _, t := range a.Tools {
		config.Tools = append(config.Tools, window.ToolOf(t))
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

// Models are those that calls are billed under, those of the compactor and of sub-agents behind the tools included.
func (a *Agent) Models() (names []string) {
	if a.Model != nil {
		names = slices.Clone(a.Model.Info().Models)
	}
	if a.Compactor != nil && a.Compactor.Model != nil {
		for _, name := range a.Compactor.Model.Info().Models {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	for _, name := range a.delegated(func(d *cairn.Delegation) []string { return d.Models }) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// open finds the conversation of this agent and prompt in the task's journal.
func (a *Agent) open(ctx context.Context, req task.Request) (*conversation, error) {
	c := &conversation{agent: a, req: req, edits: edits{}}
	if a.Model == nil {
		return nil, task.Permanent(errors.New("loop: the agent has no Model"))
	}
	if call, ok := cairn.CallFrom(ctx); ok {
		c.call = *call
	}
	c.equip()
	c.byName = map[string]cairn.Tool{}
	for _, t := range c.tools {
		if _, twice := c.byName[t.Name]; twice || t.Name == "" || t.Call == nil {
			return nil, task.Permanent(fmt.Errorf("loop: the tool %q has no name or no Call, or is there twice", t.Name))
		}
		c.byName[t.Name] = t
	}
	c.native = a.structures(req.Schema)
	scope := toolcall.Scope(ctx)
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %q", scope, a.ID, req.Prompt))
	c.id = "loop." + hex.EncodeToString(sum[:6])
	if scope == "" {
		c.final = Conversation
	} else {
		c.final = c.id + "." + Conversation
	}
	var err error
	if c.leave, err = journal.Enter(c.call.Journal, c.id); err != nil {
		return nil, err
	}
	if err := c.find(); err != nil {
		c.leave()
		return nil, err
	}
	return c, nil
}

// structures says that the provider holds answers to a schema.
func (a *Agent) structures(schema json.RawMessage) bool {
	s, ok := a.Model.(Structurer)
	return ok && schema != nil && s.Structures(schema)
}
