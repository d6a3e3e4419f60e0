package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// ApplicationID is in the header of every database of this module ("cair"), so that no other file is taken for one.
const ApplicationID = 0x63616972

// Synchronous says what a commit waits for.
type Synchronous = dbfile.Synchronous

const (
	// Full waits for the disk: an acknowledged write survives a power cut.
	Full = dbfile.Full
	// Normal survives a killed process, but a power cut may take the last commits back.
	Normal = dbfile.Normal
)

// Config describes a store. All fields but Path may be left zero.
type Config struct {
	// Path is the database file; missing directories are made. Required.
	Path string
	// Synchronous defaults to Full.
	Synchronous Synchronous
	// BusyTimeout bounds the wait for another process that writes. Defaults to 5 s.
	BusyTimeout time.Duration
	// ReadOnly opens an existing file to look at it; methods that write fail.
	ReadOnly bool
	// Clock is what leases and due times are told by. Defaults to time.Now.
	Clock func() time.Time
	// Cache bounds the outputs kept for other tasks.
	Cache CacheLimits
}

// CacheLimits bound the cache. What is evicted is what was unused for longest, some entries with each one written, so
// that no commit waits for a large sweep.
type CacheLimits struct {
	// MaxBytes is how much all entries may take. Defaults to 256 MiB. An entry that would take more than that alone is not
	// kept at all.
	MaxBytes int64
	// MaxAge is how long an entry may lie unused. Defaults to 30 days.
	MaxAge time.Duration
}

// Defaults of CacheLimits.
const (
	DefaultCacheBytes = 256 << 20
	DefaultCacheAge   = 30 * 24 * time.Hour
)

func (l CacheLimits) withDefaults() CacheLimits {
	if l.MaxBytes == 0 {
		l.MaxBytes = DefaultCacheBytes
	}
	if l.MaxAge == 0 {
		l.MaxAge = DefaultCacheAge
	}
	return l
}

//go:embed migrations/*.sql
var migrations embed.FS

// Store keeps runs in a database file. Its methods are safe for concurrent use.
type Store struct {
	db    *dbfile.DB
	clock func() time.Time
	owned bool // Close closes db
	cache CacheLimits

	numbers numbers
}

var _ engine.Store = (*Store)(nil)

// Open opens or creates the file and brings its schema up to date. Close the store when done; ctx bounds Open alone.
func Open(ctx context.Context, c Config) (*Store, error) {
	if c.Cache.MaxBytes < 0 || c.Cache.MaxAge < 0 {
		return nil, misuse("", fmt.Sprintf("the cache's limits are negative: %+v", c.Cache), "0 is the default")
	}
	db, err := dbfile.Open(ctx, dbfile.Config{
		Path:          c.Path,
		Synchronous:   c.Synchronous,
		ApplicationID: ApplicationID,
		BusyTimeout:   c.BusyTimeout,
		ReadOnly:      c.ReadOnly,
	})
	if err != nil {
		return nil, err
	}
	s, err := New(ctx, db, c.Clock)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	s.owned, s.cache = true, c.Cache.withDefaults()
	return s, nil
}

// New makes a store of a file that others share and that its opener closes. A nil clock is time.Now.
func New(ctx context.Context, db *dbfile.DB, clock func() time.Time) (*Store, error) {
	scripts, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	if err := db.Migrate(ctx, "run", scripts); err != nil {
		return nil, err
	}
	if clock == nil {
		clock = time.Now
	}
	return &Store{db: db, clock: clock, cache: CacheLimits{}.withDefaults(), numbers: numbers{of: map[string]int64{}}}, nil
}

// Close lets running calls finish and closes the file, if the store has opened it.
func (s *Store) Close() error {
	if !s.owned {
		return nil
	}
	return s.db.Close()
}

// DB is the file, for other stores of this module that share it. They must not be used once this store is closed.
func (s *Store) DB() *dbfile.DB { return s.db }

func (s *Store) now() int64 { return s.clock().UnixMilli() }

// moment is how stored milliseconds look outside.
func moment(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// numbers remembers the numbers of runs this process writes to, which never change: it saves each write a query.
type numbers struct {
	mu sync.Mutex
	of map[string]int64
}

// maxNumbers bounds the memory of a process that meets very many runs.
const maxNumbers = 1 << 16

func (n *numbers) get(run string) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	no, ok := n.of[run]
	return no, ok
}

func (n *numbers) put(run string, no int64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.of) >= maxNumbers {
		clear(n.of)
	}
	n.of[run] = no
}

func (n *numbers) drop(run string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.of, run)
}

// change is dbfile's Write for what belongs to one run.
func (s *Store) change(ctx context.Context, run string, fn func(tx *dbfile.Tx) error) error {
	return unchangeable(run, "one of its rows", s.db.Write(ctx, fn))
}

// write runs fn with the number of a run: RUN_NOT_FOUND. A number is remembered only once the transaction is durable:
// before that it may be of a run that a neighbour in the same batch has created and that goes with the batch.
func (s *Store) write(ctx context.Context, run string, fn func(tx *dbfile.Tx, no int64) error) error {
	no, known := s.numbers.get(run)
	err := s.change(ctx, run, func(tx *dbfile.Tx) (err error) {
		if !known {
			if no, err = number(&tx.ReadTx, run); err != nil {
				return err
			}
		}
		return fn(tx, no)
	})
	if err == nil && !known {
		s.numbers.put(run, no)
	}
	return err
}

func number(tx *dbfile.ReadTx, run string) (int64, error) {
	var no integer
	switch err := tx.QueryRow("SELECT no FROM runs WHERE id = ?", run).Scan(&no); {
	case errors.Is(err, sql.ErrNoRows):
		return 0, notFound(run)
	case err != nil:
		return 0, unreadable(run, "its row of the catalog", err)
	}
	return int64(no), nil
}
