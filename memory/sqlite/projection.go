package sqlite

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// Enqueue queues projections for the remote backend, in their order, in one transaction. One whose id waits already is not
// queued again, and one whose version is not above the last one delivered of its document is dropped. A projection of an
// item that is gone is dropped too: it was forgotten meanwhile.
func (s *Store) Enqueue(ctx context.Context, projections ...memory.Projection) error {
	for _, p := range projections {
		if err := p.Check(); err != nil {
			return err
		}
	}
	return s.write(ctx, func(c *change) error { return c.enqueue(projections) })
}

func (c *change) enqueue(projections []memory.Projection) error {
	for _, p := range projections {
		space, err := c.space(p.Item.Namespace)
		if err != nil {
			return err
		}
		if space == 0 {
			continue
		}
		item := ""
		if p.Item.ID != "" {
			r, err := c.referred(p.Item)
			if err != nil {
				return err
			}
			if r == nil {
				continue
			}
			raw, err := json.Marshal(p.Item)
			if err != nil {
				return err
			}
			item = string(raw)
		}
		if err := c.enqueueOne(p, space, item); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) enqueueOne(p memory.Projection, space int64, item string) error {
	known := 0
	if err := c.QueryRow("SELECT count(*) FROM mem_projections WHERE id = ?", p.ID).Scan(&known); err != nil || known > 0 {
		return err
	}
	var queued, done int64
	err := c.QueryRow("SELECT queued, done FROM mem_documents WHERE document = ?", p.Document).Scan(&queued, &done)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return err
	}
	if p.Version == 0 {
		p.Version = queued + 1
	}
	if p.Version <= done {
		return nil
	}
	_, err = c.tx.Exec(`INSERT INTO mem_documents (document, space, item, queued, done) VALUES (?, ?, ?, ?, 0) ON CONFLICT (document)
		DO UPDATE SET space = excluded.space, item = excluded.item, queued = max(queued, excluded.queued)`, p.Document, space, item, p.Version)
	if err != nil {
		return err
	}
	_, err = c.tx.Exec(`INSERT INTO mem_projections (id, document, version, space, item, gone, seal, body, tries, why, queued, due, dead)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, '', ?, ?, 0)`, p.ID, p.Document, p.Version, space, item, p.Delete, c.ring.current,
		c.ring.seal(p.Body, projectionPlace(p.ID), "body"), c.now, c.now)
	return err
}

func projectionPlace(id string) place { return place{lane: "projection", name: id} }

// enqueueDeletion replaces all that is queued of a document by its deletion, which keeps nothing of its item. Its id is
// random: it must tell nothing.
func (c *change) enqueueDeletion(document string) error {
	if _, err := c.tx.Exec("DELETE FROM mem_projections WHERE document = ?", document); err != nil {
		return err
	}
	if _, err := c.tx.Exec("UPDATE mem_documents SET space = 0, item = '' WHERE document = ?", document); err != nil {
		return err
	}
	return c.enqueueOne(memory.Projection{ID: "forget-" + rand.Text(), Document: document, Delete: true}, 0, "")
}

const selectProjections = `SELECT q.id, q.document, q.version, q.item, q.gone, q.seal, q.body, q.tries, q.why, q.queued, q.due, q.claim, q.dead,
	coalesce(p.kind, ''), coalesce(p.id, '') FROM mem_projections q LEFT JOIN mem_spaces p ON p.no = q.space `

// firstOfDocument holds for projections that wait for no earlier one of their document.
const firstOfDocument = `NOT EXISTS (SELECT 1 FROM mem_projections b WHERE b.document = q.document AND b.dead = 0 AND (b.version, b.no) < (q.version, q.no))`

// Due returns up to limit projections whose time has come, those due longest first, and hides them from other callers until
// then+hold. Of each document it is the one with the lowest version, and no other while that one waits: so they reach the
// backend in order. Done or Fail must follow within hold; a caller that is later may be overtaken, and its request reach
// the backend after a newer one.
func (s *Store) Due(ctx context.Context, hold time.Duration, limit int) (list []memory.Projection, err error) {
	if limit <= 0 {
		return nil, nil
	}
	const due = "WHERE q.dead = 0 AND q.due <= ? AND " + firstOfDocument + " ORDER BY q.due, q.no LIMIT ?"
	// Asking is mostly in vain, so it does not queue for the writer.
	any := false
	err = s.read(ctx, func(l *look) error {
		return l.QueryRow("SELECT EXISTS (SELECT 1 FROM mem_projections WHERE dead = 0 AND due <= ?)", l.now).Scan(&any)
	})
	if err != nil || !any {
		return nil, err
	}
	err = s.write(ctx, func(c *change) error {
		// What a newer version has overtaken is not worth sending.
		_, err := c.tx.Exec(`DELETE FROM mem_projections WHERE dead = 0 AND version <= (SELECT done FROM mem_documents d WHERE d.document = mem_projections.document)`)
		if err != nil {
			return err
		}
		if list, err = c.projections(due, c.now, limit); err != nil {
			return err
		}
		until := c.now + hold.Milliseconds()
		for i, p := range list {
			if _, err := c.tx.Exec("UPDATE mem_projections SET due = ?, claim = claim + 1 WHERE id = ?", until, p.ID); err != nil {
				return err
			}
			list[i].Due, list[i].Claim = moment(until), p.Claim+1
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (l *look) projections(conditions string, args ...any) (list []memory.Projection, err error) {
	rows, err := l.Query(selectProjections+conditions, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var p memory.Projection
		var item, seal string
		var body []byte
		var queued, due int64
		var ns memory.Namespace
		if err := rows.Scan(&p.ID, &p.Document, &p.Version, &item, &p.Delete, &seal, &body, &p.Tries, &p.Why, &queued, &due, &p.Claim, &p.Dead, &ns.Kind, &ns.ID); err != nil {
			return nil, err
		}
		p.Queued, p.Due, p.Item.Namespace = moment(queued), moment(due), ns
		if item != "" {
			if err := json.Unmarshal([]byte(item), &p.Item); err != nil {
				return nil, damaged("can't read which item projection "+p.ID+" is of", err)
			}
		}
		if body, err = l.ring.open(seal, body, projectionPlace(p.ID), "body"); err != nil {
			return nil, err
		}
		if len(body) > 0 {
			p.Body = body
		}
		list = append(list, p)
	}
	return list, rows.Close()
}

// Done removes a projection that the backend has taken, and raises its document's fence to its version. Once a deletion is
// done nothing is left of the document. A projection that is gone is no error.
func (s *Store) Done(ctx context.Context, id string) error {
	return s.Settle(ctx, memory.Projection{ID: id}, memory.Verdict{Done: true})
}

// Fail makes a projection due again after wait, and keeps why. One that is gone is no error.
func (s *Store) Fail(ctx context.Context, id string, wait time.Duration, why string) error {
	return s.Settle(ctx, memory.Projection{ID: id}, memory.Verdict{At: s.clock().Add(wait), Failed: true, Why: why})
}

// Dead sets a projection aside, and keeps why: it is not handed out again until Retry, and those after it go on. One that is
// gone is no error.
func (s *Store) Dead(ctx context.Context, id, why string) error {
	return s.Settle(ctx, memory.Projection{ID: id}, memory.Verdict{Dead: true, Failed: true, Why: why})
}

// Settle says what became of a projection. With a Claim it changes nothing once that claim has ended, by an earlier verdict
// or by its time: whoever has the projection now decides. One that is gone is no error.
func (s *Store) Settle(ctx context.Context, p memory.Projection, v memory.Verdict) error {
	return s.write(ctx, func(c *change) error {
		list, err := c.projections("WHERE q.id = ?", p.ID)
		if err != nil || len(list) == 0 {
			return err
		}
		now := list[0]
		if p.Claim != 0 && (now.Claim != p.Claim || now.Dead || now.Due.UnixMilli() <= c.now) {
			return nil
		}
		if v.Done {
			return c.delivered(now)
		}
		due, tries := v.At.UnixMilli(), 0
		if v.Dead {
			due = c.now
		}
		if v.Failed {
			tries = 1
		}
		_, err = c.tx.Exec("UPDATE mem_projections SET tries = tries + ?, due = ?, dead = ?, claim = claim + 1, why = iif(? = '', why, ?) WHERE id = ?",
			tries, due, v.Dead, v.Why, v.Why, p.ID)
		return err
	})
}

// delivered removes a projection and what it has overtaken.
func (c *change) delivered(p memory.Projection) error {
	queries := []string{"UPDATE mem_documents SET done = max(done, ?2) WHERE document = ?1"}
	if p.Delete {
		queries[0] = "DELETE FROM mem_documents WHERE document = ?1 AND queued <= ?2"
	}
	for _, q := range append(queries, "DELETE FROM mem_projections WHERE document = ?1 AND version <= ?2 AND (dead = 0 OR version = ?2)") {
		if _, err := c.tx.Exec(q, p.Document, p.Version); err != nil {
			return err
		}
	}
	return nil
}

// Retry makes a projection due now, dead or not: NOT_FOUND. One that a newer version has overtaken is dropped instead.
func (s *Store) Retry(ctx context.Context, id string) error {
	return s.onProjection(ctx, id, "UPDATE mem_projections SET dead = 0, due = ?2 WHERE id = ?1")
}

// Drop removes a projection without delivering it: NOT_FOUND.
func (s *Store) Drop(ctx context.Context, id string) error {
	return s.onProjection(ctx, id, "DELETE FROM mem_projections WHERE id = ?1 AND ?2 IS NOT NULL")
}

func (s *Store) onProjection(ctx context.Context, id, query string) error {
	return s.write(ctx, func(c *change) error {
		result, err := c.tx.Exec(query, id, c.now)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n > 0 {
			return err
		}
		return &cairn.Error{Code: memory.NotFound, Message: "no projection " + id + " waits", Next: "it may have been delivered"}
	})
}

// Projections lists what waits, dead or not, in the order of queueing.
func (s *Store) Projections(ctx context.Context) (list []memory.Projection, err error) {
	err = s.read(ctx, func(l *look) error {
		list, err = l.projections("ORDER BY q.no")
		return err
	})
	return list, err
}
