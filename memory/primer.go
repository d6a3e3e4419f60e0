package memory

// Primer is a text that is put before a task as it stands: a pinned note.
type Primer struct {
	Bank string `json:"bank"`
	// ID is the note's.
	ID string `json:"id"`
	// Text is its body, verbatim.
	Text string `json:"text"`
}
