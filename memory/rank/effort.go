package rank

// Effort is how much a query may cost. It is the recall budget of a memory configuration (low, mid, high).
type Effort int

const (
	// Mid is BM25 over 200 candidates, with a part of the scores of neighbours. The zero value.
	Mid Effort = iota
	// Low is BM25 over 50 candidates.
	Low
	// High is Mid over 500 candidates, with terms from the best rows (pseudo-relevance feedback) and, where vectors are
	// given, the semantic arm.
	High
)

// Candidates returns how many documents an effort looks at.
func (e Effort) Candidates() int {
	switch e {
	case Low:
		return 50
	case High:
		return 500
	default:
		return 200
	}
}

// String returns low, mid or high.
func (e Effort) String() string {
	switch e {
	case Low:
		return "low"
	case High:
		return "high"
	default:
		return "mid"
	}
}
