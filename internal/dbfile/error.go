package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cairnrun/cairn"
)

// Failures of opening.
const (
	ErrCannotOpen  cairn.Code = "DB_CANNOT_OPEN"  // missing, a directory, no permission, moved away, not WAL-capable
	ErrNotOurs     cairn.Code = "DB_NOT_OURS"     // not SQLite, or the database of another application
	ErrNewerSchema cairn.Code = "DB_NEWER_SCHEMA" // written by a newer program
	ErrMigration   cairn.Code = "DB_MIGRATION"    // a migration failed and was rolled back; its cause is wrapped
)

// Failures of a transaction. Nothing of the function is in the file.
const (
	ErrLocked     cairn.Code = "DB_LOCKED"      // another process held the file for longer than BusyTimeout
	ErrDiskFull   cairn.Code = "DB_FULL"        // disk, quota or page limit
	ErrReadOnly   cairn.Code = "DB_READ_ONLY"   // a write on something opened for reading
	ErrCorrupt    cairn.Code = "DB_CORRUPT"     // the file is damaged
	ErrIO         cairn.Code = "DB_IO"          // the operating system failed to read, write, sync or give memory
	ErrRolledBack cairn.Code = "DB_ROLLED_BACK" // undone with a failing neighbour of its batch; its cause is wrapped
	ErrPanic      cairn.Code = "DB_PANIC"       // the function panicked; a *PanicError is wrapped
	ErrClosed     cairn.Code = "DB_CLOSED"      // the DB was closed before the call
)

// Failures of one statement. The transaction goes on unless its function returns the error.
const (
	ErrConstraint cairn.Code = "DB_CONSTRAINT" // UNIQUE, NOT NULL, CHECK, FOREIGN KEY
	ErrStatement  cairn.Code = "DB_STATEMENT"  // everything else about SQL: syntax, a missing table, a bad argument
)

// advice says what to do next, where a code alone says it.
var advice = map[cairn.Code]string{
	ErrNotOurs:     "nothing was written; choose another path",
	ErrNewerSchema: "nothing was written; run the newer program, or restore a copy made by this one",
	ErrMigration:   "the migration was rolled back and the file has its former schema; fix the cause and open again",
	ErrLocked:      "nothing was written; another process holds the file: wait for it or stop it, then repeat",
	ErrDiskFull:    "nothing was written; free space on the file's disk, then repeat",
	ErrReadOnly:    "open the file for writing",
	ErrCorrupt:     "stop using the file; restore a copy, or recover with the sqlite3 command's .recover",
	ErrIO:          "check the disk and the system log",
	ErrRolledBack:  "nothing was written; repeat",
	ErrPanic:       "nothing was written; fix the function",
	ErrClosed:      "open the database again",
}

// Error is a failure of this package. Match its Code with errors.Is(err, ErrLocked).
type Error struct {
	Code cairn.Code
	Path string // the database file
	Op   string // what was attempted: "open", "write", "exec", …
	Err  error  // the cause; may be nil
}

// Error says what failed on which file, why, and what to do next.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s %s", e.Code, e.Op, e.Path)
	if e.Err != nil {
		fmt.Fprintf(&b, ": %v", e.Err)
	}
	if next := advice[e.Code]; next != "" {
		fmt.Fprintf(&b, " (%s)", next)
	}
	return b.String()
}

// ErrorCode is the code, for cairn.CodeOf.
func (e *Error) ErrorCode() cairn.Code { return e.Code }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is e's Code.
func (e *Error) Is(target error) bool {
	code, ok := target.(cairn.Code)
	return ok && code == e.Code
}

// PanicError is what a function given to Write panicked with.
type PanicError struct {
	Value any
	Stack []byte
}

// Error holds the panic's value and its stack.
func (e *PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.Value, e.Stack) }

// translate is the only place that knows the driver's errors. What is no failure of the database (a context's
// end, no rows, an error translated before) passes unchanged.
func translate(path, op string, err error) error {
	var ours *Error
	switch {
	case err == nil, errors.As(err, &ours):
		return err
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, sql.ErrNoRows), errors.Is(err, sql.ErrTxDone):
		return err
	}
	code := ErrStatement
	var driverErr *sqlite.Error
	if errors.As(err, &driverErr) {
		code = codeOf(driverErr.Code())
	}
	return &Error{Code: code, Path: path, Op: op, Err: err}
}

// codeOf maps an extended result code: those that mean something else than their family first.
func codeOf(result int) cairn.Code {
	switch result {
	case sqlite3.SQLITE_IOERR_SHMSIZE:
		return ErrDiskFull // the -shm file could not grow
	case sqlite3.SQLITE_READONLY_DBMOVED:
		return ErrCannotOpen // the file was renamed or deleted while open
	case sqlite3.SQLITE_READONLY_CANTINIT, sqlite3.SQLITE_READONLY_DIRECTORY:
		return ErrCannotOpen // a side file is missing and can't be created
	}
	switch result & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_PROTOCOL:
		return ErrLocked
	case sqlite3.SQLITE_FULL:
		return ErrDiskFull
	case sqlite3.SQLITE_READONLY:
		return ErrReadOnly
	case sqlite3.SQLITE_NOTADB:
		return ErrNotOurs
	case sqlite3.SQLITE_CORRUPT:
		return ErrCorrupt
	case sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM:
		return ErrCannotOpen
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM:
		return ErrIO
	case sqlite3.SQLITE_CONSTRAINT:
		return ErrConstraint
	}
	return ErrStatement
}
