package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// StartOptions says how a run starts. The zero value is fine.
type StartOptions struct {
	// ID names the run; a second start with the same one is RUN_EXISTS. Defaults to the workflow's name and a random
	// token.
	ID string
}

// Start creates a run of a registered workflow and drives it in this process. When it returns without an error the run
// is durable: a kill right after loses nothing. Input and tree are checked first, and what the workflow says it needs
// (NOT_READY); what is wrong with them is an error, and nothing is written. ctx bounds the start, not the run.
func (e *Engine) Start(ctx context.Context, workflow string, in json.RawMessage, opts StartOptions) (*Run, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.starting.Done()
	def, err := e.workflows.get(workflow)
	if err != nil {
		return nil, err
	}
	if opts.ID == "" {
		opts.ID = def.Name + "-" + token()
	}
	if err := cairn.CheckName(opts.ID); err != nil {
		return nil, &cairn.Error{Code: BadRunID, Message: err.Error()}
	}
	checked, err := CheckInput(def, in)
	if err != nil {
		return nil, err
	}
	if err := Ready(def, checked); err != nil {
		return nil, err
	}
	if e.driven(opts.ID) != nil {
		return nil, &cairn.Error{Code: RunExists, Run: opts.ID, Message: "this run exists", Next: "resume it, or start with another id"}
	}
	now := time.Now()
	m, step, err := e.first(def, now, core.Event{Kind: core.RunStarted, Path: opts.ID, Name: def.Name, Payload: checked,
		Limit: e.cfg.RunLimit, Grace: e.cfg.Grace.Milliseconds()})
	if err != nil {
		return nil, err
	}
	r := e.newRun(opts.ID, def, m, Lease{})
	record := r.record(step)
	r.lease, err = e.leased(ctx, opts.ID, func() (Lease, error) {
		return e.cfg.Store.Create(ctx, NewRun{ID: opts.ID, Workflow: def.Name, Version: def.Version, Created: now, Generation: 1}, record, e.claim())
	}, func(info RunInfo) bool { return info.Hash == record.Hash })
	if err != nil {
		return nil, err
	}
	r.observe(step)
	return e.drive(r, step), nil
}

func (e *Engine) claim() Claim { return Claim{Owner: e.cfg.Owner, TTL: e.cfg.LeaseTTL} }

// Rehearse makes the first step of a run that is not stored: it finds what is wrong with a tree, and shows what a
// workflow looks like before anything has happened. The input must have been checked.
func Rehearse(def cairn.Definition, input json.RawMessage) (*core.Machine, error) {
	return RehearseAs(def, input, def.Name, time.Now())
}

// RehearseAs is Rehearse of a run with an id, at a time.
func RehearseAs(def cairn.Definition, input json.RawMessage, run string, now time.Time) (*core.Machine, error) {
	m, _, err := first(core.New(def), now, core.Event{Kind: core.RunStarted, Path: run, Name: def.Name, Payload: input})
	return m, err
}

// first makes a run's first step with this engine's prices.
func (e *Engine) first(def cairn.Definition, now time.Time, started core.Event) (*core.Machine, core.Step, error) {
	m := core.New(def)
	m.Priced = e.priced
	return first(m, now, started)
}

// priced says whether this engine knows what a model costs.
func (e *Engine) priced(model string) bool {
	_, known := e.cfg.Models.Find(model)
	return known
}

// first makes a run's first step. What blocks it is refused instead.
func first(m *core.Machine, now time.Time, started core.Event) (*core.Machine, core.Step, error) {
	step := m.Step(now, []core.Event{started}, true)
	if step.Status == core.Blocked {
		f := m.State().Block
		return nil, step, &cairn.Error{Code: f.Code, Path: f.Path, Message: f.Message, Next: fmt.Sprintf("mend the code of workflow %q", started.Name)}
	}
	return m, step, nil
}

// leased asks for a lease. An error without a code of the store's leaves open whether it was given: then the catalog
// is asked whether the lease is this engine's, and new.
func (e *Engine) leased(ctx context.Context, id string, ask func() (Lease, error), fresh func(RunInfo) bool) (Lease, error) {
	lease, err := ask()
	if err == nil || known(err) {
		return lease, err
	}
	info, infoErr := e.cfg.Store.Run(ctx, id)
	if infoErr == nil && info.Owner.Token == e.cfg.Owner.Token && fresh(info) && e.driven(id) == nil {
		return Lease{Run: id, Epoch: info.Epoch, Owner: info.Owner.Token, Until: info.Until}, nil
	}
	return Lease{}, err
}

// ResumeOptions says how a run goes on. The zero value is fine.
type ResumeOptions struct {
	// Adopt accepts the structure that today's code renders, where it is not the one the run was made with.
	Adopt bool
}

// Resume goes on with a run that nobody drives: after a kill, a graceful stop, a pause or a block. A run whose owner is
// dead, on this host, is taken over at once; one whose owner can't be seen to be dead is LEASE_HELD until its lease
// runs out. One that lacks something in this process is NOT_READY. A run that has ended is RUN_ENDED, but for one that has failed with BUDGET_EXCEEDED: it goes on where the
// budget stopped it, as far as today's limits allow. Of a run that was continued it is the last successor that goes on.
//
// Today's code must render the last frame as the code that made it did. Where it does not, the run is blocked with the
// difference, and resuming with Adopt accepts it.
func (e *Engine) Resume(ctx context.Context, id string, opts ResumeOptions) (*Run, error) {
	if err := e.enter(); err != nil {
		return nil, err
	}
	defer e.starting.Done()
	info, err := e.tail(ctx, id)
	if err != nil {
		return nil, err
	}
	id = info.ID
	claim := e.claim()
	claim.Reopen = info.Reopens()
	if info.Status.Terminal() && !claim.Reopen {
		return nil, &cairn.Error{Code: RunEnded, Run: id, Message: fmt.Sprintf("the run is %s", info.Status), Next: "look at it with inspect, or start another"}
	}
	def, err := e.workflows.get(info.Workflow)
	if err != nil {
		return nil, err
	}
	if err := e.ready(ctx, id, def); err != nil {
		return nil, err
	}
	if info.Owner.Dead() {
		claim.Dead = info.Epoch
	}
	lease, err := e.leased(ctx, id, func() (Lease, error) { return e.cfg.Store.Claim(ctx, id, claim) },
		func(now RunInfo) bool { return now.Epoch > info.Epoch })
	if err != nil {
		return nil, err
	}
	resume := e.resume
	if claim.Reopen {
		resume = e.reopen
	}
	r, step, err := resume(ctx, id, def, lease, opts)
	if err != nil {
		return nil, errors.Join(err, e.cfg.Store.Release(context.WithoutCancel(ctx), lease))
	}
	return e.drive(r, step), nil
}

// ready asks what a stored run would miss here.
func (e *Engine) ready(ctx context.Context, id string, def cairn.Definition) error {
	if def.Ready == nil {
		return nil
	}
	input, err := StoredInput(ctx, e.cfg.Store, id)
	if err == nil {
		err = Ready(def, input)
	}
	return err
}

// StoredInput is what a run was started with.
func StoredInput(ctx context.Context, store Store, id string) (input json.RawMessage, err error) {
	enough := errors.New("the first frame has it")
	err = ReadFrames(ctx, store, id, 1, func(f *core.Frame, _ string) error {
		for _, ev := range f.Events {
			if ev.Kind == core.RunStarted {
				input = ev.Payload
			}
		}
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return input, err
}

// resume folds the run's frames, compares its plan with today's code, and makes the first step under the new lease.
func (e *Engine) resume(ctx context.Context, id string, def cairn.Definition, lease Lease, opts ResumeOptions) (*Run, core.Step, error) {
	m := core.New(def)
	bytes, err := folded(ctx, e.cfg.Store, id, m.Fold)
	if err != nil {
		return nil, core.Step{}, err
	}
	m.Priced = e.priced
	r := e.newRun(id, def, m, lease)
	r.bytes = bytes
	events := []core.Event{{Kind: core.RunResumed}}
	if opts.Adopt {
		events[0].Kind = core.CodeAdopted
	} else if d := m.Verify(); d != nil {
		if events[0].Failure, err = e.explain(ctx, id, d); err != nil {
			return nil, core.Step{}, err
		}
	}
	step, err := e.goOn(ctx, r, events)
	return r, step, err
}

// reopen makes the first step of a run that goes on although it has failed. Nothing is written if it can't.
func (e *Engine) reopen(ctx context.Context, id string, def cairn.Definition, lease Lease, _ ResumeOptions) (*Run, core.Step, error) {
	m, err := LoadMachine(ctx, e.cfg.Store, id, def)
	if err != nil {
		return nil, core.Step{}, err
	}
	m.Priced = e.priced
	if d := m.Verify(); d != nil {
		f, err := e.explain(ctx, id, d)
		if err == nil {
			err = &cairn.Error{Code: f.Code, Run: id, Path: f.Path, Message: "the failed run can't go on with other code: " + f.Message,
				Next: "resume it with the code that it has failed with; limits may differ"}
		}
		return nil, core.Step{}, err
	}
	r := e.newRun(id, def, m, lease)
	step, err := e.goOn(ctx, r, []core.Event{{Kind: core.RunReopened}})
	return r, step, err
}

// goOn makes the first step of a run that was just claimed, with what it was asked before.
func (e *Engine) goOn(ctx context.Context, r *Run, events []core.Event) (core.Step, error) {
	asked, err := e.asked(ctx, r.id)
	if err != nil {
		return core.Step{}, err
	}
	events = append(events, asked...)
	paused := func(ev core.Event) bool { return ev.Kind == core.PauseAsked }
	if r.m.State().Status == core.Paused || slices.ContainsFunc(asked, paused) {
		events = append(events, core.Event{Kind: core.Unpaused}) // resuming overrules a pause that was asked for before it
	}
	step, err := r.decide(time.Now(), events, true)
	if err == nil {
		err = r.commit(step)
	}
	return step, err
}

// asked is what the inbox of a run holds that was just claimed. It belongs into the first step: a cancellation that was
// asked for while nobody drove the run must not let anything start.
func (e *Engine) asked(ctx context.Context, id string) (events []core.Event, err error) {
	items, err := e.cfg.Store.Unread(ctx, e.cfg.Owner.Token)
	for _, item := range items {
		if item.Run == id {
			item.Event.Seq = item.Seq
			events = append(events, item.Event)
		}
	}
	return events, err
}

// Cancel asks a run to cancel: what runs is told to stop, Finally parts run, within the grace. Whoever drives the run
// does it; one that nobody drives is cancelled when it is resumed. Asking twice is fine. It reaches the last successor of
// a run that was continued.
func (e *Engine) Cancel(ctx context.Context, id, reason string) error {
	return e.tell(ctx, id, core.Event{Kind: core.CancelAsked, Name: reason})
}

// Pause asks a run to start nothing more and, once what runs has ended, to park. Resume goes on with it.
// It reaches the last successor of a run that was continued.
func (e *Engine) Pause(ctx context.Context, id string) error {
	return e.tell(ctx, id, core.Event{Kind: core.PauseAsked})
}

// tell puts an event into a run's inbox.
func (e *Engine) tell(ctx context.Context, id string, ev core.Event) error {
	_, err := e.cfg.Store.Append(ctx, id, Item{Event: ev})
	if err == nil {
		nudge(e.poke)
	}
	return err
}

// Wait returns when a run, driven here or elsewhere, has ended or parked. Of a run that was continued it is its last
// successor that counts.
func (e *Engine) Wait(ctx context.Context, id string) (Outcome, error) {
	if r := e.driven(id); r != nil {
		return r.Wait(ctx)
	}
	tick := time.NewTicker(e.cfg.Poll)
	defer tick.Stop()
	for {
		info, err := e.tail(ctx, id)
		if err != nil {
			return Outcome{Run: id}, err
		}
		id = info.ID
		if r := e.driven(id); r != nil {
			return r.Wait(ctx)
		}
		if s := info.Status; s.Terminal() || s == core.Paused || s == core.Blocked {
			return Outcome{Run: id, Status: s, Result: info.Result, Failure: info.Failure}, nil
		}
		select {
		case <-ctx.Done():
			return Outcome{Run: id, Status: info.Status}, ctx.Err()
		case <-tick.C:
		}
	}
}
