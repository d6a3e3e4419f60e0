package dbfile_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn/internal/dbfile"
)

func pages(limit string) func(*dbfile.Tx) error {
	return func(tx *dbfile.Tx) error { return tx.QueryRow("PRAGMA max_page_count = " + limit).Scan(new(int)) }
}

func TestDiskFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t)
		if err := db.Write(t.Context(), pages("20")); err != nil {
			t.Fatal(err)
		}
		big := strings.Repeat("x", 1<<20)
		errs := queued(t, db, insert("small"), insert(big), insert("later"))
		want(t, errs[1], dbfile.ErrDiskFull)
		for _, i := range []int{0, 2} { // whether the neighbours survive is SQLite's choice; that each knows is ours
			if errs[i] != nil {
				want(t, errs[i], dbfile.ErrRolledBack)
				want(t, errs[i], dbfile.ErrDiskFull)
			}
		}
		want(t, db.Write(t.Context(), insert(big)), dbfile.ErrDiskFull)
		if err := db.Write(t.Context(), pages("4294967294")); err != nil {
			t.Fatal(err)
		}
		if err := db.Write(t.Context(), insert(big)); err != nil {
			t.Fatal(err)
		}
		expected := 1
		for _, i := range []int{0, 2} {
			if errs[i] == nil {
				expected++
			}
		}
		if n := len(bodies(t, db)); n != expected {
			t.Errorf("%d rows, want %d", n, expected)
		}
	})
}

func TestReadOnlyDB(t *testing.T) {
	t.Parallel()
	live := open(t)
	for _, who := range []string{"beside a writer", "after it"} {
		if who == "after it" {
			if err := live.Close(); err != nil {
				t.Fatal(err)
			}
		} else if err := live.Write(t.Context(), insert("x")); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(live.Path())
		if err != nil {
			t.Fatal(err)
		}
		db, err := dbfile.Open(t.Context(), dbfile.Config{Path: live.Path(), ApplicationID: testID, ReadOnly: true})
		if err != nil {
			t.Fatal(err)
		}
		if n := len(bodies(t, db)); n != 1 {
			t.Errorf("%s: %d rows", who, n)
		}
		want(t, db.Write(t.Context(), insert("y")), dbfile.ErrReadOnly)
		err = db.Read(t.Context(), func(tx *dbfile.ReadTx) error {
			return tx.QueryRow("INSERT INTO items (body) VALUES ('y') RETURNING id").Scan(new(int))
		})
		want(t, err, dbfile.ErrReadOnly)
		if err := db.Migrate(t.Context(), "run", itemsSchema); err != nil {
			t.Error(err)
		}
		want(t, db.Migrate(t.Context(), "run", laterSchema("")), dbfile.ErrReadOnly)
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if after, err := os.ReadFile(live.Path()); err != nil || string(after) != string(before) {
			t.Errorf("%s: the file was changed, %v", who, err)
		}
	}
}

func TestLockedByAnother(t *testing.T) {
	t.Parallel()
	for _, lock := range []string{"BEGIN IMMEDIATE", "BEGIN EXCLUSIVE"} {
		db := open(t, func(c *dbfile.Config) { c.BusyTimeout = 20 * time.Millisecond })
		if err := db.Write(t.Context(), insert("a")); err != nil {
			t.Fatal(err)
		}
		raw := rawDB(t, db.Path())
		if _, err := raw.Exec(lock); err != nil {
			t.Fatal(err)
		}
		ran := false
		err := db.Write(t.Context(), func(tx *dbfile.Tx) error { ran = true; return insert("b")(tx) })
		want(t, err, dbfile.ErrLocked)
		if ran {
			t.Error("the function ran without the lock")
		}
		if got := len(bodies(t, db)); got != 1 { // readers are not held up
			t.Errorf("%d rows", got)
		}
		if _, err := raw.Exec("COMMIT"); err != nil {
			t.Fatal(err)
		}
		raw.Close()
		if err := db.Write(t.Context(), insert("c")); err != nil {
			t.Fatal(err)
		}
		if got := len(bodies(t, db)); got != 2 {
			t.Errorf("%d rows", got)
		}
	}
}

func TestLockReleasedInTime(t *testing.T) {
	t.Parallel()
	db := open(t)
	raw := rawDB(t, db.Path())
	defer raw.Close()
	if _, err := raw.Exec("BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	outcome := make(chan error)
	go func() { outcome <- db.Write(t.Context(), insert("a")) }()
	if _, err := raw.Exec("COMMIT"); err != nil {
		t.Fatal(err)
	}
	if err := <-outcome; err != nil {
		t.Fatal(err)
	}
}

func TestReadIsInterruptedByItsContext(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *dbfile.Config) { c.Readers = 1 })
	ctx, cancel := context.WithCancel(t.Context())
	err := db.Read(ctx, func(tx *dbfile.ReadTx) error {
		cancel()
		return tx.QueryRow("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n").Scan(new(int))
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if n := len(bodies(t, db)); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestReadPanicGoesThroughAndFreesTheConnection(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *dbfile.Config) { c.Readers = 1 })
	func() {
		defer func() {
			if v := recover(); v != "boom" {
				t.Errorf("recovered %v", v)
			}
		}()
		db.Read(t.Context(), func(tx *dbfile.ReadTx) error { panic("boom") })
	}()
	bodies(t, db)
}

func TestReadWaitsForAConnectionUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t, func(c *dbfile.Config) { c.Readers = 1 })
		err := db.Read(t.Context(), func(*dbfile.ReadTx) error {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			return db.Read(ctx, func(*dbfile.ReadTx) error { t.Error("ran without a connection"); return nil })
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error is %v", err)
		}
	})
}
