package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// insertEffects adds a commit's effects, due at once. An id that waits already is the same effect.
func insertEffects(tx *dbfile.Tx, no int64, c engine.Commit, now int64) error {
	for i, e := range c.Effects {
		_, err := tx.Exec(`INSERT INTO outbox (id, run, frame, place, due, tries, why, path, kind, body)
			VALUES (?, ?, ?, ?, ?, 0, '', ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			e.ID, no, c.N, i, now, e.Path, e.Effect.Kind, orEmpty(e.Effect.Body))
		if err != nil {
			return err
		}
	}
	return nil
}

// dueNow holds for effects whose time has come, and for those of which nobody could tell: they are damaged.
const dueNow = "(due <= ? OR typeof(due) <> 'integer')"

// Due returns up to limit effects whose time has come, those due longest first and a run's in the order of its frames,
// and hides them from other callers until then+hold. A damaged effect is in nobody's way: STORE_DAMAGED is returned when
// nothing else is.
func (s *Store) Due(ctx context.Context, hold time.Duration, limit int) ([]engine.Delivery, error) {
	if limit <= 0 {
		return nil, nil
	}
	// Asking is cheap and mostly in vain, so it does not queue for the writer.
	due := false
	err := s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		return tx.QueryRow("SELECT EXISTS (SELECT 1 FROM outbox WHERE "+dueNow+")", s.now()).Scan(&due)
	})
	if err != nil || !due {
		return nil, err
	}
	var list []engine.Delivery
	var bad error
	err = s.db.Write(ctx, func(tx *dbfile.Tx) (err error) {
		now := s.clock()
		for page := 0; len(list) == 0; page++ { // a page may hold nothing but damaged effects
			var more bool
			if list, more, err = selectDue(&tx.ReadTx, now.UnixMilli(), limit, page, &bad); err != nil {
				return err
			}
			if !more {
				break
			}
		}
		for _, d := range list {
			if _, err := tx.Exec("UPDATE outbox SET due = ? WHERE id = ?", now.Add(hold).UnixMilli(), d.ID); err != nil {
				return err
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(list) == 0:
		return nil, bad
	}
	return list, nil
}

// selectDue returns the effects of one page of what is due that are whole, adds what is wrong with others to bad, and
// says whether another page may follow.
func selectDue(tx *dbfile.ReadTx, now int64, limit, page int, bad *error) (list []engine.Delivery, more bool, err error) {
	// The inner query sorts without the bodies.
	rows, err := tx.Query(`SELECT o.id, r.id, o.due, o.frame, o.place, o.path, o.kind, o.body, o.tries, o.why
		FROM outbox o LEFT JOIN runs r ON r.no = o.run
		WHERE o.id IN (SELECT id FROM outbox WHERE `+dueNow+` ORDER BY due, run, frame, place LIMIT ? OFFSET ?)
		ORDER BY o.due, o.run, o.frame, o.place`, now, limit, page*limit)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		n++
		var id, run, path, kind, why text
		var due, frame, place, tries integer
		var body blob
		if err := rows.Scan(&id, &run, &due, &frame, &place, &path, &kind, &body, &tries, &why); err != nil {
			if err = unreadable(string(run), fmt.Sprintf("effect %q in the outbox", string(id)), err); !errors.Is(err, Damaged) {
				return nil, false, err
			}
			*bad = errors.Join(*bad, err)
			continue
		}
		list = append(list, engine.Delivery{
			ID: string(id), Run: string(run), Path: string(path), Tries: int(tries), Why: string(why),
			Effect: cairn.Effect{Kind: string(kind), Body: json.RawMessage(body)},
		})
	}
	return list, n == limit, rows.Close()
}

// Delivered removes an effect. Removing one that is gone does nothing.
func (s *Store) Delivered(ctx context.Context, id string) error {
	return s.db.Write(ctx, func(tx *dbfile.Tx) error {
		_, err := tx.Exec("DELETE FROM outbox WHERE id = ?", id)
		return err
	})
}

// Postpone makes an effect due again later and keeps why. Postponing one that is gone does nothing.
func (s *Store) Postpone(ctx context.Context, id string, wait time.Duration, why string) error {
	err := s.db.Write(ctx, func(tx *dbfile.Tx) error {
		_, err := tx.Exec("UPDATE outbox SET due = ?, tries = tries + 1, why = ? WHERE id = ?", s.clock().Add(wait).UnixMilli(), why, id)
		return err
	})
	return unchangeable("", fmt.Sprintf("effect %q in the outbox", id), err)
}
