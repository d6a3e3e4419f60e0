package rank

import (
	"cmp"
	"context"
	"slices"
)

// Query is what is asked for.
type Query struct {
	// Text is the question, a task's prompt, or some words.
	Text string
	// Vector is the embedding of Text by the model that made the documents' vectors; nil: no semantic arm. Only High
	// uses it.
	Vector []float32
	// Now is what "last week" counts from, in milliseconds since 1970 UTC; 0: such words are only words.
	Now int64
	// Effort is how much is looked at.
	Effort Effort
	// Limit is how many rows come back at most; 0 or less: all above the floor.
	Limit int
}

// Row is a recalled document.
type Row struct {
	Doc
	// Score orders the rows of one result. It has no unit, and those of two results can't be compared.
	Score float64
}

// Result is what a query recalls.
type Result struct {
	// Rows are in order, the best first; rows of one score by time, newer first, then by id.
	Rows []Row
	// Trace says what was done.
	Trace Trace
}

// Rank recalls from a scope what a query is about. A query without terms recalls nothing and asks the source nothing.
func Rank(ctx context.Context, src Source, q Query) (Result, error) {
	return rank(ctx, src, q, &tuned)
}

func rank(ctx context.Context, src Source, q Query, p *params) (Result, error) {
	room := 3 * q.Effort.Candidates() // each has two neighbours at most
	r := &ranking{params: p, src: src, query: q, slots: map[string]int{}, byID: make(map[string]*scored, room), rows: make([]*scored, 0, room)}
	if err := r.run(ctx); err != nil {
		return Result{}, err
	}
	return Result{Rows: r.result(), Trace: r.trace}, nil
}

// ranking is one query under way.
type ranking struct {
	*params
	src     Source
	query   Query
	stats   Stats
	terms   []string       // of the query, then of the feedback
	slots   map[string]int // of a term, its place in terms
	idf     []float64
	weights []float64 // of the terms, beside idf
	when    float64   // what rows that tell a time earn, for this query
	spans   []span    // the times that the query names
	rows    []*scored
	byID    map[string]*scored
	mixed   bool // vectors are in the scores
	trace   Trace
}

// scored is a document with what is known of its score.
type scored struct {
	*Entry
	own   float64 // what it earns by itself
	score float64 // with what its neighbours add
	match bool    // holds a term
	asked bool    // its neighbours were asked for
}

func (r *ranking) run(ctx context.Context) (err error) {
	terms := QueryTerms(r.query.Text)
	if len(terms) == 0 {
		return nil
	}
	if r.stats, err = r.src.Stats(ctx); err != nil {
		return err
	}
	if asksWhen(r.query.Text) {
		r.when = r.params.when
	}
	r.spans = spans(r.query.Text, r.query.Now)
	if err := r.search(ctx, terms); err != nil {
		return err
	}
	r.arm("bm25")
	r.weights = slices.Repeat([]float64{1}, len(terms))
	if r.query.Effort == Low {
		r.score()
		return nil
	}
	if err := r.surround(ctx); err != nil {
		return err
	}
	r.score()
	r.smooth()
	if r.query.Effort == High {
		if err := r.deepen(ctx); err != nil {
			return err
		}
	}
	r.arm("neighbours")
	return nil
}

// deepen is what High does beyond Mid.
func (r *ranking) deepen(ctx context.Context) error {
	if err := r.feedback(ctx); err != nil {
		return err
	}
	if err := r.nearest(ctx); err != nil {
		return err
	}
	if err := r.surround(ctx); err != nil {
		return err
	}
	if err := r.embed(ctx); err != nil {
		return err
	}
	r.score()
	r.vectors()
	r.smooth()
	return nil
}

// search looks for further terms, and adds the documents that the source has for all of them.
func (r *ranking) search(ctx context.Context, terms []string) error {
	frequencies, err := r.src.Frequencies(ctx, terms)
	if err != nil {
		return err
	}
	for i, t := range terms {
		r.slots[t] = len(r.terms)
		r.terms = append(r.terms, t)
		r.idf = append(r.idf, idf(r.stats.Docs, frequencies[i]))
	}
	found, err := r.src.Match(ctx, r.terms, r.query.Effort.Candidates())
	if err != nil {
		return err
	}
	r.add(found)
	return nil
}

func (r *ranking) add(found []*Entry) {
	fresh := make([]scored, len(found)) // one piece of memory for all
	for i, e := range found {
		if r.byID[e.ID] == nil {
			s := &fresh[i]
			s.Entry = e
			r.byID[e.ID] = s
			r.rows = append(r.rows, s)
		}
	}
}

func (r *ranking) arm(name string) { r.trace.Arms = append(r.trace.Arms, name) }

// order puts the better row first.
func order(a, b *scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Time, a.Time), cmp.Compare(a.ID, b.ID))
}

// result takes what is above the floor, in order.
func (r *ranking) result() []Row {
	slices.SortFunc(r.rows, order)
	r.trace.Candidates = len(r.rows)
	out := make([]Row, 0, len(r.rows))
	floor := r.query.Effort.Floor()
	if r.mixed {
		floor = VectorFloor
	}
	for _, s := range r.rows {
		switch {
		case s.score <= 0:
			r.trace.drop(Unrelated)
		case s.score < floor*r.rows[0].score:
			r.trace.drop(BelowFloor)
		case r.query.Limit > 0 && len(out) == r.query.Limit:
			r.trace.drop(OverLimit)
		default:
			out = append(out, Row{Doc: s.Doc, Score: s.score})
		}
	}
	return out
}
