package rank

// Reason says why a candidate is not among the rows.
type Reason string

const (
	// BelowFloor: its score is below that part of the best row's which Effort.Floor or VectorFloor names.
	BelowFloor Reason = "floor"
	// Unrelated: it shares no more than stop words with the query, and nothing beside it does more.
	Unrelated Reason = "unrelated"
	// OverLimit: it is good enough, but Query.Limit better ones are there.
	OverLimit Reason = "limit"
)

// Trace says how a result came about.
type Trace struct {
	// Arms are what gave scores, in the order in which they did: bm25, feedback, vectors, neighbours. Empty for a query
	// without terms.
	Arms []string
	// Candidates is how many documents were looked at.
	Candidates int
	// Dropped counts those that are not among the rows, by reason; nil if none.
	Dropped map[Reason]int
	// Feedback are the terms that the best rows added to the query, the heaviest first.
	Feedback []string
}

func (t *Trace) drop(why Reason) {
	if t.Dropped == nil {
		t.Dropped = map[Reason]int{}
	}
	t.Dropped[why]++
}
