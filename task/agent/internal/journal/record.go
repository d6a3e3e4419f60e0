package journal

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
)

// Find looks a record up by its name.
type Find func(name string) (json.RawMessage, bool)

// Of finds in a journal; in none where it is nil.
func Of(j cairn.Journal) Find {
	if j == nil {
		return func(string) (json.RawMessage, bool) { return nil, false }
	}
	return j.Lookup
}

// Get reads a record. One that can't be read is a permanent error: no later attempt does better.
func Get[T any](find Find, name string) (out T, found bool, err error) {
	raw, found := find(name)
	if !found {
		return out, false, nil
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return out, false, unreadable(name, err)
	}
	return out, true, nil
}

// Step reads what a task.Step of this name has returned, as Get reads other records.
func Step[T any](find Find, name string) (out T, found bool, err error) {
	raw, found := find(name)
	if !found {
		return out, false, nil
	}
	value, err := task.StepValue(raw)
	if err == nil {
		err = json.Unmarshal(value, &out)
	}
	if err != nil {
		return out, false, unreadable(name, err)
	}
	return out, true, nil
}

func unreadable(name string, err error) error {
	return task.Permanent(fmt.Errorf("the journal's %s can't be read: %w", name, err))
}

// Put writes a record, and returns when it is durable. Without a journal it does nothing.
func Put(ctx context.Context, j cairn.Journal, name string, value any) error {
	if j == nil {
		return nil
	}
	raw, err := schema.Encode(value)
	if err == nil {
		err = j.Record(ctx, name, raw)
	}
	if err != nil {
		return fmt.Errorf("record %s: %w", name, err)
	}
	return nil
}

// Beside is a record that is written while a call is made which does no harm when it is made again: nothing depends on which
// of them is first, and the disk can write the record together with what comes of the call. The zero value is none.
type Beside struct {
	done chan struct{}
	err  error
}

// Put begins to write. Wait has to be called before the next Put, and before whoever has called it returns.
func (b *Beside) Put(ctx context.Context, j cairn.Journal, name string, value any) {
	b.done = make(chan struct{})
	go func() {
		defer close(b.done)
		b.err = Put(ctx, j, name, value)
	}()
}

// Wait returns when the record is durable, or can't be.
func (b *Beside) Wait() error {
	if b.done == nil {
		return nil
	}
	<-b.done
	return b.err
}
