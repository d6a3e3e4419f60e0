package memory

// Vector is the embedding of an item's text.
type Vector struct {
	Ref
	// No is the item's.
	No int64
	// Model is which embedder made it; vectors of different models are never compared.
	Model string
	// Hash is Item.Hash of the text it was made of. Where it differs from the item's the vector is stale.
	Hash []byte
	// Values has the same length for all vectors of a model.
	Values []float32
}
