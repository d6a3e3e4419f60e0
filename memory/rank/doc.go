// Package rank decides what a query recalls. It is pure: documents and their statistics come in as data or behind
// Source, ordered rows and a trace of what was done come out. No SQL, no files, no clock, no goroutines: the same memories
// and the same query give the same bytes.
//
// What a query may see (bank, tags, branch, TTL, status, supersession) is decided before: everything in a Source may come
// back.
//
// # How rows are ordered
//
//   - Low: BM25 over title, speaker, body and what is said about a document, 50 candidates. More for rows that hold much of
//     the query, for words that stand together, for rows that tell a time when the query asks for one, and for rows from
//     the time that the query names.
//   - Mid: 200 candidates and what stands beside them. A row gets a part of the scores of its neighbours in the same
//     thread, document or task, most of all an answer from its question, and a part of the mean of the best five there.
//   - High: 500 candidates; the best eight rows name twelve further terms. Where the query has a vector, the cosine is
//     weighed in.
//
// Rows below a part of the best score (Effort.Floor) are left out and counted: a block is never filled for its own sake.
//
// # With a store
//
// A store keeps Terms of each field beside the document, and in an FTS5 table under Tokenizer, joined with spaces. To look
// up, it quotes each term and joins them with OR; user text never reaches the parser. It returns entries filled from what it
// keeps, and the ranker scores them anew, so its own bm25 only has to pick the candidates. What the figures are and how they
// were come by is in docs/recall.md.
package rank
