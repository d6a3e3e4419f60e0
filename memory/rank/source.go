package rank

import "context"

// Source is one scope of documents: a bank after strict filtering, or several of them. An in-memory Index is one; a store
// answers from its full-text index. Errors end the ranking; slices may be returned in any order.
type Source interface {
	// Stats returns how many documents the scope has and how long they are on average.
	Stats(ctx context.Context) (Stats, error)
	// Frequencies returns, for each term, in how many documents of the scope it occurs. Counts taken outside of the scope
	// would let what another bank holds change the order here.
	Frequencies(ctx context.Context, terms []string) ([]int, error)
	// Match returns up to limit documents that hold at least one of the terms: the best ones by a BM25 of the source's
	// own. They are scored anew.
	Match(ctx context.Context, terms []string, limit int) ([]*Entry, error)
	// Adjacent returns the documents of the scope whose place in their group is 1 before or 1 after that of one of the
	// given ones. It may return given ones again.
	Adjacent(ctx context.Context, of []*Entry) ([]*Entry, error)
}

// Nearest is what a Source with vectors offers besides.
type Nearest interface {
	// Nearest returns up to limit documents whose vectors have the highest cosine with the given one. Documents without a
	// vector of its length are not among them.
	Nearest(ctx context.Context, vector []float32, limit int) ([]*Entry, error)
	// Embedded returns those of the given documents that have a vector, with it.
	Embedded(ctx context.Context, of []*Entry) ([]*Entry, error)
}

// Stats are the figures of a scope.
type Stats struct {
	// Docs is the number of documents.
	Docs int
	// Length is the mean of Entry.Length. 0 makes all documents count as equally long.
	Length float64
}
