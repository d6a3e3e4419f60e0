package sqlite_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// The store keeps time by the bubble's clock, and hours of leases pass in no time.
func TestInBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t, sqlite.Config{})
		r := start(t, s, "r")
		for range 10 {
			time.Sleep(time.Hour)
			lease, err := s.Claim(t.Context(), "r", engine.Claim{Owner: engine.Owner{Token: "me"}, TTL: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			if err := r.commit(); !errors.Is(err, engine.LeaseLost) {
				t.Fatal(err)
			}
			if want := time.Now().Add(time.Hour); !lease.Until.Equal(want) {
				t.Fatalf("until %v, want %v", lease.Until, want)
			}
			r.lease = lease
			if err := r.commit(func(c *engine.Commit) { c.TTL = 0 }); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestReadOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "runs.db")
	if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, ReadOnly: true}); !errors.Is(err, dbfile.ErrCannotOpen) {
		t.Fatalf("a file that is not there: %v", err)
	}
	writing := open(t, sqlite.Config{Path: path})
	r := start(t, writing, "r")
	s := open(t, sqlite.Config{Path: path, ReadOnly: true})
	if err := r.commit(); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Run(t.Context(), "r"); err != nil || info.Head != 2 {
		t.Errorf("%+v, %v", info, err)
	}
	if _, err := s.Append(t.Context(), "r", engine.Item{}); !errors.Is(err, dbfile.ErrReadOnly) {
		t.Errorf("Append: %v", err)
	}
	r.store = s
	if err := r.commit(); !errors.Is(err, dbfile.ErrReadOnly) {
		t.Errorf("Commit: %v", err)
	}
}

// A store of a shared file leaves it open, and lives beside other components.
func TestShared(t *testing.T) {
	db, err := dbfile.Open(t.Context(), dbfile.Config{Path: filepath.Join(t.TempDir(), "all.db"), ApplicationID: sqlite.ApplicationID})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	other := fstest.MapFS{"0001_facts.sql": {Data: []byte("CREATE TABLE facts (id INTEGER PRIMARY KEY)")}}
	if err := db.Migrate(t.Context(), "memory", other); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		s, err := sqlite.New(t.Context(), db, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Runs(t.Context(), engine.Query{}); err != nil {
			t.Fatal(err)
		}
	}
}

// A context that has ended stops a call before it writes.
func TestCancelledContext(t *testing.T) {
	s := open(t, sqlite.Config{})
	r := start(t, s, "r")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Commit(ctx, r.lease, r.next()); !errors.Is(err, context.Canceled) {
		t.Errorf("Commit: %v", err)
	}
	if _, err := s.Run(ctx, "r"); !errors.Is(err, context.Canceled) {
		t.Errorf("Run: %v", err)
	}
	if err := r.commit(); err != nil {
		t.Errorf("the frame after: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := r.commit(); !errors.Is(err, dbfile.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}
