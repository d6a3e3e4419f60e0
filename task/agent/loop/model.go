package loop

import (
	"context"
	"encoding/json"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Model makes one call of a provider's model. It is used by many runs at once, so it must be safe for concurrent use.
type Model interface {
	// Info says which model it is. It is the same for every call.
	Info() Info
	// Call asks for one turn. It returns when the turn is complete; parts are told to the Window's Observe as they come.
	// The usage of the Turn counts also when there is an error: a call that was cut off has been paid for.
	//
	// An error that another call may not meet carries the code RATE_LIMITED, MODEL_OVERLOADED or MODEL_UNAVAILABLE; one that
	// every call would meet is permanent. FromStatus makes them of a provider's answer.
	Call(ctx context.Context, w Window) (Turn, error)
}

// Info describes a Model.
type Info struct {
	// Provider is who is asked, in one word: limits and circuit breakers count by it, and thinking goes back to nobody else.
	Provider string
	// Models are the names that calls are billed under: one, or those of a chain.
	Models []string
	// Identity is the model and all configuration that its answers depend on. It is stable over processes and has no secret. ""
	// is a model that can't say.
	Identity string
	// Window is how many tokens a call may have, what is generated included; 0 is unknown.
	Window int
	// Cache is how the provider caches prefixes.
	Cache window.Rules
	// Reduces says that the provider clears or compacts long windows by itself, so that nobody else has to.
	Reduces bool
}

// Structurer is a Model whose provider holds answers to a schema. For others the schema is spelled out in the prompt.
type Structurer interface {
	// Structures says whether the provider takes this schema.
	Structures(schema json.RawMessage) bool
}

// Window is all that a model sees in one call, and how it is to answer. It belongs to the caller: a Model changes nothing.
type Window struct {
	// Key names the call: the same for a repetition of it after a kill, and for no other.
	Key string
	// System is the instructions; "" is none.
	System string
	// Tools are what the model may ask for, in an order that never changes within a conversation.
	Tools []cairn.Tool
	// Messages begin with one of the user.
	Messages []window.Message
	// Allowed, if not nil, are the names of the only tools that may be called in this turn. The others stay where they are, so
	// that the prefix does; a provider that has no mask for them ignores it, and the loop refuses the call.
	Allowed []string
	// Marks are where the provider is to cache, as its Rules want them.
	Marks []window.Mark
	// Schema is what the answer must fit, for a model that Structures it; nil is free text.
	Schema json.RawMessage
	// MaxTokens bounds what is generated; 0 is the model's own default.
	MaxTokens int
	// Observe is told what comes, if it is not nil. It is called by one goroutine at a time.
	Observe func(Event)
}

// Stop is why a model has ended its turn.
type Stop string

// The reasons to stop.
const (
	// StopEnd is an answer, or a call of tools.
	StopEnd Stop = "end"
	// StopPause is a turn that the provider wants to be continued: it is sent back as it is.
	StopPause Stop = "pause"
	// StopMaxTokens is an answer that was cut at MaxTokens.
	StopMaxTokens Stop = "max_tokens"
	// StopContext is an answer that was cut because the model's window is full.
	StopContext Stop = "context"
	// StopRefusal is a model or provider that does not want to answer.
	StopRefusal Stop = "refusal"
)

// Turn is what a model answers. All of its blocks go into the conversation.
type Turn struct {
	Blocks []window.Block `json:"blocks"`
	Stop   Stop           `json:"stop"`
	// Why is what the provider says about a refusal.
	Why string `json:"why,omitempty"`
	// Usage has one entry for each call that was made: one, unless a wrapper has made several.
	Usage []cairn.Usage `json:"usage,omitempty"`
	// Edits are what the provider has left out of the window by itself, before the model read it.
	Edits []Edit `json:"edits,omitempty"`
	// Request is the provider's name of the request, for its support; "" if it gave none.
	Request string `json:"request,omitempty"`
}
