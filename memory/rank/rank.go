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
	// Vector is the embedding of Text by the model that made the documents' vectors; nil: no semantic arm.
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

// Rank recalls from a scope what a query is about.
func Rank(ctx context.Context, src Source, q Query) (Result, error) {
	return rank(ctx, src, q, &tuned)
}

// ranking is one query under way.
type ranking struct {
	*params
	src      Source
	query    Query
	stats    Stats
	terms    []string
	slots    map[string]int // of a term, its place in terms
	idf      []float64
	rows     []*scored
	byID     map[string]*scored
	trace    Trace
	asksWhen bool
	spans    []span
}

// scored is a document with what is known of its score.
type scored struct {
	*Entry
	counts   []float64 // of each query term, fields weighed
	own      float64   // BM25 and what the document itself earns
	score    float64
	cosine   float64
	adjacent bool // is here as a neighbour
}

func rank(ctx context.Context, src Source, q Query, p *params) (Result, error) {
	r := &ranking{params: p, src: src, query: q, byID: map[string]*scored{}, slots: map[string]int{}}
	err := r.run(ctx)
	return Result{Rows: r.result(), Trace: r.trace}, err
}

func (r *ranking) run(ctx context.Context) (err error) {
	r.terms = QueryTerms(r.query.Text)
	if len(r.terms) == 0 {
		return nil
	}
	if r.stats, err = r.src.Stats(ctx); err != nil {
		return err
	}
	limit := r.query.Effort.Candidates()
	found, err := r.src.Match(ctx, r.terms, limit)
	if err != nil {
		return err
	}
	frequencies, err := r.src.Frequencies(ctx, r.terms)
	if err != nil {
		return err
	}
	for i, t := range r.terms {
		r.slots[t] = i
		r.idf = append(r.idf, idf(r.stats.Docs, frequencies[i]))
	}
	r.asksWhen = asksWhen(r.query.Text)
	r.spans = dates(r.query.Text, r.query.Now)
	r.arm("bm25")
	for _, e := range found {
		r.add(e, false)
	}
	weights := make([]float64, len(r.terms))
	for i := range weights {
		weights[i] = 1
	}
	r.score(weights)
	if r.query.Effort == High && r.feedbackDocs > 0 {
		if err := r.feedback(ctx, limit); err != nil {
			return err
		}
	}
	if r.query.Effort == High && len(r.query.Vector) > 0 && r.semantic > 0 {
		if err := r.vectors(ctx, limit); err != nil {
			return err
		}
	}
	if r.query.Effort != Low {
		if err := r.neighbours(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (r *ranking) add(e *Entry, adjacent bool) *scored {
	if s := r.byID[e.ID]; s != nil {
		return s
	}
	s := &scored{Entry: e, adjacent: adjacent}
	r.rows = append(r.rows, s)
	r.byID[e.ID] = s
	return s
}

// score gives every document its own score.
func (r *ranking) score(weights []float64) {
	for _, s := range r.rows {
		s.counts = make([]float64, len(weights))
		n := 0.0
		for f, terms := range s.Terms {
			n += r.weight[f] * float64(len(terms))
			for _, t := range terms {
				if i, ok := r.slots[t]; ok {
					s.counts[i] += r.weight[f]
				}
			}
		}
		norm := 1.0
		if r.stats.Length > 0 {
			norm = 1 - r.b + r.b*n/r.stats.Length
		}
		s.own = 0
		got, all := 0.0, 0.0
		for i, tf := range s.counts {
			w := weights[i] * r.idf[i]
			all += w
			if tf > 0 {
				s.own += w * tf * (1 + r.k1) / (tf + r.k1*norm)
				got += w
			}
		}
		if r.coverage > 0 && all > 0 {
			s.own *= 1 + r.coverage*got/all
		}
		if r.proximity > 0 {
			s.own += r.proximity * r.together(s, weights)
		}
		if r.asksWhen && r.when > 0 && tellsTime(s.Entry) {
			s.own *= 1 + r.when
		}
		if r.date > 0 && len(r.spans) > 0 {
			s.own *= 1 + r.date*inside(r.spans, s.Time)
		}
		s.score = s.own
	}
}

// together is what words of the query earn that stand near one another: the lesser weight of two neighbours, by distance.
func (r *ranking) together(s *scored, weights []float64) (sum float64) {
	last, at := -1, 0
	for pos, t := range s.Terms[Body] {
		i, ok := r.slots[t]
		if !ok {
			continue
		}
		if last >= 0 && last != i && pos-at <= 8 {
			d := float64(pos - at)
			sum += min(weights[i]*r.idf[i], weights[last]*r.idf[last]) / (d * d)
		}
		last, at = i, pos
	}
	return sum / (1 + sum/5)
}

func (r *ranking) arm(name string) { r.trace.Arms = append(r.trace.Arms, name) }

// neighbours adds a part of the scores of the documents before and after.
func (r *ranking) neighbours(ctx context.Context) error {
	entries := make([]*Entry, len(r.rows))
	for i, s := range r.rows {
		entries[i] = s.Entry
	}
	found, err := r.src.Adjacent(ctx, entries)
	if err != nil {
		return err
	}
	r.arm("neighbours")
	for _, e := range found {
		r.add(e, true)
	}
	at := make(map[place]*scored, len(r.rows))
	for _, s := range r.rows {
		if s.Group != "" {
			at[place{s.Group, s.Pos}] = s
		}
	}
	for _, s := range r.rows {
		if s.Group == "" {
			continue
		}
		if p := at[place{s.Group, s.Pos - 1}]; p != nil {
			w := r.previous
			if question(p.Body) {
				w = r.question
			}
			s.score += w * p.own
		}
		if n := at[place{s.Group, s.Pos + 1}]; n != nil {
			s.score += r.next * n.own
		}
	}
	return nil
}

// feedback lets the best rows name further terms (RM3): the query keeps lambda of the weight.
func (r *ranking) feedback(ctx context.Context, limit int) error {
	best := top(slices.Clone(r.rows), r.feedbackDocs, r.order)
	total := 0.0
	for _, s := range best {
		total += s.score
	}
	if total == 0 {
		return nil
	}
	mass := map[string]float64{}
	for _, s := range best {
		n := 0.0
		for f, terms := range s.Terms {
			n += r.weight[f] * float64(len(terms))
		}
		for f, terms := range s.Terms {
			for _, t := range terms {
				mass[t] += r.weight[f] / n * s.score / total
			}
		}
	}
	type guess struct {
		term string
		p    float64
	}
	var list []guess
	for t, p := range mass {
		list = append(list, guess{t, p})
	}
	list = top(list, r.feedbackTerms, func(a, b guess) int { return cmp.Or(cmp.Compare(b.p, a.p), cmp.Compare(a.term, b.term)) })
	sum := 0.0
	for _, g := range list {
		sum += g.p
	}
	original := len(r.terms)
	weights := make([]float64, original)
	for i := range weights {
		weights[i] = r.lambda
	}
	var fresh []string
	for _, g := range list {
		w := (1 - r.lambda) * g.p / sum * float64(original)
		if i, ok := r.slots[g.term]; ok {
			weights[i] += w
			continue
		}
		r.slots[g.term] = len(r.terms)
		r.terms = append(r.terms, g.term)
		weights = append(weights, w)
		fresh = append(fresh, g.term)
	}
	if len(fresh) > 0 {
		frequencies, err := r.src.Frequencies(ctx, fresh)
		if err != nil {
			return err
		}
		for _, n := range frequencies {
			r.idf = append(r.idf, idf(r.stats.Docs, n))
		}
		found, err := r.src.Match(ctx, r.terms, limit)
		if err != nil {
			return err
		}
		for _, e := range found {
			r.add(e, false)
		}
	}
	r.trace.Feedback = fresh
	r.arm("feedback")
	r.score(weights)
	return nil
}

// vectors mixes the cosine in: both scores as parts of their maximum.
func (r *ranking) vectors(ctx context.Context, limit int) error {
	if near, ok := r.src.(Nearest); ok {
		found, err := near.Nearest(ctx, r.query.Vector, limit)
		if err != nil {
			return err
		}
		for _, e := range found {
			r.add(e, false)
		}
	}
	r.arm("vectors")
	most, near := 0.0, 0.0
	for _, s := range r.rows {
		s.cosine = max(0, Cosine(s.Vector, r.query.Vector))
		most, near = max(most, s.own), max(near, s.cosine)
	}
	for _, s := range r.rows {
		if most > 0 {
			s.own /= most
		}
		if near > 0 {
			s.own += r.semantic * s.cosine / near
		}
		s.score = s.own
	}
	return nil
}

func (r *ranking) order(a, b *scored) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(b.Time, a.Time), cmp.Compare(a.ID, b.ID))
}

func (r *ranking) result() []Row {
	slices.SortFunc(r.rows, r.order)
	r.trace.Candidates = len(r.rows)
	var out []Row
	for _, s := range r.rows {
		if s.score <= 0 || s.score < r.floor*r.rows[0].score {
			continue
		}
		if r.query.Limit > 0 && len(out) == r.query.Limit {
			break
		}
		out = append(out, Row{Doc: s.Doc, Score: s.score})
	}
	return out
}
