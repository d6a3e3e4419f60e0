package engine

import (
	"context"
	"encoding/json"
	"time"

	"github.com/cairnrun/cairn"
)

// Cache keeps outputs that other tasks may use, by key. It is no part of any run: what is in it may be gone at any time, and
// a run whose frames are there needs none of it.
type Cache interface {
	// Lookup returns the entry of a key that has not run out. One that is older than maxAge is not returned either; 0 is
	// any age. An entry that can't be read counts as none: the next commit replaces it.
	Lookup(ctx context.Context, key string, maxAge time.Duration) (CacheEntry, bool, error)
	// Hold takes a key for an owner, who is about to make its entry, or holds it for longer. It is false while another
	// owner holds the key. A hold ends by itself after ttl, and with the commit of the entry.
	Hold(ctx context.Context, key, owner string, ttl time.Duration) (bool, error)
	// Free ends a hold of the owner early. Freeing what is not held does nothing.
	Free(ctx context.Context, key, owner string) error
	// Cached lists up to limit entries whose key begins with the prefix, without their outputs, the last used first.
	Cached(ctx context.Context, prefix string, limit int) ([]CacheEntry, error)
	// Forget removes the entries whose key begins with the prefix, all for "", and says how many there were.
	Forget(ctx context.Context, prefix string) (int, error)
	// CacheStats sums up what is there.
	CacheStats(ctx context.Context) (CacheStats, error)
}

// CacheEntry is an output that other tasks may use. Moments are the store's own.
type CacheEntry struct {
	Key string `json:"key"`
	// Workflow, Run and Path say which task has made it.
	Workflow string `json:"workflow"`
	Run      string `json:"run"`
	Path     string `json:"path"`
	// Scope and Identity are those in the key, for people.
	Scope    string `json:"scope"`
	Identity string `json:"identity,omitempty"`
	// Schema is the hash of the output's schema.
	Schema    string           `json:"schema"`
	Output    json.RawMessage  `json:"output,omitempty"`
	Artifacts []cairn.Artifact `json:"artifacts,omitempty"`
	// Bytes is how much of the store's bound the entry takes.
	Bytes   int64     `json:"bytes"`
	Created time.Time `json:"created"`
	// Expires is zero for an entry that stays until it is evicted.
	Expires time.Time `json:"expires,omitzero"`
	// Used is when it was last used, to some minutes.
	Used time.Time `json:"used"`
}

// CacheWrite is what a commit does to the cache.
type CacheWrite struct {
	// Entry replaces the one of its key. The store sets its moments and Bytes.
	Entry CacheEntry
	// TTL is how long the entry may be used; 0 is without end.
	TTL time.Duration
	// Used says that the entry is there and was used: only Entry.Key counts.
	Used bool
}

// CacheStats sums up a cache.
type CacheStats struct {
	Entries int64 `json:"entries"`
	Bytes   int64 `json:"bytes"`
	// MaxBytes and MaxAge are the bounds; entries unused for the longest go first.
	MaxBytes int64         `json:"maxBytes"`
	MaxAge   time.Duration `json:"maxAgeNs"`
	// Held are keys whose entries are being made.
	Held int64 `json:"held"`
}
