package cairn

import (
	"context"
	"encoding/json"
)

// Message is something said before, in a conversation that an agent goes on with.
type Message struct {
	// Role is user, assistant, system or tool.
	Role    string `json:"role"`
	Content string `json:"content,omitempty"`
	// Data is a provider's own form of the message, if it was kept.
	Data json.RawMessage `json:"data,omitempty"`
}

// Tool is something that an agent can do in the middle of its work.
type Tool struct {
	Name        string
	Description string
	// Schema is the JSON schema of what Call takes.
	Schema json.RawMessage
	// SideEffect marks a tool that changes the world. Idempotent ones may be called again when it is not known whether a
	// call has happened.
	SideEffect, Idempotent bool
	// Call does it. An error is told to the model.
	Call func(ctx context.Context, in json.RawMessage) (json.RawMessage, error)
}
