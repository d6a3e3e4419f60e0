package loop

import (
	"context"
	"time"

	"github.com/cairnrun/cairn"
)

// pause waits before a call is made again: as long as the provider asks for, or else 1 s, 2 s, 4 s and so on. It is false
// if that is too long to wait within an attempt, or if the attempt is told to stop.
func pause(ctx context.Context, err error, try int) bool {
	d := cairn.FailureOf(err).RetryAfter
	if d <= 0 {
		d = min(time.Second<<min(try, 10), MaxPause)
	}
	if d > MaxPause {
		return false
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
