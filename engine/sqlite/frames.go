package sqlite

import (
	"context"
	"fmt"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// Frames calls fn with the encoded frames from number n on, in order, as of one moment: RUN_NOT_FOUND. Frames that the
// catalog promises and the file lacks are STORE_DAMAGED, after those before the gap. An error of fn ends it and is
// returned as it is. The store holds one frame at a time.
func (s *Store) Frames(ctx context.Context, run string, n int64, fn func(n int64, body []byte) error) error {
	return s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		r, err := findRun(tx, run)
		if err != nil {
			return err
		}
		next := max(n, 1)
		rows, err := tx.Query("SELECT id, body FROM frames WHERE id BETWEEN ? AND ? ORDER BY id", key(r.no, next), key(r.no, r.Head))
		if err != nil {
			return err
		}
		defer rows.Close()
		var id integer
		var body blob
		for rows.Next() {
			if err := rows.Scan(&id, &body); err != nil {
				return unreadable(run, fmt.Sprintf("frame %d", next), err)
			}
			if int64(id) != key(r.no, next) {
				break
			}
			if err := fn(next, body); err != nil {
				return err
			}
			next++
		}
		if err := rows.Close(); err != nil {
			return err
		}
		if next <= r.Head {
			return damaged(run, fmt.Sprintf("frame %d of %d is missing", next, r.Head), nil)
		}
		return nil
	})
}
