package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	meter   *meter
	// last is the detail an earlier attempt left.
	last json.RawMessage
	beat chan struct{}

	// mu guards what follows.
	mu     sync.Mutex
	steps  map[string]json.RawMessage
	detail json.RawMessage
	unsent bool
	// notes counts the entries that say what the attempt has used, owed are those of them that may not be written.
	notes int
	owed  []Entry
}

// journal reads what earlier attempts have recorded. The first attempt has nothing to read.
func (r *Run) journal(ctx context.Context, s core.Start, m *meter) (*journal, error) {
	j := &journal{r: r, path: s.Path, attempt: s.Attempt, meter: m, beat: make(chan struct{}, 1), steps: map[string]json.RawMessage{}}
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
		if strings.HasPrefix(e.Name, Reserved) {
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
	if strings.HasPrefix(name, Reserved) {
		return &cairn.Error{Code: InvalidInput, Run: j.r.id, Path: j.path, Message: fmt.Sprintf("the name %q is the engine's own", name),
			Next: "give the step a name that does not begin with " + Reserved}
	}
	if err := j.write(ctx, name, value); err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.steps[name] = value
	return nil
}

// write writes an entry, and with it what the attempt has used until now: whoever finds the entry after a kill finds that, too.
func (j *journal) write(ctx context.Context, name string, value json.RawMessage) error {
	notes, err := j.note()
	if err != nil {
		return err
	}
	err = j.r.ask(ctx, "writing to the journal of "+j.path, func() error {
		return j.r.e.cfg.Store.Record(ctx, j.r.lease, append([]Entry{{Path: j.path, Name: name, Attempt: j.attempt, Value: value}}, notes...)...)
	})
	if err != nil && len(notes) > 0 { // they may be there: under their names they can be written again
		j.mu.Lock()
		defer j.mu.Unlock()
		j.owed = append(j.owed, notes...)
	}
	return err
}

// note makes entries of what was used and is in none yet.
func (j *journal) note() ([]Entry, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	notes := j.owed
	j.owed = nil
	if used := j.meter.note(); len(used) > 0 {
		value, err := json.Marshal(used)
		if err != nil {
			return nil, err
		}
		j.notes++
		notes = append(notes, Entry{Path: j.path, Name: fmt.Sprintf("%s%08d", spentIn(j.attempt), j.notes), Attempt: j.attempt, Value: value})
	}
	return notes, nil
}

// spentIn is what the names of the entries begin with that say what an attempt has used.
func spentIn(attempt int) string { return fmt.Sprintf("%sspent/%d/", Reserved, attempt) }

// lost ends the attempts that were running under the owner before, if they have written down what they have used. No frame has
// that yet: the end of an attempt is in the same frame as all that it has used.
func (r *Run) lost(ctx context.Context) (events []core.Event, err error) {
	tasks := r.m.State().Tasks
	for _, path := range slices.Sorted(maps.Keys(tasks)) {
		t := tasks[path]
		if t.Status != core.TaskRunning {
			continue
		}
		entries, err := r.e.cfg.Store.Entries(ctx, r.id, path)
		if err != nil {
			return nil, err
		}
		ev := core.Event{Kind: core.TaskLost, Path: path, Attempt: t.Attempt}
		for _, e := range entries { // by name
			if !strings.HasPrefix(e.Name, spentIn(t.Attempt)) {
				continue
			}
			var used []cairn.Usage
			if err := json.Unmarshal(e.Value, &used); err != nil {
				return nil, &cairn.Error{Code: CorruptHistory, Run: r.id, Path: path, Message: "the entry " + e.Name + " of its journal can't be read", Err: err,
					Next: "restore the database from a copy"}
			}
			ev.Usage = append(ev.Usage, used...)
		}
		if len(ev.Usage) > 0 {
			events = append(events, ev)
		}
	}
	return events, nil
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
