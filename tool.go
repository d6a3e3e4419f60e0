package cairn

import (
	"context"
	"encoding/json"
	"time"
)

// ConversationRecord is the name under which the journal of an agent's task keeps its last finished conversation: a JSON list
// of objects with role and blocks, as package task/agent/window has them. A task that forks this one begins with it.
const ConversationRecord = "conversation"

// Message is something said before, in a conversation that an agent goes on with.
type Message struct {
	// Role is user, assistant, system or tool.
	Role    string `json:"role"`
	Content string `json:"content,omitempty"`
	// Data is the whole message in the form of who has kept it, if it was: of a forked conversation all its blocks, as
	// ConversationRecord has them. Content is then the text of them alone.
	Data json.RawMessage `json:"data,omitempty"`
}

// Tool is something that an agent can do in the middle of its work. Package tool makes them of functions.
type Tool struct {
	// Name is of letters, digits and _, and the only one of its kind in a set.
	Name        string
	Description string
	// Schema is the JSON schema of what Call takes.
	Schema json.RawMessage
	// Native is what providers that know the tool as one of their own call it, by provider: they are told that type in place
	// of description and schema. Call has to take what such a provider's models send.
	Native map[string]string
	// SideEffect marks a tool that changes the world. Idempotent ones may be called again when it is not known whether a
	// call has happened.
	SideEffect, Idempotent bool
	// Timeout is how long one call may take. 0 is as long as its context lives. Call keeps to it by itself.
	Timeout time.Duration
	// Call does it. An error is told to the model. An answer that is a JSON string is meant to be shown as its text.
	Call func(ctx context.Context, in json.RawMessage) (json.RawMessage, error)
	// Bound is what the tool works on and what it may do there, where answers to equal calls depend on that: a directory, a
	// server. It tells agents apart whose tools are otherwise equal, as caches have to; no model sees it. It is stable over
	// processes and has no secret. "" is nothing.
	Bound string
	// Delegation is set of a tool whose work is done by a sub-agent.
	Delegation *Delegation
	// Revert takes back a call that has happened, by what went in and what came out; nil where there is no way back.
	Revert func(ctx context.Context, in, out json.RawMessage) error
}

// Delegation is what has to be known of a tool's sub-agent before anything runs.
type Delegation struct {
	// Identity is the sub-agent's, as far as it tells.
	Identity string
	// Writes are the working directories, clean, that it may change, Models those that its calls are made with.
	Writes, Models []string
}
