package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// What the engine's promise of small steps leaves to the store.
const (
	frameBytes   = 400
	maxWALBytes  = 16 << 10
	maxFileBytes = 800
)

// driven is a run that a test or benchmark commits to.
type driven struct {
	store *sqlite.Store
	lease engine.Lease
	n     int64
	hash  string
}

func start(t testing.TB, s *sqlite.Store, id string) *driven {
	t.Helper()
	r := &driven{store: s}
	c := r.next()
	lease, err := s.Create(context.Background(), engine.NewRun{ID: id, Workflow: "context-handoff", Version: "v1.2.3"}, c, engine.Claim{
		Owner: engine.Owner{Token: "0198f3c2-7d1e-4c55-9b7a-2f6f1c0f9a31", Host: "build-7.example.org", PID: 12345, Started: "2026-03-01T12:00:00.123Z"},
		TTL:   time.Minute,
	})
	if err != nil {
		t.Fatal(err)
	}
	r.lease, r.n, r.hash = lease, c.N, c.Hash
	return r
}

func (r *driven) next() engine.Commit {
	head := fmt.Appendf(nil, `{"n":%d,"t":1772366400000,"prev":%q,"ev":"`, r.n+1, r.hash)
	b := append(head, bytes.Repeat([]byte("x"), frameBytes-len(head)-2)...)
	b = append(b, `"}`...)
	return engine.Commit{N: r.n + 1, Body: b, Hash: core.Hash(b), Prev: r.hash, Status: core.Running, TTL: time.Minute}
}

func (r *driven) commit(change ...func(*engine.Commit)) error {
	c := r.next()
	for _, f := range change {
		f(&c)
	}
	err := r.store.Commit(context.Background(), r.lease, c)
	if err == nil {
		r.n, r.hash = c.N, c.Hash
	}
	return err
}

func size(t testing.TB, path string) int64 {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info.Size()
}

// A step writes few pages: the WAL of a fresh file grows by exactly what is committed, until its first checkpoint.
func TestStepWritesLittle(t *testing.T) {
	const run = "01JNB6Q2Z3-run"
	ctx := context.Background()
	effect := func(i int) func(*engine.Commit) {
		e := engine.Delivery{ID: fmt.Sprint("op/", i), Path: "work[3]/step", Effect: cairn.Effect{Kind: "retain", Body: bytes.Repeat([]byte("e"), 300)}}
		return func(c *engine.Commit) { c.Effects = []engine.Delivery{e} }
	}
	for _, c := range []struct {
		name    string
		prepare func(s *sqlite.Store, i int) error
		change  func(i int) func(*engine.Commit)
	}{
		{"plain", nil, nil},
		{"with an effect", func(s *sqlite.Store, i int) error { return s.Delivered(ctx, fmt.Sprint("op/", i-1)) }, effect},
		{"with an inbox item", func(s *sqlite.Store, i int) error {
			_, err := s.Append(ctx, run, engine.Item{Dedupe: fmt.Sprint(i), Event: core.Event{Kind: core.SignalReceived, Name: "go"}})
			return err
		}, func(i int) func(*engine.Commit) { return func(c *engine.Commit) { c.Consumed = int64(i) + 1 } }},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			s := open(t, sqlite.Config{Path: path})
			r := start(t, s, run)
			const steps = 100
			written := int64(0)
			for i := range steps {
				var change []func(*engine.Commit)
				if c.prepare != nil {
					if err := c.prepare(s, i); err != nil {
						t.Fatal(err)
					}
					change = append(change, c.change(i))
				}
				before := size(t, path+"-wal")
				if err := r.commit(change...); err != nil {
					t.Fatal(err)
				}
				written += size(t, path+"-wal") - before
			}
			t.Logf("%d bytes of WAL per step", written/steps)
			if written/steps > maxWALBytes {
				t.Errorf("a step writes %d bytes, want at most %d", written/steps, maxWALBytes)
			}
		})
	}
}

// A step leaves little more than its frame in the file, also where many runs are written at once and pages split.
func TestStepKeepsLittle(t *testing.T) {
	for _, c := range []struct{ runs, steps int }{{1, 2000}, {100, 30}, {600, 5}} {
		t.Run(fmt.Sprint(c.runs, " runs"), func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "runs.db")
			s := open(t, sqlite.Config{Path: path, Synchronous: sqlite.Normal})
			var wg sync.WaitGroup
			for i := range c.runs {
				wg.Go(func() {
					r := start(t, s, fmt.Sprintf("01JNB6Q2Z3-%06d", i))
					for range c.steps - 1 {
						if err := r.commit(); err != nil {
							t.Error(err)
						}
					}
				})
			}
			wg.Wait()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			per := size(t, path) / int64(c.runs*c.steps)
			t.Logf("%d bytes of database per step of %d", per, frameBytes)
			if per > maxFileBytes {
				t.Errorf("a step keeps %d bytes, want at most %d", per, maxFileBytes)
			}
		})
	}
}
