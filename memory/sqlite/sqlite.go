package sqlite

import (
	"context"
	"embed"
	"errors"
	"io/fs"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
)

// ApplicationID is in the header of every database of this module ("cair"): memory may live in the file of the runs.
const ApplicationID = 0x63616972

// Synchronous says what a commit waits for.
type Synchronous = dbfile.Synchronous

const (
	// Full waits for the disk: an acknowledged write survives a power cut.
	Full = dbfile.Full
	// Normal survives a killed process, but a power cut may take the last commits back.
	Normal = dbfile.Normal
)

// Config describes a store. Exactly one of Path and DB is required.
type Config struct {
	// Path is a file of memory's own; missing directories are made. What is deleted in it is overwritten with zeros.
	Path string
	// DB is a file that others share, the runs for one, and that its opener closes.
	DB *dbfile.DB
	// Synchronous is of the file at Path. Defaults to Full.
	Synchronous Synchronous
	// Clock tells what has expired and what is valid. Defaults to time.Now.
	Clock func() time.Time
	// Keys encrypt texts at rest, if there are any: what is written is sealed with the first, the others only open what was
	// sealed before. See "Encryption" in the package's documentation.
	Keys []Key
	// Embedder makes vectors for recalls of the budget High. Nil recalls by words alone.
	Embedder memory.Embedder
	// ReadOnly opens the file at Path to look at it; methods that write fail. An encrypted one needs its current key first. With
	// a DB that was opened for reading it is required.
	ReadOnly bool
}

//go:embed migrations/*.sql
var migrations embed.FS

// Store keeps memory in a database file. Its methods are safe for concurrent use. Their errors are *cairn.Error with a code
// of package memory, errors of the file layer, or the context's; after an error nothing is written.
type Store struct {
	db    *dbfile.DB
	clock func() time.Time
	owned bool // Close closes db
	ring  *ring
	// embedder is nil where there is none.
	embedder memory.Embedder
	warm     *warm
}

// Open opens or creates the file and brings its schema and index up to date. Close the store when done; ctx bounds Open
// alone. Besides errors of the file it fails with MEMORY_KEY_MISSING and MEMORY_KEY_WRONG.
func Open(ctx context.Context, c Config) (*Store, error) {
	if (c.Path == "") == (c.DB == nil) {
		return nil, &cairn.Error{Code: memory.InvalidItem, Message: "Config needs a Path or a DB, and not both", Next: "set one"}
	}
	ring, err := newRing(c.Keys)
	if err != nil {
		return nil, err
	}
	s := &Store{db: c.DB, clock: c.Clock, ring: ring, embedder: c.Embedder, warm: newWarm(warmth)}
	if ring.current != "" {
		s.warm.close()
	}
	if s.clock == nil {
		s.clock = time.Now
	}
	if c.DB == nil {
		s.db, err = dbfile.Open(ctx, dbfile.Config{
			Path: c.Path, Synchronous: c.Synchronous, ApplicationID: ApplicationID, ReadOnly: c.ReadOnly, SecureDelete: true,
		})
		if err != nil {
			return nil, err
		}
		s.owned = true
	}
	if err := s.prepare(ctx, c.ReadOnly); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Present says whether a file that others share has memory in it. One that has not can't be opened with ReadOnly, and holds
// nothing.
func Present(ctx context.Context, db *dbfile.DB) (there bool, err error) {
	err = db.Read(ctx, func(tx *dbfile.ReadTx) error {
		return tx.QueryRow("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'mem_meta')").Scan(&there)
	})
	return there, err
}

func (s *Store) prepare(ctx context.Context, readOnly bool) error {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	if err := s.db.Migrate(ctx, "memory", scripts); err != nil {
		return err
	}
	if err := s.unlock(ctx, readOnly); err != nil || readOnly {
		return err
	}
	if err := s.refreshIndex(ctx); err != nil {
		return err
	}
	return s.resumePurge(ctx)
}

// Close lets running calls finish and closes the file, if the store has opened it.
func (s *Store) Close() error {
	defer s.warm.close()
	if !s.owned {
		return nil
	}
	return s.db.Close()
}

// Path returns the absolute path of the file.
func (s *Store) Path() string { return s.db.Path() }

// look is a transaction that reads, at one time.
type look struct {
	*dbfile.ReadTx
	ring *ring
	now  int64
}

// change is a transaction that writes.
type change struct {
	look
	tx     *dbfile.Tx
	spaces map[memory.Namespace]int64
	// counts are how many items the banks gain or lose.
	counts map[string]int64
	// gone are items that are no more, and swept says that more than those must not stay in memory either.
	gone  []int64
	swept bool
}

func (s *Store) read(ctx context.Context, fn func(l *look) error) error {
	return s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		return fn(&look{ReadTx: tx, ring: s.ring, now: s.clock().UnixMilli()})
	})
}

func (s *Store) write(ctx context.Context, fn func(c *change) error) error {
	var erasures int64
	var c *change
	err := s.db.Write(ctx, func(tx *dbfile.Tx) error {
		c = &change{look: look{ReadTx: &tx.ReadTx, ring: s.ring, now: s.clock().UnixMilli()}, tx: tx, spaces: map[memory.Namespace]int64{}, counts: map[string]int64{}}
		err := fn(c)
		if err == nil {
			err = c.count()
		}
		if err == nil {
			erasures, err = c.countErasure()
		}
		return err
	})
	if err == nil && erasures > 0 {
		s.warm.erase(erasures, c.gone, c.swept)
	}
	return err
}
