package memory

import "time"

// Digest is what is kept of a task's result: an episodic note that is accepted at once.
type Digest struct {
	Place
	// ID makes it idempotent. Empty, the store makes one of the content.
	ID string `json:"id,omitempty"`
	// Text is at most MaxDigest bytes, and holds the result, never recalled material.
	Text string `json:"text"`
	// Time is when the task finished.
	Time time.Time `json:"time"`
	// Origin says which run and task it was. Run and Path are required.
	Origin Origin `json:"origin"`
}

// Note is the note that keeps the digest. INVALID_ITEM without a time, a run or a path.
func (d Digest) Note() (Note, error) {
	if d.Time.IsZero() || d.Origin.Run == "" || d.Origin.Path == "" {
		return Note{}, contradictory("the digest has no time, run or path", "say which task finished when")
	}
	n := Note{Place: d.Place, ID: d.ID, Type: Episodic, Status: Accepted, Body: d.Text, Task: d.Origin.Path, Time: d.Time, Origin: d.Origin}
	return n.Resolve()
}
