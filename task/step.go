package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Step does a part of a task's work that is not to be done again. When fn has finished, in this attempt or an earlier
// one, Step returns what it returned, from the journal, without calling it; else it calls fn and returns after the value is
// durable, even if the attempt was told to stop meanwhile. An error of fn is returned as it is and not remembered.
//
// The name stands for the part: two different parts of a task need two names, and a part in a loop needs one for each
// turn. Steps may run side by side; two calls of one name take turns, and the second gets the value of the
// first. Steps may nest; a step inside of itself is an error.
//
// The value is returned as JSON carries it, also the first time, so that no attempt sees another value than the next.
// Artifacts and effects of a finished step are those of every later attempt that gets its value. A failed step has no
// effects.
//
// Outside of a task, or under a Call without a Journal, Step just calls fn.
func Step[T any](ctx context.Context, name string, fn func(ctx context.Context) (T, error)) (T, error) {
	var out, none T
	if err := cairn.CheckName(name); err != nil {
		return none, Permanent(fmt.Errorf("step: %w", err))
	}
	call, ok := cairn.CallFrom(ctx)
	if !ok || call.Journal == nil {
		return fn(ctx)
	}
	if err := step(ctx, call.Journal, name, &out, func(ctx context.Context) (any, error) { return fn(ctx) }); err != nil {
		return none, err
	}
	return out, nil
}

// record is what the journal keeps of a finished step.
type record struct {
	Value     json.RawMessage  `json:"value"`
	Artifacts []cairn.Artifact `json:"artifacts,omitempty"`
	Effects   []cairn.Effect   `json:"effects,omitempty"`
	// Steps are the names of the steps called inside, which have records of their own: who skips this one skips them.
	Steps []string `json:"steps,omitempty"`
}

// StepValue is the value in the journal's record of a finished step, for those who read journals.
func StepValue(raw json.RawMessage) (json.RawMessage, error) {
	var rec record
	if err := json.Unmarshal(raw, &rec); err != nil {
		return nil, fmt.Errorf("this is no record of a step: %w", err)
	}
	return rec.Value, nil
}

// step is Step without its type: the value goes into what out points to.
func step(ctx context.Context, journal cairn.Journal, name string, out any, fn func(ctx context.Context) (any, error)) error {
	p, ok := placeFrom(ctx)
	if !ok { // a test that calls a body under a Call of its own
		p = newAttempt().body
	}
	for at := p; at != nil; at = at.outer {
		if at.name == name {
			return Permanent(fmt.Errorf("step %q is called inside of itself", name))
		}
	}
	release, err := p.attempt.turn(ctx, name)
	if err != nil {
		return fmt.Errorf("step %q: %w", name, err)
	}
	defer release()

	if raw, ok := journal.Lookup(name); ok {
		return p.replay(journal, name, raw, out)
	}
	inner := &place{attempt: p.attempt, outer: p, name: name}
	defer inner.end()
	if err := inner.open(); err != nil { // before the work rather than after it
		return fmt.Errorf("step %q: %w", name, err)
	}
	value, err := fn(context.WithValue(ctx, placeKey{}, inner))
	if err != nil {
		return err
	}
	raw, err := inner.close(value, out)
	if err != nil {
		return fmt.Errorf("step %q: %w", name, err)
	}
	// The work is done and paid for; a stop that comes now must not throw it away.
	if err := journal.Record(context.WithoutCancel(ctx), name, raw); err != nil {
		return fmt.Errorf("step %q: record: %w", name, err)
	}
	return p.count(name, inner.record, nil)
}

// close ends a step's place and returns what is to be recorded, having read it back into out.
func (p *place) close(value, out any) (json.RawMessage, error) {
	raw, err := schema.Encode(value)
	if err == nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		return nil, Permanent(err)
	}
	p.record.Value = raw
	if err := p.add(func() { p.ended = true }); err != nil {
		return nil, err
	}
	return schema.Encode(p.record)
}

// replay returns a recorded step's value and counts what came with it.
func (p *place) replay(journal cairn.Journal, name string, raw json.RawMessage, out any) error {
	var rec record
	err := json.Unmarshal(raw, &rec)
	if err == nil {
		err = json.Unmarshal(rec.Value, out)
	}
	if err != nil {
		return Permanent(fmt.Errorf("step %q: the recorded value can't be read: %w", name, err))
	}
	return p.count(name, rec, journal)
}

// count adds a finished step to the place it was called from and, once in an attempt, its effects to the attempt. A
// replayed step, which has a journal, brings its artifacts and the steps inside of it too.
func (p *place) count(name string, rec record, journal cairn.Journal) error {
	var failed error
	err := p.add(func() {
		if p.outer != nil && !slices.Contains(p.record.Steps, name) {
			p.record.Steps = append(p.record.Steps, name)
		}
		failed = p.attempt.count(name, rec, journal)
	})
	if err == nil {
		err = failed
	}
	if err != nil {
		return fmt.Errorf("step %q: %w", name, err)
	}
	return nil
}

// count is called with mu held.
func (a *attempt) count(name string, rec record, journal cairn.Journal) error {
	if a.counted[name] {
		return nil
	}
	a.counted[name] = true
	a.body.record.Effects = append(a.body.record.Effects, rec.Effects...)
	if journal == nil {
		return nil
	}
	a.body.record.Artifacts = append(a.body.record.Artifacts, rec.Artifacts...)
	for _, inner := range rec.Steps {
		raw, _ := journal.Lookup(inner)
		var rec record
		if err := json.Unmarshal(raw, &rec); err != nil {
			return Permanent(fmt.Errorf("the record of step %q inside of it can't be read: %w", inner, err))
		}
		if err := a.count(inner, rec, journal); err != nil {
			return err
		}
	}
	return nil
}

// turn waits until no other call of the same name is running.
func (a *attempt) turn(ctx context.Context, name string) (release func(), err error) {
	a.mu.Lock()
	token := a.turns[name]
	if token == nil {
		token = make(chan struct{}, 1)
		a.turns[name] = token
	}
	a.mu.Unlock()
	select {
	case token <- struct{}{}:
		return func() { <-token }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
