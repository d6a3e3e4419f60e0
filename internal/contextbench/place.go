package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task/agent/window"
)

// A place is where a run is stored.
type place struct {
	db    sqlite.Config
	files cairn.Artifacts
}

// durable is a place in a folder, as a program has it.
func durable(dir string) (place, error) {
	files, err := artifact.Open(filepath.Join(dir, "artifacts"))
	return place{sqlite.Config{Path: filepath.Join(dir, "cairn.db")}, files}, err
}

// fleeting is a place where nothing waits for the disk.
func fleeting(dir string) place {
	return place{sqlite.Config{Path: filepath.Join(dir, "cairn.db"), Synchronous: sqlite.Normal}, &shelf{files: map[string][]byte{}}}
}

// shelf keeps artifacts in memory.
type shelf struct {
	mu    sync.Mutex // guards files
	files map[string][]byte
}

func (s *shelf) Put(_ context.Context, r io.Reader) (string, int64, error) {
	raw, err := io.ReadAll(r)
	if err != nil {
		return "", 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	hash := window.Hash(string(raw))
	s.files[hash] = raw
	return hash, int64(len(raw)), nil
}

func (s *shelf) Get(_ context.Context, hash string) (io.ReadCloser, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	raw, ok := s.files[hash]
	if !ok {
		return nil, errors.New("no such artifact")
	}
	return io.NopCloser(bytes.NewReader(raw)), nil
}
