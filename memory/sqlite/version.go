package sqlite

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/cairnrun/cairn/memory"
)

// nextVersion is above all that the key has had, and above those of keys of which no row is left: a writer that still
// expects an old version must not meet it again.
func (c *change) nextVersion(space int64, key string) (next int64, err error) {
	err = c.QueryRow(`SELECT 1 + max(high, (SELECT coalesce(max(version), 0) FROM mem_versions WHERE space = ? AND name = ?))
		FROM mem_spaces WHERE no = ?`, space, key, space).Scan(&next)
	return next, err
}

// archive keeps the version that a fact has, whose row is about to change.
func (c *change) archive(r *record) error {
	tags, err := json.Marshal(r.tags)
	if err != nil {
		return err
	}
	return c.insertVersion(&version{record: *r, ended: c.now}, string(tags))
}

// insertVersion gives one row of values: a statement that may insert several begins a savepoint, for which the full text
// index writes out all it has in memory.
func (c *change) insertVersion(v *version, tags string) error {
	seal, body := c.ring.current, []byte{}
	if v.dead == 0 {
		body = c.ring.seal(v.body, v.place(), "body")
	} else {
		seal = ""
	}
	_, err := c.tx.Exec(`INSERT INTO mem_versions (space, name, version, dead, bank, tags, seal, body, created, changed, ended, expires,
			valid_from, valid_to, run, path, attempt)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, v.space, v.name, v.version, v.dead, v.bank, tags, seal, body,
		v.created, v.changed, v.ended, v.expires, v.validFrom, v.valid, v.origin.Run, v.origin.Path, v.origin.Attempt)
	return err
}

// bury writes the version that says that the fact is deleted.
func (c *change) bury(r *record) error {
	return c.insertVersion(&version{dead: 1, ended: never, record: record{space: r.space, name: r.name, version: r.version + 1,
		created: r.created, changed: c.now, expires: never, validFrom: ever, valid: never}}, "[]")
}

// version is a row of mem_versions.
type version struct {
	record
	dead  int // 1: a deletion, of all times; 2: has expired and is collected
	ended int64
}

// versions reads those that the conditions on v find.
func (l *look) versions(conditions string, args ...any) (list []*version, err error) {
	rows, err := l.Query(`SELECT p.kind, p.id, v.space, v.name, v.version, v.dead, v.bank, v.tags, v.seal, v.body, v.created, v.changed, v.ended,
			v.expires, v.valid_from, v.valid_to, v.run, v.path, v.attempt
		FROM mem_versions v JOIN mem_spaces p ON p.no = v.space WHERE `+conditions, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		v := &version{record: record{lane: memory.FactLane}}
		var seal, tags string
		err := rows.Scan(&v.ns.Kind, &v.ns.ID, &v.space, &v.name, &v.version, &v.dead, &v.bank, &tags, &seal, &v.body, &v.created, &v.changed, &v.ended,
			&v.expires, &v.validFrom, &v.valid, &v.origin.Run, &v.origin.Path, &v.origin.Attempt)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal([]byte(tags), &v.tags); err != nil {
			return nil, damaged("can't read the tags of a version of "+v.name, err)
		}
		if v.body, err = l.ring.open(seal, v.body, v.place(), "body"); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Close()
}

// times are a moment in milliseconds, with its defaults.
func (l *look) times(m memory.Moment) (valid, system int64) {
	valid, system = l.now, int64(never) // a clock that was set back hides nothing
	if !m.Valid.IsZero() {
		valid = m.Valid.UnixMilli()
	}
	if !m.System.IsZero() {
		system = m.System.UnixMilli()
	}
	return valid, system
}

// factAt returns the version that a moment sees, or nil.
func (l *look) factAt(ns memory.Namespace, key string, m memory.Moment) (*record, error) {
	valid, system := l.times(m)
	r, err := l.named(ns, memory.FactLane, 0, key)
	if err != nil {
		return nil, err
	}
	if r != nil && r.expires <= l.now { // with all that it has replaced
		return nil, nil
	}
	if r == nil || r.changed > system || valid < r.validFrom || valid >= r.valid {
		old, err := l.versions(`v.space = (SELECT no FROM mem_spaces WHERE kind = ? AND id = ?) AND v.name = ? AND v.changed <= ?
			AND (v.dead = 1 OR v.valid_from <= ? AND ? < v.valid_to) ORDER BY v.version DESC LIMIT 1`, string(ns.Kind), ns.ID, key, system, valid, valid)
		if err != nil || len(old) == 0 || old[0].dead > 0 {
			return nil, err
		}
		r = &old[0].record
	}
	if r.expires <= l.now {
		return nil, nil
	}
	return r, nil
}

// factsAt is factAt for all keys of a namespace.
func (l *look) factsAt(ns memory.Namespace, m memory.Moment) (list []*record, err error) {
	valid, system := l.times(m)
	current, err := l.records(`WHERE p.kind = ? AND p.id = ? AND i.lane = 'fact' AND i.changed <= ? AND i.valid_from <= ? AND ? < i.valid_to`,
		string(ns.Kind), ns.ID, system, valid, valid)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, r := range current {
		seen[r.name] = true
		if r.expires > l.now {
			list = append(list, r)
		}
	}
	// Earlier versions count where no row of today does.
	old, err := l.versions(`v.space = (SELECT no FROM mem_spaces WHERE kind = ? AND id = ?) AND v.changed <= ?
		AND (v.dead = 1 OR v.valid_from <= ? AND ? < v.valid_to)
		AND NOT EXISTS (SELECT 1 FROM mem_items i WHERE i.space = v.space AND i.lane = 'fact' AND i.thread = 0 AND i.name = v.name
			AND (i.expires <= ? OR i.changed <= ? AND i.valid_from <= ? AND ? < i.valid_to))
		ORDER BY v.name, v.version DESC`, string(ns.Kind), ns.ID, system, valid, valid, l.now, system, valid, valid)
	if err != nil {
		return nil, err
	}
	for _, v := range old {
		if seen[v.name] {
			continue
		}
		seen[v.name] = true
		if v.dead == 0 && v.expires > l.now {
			list = append(list, &v.record)
		}
	}
	slices.SortFunc(list, func(a, b *record) int { return cmp.Compare(a.name, b.name) })
	return list, nil
}

// PruneVersions drops versions of facts that ended before a time, up to limit of them, and returns how many. Reads by a
// Moment before that time then find less. A version that still holds now or later, because the newer ones hold at other
// times, stays.
func (s *Store) PruneVersions(ctx context.Context, before time.Time, limit int) (pruned int, err error) {
	err = s.write(ctx, func(c *change) error {
		ids, err := column[int64](&c.look, `SELECT v.rowid FROM mem_versions v WHERE v.ended < ?1 AND (v.dead = 1 OR v.valid_to <= ?2
				OR EXISTS (SELECT 1 FROM mem_items i WHERE i.space = v.space AND i.lane = 'fact' AND i.thread = 0 AND i.name = v.name
					AND i.valid_from <= max(v.valid_from, ?2) AND i.valid_to >= v.valid_to)
				OR EXISTS (SELECT 1 FROM mem_versions w WHERE w.space = v.space AND w.name = v.name AND w.version > v.version
					AND (w.dead = 1 OR w.valid_from <= max(v.valid_from, ?2) AND w.valid_to >= v.valid_to)))
			OR v.dead = 1 AND v.changed < ?1 AND NOT EXISTS (SELECT 1 FROM mem_versions w WHERE w.space = v.space AND w.name = v.name AND w.version < v.version AND w.ended >= ?1)
				AND NOT EXISTS (SELECT 1 FROM mem_items i WHERE i.space = v.space AND i.lane = 'fact' AND i.thread = 0 AND i.name = v.name)
			ORDER BY v.ended, v.version LIMIT ?3`, before.UnixMilli(), c.now, limit)
		if err != nil {
			return err
		}
		pruned = len(ids)
		if err := c.dropVersions(ids); err != nil {
			return err
		}
		return c.dropEmptySpaces()
	})
	return pruned, err
}

// dropVersions deletes versions and remembers the highest, see nextVersion.
func (c *change) dropVersions(ids []int64) error {
	c.swept = c.swept || len(ids) > 0
	for _, id := range ids {
		for _, q := range []string{
			"UPDATE mem_spaces SET high = max(high, (SELECT version FROM mem_versions WHERE rowid = ?1)) WHERE no = (SELECT space FROM mem_versions WHERE rowid = ?1)",
			"DELETE FROM mem_versions WHERE rowid = ?1",
		} {
			if _, err := c.tx.Exec(q, id); err != nil {
				return err
			}
		}
	}
	return nil
}

// dropHistory deletes all earlier versions of a fact.
func (c *change) dropHistory(space int64, key string) error {
	ids, err := column[int64](&c.look, "SELECT rowid FROM mem_versions WHERE space = ? AND name = ?", space, key)
	if err != nil {
		return err
	}
	return c.dropVersions(ids)
}

// ExpireFacts collects facts and versions that have expired, up to limit of them, and returns how many. No read has seen
// them before; this frees their place. Run it again while it returns limit.
func (s *Store) ExpireFacts(ctx context.Context, limit int) (collected int, err error) {
	err = s.write(ctx, func(c *change) error {
		list, err := c.records("WHERE i.lane = 'fact' AND i.expires <= ? ORDER BY i.expires LIMIT ?", c.now, limit)
		if err != nil {
			return err
		}
		for _, r := range list {
			if _, err := c.tx.Exec("UPDATE mem_spaces SET high = max(high, ?) WHERE no = ?", r.version, r.space); err != nil {
				return err
			}
			if err := c.dropHistory(r.space, r.name); err != nil {
				return err
			}
			if err := c.remove(r.no); err != nil {
				return err
			}
		}
		// An earlier version leaves a stub: without it, what it had replaced would come back.
		ids, err := column[int64](&c.look, "SELECT rowid FROM mem_versions WHERE expires <= ? ORDER BY expires LIMIT ?", c.now, limit-len(list))
		if err != nil {
			return err
		}
		for _, id := range ids {
			_, err := c.tx.Exec(`UPDATE mem_versions SET dead = 2, bank = '', tags = '[]', seal = '', body = x'', expires = ?,
				run = '', path = '', attempt = 0 WHERE rowid = ?`, int64(never), id)
			if err != nil {
				return err
			}
		}
		c.swept = c.swept || len(ids) > 0
		collected = len(list) + len(ids)
		return nil
	})
	return collected, err
}
