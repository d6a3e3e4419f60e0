package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// Queue sees what waits, hidden effects too, and hides none.
func TestQueueTakesNothingOut(t *testing.T) {
	ctx := t.Context()
	s := open(t, sqlite.Config{})
	for _, run := range []string{"first", "second"} {
		r := start(t, s, run)
		if err := r.commit(func(c *engine.Commit) {
			for i := range 2 {
				c.Effects = append(c.Effects, engine.Delivery{ID: fmt.Sprint(run, i), Path: "p", Effect: cairn.Effect{Kind: "k"}})
			}
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Postpone(ctx, "first1", time.Hour, "no route"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		n, list, err := s.Queue(ctx, 3)
		if err != nil || n != 4 || len(list) != 3 {
			t.Fatalf("%d of %d: %v", len(list), n, err)
		}
		for i, want := range []string{"first0", "first1", "second0"} {
			if q := list[i]; q.ID != want || q.Run != want[:len(want)-1] || q.Path != "p" || q.Kind != "k" || q.Frame != 2 {
				t.Errorf("%d: %+v", i, q)
			}
		}
		if q := list[1]; q.Tries != 1 || q.Why != "no route" || time.Until(q.Due) < time.Minute {
			t.Errorf("%+v", q)
		}
	}
	if due, err := s.Due(ctx, time.Minute, 10); err != nil || len(due) != 3 {
		t.Errorf("%d due: %v", len(due), err)
	}
	if problems, err := s.Check(ctx); err != nil || len(problems) > 0 {
		t.Errorf("%v, %v", problems, err)
	}
}
