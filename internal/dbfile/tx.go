package dbfile

import (
	"context"
	"database/sql"
	"errors"

	"modernc.org/sqlite"
)

// ReadTx queries inside a transaction. It belongs to one function and one goroutine; afterwards its methods
// return sql.ErrTxDone. Helpers that serve both Read and Write take a *ReadTx and get &tx.ReadTx from a Tx.
type ReadTx struct {
	ctx     context.Context // that of the one call this value lives in
	session *session
	open    []*Rows
	over    bool
	lost    error // why SQLite has ended the transaction by itself
}

// Tx is a ReadTx that can also change the database.
type Tx struct {
	ReadTx
}

// Exec runs a statement that returns no rows. Preparation is cached per connection, so keep queries constant
// and pass values as args. Some failures (a full disk, ON CONFLICT ROLLBACK) end the whole transaction: every
// later call then returns the same error, whatever the function does.
func (tx *Tx) Exec(query string, args ...any) (sql.Result, error) {
	st, err := tx.acquire(query)
	if err != nil {
		return nil, tx.failed("exec", err)
	}
	defer tx.session.release(st)
	result, err := st.ExecContext(tx.ctx, args...)
	if err != nil {
		return nil, tx.failed("exec", err)
	}
	return result, nil
}

// Query runs a statement that returns rows. Rows left open are closed with the transaction.
func (tx *ReadTx) Query(query string, args ...any) (*Rows, error) {
	st, err := tx.acquire(query)
	if err != nil {
		return nil, tx.failed("query", err)
	}
	rows, err := st.QueryContext(tx.ctx, args...)
	if err != nil {
		tx.session.release(st)
		return nil, tx.failed("query", err)
	}
	r := &Rows{tx: tx, st: st, rows: rows}
	tx.open = append(tx.open, r)
	return r, nil
}

// QueryRow runs a query for at most one row; errors wait for Scan.
func (tx *ReadTx) QueryRow(query string, args ...any) *Row {
	rows, err := tx.Query(query, args...)
	return &Row{rows: rows, err: err}
}

func (tx *ReadTx) acquire(query string) (*statement, error) {
	if tx.over {
		return nil, sql.ErrTxDone
	}
	if tx.lost != nil {
		return nil, tx.lost
	}
	return tx.session.acquire(tx.ctx, query)
}

// failed translates err and finds out whether the transaction has survived it: past its end SQLite would
// commit each further statement on its own.
func (tx *ReadTx) failed(op string, err error) error {
	var driverErr *sqlite.Error
	known := tx.over || tx.lost != nil || !errors.As(err, &driverErr)
	err = translate(tx.session.path, op, err)
	if !known && !tx.session.inTransaction() {
		tx.lost = err
	}
	return err
}

// end closes what the function left open and makes the value useless.
func (tx *ReadTx) end() {
	for len(tx.open) > 0 {
		tx.open[len(tx.open)-1].Close()
	}
	tx.over = true
}
