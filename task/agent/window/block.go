package window

import (
	"encoding/json"
	"slices"
	"strings"
)

// Kind says what a Block is.
type Kind string

// The kinds of blocks.
const (
	// Text is what a person or a model says.
	Text Kind = "text"
	// Thinking is a model's reasoning.
	Thinking Kind = "thinking"
	// ToolUse is a model's wish to call a tool.
	ToolUse Kind = "tool_use"
	// ToolResult answers a ToolUse of the turn before.
	ToolResult Kind = "tool_result"
	// Compaction is a provider's own summary of all that was said before it, which its models no longer read. Nobody else
	// understands it.
	Compaction Kind = "compaction"
	// Opaque is any other block that only its provider understands: redacted thinking, a server's tool.
	Opaque Kind = "opaque"
)

// Block is a part of a message. Its JSON is the same bytes for the same block, and reading it back gives the block again.
type Block struct {
	Kind Kind `json:"kind"`
	// Text is that of a text or a result, of thinking as far as it may be read, and what a model sent as the arguments of a
	// tool where that is no JSON.
	Text string `json:"text,omitempty"`
	// ID ties a tool's result to its use. Name is the tool's.
	ID   string `json:"id,omitempty"`
	Name string `json:"name,omitempty"`
	// Input is what a tool is called with: a JSON value, or nil if the model sent something else.
	Input json.RawMessage `json:"input,omitempty"`
	// Error marks the result of a call that has failed, or may have.
	Error bool `json:"error,omitempty"`
	// Provider is who made the block, where nobody else can read it. Others leave the block out.
	Provider string `json:"provider,omitempty"`
	// Raw is the provider's own block, to be sent back as it came: the signature of thinking is in here. It is JSON.
	Raw json.RawMessage `json:"raw,omitempty"`
}

// Role says whose a message is.
type Role string

// The two sides of a conversation.
const (
	User      Role = "user"
	Assistant Role = "assistant"
)

// Message is what one side says at once.
type Message struct {
	Role   Role    `json:"role"`
	Blocks []Block `json:"blocks"`
}

// Said is all text of the blocks.
func Said(blocks []Block) string {
	var b strings.Builder
	for _, block := range blocks {
		if block.Kind == Text {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}

// SumsUp says that a provider reads nothing of what stands before the block.
func (b Block) SumsUp(provider string) bool { return b.Kind == Compaction && b.Provider == provider }

// Compacts says that there is a provider's summary among the blocks.
func Compacts(blocks []Block) bool {
	return slices.ContainsFunc(blocks, func(b Block) bool { return b.Kind == Compaction })
}

// Uses are the calls of tools among the blocks, in order.
func Uses(blocks []Block) (calls []Block) {
	for _, block := range blocks {
		if block.Kind == ToolUse {
			calls = append(calls, block)
		}
	}
	return calls
}
