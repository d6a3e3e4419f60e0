package journal

import (
	"context"
	"errors"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/task/agent/answer"
)

// End writes the last words of a conversation that came to no good end, also when the attempt was told to stop. Failure is its
// own, nil for none. One that has not finished has failed too if a time limit has ended its attempt; being stopped for any other
// reason is nothing that it has done.
func End(ctx context.Context, call *cairn.Call, name string, failure *cairn.Failure, finished bool) error {
	var limit *cairn.Failure
	if failure == nil && !finished && errors.As(context.Cause(ctx), &limit) && (limit.Code == cairn.TaskTimeout || limit.Code == cairn.HeartbeatTimeout) {
		failure = limit
	}
	if failure == nil {
		return nil
	}
	f := answer.Failed{Attempt: call.Attempt, Code: failure.Code, Message: grapheme.Cut(failure.Message, answer.MostEarlier)}
	return Put(context.WithoutCancel(ctx), call.Journal, name+failed, f)
}
