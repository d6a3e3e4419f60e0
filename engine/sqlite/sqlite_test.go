package sqlite_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/engine/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Test(t, func(t testing.TB) storetest.Open {
		path := filepath.Join(t.TempDir(), "runs.db")
		return func(t testing.TB, clock func() time.Time) engine.Store {
			return open(t, sqlite.Config{Path: path, Clock: clock})
		}
	})
}

// open opens a store that is closed with the test, if not before.
func open(t testing.TB, c sqlite.Config) *sqlite.Store {
	t.Helper()
	if c.Path == "" {
		c.Path = filepath.Join(t.TempDir(), "runs.db")
	}
	s, err := sqlite.Open(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// raw opens a file past the store.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}
