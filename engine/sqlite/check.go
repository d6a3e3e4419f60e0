package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/cairnrun/cairn/internal/dbfile"
)

// maxProblems bounds what Check tells: one torn page may damage very many rows.
const maxProblems = 20

// Check has SQLite read the whole file and returns what is wrong with it, one problem an entry, none if it is whole. It takes
// time in proportion to the file, and nobody waits for it.
func (s *Store) Check(ctx context.Context) (problems []string, err error) {
	err = s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		rows, err := tx.Query(fmt.Sprintf("PRAGMA quick_check(%d)", maxProblems))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			if line != "ok" {
				problems = append(problems, line)
			}
		}
		return rows.Close()
	})
	return problems, err
}

// Queued is an effect that waits in the outbox.
type Queued struct {
	ID   string `json:"id"`
	Run  string `json:"run"`
	Path string `json:"path"`
	Kind string `json:"kind"`
	// Frame is the number of the frame that has decided it: its time is since when the effect waits.
	Frame int64 `json:"frame"`
	// Due is when it is tried next, Tries how often it has failed and Why how the last time.
	Due   time.Time `json:"due"`
	Tries int       `json:"tries,omitempty"`
	Why   string    `json:"why,omitempty"`
}

// Queue looks at the outbox and takes nothing out of it: how many effects wait, and the first ones of them, up to limit, those
// of the run that was created first before others.
func (s *Store) Queue(ctx context.Context, limit int) (n int, list []Queued, err error) {
	err = s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		if err := tx.QueryRow("SELECT count(*) FROM outbox").Scan(&n); err != nil {
			return err
		}
		rows, err := tx.Query(`SELECT o.id, coalesce(r.id, ''), o.path, o.kind, o.frame, o.due, o.tries, o.why
			FROM outbox o LEFT JOIN runs r ON r.no = o.run ORDER BY o.run, o.frame, o.place LIMIT ?`, limit)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, run, path, kind, why text
			var frame, due, tries integer
			if err := rows.Scan(&id, &run, &path, &kind, &frame, &due, &tries, &why); err != nil {
				return unreadable(string(run), "an effect in the outbox", err)
			}
			q := Queued{ID: string(id), Run: string(run), Path: string(path), Kind: string(kind), Frame: int64(frame), Due: moment(int64(due)), Tries: int(tries), Why: string(why)}
			list = append(list, q)
		}
		return rows.Close()
	})
	return n, list, err
}
