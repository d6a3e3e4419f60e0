package dbfile

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
)

// migration is one script; its version is its place in the sequence, from 1.
type migration struct {
	name, script string
}

// Migrate brings the schema of one component up to date. migrations holds NNNN_words.sql at its root, numbered
// from 1 without gaps; a released one is never edited. Each runs in a transaction of its own together with its
// version's row in the table schema_version(component, version), so a kill leaves the state before or after.
// Processes may migrate at once: whoever comes second finds the work done.
//
// Scripts can't contain BEGIN or COMMIT. A stored version above the last known one is ErrNewerSchema; a failing
// script is ErrMigration with its cause; a read-only DB with an older schema is ErrReadOnly.
func (db *DB) Migrate(ctx context.Context, component string, migrations fs.FS) error {
	op := "migrate " + component
	list, err := loadMigrations(migrations)
	if err == nil && component == "" {
		err = errors.New("the component has no name")
	}
	if err != nil {
		return &Error{Code: ErrMigration, Path: db.config.Path, Op: op, Err: err}
	}
	var have int
	err = db.Read(ctx, func(tx *ReadTx) error {
		have, err = storedVersion(tx, component)
		return err
	})
	if err == nil {
		err = db.refuseNewer(op, have, len(list))
	}
	if err != nil {
		return err
	}
	if have < len(list) && db.writer == nil {
		return &Error{Code: ErrReadOnly, Path: db.config.Path, Op: op,
			Err: fmt.Errorf("the schema is version %d and this program needs version %d", have, len(list))}
	}
	for version := have + 1; version <= len(list); version++ {
		if err := db.migrateTo(ctx, op, component, version, list); err != nil {
			return err
		}
	}
	return nil
}

// migrateTo looks at the version again under the write lock.
func (db *DB) migrateTo(ctx context.Context, op, component string, version int, list []migration) error {
	m := list[version-1]
	r := newRequest(func(tx *Tx) error {
		have, err := storedVersion(&tx.ReadTx, component)
		if err == nil {
			err = db.refuseNewer(op, have, len(list))
		}
		if err != nil || have >= version {
			return err
		}
		if err := m.apply(tx, component, version); err != nil {
			return &Error{Code: ErrMigration, Path: db.config.Path, Op: op + " " + m.name, Err: err}
		}
		return nil
	})
	r.alone = true
	return db.write(ctx, r)
}

func (m migration) apply(tx *Tx, component string, version int) error {
	// A script is many statements and runs once: past the cache, which holds single ones.
	if _, err := tx.session.conn.ExecContext(tx.ctx, m.script); err != nil {
		return tx.failed("exec", err)
	}
	if !tx.session.inTransaction() {
		tx.lost = errors.New("the script ends the transaction it runs in: remove its BEGIN and COMMIT")
		return tx.lost
	}
	_, err := tx.Exec("CREATE TABLE IF NOT EXISTS schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID")
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO schema_version (component, version) VALUES (?, ?) "+
		"ON CONFLICT (component) DO UPDATE SET version = excluded.version", component, version)
	return err
}

// storedVersion is 0 for a component that has never been migrated.
func storedVersion(tx *ReadTx, component string) (int, error) {
	var tables, version int
	err := tx.QueryRow("SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'schema_version'").Scan(&tables)
	if err != nil || tables == 0 {
		return 0, err
	}
	err = tx.QueryRow("SELECT coalesce(max(version), 0) FROM schema_version WHERE component = ?", component).Scan(&version)
	return version, err
}

func (db *DB) refuseNewer(op string, have, know int) error {
	if have <= know {
		return nil
	}
	return &Error{Code: ErrNewerSchema, Path: db.config.Path, Op: op,
		Err: fmt.Errorf("the file has schema version %d and this program knows up to version %d", have, know)}
}

// loadMigrations insists on 1, 2, 3, …: two branches that both add a number 7 must meet here and not in a file.
func loadMigrations(fsys fs.FS) ([]migration, error) {
	names, err := fs.Glob(fsys, "*.sql")
	if err != nil {
		return nil, err
	}
	list := make([]migration, 0, len(names))
	for i, name := range names {
		digits := 0
		for digits < len(name) && name[digits] >= '0' && name[digits] <= '9' {
			digits++
		}
		if n, err := strconv.Atoi(name[:digits]); err != nil || n != i+1 {
			return nil, fmt.Errorf("%s stands where migration number %d is due: number the files 0001_words.sql, 0002_… without gaps", name, i+1)
		}
		script, err := fs.ReadFile(fsys, name)
		if err != nil {
			return nil, err
		}
		list = append(list, migration{name: name, script: string(script)})
	}
	return list, nil
}
