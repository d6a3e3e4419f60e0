package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// attempt is one that runs.
type attempt struct {
	cancel context.CancelCauseFunc
	meter  *meter
}

// start makes an attempt in a goroutine of its own. It ends with exactly one event.
func (r *Run) start(s core.Start) {
	ctx, cancel := context.WithCancelCause(r.ctx)
	m := r.meters.start(s, r.m.State())
	r.attempts[s.Path] = attempt{cancel, m}
	r.running++
	r.working.Go(func() {
		r.mail.put(r.attempt(ctx, s, m))
	})
}

// attempt takes a stored output, or waits for a place in the process, runs the body and says how it ended. The waits count
// towards the limit on all attempts together, but not towards that on one.
func (r *Run) attempt(ctx context.Context, s core.Start, m *meter) core.Event {
	ev := core.Event{Path: s.Path, Attempt: s.Attempt, Unbegun: true}
	if s.Deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadlineCause(ctx, time.UnixMilli(s.Deadline), &cairn.Failure{Code: cairn.TaskTimeout, Permanent: true,
			Message: "the time for all attempts is over"})
		defer cancel()
	}
	hit, flight, label, err := r.cached(ctx, s)
	switch {
	case err != nil:
		return ended(ctx, m, ev, cairn.Result{}, err)
	case hit != nil:
		ev.Cached, ev.Label = true, &label
		return ended(ctx, m, ev, cairn.Result{Output: hit.Output, Artifacts: hit.Artifacts}, nil)
	case flight != nil:
		return flight.finish(r.work(ctx, s, m, ev))
	}
	return r.work(ctx, s, m, ev)
}

// work runs the body when there is a place in the process, and the budgets still allow it then.
func (r *Run) work(ctx context.Context, s core.Start, m *meter, ev core.Event) core.Event {
	if err := r.e.slots.Acquire(ctx, 1); err != nil {
		return ended(ctx, m, ev, cairn.Result{}, err)
	}
	defer r.e.slots.Release(1)
	if err := m.Admit(); err != nil {
		return ended(ctx, m, ev, cairn.Result{}, err)
	}
	if d := s.Policy.AttemptTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, d, &cairn.Failure{Code: cairn.TaskTimeout, Message: fmt.Sprintf("the attempt took longer than %s", d)})
		defer cancel()
	}
	journal, err := r.journal(ctx, s)
	if err != nil {
		return ended(ctx, m, ev, cairn.Result{}, err)
	}
	history, err := r.forked(ctx, s)
	if err != nil {
		return ended(ctx, m, ev, cairn.Result{}, err)
	}
	watched, stop := journal.watch(ctx, s.Policy.Heartbeat)
	result, err := r.call(watched, s, m, journal, history, &ev)
	cause := context.Cause(watched)
	if lost := stop(); err != nil { // a detail matters to a next attempt only
		err = errors.Join(err, lost)
	}
	if err != nil && cause != nil {
		ctx = watched
	}
	return ended(ctx, m, ev, result, err)
}

// call runs the body inside of the middleware, and says in the event when that begins. A panic is a failure with its stack.
func (r *Run) call(ctx context.Context, s core.Start, m *meter, journal *journal, history []cairn.Message, ev *core.Event) (result cairn.Result, err error) {
	run := func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
		ev.Unbegun = false
		return s.Run(ctx, call)
	}
	for i := len(r.e.cfg.Middleware) - 1; i >= 0; i-- {
		run = r.e.cfg.Middleware[i](run)
	}
	_, key := cairn.Split(s.Path)
	call := &cairn.Call{Run: r.id, Workflow: r.def.Name, Path: s.Path, Key: key, Attempt: s.Attempt, Booked: s.Booked, IdempotencyKey: r.id + "/" + s.Path,
		Input: s.Input, Policy: s.Policy, Detail: journal.last, Prompted: s.Prompted, History: history, Journal: journal, Artifacts: r.e.cfg.Artifacts, Meter: m}
	returned := false
	defer func() {
		switch p := recover(); {
		case p != nil:
			err = &cairn.Failure{Code: cairn.TaskPanicked, Message: fmt.Sprint(p), Stack: string(debug.Stack())}
		case !returned:
			err = &cairn.Failure{Code: cairn.TaskPanicked, Message: "the body ended its goroutine (runtime.Goexit)", Permanent: true}
		}
	}()
	result, err = run(cairn.WithCall(ctx, call), call)
	returned = true
	if err == nil && !json.Valid(result.Output) {
		err = &cairn.Failure{Code: cairn.InvalidOutput, Message: "the output is not JSON", Permanent: true}
	}
	return result, err
}

// ended makes the event of an attempt that is over. Why its context ended tells more than the error of a body that
// only noticed.
func ended(ctx context.Context, m *meter, ev core.Event, result cairn.Result, err error) core.Event {
	ev.Usage, ev.Recalls = m.close(result.Usage), result.Recalls
	if err == nil {
		ev.Kind, ev.Output, ev.Artifacts, ev.Effects = core.TaskDone, result.Output, result.Artifacts, result.Effects
		return ev
	}
	cause := context.Cause(ctx)
	var limit *cairn.Failure
	switch {
	case errors.Is(cause, errStopping):
		ev.Kind, ev.Graceful = core.TaskLost, true
		return ev
	case errors.As(cause, &limit):
		if !errors.Is(err, cause) {
			copied := *limit
			copied.Message += ": " + err.Error()
			limit = &copied
		}
		ev.Failure = limit
	case errors.Is(cause, cairn.Cancelled):
		ev.Failure = &cairn.Failure{Code: cairn.Cancelled, Message: err.Error()}
	default:
		ev.Failure, ev.Refused = cairn.FailureOf(err), m.refusal(err)
	}
	ev.Kind = core.TaskFailed
	return ev
}
