package dbfile_test

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/dbfile"
)

const testID = 0x63616972

// open returns a migrated database in a fresh file, closed and checked at the test's end.
func open(t testing.TB, change ...func(*dbfile.Config)) *dbfile.DB {
	t.Helper()
	config := dbfile.Config{Path: filepath.Join(t.TempDir(), "a.db"), ApplicationID: testID}
	for _, f := range change {
		f(&config)
	}
	db, err := dbfile.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		check(t, config.Path)
	})
	if err := db.Migrate(t.Context(), "run", itemsSchema); err != nil {
		t.Fatal(err)
	}
	return db
}

var itemsSchema = fstest.MapFS{"0001_items.sql": {Data: []byte("CREATE TABLE items (id INTEGER PRIMARY KEY, body TEXT UNIQUE);")}}

// check runs SQLite's own check on a connection that has nothing to do with this package.
func check(t testing.TB, path string) {
	t.Helper()
	raw := rawDB(t, path)
	defer raw.Close()
	var verdict string
	if err := raw.QueryRow("PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity_check: %q, %v", verdict, err)
	}
}

func rawDB(t testing.TB, path string) *sql.DB {
	t.Helper()
	raw, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	raw.SetMaxOpenConns(1)
	return raw
}

func insert(body string) func(*dbfile.Tx) error {
	return func(tx *dbfile.Tx) error {
		_, err := tx.Exec("INSERT INTO items (body) VALUES (?)", body)
		return err
	}
}

func bodies(t testing.TB, db *dbfile.DB) []string {
	t.Helper()
	var all []string
	err := db.Read(context.Background(), func(tx *dbfile.ReadTx) error {
		rows, err := tx.Query("SELECT body FROM items ORDER BY id")
		if err != nil {
			return err
		}
		for rows.Next() {
			var body string
			if err := rows.Scan(&body); err != nil {
				return err
			}
			all = append(all, body)
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func want(t testing.TB, err error, code cairn.Code) {
	t.Helper()
	if !errors.Is(err, code) {
		t.Fatalf("error is %v, want %s", err, code)
	}
}

func TestWriteThenReadAfterReopen(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "new dir", "odd?name#100%.db")
	config := dbfile.Config{Path: path, ApplicationID: testID}
	for round := range 3 {
		db, err := dbfile.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Migrate(t.Context(), "run", itemsSchema); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), insert(string(rune('a'+round)))); err != nil {
			t.Fatal(err)
		}
		if got := len(bodies(t, db)); got != round+1 {
			t.Fatalf("%d rows after %d writes", got, round+1)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), "*")); len(left) != 1 || left[0] != path {
			t.Fatalf("after Close the directory holds %q", left)
		}
	}
}

func TestOpenReportsEveryMistake(t *testing.T) {
	t.Parallel()
	_, err := dbfile.Open(t.Context(), dbfile.Config{Synchronous: 9, BusyTimeout: -1, Readers: -1})
	want(t, err, dbfile.ErrCannotOpen)
	for _, field := range []string{"Path", "Synchronous", "BusyTimeout", "Readers"} {
		if !contains(err, "Config."+field) {
			t.Errorf("%v does not name %s", err, field)
		}
	}
}

func TestOpenRefusesBadPathsAndDeadContexts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	_, err := dbfile.Open(t.Context(), dbfile.Config{Path: dir})
	want(t, err, dbfile.ErrCannotOpen)
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = dbfile.Open(t.Context(), dbfile.Config{Path: filepath.Join(file, "a.db")})
	want(t, err, dbfile.ErrCannotOpen)
	_, err = dbfile.Open(t.Context(), dbfile.Config{Path: filepath.Join(dir, "none.db"), ReadOnly: true})
	want(t, err, dbfile.ErrCannotOpen)
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v does not wrap fs.ErrNotExist", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dbfile.Open(ctx, dbfile.Config{Path: filepath.Join(dir, "a.db")}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 0 {
		t.Errorf("failed opens left %q", left)
	}
}

func TestCloseIsIdempotentAndFinal(t *testing.T) {
	t.Parallel()
	db := open(t)
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if err := db.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	want(t, db.Write(t.Context(), insert("x")), dbfile.ErrClosed)
	want(t, db.Read(t.Context(), func(*dbfile.ReadTx) error { return nil }), dbfile.ErrClosed)
	want(t, db.Migrate(t.Context(), "run", itemsSchema), dbfile.ErrClosed)
}

// A bubble ends only when every goroutine started in it has.
func TestNoGoroutineIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		config := dbfile.Config{Path: filepath.Join(t.TempDir(), "a.db"), ApplicationID: testID}
		for range 3 {
			db, err := dbfile.Open(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			err = errors.Join(db.Migrate(t.Context(), "run", itemsSchema), db.Write(t.Context(), func(*dbfile.Tx) error { return nil }), db.Close())
			if err != nil {
				t.Fatal(err)
			}
		}
		foreign := config
		foreign.ApplicationID++
		_, err := dbfile.Open(t.Context(), foreign)
		want(t, err, dbfile.ErrNotOurs)
		config.ReadOnly = true
		db, err := dbfile.Open(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

func TestOpenLockedFile(t *testing.T) {
	t.Parallel()
	db := open(t)
	path := db.Path()
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	raw := rawDB(t, path)
	defer raw.Close()
	for _, stmt := range []string{"PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE"} {
		if _, err := raw.Exec(stmt); err != nil {
			t.Fatal(err)
		}
	}
	_, err := dbfile.Open(t.Context(), dbfile.Config{Path: path, ApplicationID: testID, BusyTimeout: 10 * time.Millisecond})
	want(t, err, dbfile.ErrLocked)
}
