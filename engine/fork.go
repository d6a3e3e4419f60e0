package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// forked is the final conversation of the task that an attempt forks, as it stands in that task's journal: nil for one that
// forks nothing. A finished task writes there no more, so that each attempt gets the same.
func (r *Run) forked(ctx context.Context, s core.Start) ([]cairn.Message, error) {
	if s.Fork == nil {
		return nil, nil
	}
	wrong := s.Fork.Wrong
	if wrong == "" {
		raw, err := r.conversation(ctx, s.Fork.Path)
		if err != nil {
			return nil, err
		}
		said, err := messages(raw)
		switch {
		case err != nil:
			wrong = "has a conversation that can't be read: " + err.Error()
		case len(said) > 0:
			return said, nil
		default:
			wrong = "has kept no conversation; agents of package task/agent/loop do"
		}
	}
	return nil, &cairn.Failure{Code: cairn.ForkSource, Path: s.Path, Permanent: true,
		Message: fmt.Sprintf("it forks %s, which %s; fork a task that an agent has finished in this run, or begin without Fork", s.Fork.Path, wrong)}
}

// conversation is what a task's journal has under cairn.ConversationRecord.
func (r *Run) conversation(ctx context.Context, path string) (raw json.RawMessage, err error) {
	var entries []Entry
	err = r.ask(ctx, "reading the conversation of "+path, func() (err error) {
		entries, err = r.e.cfg.Store.Entries(ctx, r.id, path)
		return err
	})
	for _, e := range entries {
		if e.Name == cairn.ConversationRecord {
			raw = e.Value
		}
	}
	return raw, err
}

// messages are those of a conversation record, each as it stands there, with its text for agents that read no blocks.
func messages(raw json.RawMessage) ([]cairn.Message, error) {
	if raw == nil {
		return nil, nil
	}
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &all); err != nil {
		return nil, err
	}
	var said []cairn.Message
	for _, one := range all {
		var m struct {
			Role   string `json:"role"`
			Blocks []struct {
				Kind string `json:"kind"`
				Text string `json:"text"`
			} `json:"blocks"`
		}
		if err := json.Unmarshal(one, &m); err != nil {
			return nil, err
		}
		var texts []string
		for _, b := range m.Blocks {
			if b.Kind == "text" {
				texts = append(texts, b.Text)
			}
		}
		said = append(said, cairn.Message{Role: m.Role, Content: strings.Join(texts, "\n\n"), Data: one})
	}
	return said, nil
}
