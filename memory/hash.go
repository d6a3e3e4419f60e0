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
