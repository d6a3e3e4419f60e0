// Package calltest is what the Call of a task under test needs and nobody looks at: artifacts and a journal in memory.
package calltest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"maps"
	"sync"

	"github.com/cairnrun/cairn"
)

// Files is a cairn.Artifacts in memory. The zero value is empty. It is safe for concurrent use.
type Files struct {
	mu   sync.Mutex // guards kept
	kept map[string][]byte
}

// Put keeps the bytes.
func (f *Files) Put(_ context.Context, r io.Reader) (string, int64, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.kept == nil {
		f.kept = map[string][]byte{}
	}
	f.kept[hash] = content
	return hash, int64(len(content)), nil
}

// Get opens what was put.
func (f *Files) Get(_ context.Context, hash string) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.kept[hash]
	if !ok {
		return nil, &cairn.Error{Code: "ARTIFACT_NOT_FOUND", Message: "there is no artifact " + hash, Next: "put it again"} // as the real one
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}

// Kept is all that was put, by its hash.
func (f *Files) Kept() map[string][]byte {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.kept)
}
