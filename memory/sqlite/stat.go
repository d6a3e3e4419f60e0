package sqlite

import (
	"context"
	"time"

	"github.com/cairnrun/cairn/memory"
)

// Stats is what a store holds.
type Stats struct {
	// Facts, Threads, Messages and Notes count rows, expired facts and messages behind summaries included.
	Facts    int `json:"facts"`
	Threads  int `json:"threads"`
	Messages int `json:"messages"`
	Notes    int `json:"notes"`
	// Versions counts earlier versions of facts.
	Versions int `json:"versions"`
	// Expired counts facts that wait for ExpireFacts.
	Expired int `json:"expired"`
	// Indexed counts entries of the full text index. Less than Facts, Messages and Notes together: it is being made.
	Indexed int `json:"indexed"`
	// Index is the version of the rules by which the index was made, 0 while it is being made, and Rules that of this program.
	Index int `json:"index"`
	Rules int `json:"rules"`
	// Vectors counts vectors, stale ones included.
	Vectors int `json:"vectors"`
	// Waiting and Dead count projections, Oldest is when the first one waiting was queued, zero if none does.
	Waiting int       `json:"waiting"`
	Dead    int       `json:"dead"`
	Oldest  time.Time `json:"oldest,omitzero"`
	// Encrypted says whether texts are sealed, Unsealed how many rows are still not sealed with the current key.
	Encrypted bool `json:"encrypted"`
	Unsealed  int  `json:"unsealed,omitempty"`
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
			{&st.Index, "SELECT coalesce((SELECT CAST(CAST(value AS TEXT) AS INTEGER) FROM mem_meta WHERE name = 'index'), 0)", nil},
			{&st.Vectors, "SELECT count(*) FROM mem_vectors", nil},
			{&st.Waiting, "SELECT count(*) FROM mem_projections WHERE dead = 0", nil},
			{&st.Dead, "SELECT count(*) FROM mem_projections WHERE dead = 1", nil},
			{&oldest, "SELECT coalesce(min(queued), ?) FROM mem_projections WHERE dead = 0", []any{int64(never)}},
		} {
			if err := l.QueryRow(q.sql, q.args...).Scan(q.to); err != nil {
				return err
			}
		}
		st.Oldest, st.Rules = moment(oldest), indexVersion
		if st.Encrypted = s.ring.current != ""; st.Encrypted {
			return l.QueryRow(`SELECT (SELECT count(*) FROM mem_items WHERE seal <> ?1) + (SELECT count(*) FROM mem_versions WHERE seal <> ?1 AND dead = 0)
				+ (SELECT count(*) FROM mem_vectors WHERE seal <> ?1) + (SELECT count(*) FROM mem_projections WHERE seal <> ?1)`, s.ring.current).Scan(&st.Unsealed)
		}
		return nil
	})
	return st, err
}

// Share is what a namespace holds.
type Share struct {
	Namespace memory.Namespace `json:"namespace"`
	// Facts, Threads, Messages and Notes count rows; facts that have expired do not count.
	Facts    int `json:"facts"`
	Threads  int `json:"threads"`
	Messages int `json:"messages"`
	Notes    int `json:"notes"`
}

// Shares counts what each namespace holds, by kind and id. Namespaces that hold nothing are left out.
func (s *Store) Shares(ctx context.Context) (list []Share, err error) {
	err = s.read(ctx, func(l *look) error {
		rows, err := l.Query(`SELECT p.kind, p.id, sum(i.lane = 'fact'), sum(i.lane = 'thread'), sum(i.lane = 'message'), sum(i.lane = 'note')
			FROM mem_items i JOIN mem_spaces p ON p.no = i.space WHERE i.expires > ? GROUP BY p.no ORDER BY p.kind, p.id`, l.now)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var s Share
			if err := rows.Scan(&s.Namespace.Kind, &s.Namespace.ID, &s.Facts, &s.Threads, &s.Messages, &s.Notes); err != nil {
				return err
			}
			list = append(list, s)
		}
		return rows.Close()
	})
	return list, err
}
