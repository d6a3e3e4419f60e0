package hindsighttest

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn/memory/hindsight"
)

// A Feed is a queue under test: how to make one and how to put items into it.
type Feed struct {
	hindsight.Queue
	// Add queues an item; adding one whose operation id is known does nothing.
	Add func(hindsight.Item)
}

// RunQueue checks what the projector needs of a queue. Open makes an empty one, of which a claim lasts for hold; it is
// called within a testing/synctest bubble, so the queue must read its time from package time.
func RunQueue(t *testing.T, open func(t *testing.T, hold time.Duration) Feed) {
	const hold = time.Minute
	item := func(op, doc string, version int64) hindsight.Item {
		return hindsight.Item{OperationID: op, Bank: "project-x", Document: doc, Version: version, Op: hindsight.Retain,
			Content: "content of " + op, Context: "digest", Tags: []string{"scope:main"}, Metadata: map[string]string{"run": "r"},
			Time: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)}
	}
	check := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	due := func(t *testing.T, q Feed, want ...string) []hindsight.Item {
		t.Helper()
		got, err := q.Due(t.Context(), 10)
		check(t, err)
		var ids []string
		for _, i := range got {
			ids = append(ids, i.OperationID)
		}
		slices.Sort(ids)
		if !slices.Equal(ids, want) {
			t.Fatalf("due are %q, want %q", ids, want)
		}
		return got
	}
	for name, test := range map[string]func(t *testing.T, q Feed){
		"an item comes as it was queued": func(t *testing.T, q Feed) {
			want := item("a", "d", 7)
			q.Add(want)
			got := due(t, q, "a")[0]
			if got.Document != "d" || got.Bank != want.Bank || got.Version != 7 || got.Op != want.Op || got.Content != want.Content || got.Context != want.Context ||
				!slices.Equal(got.Tags, want.Tags) || got.Metadata["run"] != "r" || !got.Time.Equal(want.Time) || got.Attempts != 0 {
				t.Errorf("got %+v", got)
			}
			if left := time.Until(got.Until); left <= 0 || left > hold {
				t.Errorf("the claim lasts %v, want %v", left, hold)
			}
		},
		"a document's versions come one by one, the lowest first": func(t *testing.T, q Feed) {
			for _, i := range []hindsight.Item{item("b", "d", 2), item("a", "d", 1), item("c", "e", 1)} {
				q.Add(i)
			}
			got := due(t, q, "a", "c")
			due(t, q)
			for _, i := range got {
				check(t, q.Done(t.Context(), i))
			}
			due(t, q, "b")
		},
		"the same document of another bank is another one": func(t *testing.T, q Feed) {
			other := item("b", "d", 1)
			other.Bank = "user-1"
			q.Add(item("a", "d", 1))
			q.Add(other)
			due(t, q, "a", "b")
		},
		"limit": func(t *testing.T, q Feed) {
			for _, id := range []string{"a", "b", "c"} {
				q.Add(item(id, id, 1))
			}
			got, err := q.Due(t.Context(), 2)
			check(t, err)
			if len(got) != 2 {
				t.Errorf("%d items, want 2", len(got))
			}
		},
		"the fence holds for what is queued late": func(t *testing.T, q Feed) {
			q.Add(item("c", "d", 3))
			check(t, q.Done(t.Context(), due(t, q, "c")[0]))
			q.Add(item("b", "d", 2))
			q.Add(item("c2", "d", 3))
			q.Add(item("c", "d", 3))
			due(t, q)
			q.Add(item("e", "d", 4))
			due(t, q, "e")
		},
		"a dead item raises the fence and holds up nothing": func(t *testing.T, q Feed) {
			q.Add(item("a", "d", 1))
			q.Add(item("b", "d", 2))
			check(t, q.Dead(t.Context(), due(t, q, "a")[0], errors.New("refused")))
			check(t, q.Done(t.Context(), due(t, q, "b")[0]))
			time.Sleep(24 * time.Hour)
			due(t, q)
		},
		"a failed item comes again at its time and holds up newer ones": func(t *testing.T, q Feed) {
			q.Add(item("a", "d", 1))
			q.Add(item("b", "d", 2))
			check(t, q.Fail(t.Context(), due(t, q, "a")[0], errors.New("away"), time.Now().Add(3*time.Hour)))
			time.Sleep(3*time.Hour - time.Second)
			due(t, q)
			time.Sleep(time.Second)
			if got := due(t, q, "a")[0]; got.Attempts != 1 {
				t.Errorf("%d attempts, want 1", got.Attempts)
			}
		},
		"later counts no attempt": func(t *testing.T, q Feed) {
			q.Add(item("a", "d", 1))
			check(t, q.Later(t.Context(), due(t, q, "a")[0], time.Now().Add(time.Second)))
			due(t, q)
			time.Sleep(time.Second)
			if got := due(t, q, "a")[0]; got.Attempts != 0 {
				t.Errorf("%d attempts, want 0", got.Attempts)
			}
		},
		"a claim ends, and its verdict with it": func(t *testing.T, q Feed) {
			q.Add(item("a", "d", 1))
			q.Add(item("b", "d", 2))
			old := due(t, q, "a")[0]
			time.Sleep(hold)
			held := due(t, q, "a")[0]
			if held.Claim == old.Claim {
				t.Error("two claims have one number")
			}
			check(t, q.Dead(t.Context(), old, errors.New("stale")))
			check(t, q.Done(t.Context(), old))
			check(t, q.Later(t.Context(), old, time.Now()))
			check(t, q.Fail(t.Context(), old, errors.New("stale"), time.Now()))
			due(t, q)
			check(t, q.Done(t.Context(), held))
			check(t, q.Fail(t.Context(), held, errors.New("twice"), time.Now()))
			due(t, q, "b")
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, open(t, hold)) })
		})
	}
}
