package crashtest

import (
	"context"

	"github.com/cairnrun/cairn"
)

// attempted makes a body that leaves its marks in the log.
func attempted[In, T any](w *World, fn func(ctx context.Context, in In) (T, error)) func(context.Context, In) (T, error) {
	return func(ctx context.Context, in In) (T, error) {
		call, _ := cairn.CallFrom(ctx)
		line := Line{Kind: BodyStart, Run: call.Run, Path: call.Path, Attempt: call.Attempt, Key: call.IdempotencyKey}
		w.Log.Add(line)
		w.say("start", call.Run, call.Path, call.Attempt)
		err := w.work(ctx)
		var out T
		if err == nil {
			out, err = fn(ctx, in)
		}
		switch {
		case err == nil:
			line.Kind = BodyDone
		case ctx.Err() != nil:
			line.Kind, line.Value = BodyStopped, context.Cause(ctx).Error()
		default:
			line.Kind, line.Value = BodyFailed, err.Error()
		}
		w.Log.Add(line)
		return out, err
	}
}

// plain is attempted for a body without an input.
func plain[T any](w *World, fn func(ctx context.Context) (T, error)) func(context.Context) (T, error) {
	body := attempted(w, func(ctx context.Context, _ struct{}) (T, error) { return fn(ctx) })
	return func(ctx context.Context) (T, error) { return body(ctx, struct{}{}) }
}
