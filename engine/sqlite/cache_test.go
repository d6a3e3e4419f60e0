package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/engine/storetest"
)

// entry is a cache entry with an output of so many bytes.
func entry(key string, size int) engine.CacheWrite {
	return engine.CacheWrite{Entry: engine.CacheEntry{Key: key, Run: "r", Path: "p", Output: bytes.Repeat([]byte("1"), size)}}
}

func writing(w ...engine.CacheWrite) func(*engine.Commit) {
	return func(c *engine.Commit) { c.Cache = w }
}

// keysOf lists the cache's keys, the last used first, and checks the sums against the entries.
func keysOf(t *testing.T, s *sqlite.Store) string {
	t.Helper()
	list, err := s.Cached(context.Background(), "", 10_000)
	if err != nil {
		t.Fatal(err)
	}
	var keys []string
	bytes := int64(0)
	for _, e := range list {
		keys, bytes = append(keys, e.Key), bytes+e.Bytes
	}
	if stats, err := s.CacheStats(context.Background()); err != nil || stats.Bytes != bytes || stats.Entries != int64(len(list)) {
		t.Fatalf("%d entries of %d bytes, and the sums say %+v, %v", len(list), bytes, stats, err)
	}
	return strings.Join(keys, " ")
}

func commit(t *testing.T, r *driven, change ...func(*engine.Commit)) {
	t.Helper()
	if err := r.commit(change...); err != nil {
		t.Fatal(err)
	}
}

func TestCacheIsBoundedBySize(t *testing.T) {
	clock := storetest.NewClock()
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "runs.db"), Clock: clock.Now, Cache: sqlite.CacheLimits{MaxBytes: 4000}})
	r := start(t, s, "r")
	for i := range 3 {
		clock.Advance(time.Hour)
		commit(t, r, writing(entry(fmt.Sprint("e", i), 1000)))
	}
	clock.Advance(time.Hour)
	commit(t, r, writing(engine.CacheWrite{Used: true, Entry: engine.CacheEntry{Key: "e0"}}))
	clock.Advance(time.Hour)
	commit(t, r, writing(entry("e3", 1000)))
	if got := keysOf(t, s); got != "e3 e0 e2" {
		t.Errorf("after one too many there are %s: the one unused for longest should go", got)
	}
	commit(t, r, writing(entry("e2", 3500))) // replaces the entry whose turn would come later
	if got := keysOf(t, s); got != "e2" {
		t.Errorf("after a large one there are %s", got)
	}
	commit(t, r, writing(entry("huge", 5000), entry("e2", 5000)))
	if got := keysOf(t, s); got != "" {
		t.Errorf("what is larger than the cache is in it: %s", got)
	}
}

func TestCacheIsBoundedByAge(t *testing.T) {
	clock := storetest.NewClock()
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "runs.db"), Clock: clock.Now, Cache: sqlite.CacheLimits{MaxAge: 10 * time.Hour}})
	r := start(t, s, "r")
	commit(t, r, writing(entry("old", 1), entry("used", 1)))
	clock.Advance(5 * time.Hour)
	commit(t, r, writing(engine.CacheWrite{Used: true, Entry: engine.CacheEntry{Key: "used"}}))
	clock.Advance(5*time.Hour - time.Millisecond)
	commit(t, r, writing(entry("a", 1)))
	if got := keysOf(t, s); got != "a used old" {
		t.Errorf("before the age: %s", got)
	}
	clock.Advance(time.Millisecond)
	commit(t, r, writing(entry("b", 1)))
	if got := keysOf(t, s); got != "b a used" {
		t.Errorf("at the age: %s", got)
	}
}

// A sweep is shared by the commits after it: none waits for all of it.
func TestCacheIsEvictedInSteps(t *testing.T) {
	clock := storetest.NewClock()
	s := open(t, sqlite.Config{Path: filepath.Join(t.TempDir(), "runs.db"), Synchronous: sqlite.Normal, Clock: clock.Now})
	r := start(t, s, "r")
	var many []engine.CacheWrite
	for i := range 100 {
		many = append(many, entry(fmt.Sprint(i), 1))
	}
	commit(t, r, writing(many...))
	clock.Advance(31 * 24 * time.Hour)
	for _, want := range []int64{69, 38, 7, 4, 5} {
		commit(t, r, writing(entry(fmt.Sprint("new", want), 1)))
		if stats, err := s.CacheStats(t.Context()); err != nil || stats.Entries != want {
			t.Fatalf("%d entries, want %d: %v", stats.Entries, want, err)
		}
	}
}

// A use within a minute of the one before, and a commit without cache, write none of the cache's pages.
func TestUsesAreCheap(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	s := open(t, sqlite.Config{Path: path})
	r := start(t, s, "r")
	commit(t, r, writing(entry("a", 1)))
	wal := func(change ...func(*engine.Commit)) (written int64) {
		const steps = 50
		for range steps {
			before := size(t, path+"-wal")
			commit(t, r, change...)
			written += size(t, path+"-wal") - before
		}
		return written / steps
	}
	plain := wal()
	hit := wal(writing(engine.CacheWrite{Used: true, Entry: engine.CacheEntry{Key: "a"}}))
	t.Logf("bytes of WAL per step: %d plain, %d of a hit, %d with an entry", plain, hit, wal(writing(entry("a", 200))))
	if hit > plain+1000 || plain > 10_000 {
		t.Errorf("a hit writes %d bytes, a plain step %d", hit, plain)
	}
}

func TestCacheLimitsAreChecked(t *testing.T) {
	for _, limits := range []sqlite.CacheLimits{{MaxBytes: -1}, {MaxAge: -1}} {
		if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "runs.db"), Cache: limits}); !errors.Is(err, sqlite.Misuse) {
			t.Errorf("%+v: %v", limits, err)
		}
	}
}
