package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// Run is a run that this engine drives, or has driven. Where it hands over to a successor, the handle goes on with that.
type Run struct {
	id    string
	e     *Engine
	def   cairn.Definition
	m     *core.Machine
	lease Lease
	mail  *mailbox
	// renewed is when the lease was last known to be ours, in Unix nanoseconds.
	renewed atomic.Int64

	// ctx is the attempts': it ends when the run stops being driven here, with the reason as its cause.
	ctx    context.Context
	cancel context.CancelCauseFunc
	halted chan struct{}
	once   sync.Once

	// first is the step that made the run this engine's; it is durable.
	first core.Step

	// Owned by the goroutine of drive.
	timers   *timers
	attempts map[string]attempt
	meters   *meters
	working  sync.WaitGroup
	running  int
	// heir is the successor that was asked for last; passed says that it is driven in this run's place.
	heir   *heir
	passed bool
	// bytes is how long the frames are that this process knows of; told: the run was told so.
	bytes int64
	told  bool

	// over closes when the run is no longer driven, be it that a successor is.
	over  chan struct{}
	chain *chain
}

// Outcome is where a run stands when it is no longer driven.
type Outcome struct {
	// Run is the last of the chain, where runs have handed over.
	Run    string      `json:"run"`
	Status core.Status `json:"status"`
	// Result is set for a finished run.
	Result json.RawMessage `json:"result,omitempty"`
	// Failure is set for a failed, cancelled or blocked one.
	Failure *cairn.Failure `json:"failure,omitempty"`
}

// newRun makes the handle; the machine's first commands, if it has stepped already, are released by drive.
func (e *Engine) newRun(id string, def cairn.Definition, m *core.Machine, lease Lease) *Run {
	r := &Run{id: id, e: e, def: def, m: m, lease: lease, mail: newMailbox(), halted: make(chan struct{}),
		timers: newTimers(), attempts: map[string]attempt{}, meters: newMeters(e.cfg.Models), over: make(chan struct{}), chain: &chain{done: make(chan struct{})}}
	r.ctx, r.cancel = context.WithCancelCause(context.WithoutCancel(e.life))
	r.renewed.Store(time.Now().UnixNano())
	return r
}

// ID is the id of the run that the handle was made for, the first that is driven by it.
func (r *Run) ID() string { return r.id }

// Wait returns when the run has ended or parked: a terminal status, paused, or blocked. Of a run that hands over it is its
// last successor that counts, which Outcome.Run names. An engine that closes leaves the
// run running; that, and a lost lease or a store that fails, is an error, and the run can be resumed.
func (r *Run) Wait(ctx context.Context) (Outcome, error) {
	select {
	case <-r.chain.done:
		return r.chain.outcome, r.chain.err
	case <-ctx.Done():
		return Outcome{Run: r.id}, ctx.Err()
	}
}

// Done is closed when Wait would return at once.
func (r *Run) Done() <-chan struct{} { return r.chain.done }

// halt ends the driving of the run from outside. Graceful, for errStopping: attempts are told to stop, waited for,
// and what they gave is committed. For any other reason nothing more is written.
func (r *Run) halt(cause error) {
	r.once.Do(func() {
		r.cancel(cause)
		close(r.halted)
	})
}

// drive owns the run until it ends, parks or is halted.
func (r *Run) drive() {
	// Whoever learns of the end must not meet the run among those driven.
	defer func() {
		r.e.leave(r)
		if !r.passed {
			close(r.chain.done)
		}
		close(r.over)
	}()
	err := r.loop()
	r.cancel(err)
	r.working.Wait()
	r.e.flights.landAll(r)
	if err != nil && !errors.Is(err, LeaseLost) && !errors.Is(err, Closing) {
		// Whoever mends what is wrong resumes at once, instead of when the lease has run out.
		ctx := context.WithoutCancel(r.ctx)
		if r.heir != nil {
			// It may be there, if the commit that makes it came through and its acknowledgement did not. It goes first: once
			// this run is let go, whoever resumes it may make a successor of the same id and epoch.
			err = errors.Join(err, r.e.cfg.Store.Release(ctx, r.heir.run.lease))
		}
		err = errors.Join(err, r.e.cfg.Store.Release(ctx, r.lease))
	}
	if r.passed {
		return
	}
	c := r.chain
	c.outcome, c.err = Outcome{Run: r.id, Status: r.m.State().Status}, err
	if err == nil {
		c.outcome.Result, c.outcome.Failure = r.settled()
	}
}

// settled is what the catalog shows of a run in its present status.
func (r *Run) settled() (result json.RawMessage, failure *cairn.Failure) {
	s := r.m.State()
	switch s.Status {
	case core.Finished:
		result, _ = r.m.Result()
	case core.Failed, core.CancelledRun:
		failure = s.Failure
	case core.Blocked:
		failure = s.Block
	}
	return result, failure
}

// loop takes what has happened, steps, commits, and carries out what was decided, until there is nothing to wait for.
func (r *Run) loop() error {
	halted := r.halted
	stopping := false
	if over, err := r.release(r.first); over || err != nil {
		return err
	}
	r.first = core.Step{}
	for {
		select {
		case <-r.mail.wake:
		case <-r.timers.clock.C:
		case <-halted:
			halted, stopping = nil, true
		}
		now := time.Now()
		events := append(r.mail.take(), r.timers.due(now)...)
		for {
			// After the events were taken: what an attempt says once the run was halted is not a result, and nothing is started
			// in place of one that has stopped, even if its end was seen before the halt.
			switch cause := context.Cause(r.ctx); {
			case errors.Is(cause, errStopping):
				stopping = true
			case cause != nil:
				return cause
			}
			if len(events) == 0 {
				break
			}
			over, err := r.step(now, events, !stopping)
			if over || err != nil {
				return err
			}
			now, events = time.Now(), r.mail.take()
		}
		if stopping && r.running == 0 {
			return r.interrupted()
		}
	}
}

// interrupted gives the run back for others to resume.
func (r *Run) interrupted() error {
	if err := r.giveBack(); err != nil {
		return err
	}
	return &cairn.Error{Code: Closing, Run: r.id, Message: "the engine was closed while the run was running", Next: "resume it"}
}

func (r *Run) giveBack() error {
	ctx := context.WithoutCancel(r.ctx)
	return r.patiently(ctx, "the release", func() error { return r.e.cfg.Store.Release(ctx, r.lease) })
}

// step makes one step durable and then carries it out. It reports whether there is nothing more to drive.
func (r *Run) step(now time.Time, events []core.Event, admit bool) (ended bool, err error) {
	var over []attempt
	for _, ev := range events {
		switch ev.Kind {
		case core.TaskDone, core.TaskFailed, core.TaskLost:
			r.running--
			if a, ok := r.attempts[ev.Path]; ok {
				a.cancel(nil)
				over = append(over, a)
				delete(r.attempts, ev.Path)
			}
		}
	}
	step, err := r.decide(now, events, admit)
	if err != nil {
		return false, err
	}
	for _, a := range over {
		r.meters.settle(a.meter, r.m.State())
	}
	if step.Frame != nil {
		if err := r.commit(step); err != nil {
			return false, err
		}
	}
	r.landed(events, step)
	if step.Frame != nil && step.Status == core.Continued {
		r.handOver()
	}
	r.suggest()
	return r.release(step)
}

// decide steps the core. A panic of the core's own is a bug of the engine: the run stops here, uncommitted.
func (r *Run) decide(now time.Time, events []core.Event, admit bool) (step core.Step, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &cairn.Error{Code: CorruptHistory, Run: r.id, Message: fmt.Sprintf("the engine has broken a rule of its own: %v", p),
				Next: "report this with an export of the run"}
		}
	}()
	return r.m.Step(now, events, admit), nil
}

// Writes that fail without a code may have happened or not; repeating one that has is success.
const (
	writeTries = 5
	writePause = 50 * time.Millisecond
)

// patiently asks the store again: it may be busy or the disk slow, and nothing is lost by repeating. What the store
// refuses with a code it will refuse again.
func (r *Run) patiently(ctx context.Context, what string, ask func() error) error {
	pause := writePause
	for try := 1; ; try++ {
		err := ask()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return err
		case errors.Is(err, LeaseLost), errors.Is(err, FrameConflict), errors.Is(err, RunEnded), errors.Is(err, RunExists), try == writeTries:
			return fmt.Errorf("%s of run %s failed, resume it: %w", what, r.id, err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return err
		}
		pause *= 2
	}
}

// commit makes a step durable.
func (r *Run) commit(step core.Step) error {
	ctx := context.WithoutCancel(r.ctx)
	c := r.record(step)
	err := r.patiently(ctx, fmt.Sprintf("the commit of frame %d", c.N), func() error {
		asked := time.Now()
		err := r.e.cfg.Store.Commit(ctx, r.lease, c)
		if err == nil {
			r.renewed.Store(asked.UnixNano())
		}
		return err
	})
	if err != nil {
		return err
	}
	r.bytes += int64(len(c.Body))
	if len(c.Effects) > 0 {
		nudge(r.e.posted)
	}
	r.observe(step)
	return nil
}

// observe tells of a durable step.
func (r *Run) observe(step core.Step) {
	if observe := r.e.cfg.Observe; observe != nil {
		observe(r.id, step.Frame)
	}
	if metrics := r.e.cfg.Metrics; metrics != nil {
		Measure(metrics, r.m.State(), step.Frame)
	}
}

// record makes the store's commit of a step.
func (r *Run) record(step core.Step) Commit {
	c := Commit{N: step.Frame.N, Body: step.Body, Hash: step.Hash, Prev: step.Frame.Prev, Status: step.Status,
		Consumed: step.Consumed, TTL: r.e.cfg.LeaseTTL}
	c.Result, c.Failure = r.settled()
	c.Cache = r.writes(step.Labelled)
	if step.Status == core.Continued {
		c.Successor = r.successor()
	}
	for _, f := range step.Effects {
		c.Effects = append(c.Effects, Delivery{ID: f.ID, Run: r.id, Path: f.Path, Effect: f.Effect})
	}
	return c
}

// release carries out the commands of a durable step.
func (r *Run) release(step core.Step) (over bool, err error) {
	for _, c := range step.Commands {
		switch c.Kind {
		case core.StartTask:
			r.start(*c.Start)
		case core.CancelTask:
			if a, ok := r.attempts[c.Path]; ok {
				a.cancel(cairn.Cancelled)
			}
		case core.SetTimer:
			r.timers.set(c.Path, c.At)
		case core.ClearTimer:
			r.timers.clear(c.Path)
		case core.ContinueAsNew:
			answer, err := r.beget(*c.Successor)
			if err != nil {
				return false, err
			}
			r.mail.put(answer)
		case core.Complete, core.Fail, core.Cancel:
			return true, nil // the store has ended the lease with the run
		case core.Pause, core.Block:
			return true, r.giveBack()
		default:
			return false, &cairn.Error{Code: CorruptHistory, Run: r.id, Path: c.Path, Message: fmt.Sprintf("this engine can't carry out %q", c.Kind)}
		}
	}
	return false, nil
}

// suggest tells the run, once, that its history has become long.
func (r *Run) suggest() {
	s := r.m.State()
	if r.told || s.Long {
		return
	}
	switch cfg := r.e.cfg; {
	case s.Frame >= cfg.SuggestFrames:
		r.mail.put(core.Event{Kind: core.HistoryLong, Name: fmt.Sprintf("%d frames", s.Frame)})
	case r.bytes >= cfg.SuggestBytes:
		r.mail.put(core.Event{Kind: core.HistoryLong, Name: fmt.Sprintf("%d bytes", r.bytes)})
	default:
		return
	}
	r.told = true
}
