package memory

import "context"

// Embedder turns texts into vectors, so that recall finds what says the same in other words. There is none by default:
// recall by words needs no model. Adapters: memory/embed/openai over HTTP, and memory/embed/local, a module of its own
// that runs a model in this process.
//
// Vectors are stored with Model and a hash of the text; those of another model count as absent until they are made anew.
// An Embedder is used by several goroutines at once.
type Embedder interface {
	// Model names what makes the vectors, down to whatever changes them: vectors of different models can't be compared.
	Model() string
	// Dim is the length of every vector.
	Dim() int
	// Embed returns one vector of Dim numbers for each text, in order. The order of magnitude of a vector means nothing,
	// its direction does. No texts give no vectors and no call. An error is for the whole batch.
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}
