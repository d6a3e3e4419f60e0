package dbfile_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairnrun/cairn/internal/dbfile"
)

func contains(err error, part string) bool { return err != nil && strings.Contains(err.Error(), part) }

// queued holds the writer inside one Write, starts the others, waits until all of them are queued and lets go:
// they are one batch. It returns their errors in order.
func queued(t *testing.T, db *dbfile.DB, fns ...func(*dbfile.Tx) error) []error {
	t.Helper()
	release := make(chan struct{})
	held := make(chan error, 1)
	go func() {
		held <- db.Write(t.Context(), func(*dbfile.Tx) error { <-release; return nil })
	}()
	synctest.Wait()
	errs := make([]error, len(fns))
	done := make(chan struct{})
	for i, fn := range fns {
		go func() {
			errs[i] = db.Write(t.Context(), fn)
			done <- struct{}{}
		}()
		synctest.Wait() // one at a time, so that the batch has their order
	}
	close(release)
	if err := <-held; err != nil {
		t.Fatal(err)
	}
	for range fns {
		<-done
	}
	return errs
}

func TestBatchSharesOneCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t)
		before := db.Stats()
		var fns []func(*dbfile.Tx) error
		for i := range 50 {
			fns = append(fns, insert(fmt.Sprint(i)))
		}
		for _, err := range queued(t, db, fns...) {
			if err != nil {
				t.Fatal(err)
			}
		}
		after := db.Stats()
		if writes, commits := after.Writes-before.Writes, after.Commits-before.Commits; writes != 51 || commits != 2 {
			t.Errorf("%d writes took %d commits, want 51 and 2", writes, commits)
		}
		if n := len(bodies(t, db)); n != 50 {
			t.Errorf("%d rows of 50", n)
		}
	})
}

func TestBatchMembersFailAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t)
		errOwn := errors.New("own")
		insertThen := func(body string, then func() error) func(*dbfile.Tx) error {
			return func(tx *dbfile.Tx) error {
				if err := insert(body)(tx); err != nil {
					return err
				}
				if _, err := tx.Query("SELECT * FROM items"); err != nil { // left open on purpose
					return err
				}
				return then()
			}
		}
		errs := queued(t, db,
			insert("a"),
			insertThen("undone 1", func() error { return errOwn }),
			insert("b"),
			insertThen("undone 2", func() error { panic("boom") }),
			insert("a"),
			func(tx *dbfile.Tx) error { _, err := tx.Exec("no sql"); return err },
			func(tx *dbfile.Tx) error { _, err := tx.Exec(" /* x */ COMMIT"); return err },
			insert("c"),
		)
		for _, i := range []int{0, 2, 7} {
			if errs[i] != nil {
				t.Errorf("member %d: %v", i, errs[i])
			}
		}
		if errs[1] != errOwn {
			t.Errorf("own error came back as %v", errs[1])
		}
		want(t, errs[3], dbfile.ErrPanic)
		var panicked *dbfile.PanicError
		if !errors.As(errs[3], &panicked) || panicked.Value != "boom" || !strings.Contains(string(panicked.Stack), "write_test.go") {
			t.Errorf("panic came back as %v", errs[3])
		}
		want(t, errs[4], dbfile.ErrConstraint)
		want(t, errs[5], dbfile.ErrStatement)
		want(t, errs[6], dbfile.ErrStatement)
		if got := bodies(t, db); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("stored %q", got)
		}
	})
}

func TestTransactionLostToSQLite(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t)
		if err := db.Write(t.Context(), insert("a")); err != nil {
			t.Fatal(err)
		}
		swallow := func(tx *dbfile.Tx) error {
			_, first := tx.Exec("INSERT OR ROLLBACK INTO items (body) VALUES ('a')")
			if _, err := tx.Exec("INSERT INTO items (body) VALUES ('escaped')"); err == nil || err.Error() != first.Error() {
				t.Errorf("the dead transaction answers %v", err)
			}
			return nil
		}
		errs := queued(t, db, insert("neighbour"), swallow, insert("later"))
		want(t, errs[0], dbfile.ErrRolledBack)
		want(t, errs[0], dbfile.ErrConstraint)
		want(t, errs[1], dbfile.ErrConstraint)
		if errs[2] != nil {
			t.Error(errs[2])
		}
		want(t, db.Write(t.Context(), swallow), dbfile.ErrConstraint)
		if got := bodies(t, db); !slices.Equal(got, []string{"a", "later"}) {
			t.Errorf("stored %q", got)
		}
	})
}

func TestGoexitInFunction(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t)
		errs := queued(t, db, insert("before"), func(tx *dbfile.Tx) error {
			tx.QueryRow("SELECT 1")
			runtime.Goexit()
			return nil
		}, insert("after"))
		for _, err := range errs {
			want(t, err, dbfile.ErrRolledBack)
		}
		if err := db.Write(t.Context(), insert("again")); err != nil {
			t.Fatal(err)
		}
		if got := bodies(t, db); !slices.Equal(got, []string{"again"}) {
			t.Errorf("stored %q", got)
		}
	})
}

func TestCancelledBeforeTakenUpNeverRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t)
		release, held := make(chan struct{}), make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			// Taken up: cancelling changes nothing any more.
			held <- db.Write(ctx, func(tx *dbfile.Tx) error { <-release; return insert("taken")(tx) })
		}()
		synctest.Wait()
		waiting := make(chan error, 1)
		go func() { waiting <- db.Write(ctx, insert("waiting")) }()
		synctest.Wait()
		cancel()
		if err := <-waiting; !errors.Is(err, context.Canceled) {
			t.Errorf("waiting Write returned %v", err)
		}
		synctest.Wait()
		select {
		case err := <-held:
			t.Fatalf("Write returned %v while its function ran", err)
		default:
		}
		close(release)
		if err := <-held; err != nil {
			t.Errorf("taken Write returned %v", err)
		}
		if err := db.Write(ctx, insert("dead")); !errors.Is(err, context.Canceled) {
			t.Errorf("dead context: %v", err)
		}
		if got := bodies(t, db); !slices.Equal(got, []string{"taken"}) {
			t.Errorf("stored %q", got)
		}
	})
}

func TestCloseLetsQueuedWritesFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := open(t)
		release, outcome := make(chan struct{}), make(chan error, 2)
		go func() { outcome <- db.Write(t.Context(), func(tx *dbfile.Tx) error { <-release; return nil }) }()
		synctest.Wait()
		go func() { outcome <- db.Write(t.Context(), insert("queued")) }()
		synctest.Wait()
		closed := make(chan error, 1)
		go func() { closed <- db.Close() }()
		synctest.Wait()
		close(release)
		if err := errors.Join(<-outcome, <-outcome, <-closed); err != nil {
			t.Fatal(err)
		}
		raw := rawDB(t, db.Path())
		defer raw.Close()
		var n int
		if err := raw.QueryRow("SELECT count(*) FROM items").Scan(&n); err != nil || n != 1 {
			t.Errorf("%d rows, %v", n, err)
		}
	})
}

func TestTxIsOverAfterItsFunction(t *testing.T) {
	t.Parallel()
	db := open(t)
	var kept *dbfile.Tx
	var rows *dbfile.Rows
	err := db.Write(t.Context(), func(tx *dbfile.Tx) (err error) {
		kept = tx
		rows, err = tx.Query("SELECT 1")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kept.Exec("DELETE FROM items"); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("Exec: %v", err)
	}
	if err := kept.QueryRow("SELECT 1").Scan(new(int)); !errors.Is(err, sql.ErrTxDone) {
		t.Errorf("QueryRow: %v", err)
	}
	if rows.Next() {
		t.Error("rows go on after their transaction")
	}
}

// Many cached statements, the same one nested in itself, and more of them than the cache holds.
func TestStatements(t *testing.T) {
	t.Parallel()
	db := open(t)
	err := db.Write(t.Context(), func(tx *dbfile.Tx) error {
		for i := range 600 {
			if _, err := tx.Exec(fmt.Sprintf("INSERT INTO items (body) VALUES (? || %d)", i%300), fmt.Sprint(i, "-")); err != nil {
				return err
			}
		}
		const query = "SELECT id FROM items WHERE id <= ? ORDER BY id"
		outer, err := tx.Query(query, 3)
		if err != nil {
			return err
		}
		pairs := 0
		for outer.Next() {
			inner, err := tx.Query(query, 2)
			if err != nil {
				return err
			}
			for inner.Next() {
				pairs++
			}
		}
		if pairs != 6 {
			t.Errorf("nested iteration gave %d pairs of 6", pairs)
		}
		var id int
		if err := tx.QueryRow("INSERT INTO items (body) VALUES ('r') RETURNING id").Scan(&id); err != nil || id != 601 {
			t.Errorf("RETURNING gave %d, %v", id, err)
		}
		if err := tx.QueryRow("SELECT 1 WHERE 0").Scan(&id); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("no row: %v", err)
		}
		return outer.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(bodies(t, db)); n != 601 {
		t.Errorf("%d rows", n)
	}
}
