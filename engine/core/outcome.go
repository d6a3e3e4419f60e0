package core

import "github.com/cairnrun/cairn"

// Outcome is how an attempt has ended.
type Outcome string

const (
	AttemptDone   Outcome = "done"   // with a value
	AttemptFailed Outcome = "failed" // with a failure
	AttemptLost   Outcome = "lost"   // with its process, killed or stopped
	// AttemptRefused: a budget allowed no further model call.
	AttemptRefused Outcome = "refused"
	// AttemptCancelled: it was told to stop, and whatever it has given is discarded.
	AttemptCancelled Outcome = "cancelled"
	// AttemptCached: its output was taken from the cache, and nothing was run.
	AttemptCached Outcome = "cached"
)

// Attempt is one that has ended.
type Attempt struct {
	Path    string
	Number  int
	Outcome Outcome
	// Took is how long it ran, in milliseconds, by the times of frames. That of a lost one ends with the last frame before
	// the loss was seen.
	Took int64
	// Usage is what its model calls have used, Tracking what of it metrics show.
	Usage    []cairn.Usage
	Tracking cairn.Tracking
}

// Ended lists the attempts that have ended in the last frame that was folded or stepped. It is not part of the state's
// JSON, and it is valid up to the next frame.
func (s *State) Ended() []Attempt { return s.over }

// booked ends an attempt in the ledgers and keeps what it has come to for as long as the frame is the last one.
func (s *State) booked(path string, t *Task, outcome Outcome, usage []cairn.Usage, at int64) {
	a := Attempt{Path: path, Number: t.Attempt, Outcome: outcome, Usage: usage, Tracking: t.Tracking}
	a.Took = s.book(t, usage, at)
	s.over = append(s.over, a)
}

// outcomeOf is how the attempt of an event has ended.
func outcomeOf(e *Event, t *Task) Outcome {
	told := t.Stopping != "" && t.Stopping != Draining
	switch {
	case told && (t.Stopping == Unmounted || e.Kind != TaskDone):
		return AttemptCancelled
	case e.Kind == TaskLost:
		return AttemptLost
	case e.Kind == TaskDone && e.Cached:
		return AttemptCached
	case e.Kind == TaskDone:
		return AttemptDone
	case e.Refused != nil:
		return AttemptRefused
	}
	return AttemptFailed
}
