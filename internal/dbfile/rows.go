package dbfile

import (
	"database/sql"
	"slices"
)

// Rows iterates over a result like sql.Rows. Other statements of the transaction may run meanwhile.
type Rows struct {
	tx   *ReadTx
	st   *statement
	rows *sql.Rows
	err  error
	done bool
}

// Next prepares the next row for Scan. It returns false at the end and after an error, having closed the rows.
func (r *Rows) Next() bool {
	if r.done {
		return false
	}
	if r.rows.Next() {
		return true
	}
	r.Close()
	return false
}

// Scan copies the current row into dest, by the rules of sql.Rows.
func (r *Rows) Scan(dest ...any) error {
	return translate(r.tx.session.path, "scan", r.rows.Scan(dest...))
}

// Columns returns the names of the columns.
func (r *Rows) Columns() ([]string, error) {
	names, err := r.rows.Columns()
	return names, translate(r.tx.session.path, "query", err)
}

// Err returns the error that ended the iteration, nil at a regular end.
func (r *Rows) Err() error { return r.err }

// Close ends the iteration and returns Err. It may be called again.
func (r *Rows) Close() error {
	if r.done {
		return r.err
	}
	r.done = true
	err := r.rows.Err()
	if closeErr := r.rows.Close(); err == nil {
		err = closeErr
	}
	r.tx.session.release(r.st)
	r.tx.open = slices.DeleteFunc(r.tx.open, func(o *Rows) bool { return o == r })
	if err != nil {
		r.err = r.tx.failed("query", err)
	}
	return r.err
}

// Row is the result of QueryRow.
type Row struct {
	rows *Rows
	err  error
}

// Scan copies the first row into dest; without one it returns sql.ErrNoRows.
func (r *Row) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		r.rows.Close()
		return err
	}
	return r.rows.Close()
}
