package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// Append adds an item: RUN_NOT_FOUND, RUN_ENDED. An item whose Dedupe the run has seen already is not added again; its
// first number is returned, even once the run has ended: what was acknowledged stays so. What is for a run that was
// continued goes to the last of its chain, which has the numbers and the keys of all before it.
func (s *Store) Append(ctx context.Context, run string, item engine.Item) (int64, error) {
	event, err := json.Marshal(item.Event)
	if err != nil {
		return 0, misuse(run, "the inbox item's event is no JSON: "+err.Error(), "mend its payload")
	}
	var seq int64
	err = s.change(ctx, run, func(tx *dbfile.Tx) error {
		r, err := lastOf(&tx.ReadTx, run)
		if err != nil {
			return err
		}
		if seq, err = firstSeen(&tx.ReadTx, r, item.Dedupe); err != nil || seq > 0 {
			return err
		}
		if r.Status.Terminal() {
			return ended(r.ID, r.Status)
		}
		last, err := lastItem(&tx.ReadTx, r)
		if err != nil {
			return err
		}
		if last == perRun {
			return misuse(run, "the run's inbox has had 2^32 items", "end the run and start another")
		}
		seq = last + 1
		if _, err := tx.Exec("INSERT INTO inbox (id, dedupe, event) VALUES (?, ?, ?)", key(r.no, seq), item.Dedupe, event); err != nil {
			return err
		}
		if item.Dedupe == "" {
			return nil
		}
		_, err = tx.Exec("INSERT INTO seen (run, dedupe, seq) VALUES (?, ?, ?)", r.no, item.Dedupe, seq)
		return err
	})
	if err != nil {
		return 0, err
	}
	return seq, nil
}

// lastOf returns the run at the end of a run's chain: RUN_NOT_FOUND.
func lastOf(tx *dbfile.ReadTx, run string) (*row, error) {
	r, err := findRun(tx, run)
	for met := map[string]bool{}; err == nil && r.Successor != ""; {
		if met[r.ID] {
			return nil, damaged(run, "its chain of successors leads back to itself", nil)
		}
		met[r.ID] = true
		next, missing := findRun(tx, r.Successor)
		if errors.Is(missing, engine.RunNotFound) {
			return r, nil // imported without the rest of its chain
		}
		r, err = next, missing
	}
	return r, err
}

// firstSeen returns the number of the item that had the dedupe key first, 0 if none had.
func firstSeen(tx *dbfile.ReadTx, r *row, dedupe string) (int64, error) {
	if dedupe == "" {
		return 0, nil
	}
	var seq integer
	switch err := tx.QueryRow("SELECT seq FROM seen WHERE run = ? AND dedupe = ?", r.no, dedupe).Scan(&seq); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, nil
	case err != nil:
		return 0, unreadable(r.ID, "what its inbox has seen", err)
	case seq < 1:
		return 0, damaged(r.ID, fmt.Sprintf("its inbox has seen %q as number %d", dedupe, seq), nil)
	}
	return int64(seq), nil
}

// lastItem returns the highest number the inbox has given: items that are gone were consumed.
func lastItem(tx *dbfile.ReadTx, r *row) (int64, error) {
	var id integer
	err := tx.QueryRow("SELECT id FROM inbox WHERE id > ? AND id <= ? ORDER BY id DESC LIMIT 1", key(r.no, 0), key(r.no, perRun)).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return r.consumed, nil
	}
	return int64(id) & perRun, unreadable(r.ID, "the last item of its inbox", err)
}

// Unread returns the items not yet consumed of all runs leased by the owner, in order per run. Each event has its Seq
// set. A damaged item holds up its own run and no other: STORE_DAMAGED is returned when nothing else is.
func (s *Store) Unread(ctx context.Context, owner string) ([]engine.Item, error) {
	if owner == "" {
		return nil, nil // nobody's runs are not somebody's
	}
	var items []engine.Item
	var bad error
	err := s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		// CROSS JOIN fixes the order of the loops: unread items are few, runs may be many.
		rows, err := tx.Query(`SELECT i.id, r.id, i.dedupe, i.event FROM inbox i CROSS JOIN runs r ON r.no = i.id >> 32
			WHERE r.owner = ? ORDER BY i.id`, owner)
		if err != nil {
			return err
		}
		defer rows.Close()
		broken := "" // a run's later items wait for the broken one, or order would be lost
		for rows.Next() {
			item, err := scanItem(rows)
			if item.Run == broken {
				continue
			}
			switch {
			case errors.Is(err, Damaged):
				broken, bad = item.Run, errors.Join(bad, err)
			case err != nil:
				return err
			default:
				items = append(items, item)
			}
		}
		return rows.Err()
	})
	switch {
	case err != nil:
		return nil, err
	case len(items) == 0:
		return nil, bad
	}
	return items, nil
}

// scanItem names the item's run with an error too.
func scanItem(rows *dbfile.Rows) (engine.Item, error) {
	var run, dedupe text
	var id integer
	var event blob
	err := rows.Scan(&id, &run, &dedupe, &event)
	item := engine.Item{Run: string(run), Seq: int64(id) & perRun, Dedupe: string(dedupe)}
	what := fmt.Sprintf("item %d of its inbox", item.Seq)
	if item.Run == "" {
		item.Run = fmt.Sprintf("(row %d of table runs)", int64(id)>>32)
	}
	if err != nil {
		return item, unreadable(item.Run, what, err)
	}
	if err := json.Unmarshal(event, &item.Event); err != nil {
		return item, damaged(item.Run, what+" is not JSON of an event", err)
	}
	item.Event.Seq = item.Seq
	return item, nil
}
