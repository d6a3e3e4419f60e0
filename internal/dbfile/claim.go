package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// claim makes sure that the file is ours, or becomes ours, before anything is written to it.
func claim(ctx context.Context, c Config) error {
	info, err := os.Stat(c.Path)
	switch {
	case errors.Is(err, fs.ErrNotExist) && !c.ReadOnly:
		if err := os.MkdirAll(filepath.Dir(c.Path), 0o700); err != nil {
			return cannotOpen(c, err)
		}
		return stamp(ctx, c)
	case err != nil:
		return cannotOpen(c, err)
	case !info.Mode().IsRegular():
		return cannotOpen(c, errors.New("it is not a regular file: name a file"))
	case info.Size() == 0 && c.ReadOnly:
		return cannotOpen(c, errors.New("the file is empty: open it once for writing"))
	case info.Size() == 0:
		return stamp(ctx, c)
	}
	if err := verify(ctx, c); err != nil || c.ReadOnly {
		return err
	}
	// A process killed while it stamped a new file leaves a journal that takes the stamp back.
	if _, err := os.Stat(c.Path + "-journal"); err == nil {
		return stamp(ctx, c)
	}
	return nil
}

// verify compares the header's id and changes nothing.
func verify(ctx context.Context, c Config) error {
	pool, err := openPool(probeDSN(c), 1)
	if err != nil {
		return cannotOpen(c, err)
	}
	defer pool.Close()
	var id int32
	if err := pool.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return translate(c.Path, "open", err)
	}
	return sameID(c, id)
}

// stamp writes the id into an empty file, in rollback mode: in WAL mode it would stay in the -wal file, and
// verify, which reads the main file alone, would disown our own database after a kill.
func stamp(ctx context.Context, c Config) error {
	pool, err := openPool(claimDSN(c), 1)
	if err != nil {
		return cannotOpen(c, err)
	}
	defer pool.Close()
	conn, err := pool.Conn(ctx)
	if err != nil {
		return translate(c.Path, "open", err)
	}
	defer conn.Close()
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return translate(c.Path, "open", err)
	}
	if err := stampLocked(ctx, c, conn); err != nil {
		_, undo := conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK")
		return translate(c.Path, "open", errors.Join(err, undo))
	}
	_, err = conn.ExecContext(context.WithoutCancel(ctx), "COMMIT")
	return translate(c.Path, "open", err)
}

// stampLocked looks again under the write lock: another process may have been faster, with its id or ours.
func stampLocked(ctx context.Context, c Config, conn *sql.Conn) error {
	var id int32
	if err := conn.QueryRowContext(ctx, "PRAGMA application_id").Scan(&id); err != nil {
		return err
	}
	var objects int
	if err := conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects); err != nil {
		return err
	}
	if id != 0 || objects > 0 {
		return sameID(c, id)
	}
	_, err := conn.ExecContext(ctx, fmt.Sprintf("PRAGMA application_id = %d", c.ApplicationID))
	return err
}

func sameID(c Config, id int32) error {
	if id == c.ApplicationID {
		return nil
	}
	return &Error{Code: ErrNotOurs, Path: c.Path, Op: "open",
		Err: fmt.Errorf("it belongs to another application: its id is %#x, ours is %#x", uint32(id), uint32(c.ApplicationID))}
}

func cannotOpen(c Config, err error) error {
	return &Error{Code: ErrCannotOpen, Path: c.Path, Op: "open", Err: err}
}
