package rank

// params are the numbers of the ranker. Those with a source have it beside them; the others were chosen on two of five
// LoCoMo conversations and checked on the other three (see docs/recall.md).
type params struct {
	k1, b  float64         // BM25: saturation, and how far length counts
	weight [Fields]float64 // of title, speaker, body, about

	previous, next float64 // part of a neighbour's score
	question       float64 // part of the previous one's score when that is a question, instead of previous

	feedbackDocs, feedbackTerms int
	lambda                      float64 // weight of the query beside its feedback

	proximity float64 // weight of query words that stand together
	coverage  float64
	when      float64 // of rows that tell a time, when the query asks for one
	date      float64 // of rows whose time the query names

	semantic float64 // of the cosine beside the lexical score, both as parts of their maximum
	floor    float64 // rows below this part of the best row's score are left out
}

var tuned = params{
	k1: .9, b: .4,
	weight:   [Fields]float64{1, 1, 1, 1},
	previous: .5, next: .2, question: .5,
	feedbackDocs: 8, feedbackTerms: 12, lambda: .8,
}
