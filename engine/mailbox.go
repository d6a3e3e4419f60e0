package engine

import (
	"sync"

	"github.com/cairnrun/cairn/engine/core"
)

// mailbox queues events for the goroutine that owns a run. Putting never waits: whoever ends an attempt must be able
// to go.
type mailbox struct {
	wake chan struct{}
	// mu guards events.
	mu     sync.Mutex
	events []core.Event
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

func (b *mailbox) put(events ...core.Event) {
	b.mu.Lock()
	b.events = append(b.events, events...)
	b.mu.Unlock()
	nudge(b.wake)
}

// take returns all that has arrived, in arrival order.
func (b *mailbox) take() []core.Event {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}
