package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// heartbeatPause is the least time between two writes of heartbeat details; the last one always gets written.
const heartbeatPause = 500 * time.Millisecond

// journal is one attempt's cairn.Journal.
type journal struct {
	r       *Run
	path    string
	attempt int
	// last is the detail an earlier attempt left.
	last json.RawMessage
	beat chan struct{}

	// mu guards what follows.
	mu     sync.Mutex
	steps  map[string]json.RawMessage
	detail json.RawMessage
	unsent bool
}

// journal reads what earlier attempts have recorded. The first attempt has nothing to read.
func (r *Run) journal(ctx context.Context, s core.Start) (*journal, error) {
	j := &journal{r: r, path: s.Path, attempt: s.Attempt, beat: make(chan struct{}, 1), steps: map[string]json.RawMessage{}}
	if s.Attempt == 1 {
		return j, nil
	}
	var entries []Entry
	err := r.ask(ctx, "reading the journal of "+s.Path, func() (err error) {
		entries, err = r.e.cfg.Store.Entries(ctx, r.id, s.Path)
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if e.Name == "" {
			j.last = e.Value
			continue
		}
		j.steps[e.Name] = e.Value
	}
	return j, nil
}

func (j *journal) Lookup(name string) (json.RawMessage, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	value, ok := j.steps[name]
	return value, ok
}

func (j *journal) Record(ctx context.Context, name string, value json.RawMessage) error {
	if name == "" {
		return &cairn.Error{Code: InvalidInput, Run: j.r.id, Path: j.path, Message: "a step needs a name"}
	}
	if err := j.write(ctx, name, value); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.steps[name] = value
	return nil
}

func (j *journal) write(ctx context.Context, name string, value json.RawMessage) error {
	return j.r.ask(ctx, "writing to the journal of "+j.path, func() error {
		return j.r.e.cfg.Store.Record(ctx, j.r.lease, Entry{Path: j.path, Name: name, Attempt: j.attempt, Value: value})
	})
}

// ask is patiently for an attempt. A store that stays away ends the driving of the run, not the task: that the disk is
// full must use up no attempt.
func (r *Run) ask(ctx context.Context, what string, ask func() error) error {
	err := r.patiently(ctx, what, ask)
	if err != nil && ctx.Err() == nil {
		r.halt(err)
	}
	return err
}

func (j *journal) Heartbeat(detail json.RawMessage) {
	j.mu.Lock()
	if detail != nil {
		j.detail, j.unsent = detail, true
	}
	j.mu.Unlock()
	nudge(j.beat)
}

// watch follows an attempt's heartbeats: it writes their details, and ends the context when they stay out for longer
// than silence, if that is not 0. The returned function ends the watch, writes what is left and returns what went
// wrong while writing: a detail that is lost would be missed by the next attempt.
func (j *journal) watch(ctx context.Context, silence time.Duration) (context.Context, func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	over, idle := make(chan struct{}), make(chan error, 1)
	go func() { idle <- j.follow(ctx, cancel, silence, over) }()
	return ctx, func() error {
		close(over)
		err := <-idle
		cancel(nil)
		return err
	}
}

func (j *journal) follow(ctx context.Context, cancel context.CancelCauseFunc, silence time.Duration, over chan struct{}) error {
	var quiet <-chan time.Time
	clock := time.NewTimer(max(silence, time.Nanosecond))
	defer clock.Stop()
	if silence > 0 {
		quiet = clock.C
	}
	var written time.Time
	for {
		select {
		case <-over:
			return j.flush(context.WithoutCancel(ctx))
		case <-quiet:
			cancel(&cairn.Failure{Code: cairn.HeartbeatTimeout, Message: fmt.Sprintf("no heartbeat for %s", silence)})
			quiet = nil
		case <-j.beat:
			if quiet != nil {
				clock.Reset(silence)
			}
			if time.Since(written) >= heartbeatPause {
				written = time.Now()
				if err := j.flush(ctx); err != nil {
					cancel(err)
					<-over
					return err
				}
			}
		}
	}
}

// flush writes the newest detail, if there is one not yet written.
func (j *journal) flush(ctx context.Context) error {
	j.mu.Lock()
	detail, unsent := j.detail, j.unsent
	j.unsent = false
	j.mu.Unlock()
	if !unsent {
		return nil
	}
	return j.write(ctx, "", detail)
}
