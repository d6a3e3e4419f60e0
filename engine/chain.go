package engine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// chain is what the handles of a chain's runs share: the outcome is the last one's.
type chain struct {
	// done closes after outcome and err are set.
	done    chan struct{}
	outcome Outcome
	err     error
}

// heir is a successor that could go on and is not written yet.
type heir struct {
	new NewRun
	// run has the lease that comes with the commit of its predecessor's end.
	run  *Run
	step core.Step
}

// beget makes the first step of the successor that the run asks for, and answers. Nothing is written: that is for the
// commit that ends the run. An error is the store's.
func (r *Run) beget(started core.Event) (core.Event, error) {
	r.heir = nil
	taken, err := r.taken(started.Path)
	if err != nil {
		return core.Event{}, err
	}
	h, err := r.conceive(started, taken)
	if err == nil {
		r.heir = h
		return core.Event{Kind: core.HandedOver, Name: started.Path}, nil
	}
	f := cairn.FailureOf(err)
	var e *cairn.Error
	if errors.As(err, &e) {
		f.Path, f.Message = e.Path, e.Message
		if e.Err != nil {
			f.Message += ": " + e.Err.Error()
		}
		if e.Next != "" {
			f.Message += "; " + e.Next
		}
	}
	for _, final := range []cairn.Code{cairn.TooManyGenerations, cairn.StateType, InvalidInput, RunExists, BadRunID} {
		f.Permanent = f.Permanent || f.Code == final
	}
	if why := r.m.State().Failure; why != nil {
		f.Cause = why.Cause // what the handoff was for
	}
	return core.Event{Kind: core.HandoffRefused, Failure: f}, nil
}

// taken says that there is a run of an id. The commit would refuse it, too, but then the run has ended already.
func (r *Run) taken(id string) (yes bool, err error) {
	ctx := context.WithoutCancel(r.ctx)
	err = r.patiently(ctx, "looking for a run "+id, func() error {
		_, err := r.e.cfg.Store.Run(ctx, id)
		if yes = err == nil; errors.Is(err, RunNotFound) {
			return nil
		}
		return err
	})
	return yes, err
}

func (r *Run) conceive(started core.Event, taken bool) (*heir, error) {
	s, env := r.m.State(), started.Envelope
	if most := r.e.cfg.MaxGenerations; most != cairn.Unbounded && env.Generation > most {
		return nil, &cairn.Error{Code: cairn.TooManyGenerations, Run: r.id, Message: fmt.Sprintf("the chain has %d runs, which is the most there may be", env.Generation-1),
			Next: "look for a handoff that gets no further, or raise Config.MaxGenerations"}
	}
	if err := cairn.CheckName(started.Path); err != nil {
		return nil, &cairn.Error{Code: BadRunID, Run: r.id, Message: err.Error(), Next: "start the chain with a shorter id"}
	}
	if !bytes.Equal(started.Payload, s.Input) { // the run's own was checked when it started
		checked, err := CheckInput(r.def, started.Payload)
		if err != nil {
			return nil, err
		}
		started.Payload = checked
	}
	if taken {
		return nil, &cairn.Error{Code: RunExists, Run: r.id, Message: fmt.Sprintf("there is a run %s already, which is the successor's id", started.Path),
			Next: "start chains with ids that have no such runs beside them"}
	}
	now := time.Now() // a chain's time goes forward, as a run's does
	if last := time.UnixMilli(s.Time); last.After(now) {
		now = last
	}
	m, step, err := r.e.first(r.def, now, started)
	if err != nil {
		return nil, err
	}
	next := r.e.newRun(started.Path, r.def, m, Lease{Run: started.Path, Epoch: 1, Owner: r.e.cfg.Owner.Token})
	next.chain = r.chain
	return &heir{run: next, step: step, new: NewRun{ID: started.Path, Workflow: r.def.Name, Version: r.def.Version, Created: now,
		Generation: env.Generation, Parent: env.Parent}}, nil
}

// successor is the heir's part of the commit that ends the run.
func (r *Run) successor() *Successor {
	h := r.heir
	return &Successor{Run: h.new, First: h.run.record(h.step), Claim: r.e.claim()}
}

// handOver drives the heir, which has just become durable. It is among the engine's runs before this one leaves.
func (r *Run) handOver() {
	h := r.heir
	r.heir, r.passed = nil, true
	h.run.renewed.Store(time.Now().UnixNano())
	if observe := r.e.cfg.Observe; observe != nil {
		observe(h.run.id, h.step.Frame)
	}
	r.e.drive(h.run, h.step)
	nudge(r.e.poke) // what was sent to this run and not taken is the successor's
}

// tail is the last run of a run's chain, as far as the store has it: RUN_NOT_FOUND for the first.
func (e *Engine) tail(ctx context.Context, id string) (RunInfo, error) {
	return Tail(ctx, e.cfg.Store, id)
}

// Tail returns the last run of the chain that a run stands in, as far as it is in the catalog: RUN_NOT_FOUND for the id
// itself.
func Tail(ctx context.Context, catalog Catalog, id string) (RunInfo, error) {
	info, err := catalog.Run(ctx, id)
	for met := map[string]bool{}; err == nil && info.Successor != "" && !met[info.ID]; {
		met[info.ID] = true
		next, missing := catalog.Run(ctx, info.Successor)
		if errors.Is(missing, RunNotFound) {
			return info, nil
		}
		info, err = next, missing
	}
	return info, err
}
