package memory

// Operation is one effect on memory that must happen once: what a run's outbox delivers. Everything it holds is written
// in one transaction, in the order of the fields, together with the operation's id.
type Operation struct {
	Facts   []Fact   `json:"facts,omitempty"`
	Notes   []Note   `json:"notes,omitempty"`
	Digests []Digest `json:"digests,omitempty"`
	// Thread is made if it is not there, and Turns are appended to it.
	Thread *Thread   `json:"thread,omitempty"`
	Turns  []Message `json:"turns,omitempty"`
	// Projections are queued for the remote backend.
	Projections []Projection `json:"projections,omitempty"`
}
