package toolcall

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
)

// MostInput is how long the input of a call may be to stand in its intent, in bytes. Of a longer one there is a hash.
const MostInput = 2 << 10

// Intent is what the journal has of a call that is about to be made.
type Intent struct {
	Key     string `json:"key"`
	Attempt int    `json:"attempt,omitempty"`
	Tool    string `json:"tool,omitempty"`
	// SideEffect, Idempotent and Revertible are as the tool is.
	SideEffect bool `json:"sideEffect,omitempty"`
	Idempotent bool `json:"idempotent,omitempty"`
	Revertible bool `json:"revertible,omitempty"`
	// Input is what the tool is called with, or InputHash its SHA-256 in hex.
	Input     json.RawMessage `json:"input,omitempty"`
	InputHash string          `json:"inputHash,omitempty"`
	// Began is in Unix milliseconds.
	Began int64 `json:"began,omitempty"`
}

// Outcome is what the journal keeps of a call: what the model is told.
type Outcome struct {
	ID    string `json:"id,omitempty"`
	Tool  string `json:"tool"`
	Text  string `json:"text,omitempty"`
	Error bool   `json:"error,omitempty"`
	// Unknown says that it is not known whether the call has happened: an earlier attempt may have made it, and it was not
	// made again, or it was given up while it ran.
	Unknown bool `json:"unknown,omitempty"`
	// Key is the call's, "" where none was made: the tool or its arguments were refused.
	Key string `json:"key,omitempty"`
	// SideEffect and Idempotent are as the tool is.
	SideEffect bool `json:"sideEffect,omitempty"`
	Idempotent bool `json:"idempotent,omitempty"`
	// Usage is that of agents behind the tool. The attempt has booked it as it was used.
	Usage   []cairn.Usage `json:"usage,omitempty"`
	Attempt int           `json:"attempt,omitempty"`
	// Ended is in Unix milliseconds.
	Ended int64 `json:"ended,omitempty"`
}

// suffix ends the name of an intent.
const suffix = ".intent"

func intend(call *cairn.Call, name string, tool cairn.Tool, in json.RawMessage) Intent {
	i := Intent{Key: name, Attempt: call.Attempt, Tool: tool.Name, SideEffect: tool.SideEffect, Idempotent: tool.Idempotent,
		Revertible: tool.Revert != nil, Began: time.Now().UnixMilli()}
	if call.IdempotencyKey != "" {
		i.Key = call.IdempotencyKey + "#" + name
	}
	if len(in) <= MostInput && json.Valid(in) {
		i.Input = in
		return i
	}
	sum := sha256.Sum256(in)
	i.InputHash = hex.EncodeToString(sum[:])
	return i
}

// Lookup finds the intent of a call, which an earlier attempt or this one has recorded. A nil journal has none.
func Lookup(j cairn.Journal, name string) (i Intent, found bool, err error) {
	return journal.Get[Intent](journal.Of(j), name+suffix)
}
