package task

import (
	"context"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Emit asks for an outside effect that happens if, and only if, this attempt's output is committed: it is delivered
// afterwards, at least once, by whoever serves its kind. What a failed attempt or a failed Step emitted is dropped.
//
// Outside of a task it is an error.
func Emit(ctx context.Context, kind string, body any) error {
	if kind == "" {
		return Permanent(errors.New("emit: the effect has no kind"))
	}
	p, ok := placeFrom(ctx)
	if !ok {
		return fmt.Errorf("emit %s: %w", kind, errNoAttempt)
	}
	raw, err := schema.Encode(body)
	if err != nil {
		return Permanent(fmt.Errorf("emit %s: %w", kind, err))
	}
	if err := p.add(func() { p.record.Effects = append(p.record.Effects, cairn.Effect{Kind: kind, Body: raw}) }); err != nil {
		return fmt.Errorf("emit %s: %w", kind, err)
	}
	return nil
}
