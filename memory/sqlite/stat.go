package sqlite

import (
	"context"
	"time"
)

// Stats is what a store holds.
type Stats struct {
	// Facts, Threads, Messages and Notes count rows, expired facts and messages behind summaries included.
	Facts, Threads, Messages, Notes int
	// Versions counts earlier versions of facts.
	Versions int
	// Expired counts facts that wait for ExpireFacts.
	Expired int
	// Indexed counts entries of the full text index. Less than Facts, Messages and Notes together: it is being made.
	Indexed int
	// Vectors counts vectors, stale ones included.
	Vectors int
	// Waiting and Dead count projections, Oldest is when the first one waiting was queued, zero if none does.
	Waiting, Dead int
	Oldest        time.Time
	// Encrypted says whether texts are sealed, Unsealed how many rows are still not sealed with the current key.
	Encrypted bool
	Unsealed  int
}

// Stats counts. It reads whole indexes: ask for it now and then, not at every step.
func (s *Store) Stats(ctx context.Context) (st Stats, err error) {
	err = s.read(ctx, func(l *look) error {
		oldest := int64(never)
		for _, q := range []struct {
			to   any
			sql  string
			args []any
		}{
			{&st.Facts, "SELECT count(*) FROM mem_items WHERE lane = 'fact'", nil},
			{&st.Threads, "SELECT count(*) FROM mem_items WHERE lane = 'thread'", nil},
			{&st.Messages, "SELECT count(*) FROM mem_items WHERE lane = 'message'", nil},
			{&st.Notes, "SELECT count(*) FROM mem_items WHERE lane = 'note'", nil},
			{&st.Versions, "SELECT count(*) FROM mem_versions", nil},
			{&st.Expired, "SELECT count(*) FROM mem_items WHERE expires <= ?", []any{l.now}},
			{&st.Indexed, "SELECT count(*) FROM mem_fts_docsize", nil},
			{&st.Vectors, "SELECT count(*) FROM mem_vectors", nil},
			{&st.Waiting, "SELECT count(*) FROM mem_projections WHERE dead = 0", nil},
			{&st.Dead, "SELECT count(*) FROM mem_projections WHERE dead = 1", nil},
			{&oldest, "SELECT coalesce(min(queued), ?) FROM mem_projections WHERE dead = 0", []any{int64(never)}},
		} {
			if err := l.QueryRow(q.sql, q.args...).Scan(q.to); err != nil {
				return err
			}
		}
		st.Oldest = moment(oldest)
		if st.Encrypted = s.ring.current != ""; st.Encrypted {
			return l.QueryRow(`SELECT (SELECT count(*) FROM mem_items WHERE seal <> ?1) + (SELECT count(*) FROM mem_versions WHERE seal <> ?1 AND dead = 0)
				+ (SELECT count(*) FROM mem_vectors WHERE seal <> ?1) + (SELECT count(*) FROM mem_projections WHERE seal <> ?1)`, s.ring.current).Scan(&st.Unsealed)
		}
		return nil
	})
	return st, err
}
