package engine

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine/core"
)

// flights are the keys whose outputs are being made in this process, each by one attempt. Attempts that want the same
// output wait for the one under way, and hold no place of the process while they do: whoever makes one can always go on.
type flights struct {
	// mu guards of.
	mu sync.Mutex
	of map[string]*flight
}

// flight is an attempt that makes the output of a key. It lasts until its result is durable, or is known not to be kept.
type flight struct {
	label core.CacheLabel
	run   *Run
	over  chan struct{}

	// mu guards held, and a renewal: the hold is this flight's, and its result has not been made.
	mu   sync.Mutex
	held bool
}

// join begins the flight of a key, or returns what to wait for.
func (fs *flights) join(label core.CacheLabel, r *Run) (mine *flight, other <-chan struct{}) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.of[label.Key]; f != nil {
		return nil, f.over
	}
	f := &flight{label: label, run: r, over: make(chan struct{})}
	if fs.of == nil {
		fs.of = map[string]*flight{}
	}
	fs.of[label.Key] = f
	return f, nil
}

// land ends the run's flight of a key, if there is one: those who wait look again.
func (fs *flights) land(key string, r *Run) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	if f := fs.of[key]; f != nil && f.run == r {
		delete(fs.of, key)
		close(f.over)
	}
}

// landAll ends what is left of a run that is no longer driven.
func (fs *flights) landAll(r *Run) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for key, f := range fs.of {
		if f.run == r {
			delete(fs.of, key)
			close(f.over)
		}
	}
}

// all lists the flights under way.
func (fs *flights) all() (all []*flight) {
	fs.mu.Lock()
	defer fs.mu.Unlock()
	for _, f := range fs.of {
		all = append(all, f)
	}
	return all
}

// hold says whether the key's hold is to be renewed. When it has returned, no renewal is under way.
func (f *flight) hold(held bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.held = held
}

// keepHolds holds on to what this process makes. One that can't be renewed runs out: then another process may make the
// same again, which costs an execution and breaks nothing.
func (e *Engine) keepHolds() {
	for _, f := range e.flights.all() {
		f.renew()
	}
}

// renew is under the lock, so that no renewal comes after the commit that has ended the hold.
func (f *flight) renew() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.held {
		_, _ = f.run.e.cfg.Store.Hold(f.run.e.life, f.label.Key, f.run.id, f.run.e.cfg.LeaseTTL)
	}
}

// cached finds a stored output for an attempt. Without one, and if the task may be cached, the attempt makes it, under
// the flight returned.
func (r *Run) cached(ctx context.Context, s core.Start) (hit *CacheEntry, f *flight, label core.CacheLabel, err error) {
	policy, ok, err := cache.Of(s.Policy)
	if err == nil && ok {
		label = core.CacheLabel{TTL: policy.TTL, Schema: s.Schema, Scope: policy.Scope.String(), Identity: s.Identity}
		label.Key, err = cache.Key(cache.Inputs{Policy: policy, Run: r.id, Workflow: r.def.Name, Path: s.Path,
			Input: s.Input, Identity: s.Identity, Schema: s.Schema})
	}
	switch {
	case err != nil:
		return nil, nil, label, &cairn.Failure{Code: cairn.TaskFailed, Permanent: true, Message: err.Error()}
	case !ok:
		return nil, nil, label, nil
	}
	for {
		if hit, err = r.lookup(ctx, s, label); hit != nil || err != nil {
			return hit, nil, label, err
		}
		mine, other := r.e.flights.join(label, r)
		if mine != nil {
			if hit, err = r.takeOff(ctx, s, mine); hit != nil || err != nil {
				return hit, nil, label, err
			}
			return nil, mine, label, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return nil, nil, label, ctx.Err()
		}
	}
}

// takeOff waits until no other process makes the output, and returns what one of them has made. A process that dies lets
// go when its hold runs out.
func (r *Run) takeOff(ctx context.Context, s core.Start, f *flight) (hit *CacheEntry, err error) {
	defer func() {
		if hit != nil || err != nil {
			r.abandon(f)
		}
	}()
	for {
		held := false
		err := r.ask(ctx, "holding a cache key for "+s.Path, func() (err error) {
			held, err = r.e.cfg.Store.Hold(ctx, f.label.Key, r.id, r.e.cfg.LeaseTTL)
			return err
		})
		if err != nil {
			return nil, err
		}
		if held {
			f.hold(true)
		}
		// After the hold: what was made in between is there by now.
		if hit, err := r.lookup(ctx, s, f.label); hit != nil || err != nil || held {
			return hit, err
		}
		select {
		case <-time.After(r.e.cfg.Poll):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// lookup returns a stored output that is still one of the task's: it has today's schema, passes today's checks, and its
// files are there. Any other is a miss, and is replaced by what the attempt makes.
func (r *Run) lookup(ctx context.Context, s core.Start, label core.CacheLabel) (*CacheEntry, error) {
	var entry CacheEntry
	found := false
	err := r.ask(ctx, "looking for a stored output of "+s.Path, func() (err error) {
		entry, found, err = r.e.cfg.Store.Lookup(ctx, label.Key, label.TTL)
		return err
	})
	if err != nil || !found || entry.Schema != s.Schema || !passes(s.Check, entry.Output) {
		return nil, err
	}
	for _, a := range entry.Artifacts {
		if r.e.cfg.Artifacts == nil {
			return nil, nil
		}
		file, err := r.e.cfg.Artifacts.Get(ctx, a.Hash)
		if err != nil {
			return nil, nil
		}
		_ = file.Close()
	}
	return &entry, nil
}

// passes asks the task's type about an output. A type whose methods panic on an old output does not take it.
func passes(check func(json.RawMessage) error, output json.RawMessage) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
	return json.Valid(output) && (check == nil || check(output) == nil)
}

// finish ends the event of an attempt that has made an output for others: a result goes on to its frame under the label;
// without one, others may try. What emits effects is not stored: a hit would leave them out.
func (f *flight) finish(ev core.Event) core.Event {
	f.hold(false) // what is left of it is time enough for a commit
	if ev.Kind == core.TaskDone && len(ev.Effects) == 0 {
		ev.Label = &f.label
	} else {
		f.run.abandon(f)
	}
	return ev
}

// abandon ends a flight that leaves nothing in the store.
func (r *Run) abandon(f *flight) {
	f.hold(false)
	r.free(f.label.Key)
	r.e.flights.land(f.label.Key, r)
}

// free lets others make the output. Where that can't be written the hold runs out by itself; a run that has been lost to
// another process leaves that one's hold alone.
func (r *Run) free(key string) {
	if cause := context.Cause(r.ctx); cause == nil || cause == errStopping {
		_ = r.e.cfg.Store.Free(context.WithoutCancel(r.ctx), key, r.id)
	}
}

// landed ends the flights whose results came with these events, now that they are durable, or were not accepted.
func (r *Run) landed(events []core.Event, step core.Step) {
	for _, ev := range events {
		if ev.Label == nil || ev.Cached {
			continue
		}
		kept := false
		for _, m := range step.Labelled {
			kept = kept || m.Key == ev.Label.Key
		}
		if !kept {
			r.free(ev.Label.Key)
		}
		r.e.flights.land(ev.Label.Key, r)
	}
}

// writes makes the store's part of labelled.
func (r *Run) writes(labelled []core.Labelled) (all []CacheWrite) {
	for _, m := range labelled {
		if m.Hit {
			all = append(all, CacheWrite{Used: true, Entry: CacheEntry{Key: m.Key}})
			continue
		}
		all = append(all, CacheWrite{TTL: m.TTL, Entry: CacheEntry{Key: m.Key, Workflow: r.def.Name, Run: r.id, Path: m.Path,
			Scope: m.Scope, Identity: m.Identity, Schema: m.Schema, Output: m.Output, Artifacts: m.Artifacts}})
	}
	return all
}
