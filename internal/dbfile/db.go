package dbfile

import (
	"context"
	"errors"
	"sync"
	"time"
)

// DB is an open database file. Its methods are safe for concurrent use.
type DB struct {
	config  Config
	writer  *writer // nil when read-only
	readers *readers
	close   func() error
}

// Open opens or creates the file. It fails with ErrCannotOpen, ErrNotOurs, ErrLocked, ErrCorrupt, ErrDiskFull
// or ErrIO, and then nothing stays open. Close the DB when done; ctx bounds Open alone.
func Open(ctx context.Context, config Config) (*DB, error) {
	c, err := config.resolve()
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := claim(ctx, c); err != nil {
		return nil, err
	}
	db := &DB{config: c}
	db.close = sync.OnceValue(db.closeAll)
	if c.ReadOnly {
		if db.readers, err = openReadOnly(ctx, c); err != nil {
			return nil, err
		}
		return db, nil
	}
	if db.writer, err = openWriter(ctx, c); err != nil {
		return nil, err
	}
	if db.readers, err = newReaders(c, readerDSN(c)); err != nil {
		return nil, errors.Join(err, db.writer.close())
	}
	return db, nil
}

// Write runs fn in a transaction and returns after its COMMIT, which it may share with other Writes; they do
// not see a failing neighbour. fn runs at most once, on another goroutine, and should only read and write the
// database: everyone else waits for it.
//
// An error means that nothing of fn is in the file. It is fn's own error unchanged, or ctx.Err() if ctx ended
// before fn was taken up (from then on Write waits for the outcome), or an Error: ErrLocked, ErrDiskFull,
// ErrIO, ErrCorrupt, ErrReadOnly, ErrClosed, ErrPanic, or ErrRolledBack when a neighbour's failure made SQLite
// end the whole transaction.
func (db *DB) Write(ctx context.Context, fn func(*Tx) error) error {
	return db.write(ctx, newRequest(fn))
}

func (db *DB) write(ctx context.Context, r *request) error {
	if db.writer == nil {
		return &Error{Code: ErrReadOnly, Path: db.config.Path, Op: "write", Err: errors.New("opened with Config.ReadOnly")}
	}
	return db.writer.submit(ctx, r)
}

// Read runs fn, on the caller's goroutine, in a transaction that sees one snapshot: what was committed when
// its first query ran. It waits for a free connection when Config.Readers run already. Once ctx ends the
// running query is interrupted and returns ctx.Err(). A panic of fn goes through.
func (db *DB) Read(ctx context.Context, fn func(*ReadTx) error) error {
	return db.readers.read(ctx, fn)
}

// Checkpoint moves all committed transactions from the -wal file into the file and cuts the former to nothing. It is needed
// only for what must not stay on the disk: SQLite does it by itself, but leaves the old bytes lying. It waits for Reads of old
// snapshots, here or in another process, and lets Writes through meanwhile; ErrLocked if that takes longer than BusyTimeout.
func (db *DB) Checkpoint(ctx context.Context) error {
	deadline := time.Now().Add(db.config.BusyTimeout)
	for {
		r := newRequest(nil)
		r.alone, r.bare = true, true
		err := db.write(ctx, r)
		if !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// Stats counts since Open.
type Stats struct {
	Writes  uint64 // functions whose effects were committed
	Commits uint64 // transactions they shared
}

// Stats returns the counters; Writes over Commits is how well grouping works.
func (db *DB) Stats() Stats {
	if db.writer == nil {
		return Stats{}
	}
	return Stats{Writes: db.writer.writes.Load(), Commits: db.writer.commits.Load()}
}

// Path returns the absolute path of the file.
func (db *DB) Path() string { return db.config.Path }

// Close lets queued Writes and running Reads finish and closes the file; later calls fail with ErrClosed.
// The last user of a file moves the WAL into it and removes the -wal file. Further Closes wait for the first
// and return the same.
func (db *DB) Close() error { return db.close() }

// closeAll closes the writer last: only a connection that may write can move the WAL into the file.
func (db *DB) closeAll() error {
	err := db.readers.close()
	if db.writer != nil {
		err = errors.Join(err, db.writer.close())
	}
	return translate(db.config.Path, "close", err)
}
