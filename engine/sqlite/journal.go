package sqlite

import (
	"context"
	"encoding/json"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// Record adds or replaces an entry under the lease: LEASE_LOST.
func (s *Store) Record(ctx context.Context, lease engine.Lease, e engine.Entry) error {
	return s.write(ctx, lease.Run, func(tx *dbfile.Tx, no int64) error {
		held, err := touch(tx, `INSERT INTO journal (run, path, name, attempt, value)
			SELECT no, ?, ?, ?, ? FROM runs WHERE no = ? AND epoch = ? AND owner = ? AND owner <> '' `+replace,
			e.Path, e.Name, e.Attempt, orEmpty(e.Value), no, lease.Epoch, lease.Owner)
		if err != nil || held {
			return err
		}
		r, err := numbered(&tx.ReadTx, lease.Run, no)
		if err != nil {
			return err
		}
		return lost(r, lease)
	})
}

func insertEntry(tx *dbfile.Tx, no int64, e engine.Entry) error {
	_, err := tx.Exec("INSERT INTO journal (run, path, name, attempt, value) VALUES (?, ?, ?, ?, ?) "+replace,
		no, e.Path, e.Name, e.Attempt, orEmpty(e.Value))
	return err
}

const replace = "ON CONFLICT (run, path, name) DO UPDATE SET attempt = excluded.attempt, value = excluded.value"

// Entries returns the entries of a path, or of the whole run for "", by path and name: RUN_NOT_FOUND.
func (s *Store) Entries(ctx context.Context, run, path string) ([]engine.Entry, error) {
	query := "SELECT path, name, attempt, value FROM journal WHERE run = ?"
	if path != "" {
		query += " AND path = ?"
	}
	query += " ORDER BY path, name"
	var entries []engine.Entry
	err := s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		no, err := number(tx, run)
		if err != nil {
			return err
		}
		args := []any{no}
		if path != "" {
			args = append(args, path)
		}
		rows, err := tx.Query(query, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var path, name text
			var attempt integer
			var value blob
			if err := rows.Scan(&path, &name, &attempt, &value); err != nil {
				return unreadable(run, "an entry of its journal, path "+string(path), err)
			}
			entries = append(entries, engine.Entry{Path: string(path), Name: string(name), Attempt: int(attempt), Value: json.RawMessage(value)})
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return entries, nil
}
