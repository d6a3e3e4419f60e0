package memory

import "time"

// Item is a fact, message, thread or note as searches return it.
type Item struct {
	Ref
	// No numbers the item in its file, for paging and for telling items apart; it is not kept by an export.
	No int64
	// Bank and Tags are those of its Place.
	Bank string
	Tags []string
	// Title is a fact's key, or a note's or thread's title.
	Title string
	// Text is a fact's value, or a message's content or note's body.
	Text string
	// Time is a note's Time, a fact's Updated, a message's or thread's Created.
	Time time.Time
	// Score orders candidates: the greater the better. Comparable within one answer only.
	Score float64
	// Seq is a message's, Role too.
	Seq  int64
	Role Role
	// Type, Status and Pinned are a note's.
	Type   Type
	Status Status
	Pinned bool
	Origin Origin
	// Hash changes with Title and Text: vectors of them carry it.
	Hash []byte
}
