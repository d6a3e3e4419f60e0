package rank

// Trace says how a result came about.
type Trace struct {
	// Arms are what gave scores, in the order in which they did: bm25, feedback, vectors, neighbours.
	Arms []string
	// Candidates is how many documents were looked at.
	Candidates int
	// Feedback are the terms that the best rows added to the query.
	Feedback []string
}
