package delegate_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"sync"
)

type files struct {
	mu      sync.Mutex // guards content
	content map[string][]byte
}

func (f *files) Put(_ context.Context, r io.Reader) (string, int64, error) {
	content, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.content == nil {
		f.content = map[string][]byte{}
	}
	f.content[hash] = content
	return hash, int64(len(content)), nil
}

func (f *files) Get(_ context.Context, hash string) (io.ReadCloser, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	content, ok := f.content[hash]
	if !ok {
		return nil, errors.New("no such file")
	}
	return io.NopCloser(bytes.NewReader(content)), nil
}
