package memory

import "slices"

// Operation is one effect on memory that must happen once: what a run's outbox delivers. Everything it holds is written
// in one transaction, in the order of the fields, together with the operation's id.
type Operation struct {
	// Expect has to hold at the time, or nothing is written and the id stays free: VERSION_CONFLICT.
	Expect []Expected `json:"expect,omitempty"`

	Facts   []Fact   `json:"facts,omitempty"`
	Notes   []Note   `json:"notes,omitempty"`
	Digests []Digest `json:"digests,omitempty"`
	// Thread is made if it is not there, and Turns are appended to it.
	Thread *Thread   `json:"thread,omitempty"`
	Turns  []Message `json:"turns,omitempty"`
	// Projections are queued for the remote backend.
	Projections []Projection `json:"projections,omitempty"`
}

// Expected compares before an operation swaps: the versions of a primer that a reader with a filter is shown have to be just
// these, none for a primer that must not be there.
type Expected struct {
	Bank string `json:"bank"`
	// ID is the primer's, whatever its version.
	ID     string `json:"id"`
	Filter Filter `json:"filter,omitempty"`
	// Notes are what was seen, in any order. Their lane may be left out.
	Notes []Ref `json:"notes,omitempty"`
}

// Met says whether these are the notes that were expected.
func (e Expected) Met(notes []Note) bool {
	return len(notes) == len(e.Notes) && !slices.ContainsFunc(notes, func(n Note) bool {
		return !slices.ContainsFunc(e.Notes, func(r Ref) bool { return r.Namespace == n.Namespace && r.ID == n.ID })
	})
}
