package task

import (
	"context"
	"errors"
	"sync"

	"github.com/cairnrun/cairn"
)

// IdempotencyKey is the same for all attempts of the task, across resumes, and different for any other task. Hand it to
// outside systems, so that they can tell a repetition. It is "" outside of a task.
func IdempotencyKey(ctx context.Context) string {
	if call, ok := cairn.CallFrom(ctx); ok {
		return call.IdempotencyKey
	}
	return ""
}

// Attempt is the number of the attempt, from 1. It is 0 outside of a task.
func Attempt(ctx context.Context) int {
	if call, ok := cairn.CallFrom(ctx); ok {
		return call.Attempt
	}
	return 0
}

// An attempt gathers what a running body wants committed together with its output.
type attempt struct {
	body *place

	mu sync.Mutex // guards the maps, and ended and record of all places
	// counted are the steps whose record is part of the body's.
	counted map[string]bool
	// turns holds the name's token while a step runs, so that two calls of one name don't run it twice.
	turns map[string]chan struct{}
}

// A place is where in an attempt a context stands: in the body itself or in a step.
type place struct {
	attempt *attempt
	// outer and name are those of a step; the body has none.
	outer *place
	name  string

	ended  bool
	record record
}

type placeKey struct{}

// errEnded keeps a goroutine that outlives its body from losing work silently.
var errEnded = errors.New("the attempt or step this context belongs to has ended: wait for goroutines before returning")

var errNoAttempt = errors.New("the context carries no attempt of a task: pass on the one the body was given; in a test, call the task's Lower().Task.Run")

// begin opens an attempt. The call is put into the context here, because a middleware may have changed it.
func begin(ctx context.Context, call *cairn.Call) (context.Context, *attempt) {
	a := newAttempt()
	return context.WithValue(cairn.WithCall(ctx, call), placeKey{}, a.body), a
}

func newAttempt() *attempt {
	a := &attempt{counted: map[string]bool{}, turns: map[string]chan struct{}{}}
	a.body = &place{attempt: a}
	return a
}

func (a *attempt) end() { a.body.end() }

// result is a finished attempt's.
func (a *attempt) result(output []byte) cairn.Result {
	a.mu.Lock()
	defer a.mu.Unlock()
	// From here on nothing can be added any more that would not be committed.
	a.body.ended = true
	return cairn.Result{Output: output, Artifacts: once(a.body.record.Artifacts), Effects: a.body.record.Effects}
}

// once drops what has been written before: equal results of tools that were put aside are one file.
func once(written []cairn.Artifact) (list []cairn.Artifact) {
	met := map[cairn.Artifact]bool{}
	for _, a := range written {
		if !met[a] {
			met[a], list = true, append(list, a)
		}
	}
	return list
}

func placeFrom(ctx context.Context) (*place, bool) {
	p, ok := ctx.Value(placeKey{}).(*place)
	return p, ok
}

func (p *place) end() {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	p.ended = true
}

// open says whether the place still takes work.
func (p *place) open() error { return p.add(func() {}) }

// add changes the record of a place that is still open.
func (p *place) add(change func()) error {
	p.attempt.mu.Lock()
	defer p.attempt.mu.Unlock()
	for at := p; at != nil; at = at.outer {
		if at.ended {
			return errEnded
		}
	}
	change()
	return nil
}
