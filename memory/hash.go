package memory

import (
	"crypto/sha256"
	"encoding/hex"
)

// hashOf identifies a text, in 32 hex digits.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// named is an id that stores take: the id itself, and a hash in place of one that CheckName refuses. Runs and paths are in
// ids, and a path is as long as its task lies deep.
func named(id string) string {
	if CheckName("an id", id) == nil {
		return id
	}
	return "long/" + hashOf(id)
}
