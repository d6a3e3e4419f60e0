package dbfile_test

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// What is deleted is neither in the file nor beside it.
func TestCheckpointOfSecureDeletes(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *dbfile.Config) { c.SecureDelete = true })
	if err := db.Write(t.Context(), insert("a quokka that is deleted")); err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := db.Write(t.Context(), func(tx *dbfile.Tx) error {
		_, err := tx.Exec("DELETE FROM items")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{db.Path(), db.Path() + "-wal"} {
		content, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(content, []byte("quokka")) {
			t.Errorf("%s still has it", name)
		}
	}
}

// A read that goes on keeps a checkpoint from its end, and no write.
func TestCheckpointWaitsForReadsAndNobodyForIt(t *testing.T) {
	t.Parallel()
	db := open(t, func(c *dbfile.Config) { c.BusyTimeout = 20 * time.Millisecond })
	if err := db.Write(t.Context(), insert("before")); err != nil {
		t.Fatal(err)
	}
	err := db.Read(t.Context(), func(tx *dbfile.ReadTx) error {
		var n int
		if err := tx.QueryRow("SELECT count(*) FROM items").Scan(&n); err != nil {
			return err
		}
		if err := db.Write(t.Context(), insert("meanwhile")); err != nil {
			return err
		}
		want(t, db.Checkpoint(t.Context()), dbfile.ErrLocked)
		return db.Write(t.Context(), insert("after"))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Checkpoint(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := bodies(t, db); len(got) != 3 {
		t.Errorf("%q", got)
	}
}
