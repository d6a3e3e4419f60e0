package memory

import (
	"encoding/json"
	"time"

	"github.com/cairnrun/cairn/internal/schema"
)

// Role is who speaks.
type Role string

// The usual roles. Others are kept as they are.
const (
	System    Role = "system"
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one entry of a thread.
type Message struct {
	// ID is unique in the thread: appending it again does nothing. Empty, the store makes one.
	ID string `json:"id"`
	// Seq orders the thread strictly, from 1. Set by the store; gaps are where messages were removed.
	Seq  int64 `json:"seq,omitempty"`
	Role Role  `json:"role"`
	// Content is the text: what is counted against limits and searched.
	Content string `json:"content,omitempty"`
	// Data is JSON that goes with it and is not searched: a provider's own form of the message.
	Data json.RawMessage `json:"data,omitempty"`
	// Calls are the ids of the tool calls that the message makes.
	Calls []string `json:"calls,omitempty"`
	// Answers is the id of the tool call whose result the message is.
	Answers string `json:"answers,omitempty"`
	// Created is set by the store.
	Created time.Time `json:"created,omitzero"`
	Origin  Origin    `json:"origin,omitzero"`
	// Summary is set on a message that stands for others, which stay readable as its originals. Set by the store.
	Summary *Summary `json:"summary,omitempty"`
}

// Summary says which messages a summary stands for: Count of them, from Seq First to Seq Last.
type Summary struct {
	First int64 `json:"first"`
	Last  int64 `json:"last"`
	Count int64 `json:"count"`
}

// Resolve returns the message as a store keeps it, or what is wrong with it.
func (m Message) Resolve() (Message, error) {
	if m.ID != "" {
		if err := CheckName("a message's id", m.ID); err != nil {
			return m, err
		}
	}
	if err := CheckName("a message's role", string(m.Role)); err != nil {
		return m, err
	}
	if err := checkText("a message's content", m.Content, MaxText); err != nil {
		return m, err
	}
	if err := checkText("a message's content and data", string(m.Data), MaxText-len(m.Content)); err != nil {
		return m, err
	}
	if m.Answers != "" {
		if err := CheckName("a tool call's id", m.Answers); err != nil {
			return m, err
		}
	}
	if len(m.Data) > 0 {
		data, err := schema.Canonical(m.Data)
		if err != nil {
			return m, contradictory("the data of a message is no JSON: "+err.Error(), "give one JSON value")
		}
		m.Data = data
	}
	if err := m.Origin.Check(); err != nil {
		return m, err
	}
	if err := checkTimes(m.Created); err != nil {
		return m, err
	}
	return m, checkLinks("calls", m.Calls)
}
