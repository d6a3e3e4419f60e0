package dbfile

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// Synchronous says what COMMIT waits for.
type Synchronous int

const (
	// Full waits until the disk has the transaction: an acknowledged write survives a power cut.
	Full Synchronous = iota
	// Normal leaves the sync to the next checkpoint. A killed process loses nothing; a power cut may take the
	// last transactions back, in order and whole. About ten times faster for small writes.
	Normal
)

// Config describes a database file. All fields but Path may be left zero.
type Config struct {
	// Path is the file, absolute or relative to the working directory. Missing parent directories are created
	// with mode 0700. Required.
	Path string
	// Synchronous defaults to Full.
	Synchronous Synchronous
	// ApplicationID is stamped into the header of a new file. An existing file with another id is refused with
	// ErrNotOurs. Zero is an id like any other: that of a file nobody has stamped.
	ApplicationID int32
	// BusyTimeout bounds the wait for another process that holds the file; then ErrLocked. Defaults to 5 s.
	// SQLite counts in milliseconds, so a shorter timeout does not wait at all.
	BusyTimeout time.Duration
	// Readers is how many Reads run at once; further ones wait for a free connection. Defaults to 4.
	Readers int
	// ReadOnly opens an existing file and never changes it: Write fails with ErrReadOnly and Migrate only
	// compares versions. The file may be in use by a writing process. SQLite needs its lock table to read
	// safely, so -shm and an empty -wal may appear beside the file; in a directory that can't be written to,
	// it is read as it lies, which is only sound while nobody else writes it.
	ReadOnly bool
	// SecureDelete overwrites with zeros what is deleted, at the cost of writing pages that would only be dropped. What the
	// -wal file holds goes with a Checkpoint.
	SecureDelete bool
}

// resolve returns the configuration with defaults filled in and Path absolute, or all mistakes at once.
func (c Config) resolve() (Config, error) {
	var mistakes []error
	if c.Path == "" {
		mistakes = append(mistakes, errors.New("Config.Path is empty: name a file"))
	}
	if c.Synchronous != Full && c.Synchronous != Normal {
		mistakes = append(mistakes, fmt.Errorf("Config.Synchronous is %d: use Full or Normal", c.Synchronous))
	}
	if c.BusyTimeout < 0 {
		mistakes = append(mistakes, fmt.Errorf("Config.BusyTimeout is %s: it can't be negative", c.BusyTimeout))
	}
	if c.Readers < 0 {
		mistakes = append(mistakes, fmt.Errorf("Config.Readers is %d: it can't be negative", c.Readers))
	}
	if len(mistakes) > 0 {
		return c, &Error{Code: ErrCannotOpen, Path: c.Path, Op: "open", Err: errors.Join(mistakes...)}
	}
	path, err := filepath.Abs(c.Path)
	if err != nil {
		return c, &Error{Code: ErrCannotOpen, Path: c.Path, Op: "open", Err: err}
	}
	c.Path = path
	c.BusyTimeout = cmp.Or(c.BusyTimeout, 5*time.Second)
	c.Readers = cmp.Or(c.Readers, 4)
	return c, nil
}
