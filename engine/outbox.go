package engine

import (
	"context"
	"fmt"
	"time"
)

// How the outbox is emptied.
const (
	// deliveryHold hides an effect from other couriers while one delivers it.
	deliveryHold  = time.Minute
	deliveryBatch = 64
	// outboxIdle is how often the outbox is looked at when nothing was posted.
	outboxIdle   = 5 * time.Second
	outboxFirst  = time.Second
	outboxLimit  = 5 * time.Minute
	noHandlerFor = time.Minute
)

// emptyOutbox delivers effects until the engine closes, those of its last frames included.
func (e *Engine) emptyOutbox() {
	tick := time.NewTicker(outboxIdle)
	defer tick.Stop()
	for {
		for e.deliver() {
		}
		select {
		case <-e.life.Done():
			return
		case <-e.stop:
			for e.deliver() {
			}
			return
		case <-tick.C:
		case <-e.posted:
		}
	}
}

// deliver takes one batch; it reports whether there may be more.
func (e *Engine) deliver() bool {
	due, err := e.cfg.Store.Due(e.life, deliveryHold, deliveryBatch)
	if err != nil {
		return false // The next tick asks again; the effects are safe where they are.
	}
	for _, d := range due {
		if e.life.Err() != nil {
			return false
		}
		e.deliverOne(d)
	}
	return len(due) == deliveryBatch
}

// deliverOne hands over one effect. One that fails comes again later, with what it said; if even that can't be written,
// the hold brings it back.
func (e *Engine) deliverOne(d Delivery) {
	ctx := context.WithoutCancel(e.life)
	handler := e.cfg.Deliver[d.Effect.Kind]
	if handler == nil {
		_ = e.cfg.Store.Postpone(ctx, d.ID, noHandlerFor, fmt.Sprintf("no process here delivers %q", d.Effect.Kind))
		return
	}
	if err := handler(e.life, d); err != nil {
		_ = e.cfg.Store.Postpone(ctx, d.ID, min(outboxFirst<<min(d.Tries, 20), outboxLimit), err.Error())
		return
	}
	_ = e.cfg.Store.Delivered(ctx, d.ID)
}
