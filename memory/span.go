package memory

import (
	"fmt"
	"time"
)

// Span is when something holds in the world: from From on, and before To. A zero end is open.
type Span struct {
	From time.Time `json:"from,omitzero"`
	To   time.Time `json:"to,omitzero"`
}

// Covers says whether t is in the span.
func (s Span) Covers(t time.Time) bool {
	return !t.Before(s.From) && (s.To.IsZero() || t.Before(s.To))
}

// Check is INVALID_ITEM for a span that covers nothing, and for years that JSON can't write.
func (s Span) Check() error {
	if !s.To.IsZero() && !s.From.Before(s.To) {
		return contradictory(fmt.Sprintf("validity from %s to %s covers nothing", s.From, s.To), "let it end after it begins")
	}
	return checkTimes(s.From, s.To)
}

// Moment is what a read looks back to. Both default to now.
type Moment struct {
	// Valid is a time in the world: what held then?
	Valid time.Time
	// System is a time of the store: what had been written by then?
	System time.Time
}
