package hindsighttest

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/cairnrun/cairn/memory/hindsight"
)

// Queue is a hindsight.Queue in memory, safe for concurrent use. It keeps what a durable one would, so that a projector
// can be dropped and another one made.
type Queue struct {
	// Hold is how long a claim lasts. 0 is a minute.
	Hold time.Duration

	mu    sync.Mutex // guards what follows
	rows  []*row
	fence map[[2]string]int64
	claim int64
}

type row struct {
	hindsight.Item
	due     time.Time
	claimed time.Time // until when; zero: not
	state   string    // "", "done" or "dead"
	why     error
}

// Add queues an item. One whose operation id is known, or that the fence has passed, is not queued.
func (q *Queue) Add(item hindsight.Item) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if item.Version <= q.fence[key(item)] || slices.ContainsFunc(q.rows, func(r *row) bool { return r.OperationID == item.OperationID }) {
		return
	}
	q.rows = append(q.rows, &row{Item: item})
}

func key(i hindsight.Item) [2]string { return [2]string{i.Bank, i.Document} }

// Due implements hindsight.Queue.
func (q *Queue) Due(_ context.Context, limit int) ([]hindsight.Item, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	now := time.Now()
	var out []hindsight.Item
	for _, r := range q.rows {
		if len(out) == limit {
			break
		}
		if r.state != "" || r.due.After(now) || r.claimed.After(now) || q.held(r, now) {
			continue
		}
		q.claim++
		hold := q.Hold
		if hold == 0 {
			hold = time.Minute
		}
		r.claimed = now.Add(hold)
		r.Claim, r.Until = q.claim, r.claimed
		out = append(out, r.Item)
	}
	return out, nil
}

// held says that another version of the document comes first or is on its way.
func (q *Queue) held(r *row, now time.Time) bool {
	return slices.ContainsFunc(q.rows, func(o *row) bool {
		return o != r && o.state == "" && key(o.Item) == key(r.Item) && (o.Version < r.Version || o.claimed.After(now))
	})
}

// Done implements hindsight.Queue.
func (q *Queue) Done(_ context.Context, item hindsight.Item) error {
	q.verdict(item, func(r *row) { q.settle(r, "done") })
	return nil
}

// Later implements hindsight.Queue.
func (q *Queue) Later(_ context.Context, item hindsight.Item, at time.Time) error {
	q.verdict(item, func(r *row) { r.due = at })
	return nil
}

// Fail implements hindsight.Queue.
func (q *Queue) Fail(_ context.Context, item hindsight.Item, cause error, at time.Time) error {
	q.verdict(item, func(r *row) {
		r.due, r.why = at, cause
		r.Attempts++
	})
	return nil
}

// Dead implements hindsight.Queue.
func (q *Queue) Dead(_ context.Context, item hindsight.Item, cause error) error {
	q.verdict(item, func(r *row) {
		r.why = cause
		q.settle(r, "dead")
	})
	return nil
}

func (q *Queue) verdict(item hindsight.Item, rule func(*row)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, r := range q.rows {
		if r.OperationID == item.OperationID && r.state == "" && r.Claim == item.Claim && r.claimed.After(time.Now()) {
			r.claimed = time.Time{}
			rule(r)
		}
	}
}

// settle ends a row and raises the fence, which drops what is at or below it.
func (q *Queue) settle(r *row, state string) {
	r.state = state
	if q.fence == nil {
		q.fence = map[[2]string]int64{}
	}
	q.fence[key(r.Item)] = max(q.fence[key(r.Item)], r.Version)
	for _, o := range q.rows {
		if o.state == "" && key(o.Item) == key(r.Item) && o.Version <= r.Version {
			o.state = "done"
		}
	}
}

// Waiting counts the items without a verdict.
func (q *Queue) Waiting() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, r := range q.rows {
		if r.state == "" {
			n++
		}
	}
	return n
}

// DeadLetters are the items that were set aside, by operation id, and why.
func (q *Queue) DeadLetters() map[string]error {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := map[string]error{}
	for _, r := range q.rows {
		if r.state == "dead" {
			out[r.OperationID] = r.why
		}
	}
	return out
}
