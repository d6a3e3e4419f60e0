package rank

// params are the numbers of the ranker. Where no source is named they were chosen on two of five LoCoMo conversations,
// looked at on the other three and on the workflow set of testdata, and taken only where all agreed (docs/recall.md).
type params struct {
	k1, b  float64         // BM25: how soon more of a word counts no more, and how far length counts. Flat between .6/.3 and .9/.4
	weight [Fields]float64 // of title, speaker, body, about

	coverage  float64 // more for rows that hold more of the query's weight
	proximity float64 // more for query words that stand together
	reach     int     // how far apart such words may be, in terms
	when      float64 // more for rows that tell a time, when the query asks for one
	date      float64 // more for rows from the time that the query names

	previous, question float64    // part of the previous message's score, and of it when it is a question: the answer follows
	next               float64    // part of the next message's score
	far                [2]float64 // the same of the messages two before and two after
	group              float64    // part of the mean of the best in the same group
	best               int        // how many make that mean
	alone              float64    // the same for a row without a group, of its own score: notes and facts must not stand back

	feedbackDocs, feedbackTerms int     // RM3: how many of the best rows name terms, and how many
	lambda                      float64 // RM3: the query's part of the weight

	semantic float64 // weight of the cosine beside the lexical score, both as parts of their maximum
	near     float64 // a row without a word of the query needs this cosine
}

var tuned = params{
	k1: .6, b: .3,
	weight:   [Fields]float64{Title: 1, Speaker: 1, Body: 1, About: .7},
	coverage: .5, proximity: 1, reach: 8,
	when: .3, date: .5,
	previous: .3, question: .8, next: .2, far: [2]float64{.2, .1},
	group: .8, best: 5, alone: .6,
	feedbackDocs: 8, feedbackTerms: 12, lambda: .8,
	semantic: .5, near: .3,
}
