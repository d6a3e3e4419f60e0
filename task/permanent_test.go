package task_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

func TestPermanent(t *testing.T) {
	if task.Permanent(nil) != nil || task.RetryAfter(nil, time.Second) != nil {
		t.Error("nil becomes an error")
	}
	const mine cairn.Code = "MINE"
	boom := fmt.Errorf("no such account: %w", mine)
	err := fmt.Errorf("charge: %w", task.Permanent(boom))
	if !errors.Is(err, boom) || !errors.Is(err, mine) {
		t.Error("the cause is lost")
	}
	f := refused(t, err, mine, true)
	if f.Message != "charge: no such account: MINE" {
		t.Errorf("message %q", f.Message)
	}
	refused(t, boom, mine, false)
}

func TestRetryAfter(t *testing.T) {
	boom := errors.New("too many requests")
	err := fmt.Errorf("ask: %w", task.RetryAfter(boom, time.Minute))
	if f := refused(t, err, cairn.TaskFailed, false); f.RetryAfter != time.Minute || !errors.Is(err, boom) {
		t.Errorf("failure %+v", f)
	}
}
