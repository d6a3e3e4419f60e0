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

// Floor returns the relevance floor of an effort: a row whose score is below this part of the best row's score is left
// out, and counted. A block then holds few rows where few are about the query. It is .12 at Low, where a
// row has nothing but its own words, .25 at Mid and .2 at High; with vectors it is VectorFloor.
func (e Effort) Floor() float64 {
	switch e {
	case Low:
		return .12
	case High:
		return .2
	default:
		return .25
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
