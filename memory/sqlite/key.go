package sqlite

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// Key encrypts texts at rest with AES-256-GCM.
type Key struct {
	// ID names the key in the file, in clear. Never give two keys one id.
	ID string
	// Secret is 32 random bytes: a key, not a password.
	Secret []byte
}

// ring holds the keys of an open store.
type ring struct {
	current string // the id of the key that seals; "" seals nothing
	keys    map[string]cipher.AEAD
	digest  []byte // keys the hashes of texts, so that they can't be guessed; nil in a file that is not encrypted
}

func newRing(keys []Key) (*ring, error) {
	r := &ring{keys: map[string]cipher.AEAD{}}
	for i, k := range keys {
		if err := memory.CheckName("a key's id", k.ID); err != nil {
			return nil, err
		}
		if len(k.Secret) != 32 {
			return nil, contradictory(fmt.Sprintf("the secret of key %q has %d bytes", k.ID, len(k.Secret)), "give 32 random bytes")
		}
		if r.keys[k.ID] != nil {
			return nil, contradictory(fmt.Sprintf("two keys are called %q", k.ID), "give each its own id")
		}
		block, err := aes.NewCipher(k.Secret)
		if err != nil {
			return nil, err
		}
		if r.keys[k.ID], err = cipher.NewGCMWithRandomNonce(block); err != nil {
			return nil, err
		}
		if i == 0 {
			r.current = k.ID
		}
	}
	return r, nil
}

// place is what a sealed text is bound to: moved elsewhere, it does not open.
type place struct {
	lane   memory.Lane
	space  memory.Namespace
	thread int64
	name   string
}

func (p place) bytes(column string) []byte {
	return fmt.Appendf(nil, "%s\x00%s\x00%d\x00%s\x00%s", p.lane, p.space, p.thread, p.name, column)
}

// seal encrypts with the current key. What is empty stays empty: its length shows anyway.
func (r *ring) seal(plain []byte, at place, column string) []byte {
	if r.current == "" || len(plain) == 0 {
		return append([]byte{}, plain...) // never nil, which is NULL
	}
	return r.keys[r.current].Seal(nil, nil, plain, at.bytes(column))
}

func (r *ring) open(key string, sealed []byte, at place, column string) ([]byte, error) {
	if key == "" || len(sealed) == 0 {
		return sealed, nil
	}
	aead := r.keys[key]
	if aead == nil {
		return nil, keyMissing(key)
	}
	plain, err := aead.Open(nil, nil, sealed, at.bytes(column))
	if err != nil {
		return nil, keyWrong(key, fmt.Sprintf("the %s of %s %q of %s", column, at.lane, at.name, at.space), err)
	}
	return plain, nil
}

// hash tells texts apart without telling what they are.
func (r *ring) hash(parts ...[]byte) []byte {
	h := sha256.New()
	if r.digest != nil {
		h = hmac.New(sha256.New, r.digest)
	}
	for _, p := range parts {
		fmt.Fprintf(h, "%d:", len(p))
		h.Write(p)
	}
	return h.Sum(nil)
}

func keyMissing(id string) error {
	return &cairn.Error{Code: memory.KeyMissing, Message: fmt.Sprintf("the file has texts sealed with key %q, which is not among the keys given", id),
		Next: "give it in Config.Keys, after the current one if it is an old one"}
}

func keyWrong(id, what string, cause error) error {
	return &cairn.Error{Code: memory.KeyWrong, Message: fmt.Sprintf("key %q does not open %s: its secret is another, or the row was tampered with", id, what),
		Err: cause, Next: "nothing was changed; give the secret that the file was written with"}
}

// lock is how a file says that it is encrypted: the key of its hashes, sealed with the current key.
type lock struct {
	Key    string `json:"key"`
	Digest []byte `json:"digest"`
}

var lockPlace = place{lane: "meta", name: "lock"}

func (l *look) lock() (*lock, error) {
	var raw []byte
	switch err := l.QueryRow("SELECT value FROM mem_meta WHERE name = 'lock'").Scan(&raw); {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, err
	}
	var k lock
	if err := json.Unmarshal(raw, &k); err != nil {
		return nil, damaged("can't read how the file is encrypted", err)
	}
	return &k, nil
}

// unlock compares the keys given with the file's, and makes the first one the file's current key.
func (s *Store) unlock(ctx context.Context, readOnly bool) error {
	var have *lock
	var used []string
	err := s.read(ctx, func(l *look) (err error) {
		if have, err = l.lock(); err != nil || have == nil {
			return err
		}
		used, err = column[string](l, `SELECT seal FROM mem_items WHERE seal <> '' UNION SELECT seal FROM mem_versions WHERE seal <> ''
			UNION SELECT seal FROM mem_vectors WHERE seal <> '' UNION SELECT seal FROM mem_projections WHERE seal <> ''`)
		return err
	})
	if err != nil {
		return err
	}
	if have != nil {
		for _, id := range append(used, have.Key) {
			if s.ring.keys[id] == nil {
				return keyMissing(id)
			}
		}
		if s.ring.digest, err = s.ring.open(have.Key, have.Digest, lockPlace, "digest"); err != nil {
			return err
		}
	}
	switch {
	case s.ring.current == "", have != nil && have.Key == s.ring.current:
		return nil
	case readOnly:
		return contradictory("the file is not sealed with the first of the keys given", "open it once for writing, or give its current key first")
	}
	return s.write(ctx, func(c *change) error {
		// Another process may have come first.
		now, err := c.lock()
		if err != nil {
			return err
		}
		switch {
		case now != nil:
			if c.ring.digest, err = c.ring.open(now.Key, now.Digest, lockPlace, "digest"); err != nil {
				return err
			}
		default:
			c.ring.digest = make([]byte, sha256.Size)
			rand.Read(c.ring.digest)
			// An index is a copy of the text.
			for _, q := range []string{"DELETE FROM mem_fts", "INSERT INTO mem_meta (name, value) VALUES ('purge', x'01') ON CONFLICT (name) DO NOTHING"} {
				if _, err := c.tx.Exec(q); err != nil {
					return err
				}
			}
		}
		raw, err := json.Marshal(lock{Key: c.ring.current, Digest: c.ring.seal(c.ring.digest, lockPlace, "digest")})
		if err != nil {
			return err
		}
		_, err = c.tx.Exec("INSERT INTO mem_meta (name, value) VALUES ('lock', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value", raw)
		return err
	})
}

// column reads the first column of a query.
func column[T any](l *look, query string, args ...any) (list []T, err error) {
	rows, err := l.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var v T
		if err := rows.Scan(&v); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Close()
}
