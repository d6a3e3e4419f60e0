package window

import "time"

// Rules are how a provider caches the prefixes of windows. The zero value is a provider that does not, or that tells nothing
// of how it does.
type Rules struct {
	// Marks is the most cache breakpoints of a call. 0 is a provider that finds the longest known prefix by itself: it gets a
	// mark only to be asked for the longer life.
	Marks int
	// Minimum is the least prefix that is cached, in tokens.
	Minimum int
	// Lookback is how many blocks before a mark are looked at for a prefix that an earlier call has written; 0 is all.
	Lookback int
	// Life is how long an unused entry is kept, Long how long one is that was asked to be kept longer; 0 is none.
	Life, Long time.Duration
}

// Mark is a cache breakpoint: everything up to it, itself included, is to be cached.
type Mark struct {
	// Message is the number of a message, OfTools or OfSystem. Block is the block's in the message.
	Message int `json:"message"`
	Block   int `json:"block,omitempty"`
	// Long asks for the longer life.
	Long bool `json:"long,omitempty"`
}

// The places of marks before the first message.
const (
	OfSystem = -1
	OfTools  = -2
)
