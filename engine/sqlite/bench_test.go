package sqlite_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// BenchmarkFloor is what the driver alone takes for a row per transaction at synchronous=FULL: nothing durable in
// SQLite is faster. Compare with Commit of the same session only; disks have moods.
func BenchmarkFloor(b *testing.B) {
	db := raw(b, filepath.Join(b.TempDir(), "floor.db"))
	for _, q := range []string{"PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "CREATE TABLE t (id INTEGER PRIMARY KEY, body BLOB)"} {
		if _, err := db.Exec(q); err != nil {
			b.Fatal(err)
		}
	}
	insert, err := db.Prepare("INSERT INTO t (body) VALUES (?)")
	if err != nil {
		b.Fatal(err)
	}
	defer insert.Close()
	body := bytes.Repeat([]byte("x"), frameBytes)
	for b.Loop() {
		if _, err := insert.Exec(body); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCommit(b *testing.B) {
	s := open(b, sqlite.Config{})
	r := start(b, s, "run")
	for b.Loop() {
		if err := r.commit(); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCommit100 commits to 100 runs from 100 goroutines, which share fsyncs. An op is one commit.
func BenchmarkCommit100(b *testing.B) {
	s := open(b, sqlite.Config{})
	runs := make([]*driven, 100)
	for i := range runs {
		runs[i] = start(b, s, fmt.Sprint("run", i))
	}
	b.ResetTimer()
	var wg sync.WaitGroup
	for i, r := range runs {
		wg.Go(func() {
			for range (b.N + len(runs) - 1 - i) / len(runs) {
				if err := r.commit(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// BenchmarkFrames reads a run of 10,000 frames, as a resume does.
func BenchmarkFrames(b *testing.B) {
	s := open(b, sqlite.Config{})
	r := &driven{}
	frames := make([]engine.Commit, 10_000)
	for i := range frames {
		frames[i] = r.next()
		r.n, r.hash = frames[i].N, frames[i].Hash
	}
	if err := s.Import(b.Context(), engine.NewRun{ID: "run"}, frames, nil); err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(frames) * frameBytes))
	for b.Loop() {
		n := 0
		if err := s.Frames(b.Context(), "run", 1, func(int64, []byte) error { n++; return nil }); err != nil || n != len(frames) {
			b.Fatal(n, err)
		}
	}
}

// BenchmarkIdle asks what a process with nothing to do asks all the time, on a file with 10,000 ended runs.
func BenchmarkIdle(b *testing.B) {
	s := open(b, sqlite.Config{Synchronous: sqlite.Normal})
	var wg sync.WaitGroup
	for g := range 10 {
		wg.Go(func() {
			for i := range 1000 {
				r := start(b, s, fmt.Sprint(g, "/", i))
				if err := r.commit(func(c *engine.Commit) { c.Status = "finished" }); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	for b.Loop() {
		_, err := s.Unread(b.Context(), "me")
		if err == nil {
			_, err = s.Due(b.Context(), 1, 100)
		}
		if err == nil {
			_, err = s.Runs(b.Context(), engine.Query{Status: "running"})
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
