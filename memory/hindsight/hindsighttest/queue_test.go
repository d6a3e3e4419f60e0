package hindsighttest_test

import (
	"testing"
	"time"

	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
)

func TestQueue(t *testing.T) {
	hindsighttest.RunQueue(t, func(_ *testing.T, hold time.Duration) hindsighttest.Feed {
		q := &hindsighttest.Queue{Hold: hold}
		return hindsighttest.Feed{Queue: q, Add: q.Add}
	})
}
