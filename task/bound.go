package task

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Bound is a body together with its input, made by From.
type Bound[T any] struct{ both *bound[T] }

type bound[T any] struct {
	// in is the type of the input.
	in    reflect.Type
	input func(v *cairn.View) (json.RawMessage, error)
	do    func(ctx context.Context, raw json.RawMessage) (T, error)
}

// From makes a body of a function and what to call it with. The input is computed once, when the task's turn has come,
// and stored as JSON; every attempt gets the same input, decoded anew. So a body gets what the tree said when it
// was started, and what it reads of the View does not decide the shape of the tree:
//
//	From: task.From(
//		func(v *cairn.View) Plan { return plan.Must(v) },
//		func(ctx context.Context, p Plan) (Report, error) { … },
//	)
func From[In, T any](input func(v *cairn.View) In, do func(ctx context.Context, in In) (T, error)) Bound[T] {
	both := &bound[T]{in: reflect.TypeFor[In]()}
	if input != nil {
		both.input = func(v *cairn.View) (json.RawMessage, error) {
			raw, err := schema.Encode(input(v))
			if err != nil {
				return nil, fmt.Errorf("the task's input: %w", err)
			}
			return raw, nil
		}
	}
	if do != nil {
		both.do = func(ctx context.Context, raw json.RawMessage) (T, error) {
			var in In
			if err := json.Unmarshal(raw, &in); err != nil {
				var none T
				return none, Permanent(fmt.Errorf("the task's stored input can't be read as %s: %w", reflect.TypeFor[In](), err))
			}
			return do(ctx, in)
		}
	}
	return Bound[T]{both}
}

func (b Bound[T]) lower(wrong *mistakes) (func(*cairn.View) (json.RawMessage, error), cairn.Run) {
	if b.both.input == nil {
		wrong.add("From has no function for the input")
	}
	if b.both.do == nil {
		wrong.add("From has no function for the work")
	}
	if _, err := schema.Of(b.both.in); err != nil {
		wrong.add("the input type of From: %w", err)
	}
	return b.both.input, b.both.run
}

func (b *bound[T]) run(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
	return runDo(func(ctx context.Context) (T, error) { return b.do(ctx, call.Input) })(ctx, call)
}
