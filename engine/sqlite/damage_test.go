package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// A damaged row is an error that names its run, never a panic and never a value of another type: each column of each
// table gets values that the store never writes, and then every method is called.
func TestDamage(t *testing.T) {
	t.Parallel()
	whole := filepath.Join(t.TempDir(), "whole.db")
	s := open(t, sqlite.Config{Path: whole, Synchronous: sqlite.Normal})
	r := start(t, s, "r")
	for i := range 3 {
		if _, err := s.Append(t.Context(), "r", engine.Item{Dedupe: fmt.Sprint(i), Event: core.Event{Kind: core.SignalReceived, Name: "go"}}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Record(t.Context(), r.lease, engine.Entry{Path: "p", Name: "x", Attempt: 1, Value: []byte("1")}); err != nil {
		t.Fatal(err)
	}
	if err := r.commit(func(c *engine.Commit) {
		c.Consumed, c.Status, c.Failure, c.Result = 1, core.Blocked, &cairn.Failure{Code: "X"}, []byte("1")
		c.Effects = []engine.Delivery{{ID: "op", Path: "p", Effect: cairn.Effect{Kind: "k", Body: []byte("1")}}}
		c.Cache = []engine.CacheWrite{entry("key", 1)}
	}); err != nil {
		t.Fatal(err)
	}
	if held, err := s.Hold(t.Context(), "held", "me", time.Minute); err != nil || !held {
		t.Fatal(held, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	for _, column := range columnsOf(t, whole) {
		for _, value := range []string{"NULL", "x'00ff80fe'", "char(1, 0, 65533) || 'garbage'", "1.5", "-1", "9223372036854775807"} {
			t.Run(column.table+"."+column.name+"="+value, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "damaged.db")
				copyFile(t, whole, path)
				wrong, done := spoil(t, path, column, value)
				if !done {
					return
				}
				found := callAll(t, path, r.lease)
				if wrong && !found && !keys[column.table+"."+column.name] && !strings.HasPrefix(column.table, "cache") {
					t.Errorf("no method minds %s in a column of type %s", value, column.kind)
				}
			})
		}
	}
}

// keys are columns that rows are looked up by: a damaged one is a row that is not there. So is a damaged row of the cache,
// in any of its columns.
var keys = map[string]bool{"seen.run": true, "seen.dedupe": true, "journal.run": true}

type column struct{ table, name, kind string }

func columnsOf(t *testing.T, path string) (list []column) {
	rows, err := raw(t, path).Query(`SELECT m.name, c.name, lower(c.type) FROM sqlite_schema m JOIN pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT IN ('schema_version', 'sqlite_stat1')`)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var c column
		if err := rows.Scan(&c.table, &c.name, &c.kind); err != nil {
			t.Fatal(err)
		}
		list = append(list, c)
	}
	if len(list) < 30 {
		t.Fatalf("only %d columns", len(list))
	}
	return list
}

// spoil writes a value into a column of all rows past the table's rules, and says whether it is of a wrong type. What
// SQLite does not take even so (a second NULL in a key) is not done.
func spoil(t *testing.T, path string, c column, value string) (wrong, done bool) {
	db := raw(t, path)
	defer db.Close()
	must := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	var schema string
	if err := db.QueryRow("SELECT sql FROM sqlite_schema WHERE name = ?", c.table).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	lax := strings.NewReplacer("STRICT, WITHOUT", "WITHOUT", "STRICT", "", "NOT NULL", "").Replace(schema)
	must("PRAGMA writable_schema = ON")
	must("UPDATE sqlite_schema SET sql = ? WHERE name = ?", lax, c.table)
	must("PRAGMA writable_schema = RESET")
	_, err := db.Exec(fmt.Sprintf("UPDATE OR REPLACE %s SET %s = %s", c.table, c.name, value))
	if err == nil {
		var kind string
		if err := db.QueryRow(fmt.Sprintf("SELECT typeof(%s) FROM %s", c.name, c.table)).Scan(&kind); err != nil {
			t.Fatal(err)
		}
		nullable := c.name == "result" || c.name == "failure"
		wrong, done = kind != c.kind && !(kind == "null" && nullable), true
	}
	must("PRAGMA writable_schema = ON")
	must("UPDATE sqlite_schema SET sql = ? WHERE name = ?", schema, c.table)
	must("PRAGMA writable_schema = RESET")
	return wrong, done
}

// callAll calls every method and says whether one has told of damage.
func callAll(t *testing.T, path string, lease engine.Lease) (found bool) {
	ctx := context.Background()
	s := open(t, sqlite.Config{Path: path, Synchronous: sqlite.Normal, Clock: func() time.Time { return time.UnixMilli(1 << 42) }})
	defer s.Close()
	mind := func(what string, err error) {
		t.Helper()
		var e *cairn.Error
		switch {
		case err == nil:
		case errors.Is(err, dbfile.ErrPanic):
			t.Errorf("%s: %v", what, err)
		case errors.Is(err, dbfile.ErrConstraint) && !errors.Is(err, sqlite.Damaged):
			t.Errorf("%s: %v", what, err)
		case errors.Is(err, sqlite.Damaged):
			found = true
			if errors.As(err, &e); e.Next == "" || e.Message == "" || e.Run == "" && !strings.Contains(e.Message, "outbox") && !strings.Contains(e.Message, "cache") {
				t.Errorf("%s: error %q names no run or nothing to do", what, err)
			}
		default:
			var file *dbfile.Error
			if !errors.As(err, &e) && !errors.As(err, &file) {
				t.Errorf("%s: error %v has no code", what, err)
			}
		}
	}
	_, err := s.Runs(ctx, engine.Query{})
	mind("Runs", err)
	info, err := s.Run(ctx, "r")
	mind("Run", err)
	if info.Head == 0 {
		info.Head = 2
	}
	mind("Frames", s.Frames(ctx, "r", 1, func(int64, []byte) error { return nil }))
	_, err = s.Entries(ctx, "r", "")
	mind("Entries", err)
	_, err = s.Unread(ctx, lease.Owner)
	mind("Unread", err)
	_, _, err = s.Queue(ctx, 10)
	mind("Queue", err)
	_, err = s.Check(ctx)
	mind("Check", err)
	_, err = s.Due(ctx, 0, 10)
	mind("Due", err)
	for _, key := range []string{"", "0", "1", "new"} {
		_, err = s.Append(ctx, "r", engine.Item{Dedupe: key})
		mind("Append", err)
	}
	mind("Record", s.Record(ctx, lease, engine.Entry{Path: "p", Name: "y"}))
	_, err = s.Renew(ctx, []engine.Lease{lease}, time.Minute)
	mind("Renew", err)
	for _, key := range []string{"key", "held", "new"} {
		_, _, err = s.Lookup(ctx, key, 0)
		mind("Lookup", err)
		held, err := s.Hold(ctx, key, "you", time.Minute)
		mind("Hold", err)
		if until := heldUntil(t, path); !held && err == nil && !(key == "held" && until > 1<<42) {
			t.Errorf("a hold that is over, or damaged, still holds %s", key)
		}
		mind("Free", s.Free(ctx, key, "you"))
	}
	_, err = s.Cached(ctx, "", 10)
	mind("Cached", err)
	_, err = s.CacheStats(ctx)
	mind("CacheStats", err)
	_, err = s.Forget(ctx, "none")
	mind("Forget", err)
	again := &driven{store: s, lease: lease, n: info.Head, hash: info.Hash}
	mind("Commit", again.commit(func(c *engine.Commit) { c.Cache = []engine.CacheWrite{entry("key", 1), entry("more", 1)} }))
	mind("Commit", again.commit())
	_, err = s.Forget(ctx, "")
	mind("Forget", err)
	mind("Commit", again.commit(func(c *engine.Commit) { c.Status, c.Consumed = core.Finished, 2 }))
	mind("Postpone", s.Postpone(ctx, "op", 0, ""))
	mind("Delivered", s.Delivered(ctx, "op"))
	_, err = s.Claim(ctx, "r", engine.Claim{Owner: engine.Owner{Token: "t"}, TTL: time.Minute, Dead: lease.Epoch})
	mind("Claim", err)
	mind("Release", s.Release(ctx, lease))
	c := (&driven{}).next()
	mind("Import", s.Import(ctx, engine.NewRun{ID: "new"}, []engine.Commit{c}, nil))
	_, err = s.Create(ctx, engine.NewRun{ID: "newer"}, c, engine.Claim{Owner: engine.Owner{Token: "t"}, TTL: time.Minute})
	mind("Create", err)
	return found
}

// heldUntil is when the one hold ends, 0 if that can't be told.
func heldUntil(t *testing.T, path string) (until int64) {
	db := raw(t, path)
	defer db.Close()
	_ = db.QueryRow("SELECT until FROM cache_holds WHERE key = 'held' AND typeof(until) = 'integer'").Scan(&until)
	return until
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
