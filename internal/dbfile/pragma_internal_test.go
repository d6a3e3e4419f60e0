package dbfile

import (
	"maps"
	"path/filepath"
	"testing"
)

func TestPragmasOnEveryConnection(t *testing.T) {
	t.Parallel()
	common := map[string]string{
		"journal_mode": "wal", "busy_timeout": "5000", "foreign_keys": "1", "cache_size": "-8000",
		"temp_store": "2", "auto_vacuum": "0",
	}
	writer := maps.Clone(common)
	maps.Copy(writer, map[string]string{"query_only": "0", "wal_autocheckpoint": "1000", "journal_size_limit": "67108864", "application_id": "77"})
	reader := maps.Clone(common)
	reader["query_only"] = "1"

	for mode, level := range map[Synchronous]string{Full: "2", Normal: "1"} {
		db, err := Open(t.Context(), Config{Path: filepath.Join(t.TempDir(), "a.db"), ApplicationID: 77, Synchronous: mode})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		writer["synchronous"], reader["synchronous"] = level, level

		err = db.Write(t.Context(), func(tx *Tx) error { return compare(t, "writer", &tx.ReadTx, writer) })
		if err != nil {
			t.Fatal(err)
		}
		seen := map[*session]bool{}
		var nest func(depth int) error
		nest = func(depth int) error {
			return db.Read(t.Context(), func(tx *ReadTx) error {
				seen[tx.session] = true
				if err := compare(t, "reader", tx, reader); err != nil || depth == 1 {
					return err
				}
				return nest(depth - 1)
			})
		}
		if err := nest(4); err != nil {
			t.Fatal(err)
		}
		if len(seen) != 4 {
			t.Errorf("looked at %d reading connections of 4", len(seen))
		}
	}
}

func compare(t *testing.T, who string, tx *ReadTx, want map[string]string) error {
	for pragma, value := range want {
		var got string
		if err := tx.QueryRow("PRAGMA " + pragma).Scan(&got); err != nil {
			return err
		}
		if got != value {
			t.Errorf("%s: %s is %s, want %s", who, pragma, got, value)
		}
	}
	return nil
}
