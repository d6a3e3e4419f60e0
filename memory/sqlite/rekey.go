package sqlite

import (
	"context"

	"github.com/cairnrun/cairn/memory"
)

// Rekey seals up to limit rows with the current key that are not, and returns how many. Run it until it returns 0: then the
// old keys can go. It ends where it is when the process does, and goes on with the next call. In a file that was not
// encrypted before, the old texts may still lie in free pages, and only a new file from an export is rid of them, unless the
// file overwrites what it deletes.
func (s *Store) Rekey(ctx context.Context, limit int) (sealed int, err error) {
	if s.ring.current == "" {
		return 0, contradictory("there is no key to seal with", "open the store with Keys")
	}
	err = s.write(ctx, func(c *change) error {
		for _, fn := range []func(limit int) (int, error){c.rekeyItems, c.rekeyVersions, c.rekeyVectors, c.rekeyProjections} {
			n, err := fn(limit - sealed)
			if err != nil {
				return err
			}
			c.swept = c.swept || n > 0
			if sealed += n; sealed >= limit {
				return nil
			}
		}
		return nil
	})
	return sealed, err
}

func (c *change) rekeyItems(limit int) (int, error) {
	list, err := c.records("WHERE i.seal <> ? LIMIT ?", c.ring.current, limit)
	if err != nil {
		return 0, err
	}
	for _, r := range list {
		at := r.place()
		_, err := c.tx.Exec("UPDATE mem_items SET seal = ?, title = ?, body = ?, data = ?, hash = ? WHERE no = ?",
			c.ring.current, c.ring.seal(r.title, at, "title"), c.ring.seal(r.body, at, "body"), c.ring.seal(r.data, at, "data"), c.ring.hash(r.title, r.body), r.no)
		if err != nil {
			return 0, err
		}
		// A vector that was of the old hash is as fresh as it was.
		if _, err := c.tx.Exec("UPDATE mem_vectors SET hash = ? WHERE item = ? AND hash = ?", c.ring.hash(r.title, r.body), r.no, r.hash); err != nil {
			return 0, err
		}
		if r.lane == memory.NoteLane {
			if err := c.settleSlots(r.no); err != nil {
				return 0, err
			}
		}
	}
	return len(list), nil
}

func (c *change) rekeyVersions(limit int) (int, error) {
	list, err := c.versions("v.seal <> ? AND v.dead = 0 LIMIT ?", c.ring.current, limit)
	if err != nil {
		return 0, err
	}
	for _, v := range list {
		_, err := c.tx.Exec("UPDATE mem_versions SET seal = ?, body = ? WHERE space = ? AND name = ? AND version = ?",
			c.ring.current, c.ring.seal(v.body, v.place(), "body"), v.space, v.name, v.version)
		if err != nil {
			return 0, err
		}
	}
	return len(list), nil
}

func (c *change) rekeyVectors(limit int) (n int, err error) {
	items, err := column[int64](&c.look, "SELECT item FROM mem_vectors WHERE seal <> ? LIMIT ?", c.ring.current, limit)
	if err != nil {
		return 0, err
	}
	for _, no := range items {
		r, err := c.record("WHERE i.no = ?", no)
		if err != nil {
			return 0, err
		}
		models, err := column[string](&c.look, "SELECT model FROM mem_vectors WHERE item = ? AND seal <> ?", no, c.ring.current)
		if err != nil {
			return 0, err
		}
		for _, model := range models {
			var seal string
			var value []byte
			if err := c.QueryRow("SELECT seal, value FROM mem_vectors WHERE item = ? AND model = ?", no, model).Scan(&seal, &value); err != nil {
				return 0, err
			}
			at := vectorPlace(r, model)
			if value, err = c.ring.open(seal, value, at, "vector"); err != nil {
				return 0, err
			}
			_, err := c.tx.Exec("UPDATE mem_vectors SET seal = ?, value = ? WHERE item = ? AND model = ?", c.ring.current, c.ring.seal(value, at, "vector"), no, model)
			if err != nil {
				return 0, err
			}
		}
	}
	return len(items), nil
}

func (c *change) rekeyProjections(limit int) (int, error) {
	list, err := c.projections("WHERE q.seal <> ? LIMIT ?", c.ring.current, limit)
	if err != nil {
		return 0, err
	}
	for _, p := range list {
		_, err := c.tx.Exec("UPDATE mem_projections SET seal = ?, body = ? WHERE id = ?", c.ring.current, c.ring.seal(p.Body, projectionPlace(p.ID), "body"), p.ID)
		if err != nil {
			return 0, err
		}
	}
	return len(list), nil
}
