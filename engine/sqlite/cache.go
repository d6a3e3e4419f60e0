package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/internal/dbfile"
)

const (
	// useKept is how exactly the last use is known: a use within this time of the one before writes nothing.
	useKept = time.Minute
	// evictAtOnce is how many entries one commit evicts at most.
	evictAtOnce = 32
	// entryOverhead is what an entry takes besides its own bytes, roughly: moments, and its rows in two indexes.
	entryOverhead = 160
)

// writeCache does what a commit has for the cache. Commits without cache touch none of its pages. A cache that is
// damaged is emptied: it can be made anew, and no run has to stop for it.
func (s *Store) writeCache(tx *dbfile.Tx, writes []engine.CacheWrite, now time.Time) error {
	err := s.tryWriteCache(tx, writes, now)
	if isDamage(err) {
		_, err = empty(tx)
	}
	return err
}

func isDamage(err error) bool {
	var bad *typeError
	return errors.As(err, &bad) || errors.Is(err, dbfile.ErrConstraint)
}

// empty removes all that there is of the cache but the holds in force, and says how many entries there were.
func empty(tx *dbfile.Tx) (n int, err error) {
	if err := tx.QueryRow("SELECT count(*) FROM cache").Scan(&n); err != nil {
		return 0, err
	}
	for _, query := range []string{"DELETE FROM cache", "DELETE FROM cache_total"} {
		if _, err := tx.Exec(query); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func (s *Store) tryWriteCache(tx *dbfile.Tx, writes []engine.CacheWrite, now time.Time) error {
	wrote := false
	for _, w := range writes {
		if w.Used {
			if _, err := tx.Exec("UPDATE cache SET used = ? WHERE key = ? AND used <= ?",
				now.UnixMilli(), w.Entry.Key, now.Add(-useKept).UnixMilli()); err != nil {
				return err
			}
			continue
		}
		if err := s.putEntry(tx, w, now); err != nil {
			return err
		}
		wrote = true
	}
	if !wrote {
		return nil
	}
	return s.evict(tx, now)
}

// putEntry replaces the entry of a key and ends the hold on it.
func (s *Store) putEntry(tx *dbfile.Tx, w engine.CacheWrite, now time.Time) error {
	e := w.Entry
	artifacts := []byte{}
	if len(e.Artifacts) > 0 {
		var err error
		if artifacts, err = json.Marshal(e.Artifacts); err != nil {
			return misuse(e.Run, "the artifacts of a cache entry are no JSON: "+err.Error(), "mend them")
		}
	}
	size := int64(entryOverhead + 2*len(e.Key) + len(e.Workflow) + len(e.Run) + len(e.Path) + len(e.Identity) + len(e.Schema) +
		len(artifacts) + len(e.Output))
	if _, err := tx.Exec("DELETE FROM cache_holds WHERE key = ?", e.Key); err != nil {
		return err
	}
	// The old one goes even if the new one does not fit: it was found to be of no use.
	if _, err := forget(tx, "key = ?", e.Key); err != nil || size > s.cache.MaxBytes {
		return err
	}
	expires := int64(0)
	if w.TTL > 0 {
		expires = now.Add(w.TTL).UnixMilli()
	}
	_, err := tx.Exec(`INSERT INTO cache (key, used, created, expires, bytes, workflow, run, path, scope, identity, schema, artifacts, output)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, e.Key, now.UnixMilli(), now.UnixMilli(), expires, size,
		e.Workflow, e.Run, e.Path, e.Scope, e.Identity, e.Schema, artifacts, orEmpty(e.Output))
	if err != nil {
		return err
	}
	return addTotal(tx, 1, size)
}

func addTotal(tx *dbfile.Tx, entries, bytes int64) error {
	_, err := tx.Exec(`INSERT INTO cache_total (no, entries, bytes) VALUES (1, ?, ?)
		ON CONFLICT (no) DO UPDATE SET entries = entries + excluded.entries, bytes = bytes + excluded.bytes`, entries, bytes)
	return err
}

func total(tx *dbfile.ReadTx) (entries, bytes int64, err error) {
	err = tx.QueryRow("SELECT entries, bytes FROM cache_total WHERE no = 1").Scan((*integer)(&entries), (*integer)(&bytes))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, 0, nil
	}
	return entries, bytes, err
}

// forget removes the entries that a condition holds for.
func forget(tx *dbfile.Tx, where string, args ...any) (int, error) {
	var entries, bytes int64
	if err := tx.QueryRow("SELECT count(*), coalesce(sum(bytes), 0) FROM cache WHERE "+where, args...).
		Scan((*integer)(&entries), (*integer)(&bytes)); err != nil || entries == 0 {
		return 0, err
	}
	if _, err := tx.Exec("DELETE FROM cache WHERE "+where, args...); err != nil {
		return 0, err
	}
	return int(entries), addTotal(tx, -entries, -bytes)
}

// evict removes what was unused for longest, while the cache is too large or the entry too old.
func (s *Store) evict(tx *dbfile.Tx, now time.Time) error {
	_, all, err := total(&tx.ReadTx)
	if err != nil {
		return err
	}
	rows, err := tx.Query("SELECT rowid, used, bytes FROM cache ORDER BY used LIMIT ?", evictAtOnce)
	if err != nil {
		return err
	}
	defer rows.Close()
	var out []int64
	before := all
	for rows.Next() {
		var id, used, bytes integer
		if err := rows.Scan(&id, &used, &bytes); err != nil {
			return err
		}
		if all <= s.cache.MaxBytes && int64(used) > now.Add(-s.cache.MaxAge).UnixMilli() {
			break
		}
		out, all = append(out, int64(id)), all-int64(bytes)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil || len(out) == 0 {
		return err
	}
	for _, id := range out {
		if _, err := tx.Exec("DELETE FROM cache WHERE rowid = ?", id); err != nil {
			return err
		}
	}
	return addTotal(tx, -int64(len(out)), all-before)
}

// Lookup returns the entry of a key that has not run out, and is younger than maxAge if that is not 0. A damaged entry
// counts as none.
func (s *Store) Lookup(ctx context.Context, key string, maxAge time.Duration) (entry engine.CacheEntry, ok bool, err error) {
	err = s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		var list []engine.CacheEntry
		list, err := selectEntries(tx, "output", "WHERE key = ?", key)
		if err != nil || len(list) == 0 {
			return err
		}
		entry = list[0]
		now := moment(s.now())
		ok = (entry.Expires.IsZero() || now.Before(entry.Expires)) && (maxAge == 0 || now.Before(entry.Created.Add(maxAge)))
		return nil
	})
	if err != nil || !ok {
		return engine.CacheEntry{}, false, err
	}
	return entry, true, nil
}

// Cached lists up to limit entries whose key begins with the prefix, without their outputs, the last used first.
func (s *Store) Cached(ctx context.Context, prefix string, limit int) (list []engine.CacheEntry, err error) {
	err = s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		list, err = selectEntries(tx, "x''", "WHERE "+hasPrefix+" ORDER BY used DESC, key LIMIT ?", prefix, prefix, min(max(limit, 0), math.MaxInt32))
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

const hasPrefix = "substr(key, 1, length(?)) = ?"

// selectEntries reads entries, those that are whole.
func selectEntries(tx *dbfile.ReadTx, output, where string, args ...any) (list []engine.CacheEntry, err error) {
	rows, err := tx.Query("SELECT key, used, created, expires, bytes, workflow, run, path, scope, identity, schema, artifacts, "+output+
		" FROM cache "+where, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var key, workflow, run, path, scope, identity, schema text
		var used, created, expires, bytes integer
		var artifacts, output blob
		err := rows.Scan(&key, &used, &created, &expires, &bytes, &workflow, &run, &path, &scope, &identity, &schema, &artifacts, &output)
		e := engine.CacheEntry{Key: string(key), Workflow: string(workflow), Run: string(run), Path: string(path), Scope: string(scope),
			Identity: string(identity), Schema: string(schema), Bytes: int64(bytes), Created: moment(int64(created)), Used: moment(int64(used))}
		if err == nil && len(artifacts) > 0 {
			if err := json.Unmarshal(artifacts, &e.Artifacts); err != nil {
				continue
			}
		}
		if err != nil {
			if err = unreadable(string(run), fmt.Sprintf("cache entry %q", string(key)), err); errors.Is(err, Damaged) {
				continue
			}
			return nil, err
		}
		if len(output) > 0 {
			e.Output = json.RawMessage(output)
		}
		if expires != 0 {
			e.Expires = moment(int64(expires))
		}
		list = append(list, e)
	}
	return list, rows.Err()
}

// Hold takes a key for an owner, or holds it for longer. It is false while another owner holds the key.
func (s *Store) Hold(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	if key == "" || owner == "" || ttl <= 0 {
		return false, misuse("", fmt.Sprintf("a hold on key %q by %q for %s", key, owner, ttl), "name both, and hold for a while")
	}
	// Whoever waits for a key asks again and again, and does not queue for the writer.
	taken := false
	err := s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		return tx.QueryRow("SELECT EXISTS (SELECT 1 FROM cache_holds WHERE key = ? AND owner <> ? AND until > ? AND typeof(until) = 'integer')", key, owner, s.now()).Scan(&taken)
	})
	if err != nil || taken {
		return false, err
	}
	held := false
	err = s.db.Write(ctx, func(tx *dbfile.Tx) (err error) {
		now := s.clock()
		// Holds of the dead, and those of which nobody could tell: the table is short, and stays so.
		if _, err = tx.Exec("DELETE FROM cache_holds WHERE until <= ? OR typeof(until) <> 'integer'", now.UnixMilli()); err != nil {
			return err
		}
		held, err = touch(tx, `INSERT INTO cache_holds (key, owner, until) VALUES (?, ?, ?)
			ON CONFLICT (key) DO UPDATE SET until = excluded.until WHERE owner = excluded.owner`,
			key, owner, now.Add(ttl).UnixMilli())
		return err
	})
	return held && err == nil, unchangeable("", "a hold of the cache", err)
}

// Free ends a hold of the owner early. Freeing what is not held does nothing.
func (s *Store) Free(ctx context.Context, key, owner string) error {
	return s.db.Write(ctx, func(tx *dbfile.Tx) error {
		_, err := tx.Exec("DELETE FROM cache_holds WHERE key = ? AND owner = ?", key, owner)
		return err
	})
}

// Forget removes the entries whose key begins with the prefix, all for "", and says how many there were.
func (s *Store) Forget(ctx context.Context, prefix string) (n int, err error) {
	err = s.db.Write(ctx, func(tx *dbfile.Tx) error {
		if prefix == "" {
			n, err = empty(tx)
			return err
		}
		n, err = forget(tx, hasPrefix, prefix, prefix)
		return unreadable("", "the size of the cache: forget all of it", err)
	})
	if err != nil {
		return 0, err
	}
	return n, nil
}

// CacheStats sums up what is there.
func (s *Store) CacheStats(ctx context.Context) (stats engine.CacheStats, err error) {
	stats.MaxBytes, stats.MaxAge = s.cache.MaxBytes, s.cache.MaxAge
	err = s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		if stats.Entries, stats.Bytes, err = total(tx); err != nil {
			return unreadable("", "the size of the cache: forget all of it", err)
		}
		return tx.QueryRow("SELECT count(*) FROM cache_holds WHERE until > ?", s.now()).Scan((*integer)(&stats.Held))
	})
	if err != nil {
		return engine.CacheStats{}, err
	}
	return stats, nil
}
