package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"modernc.org/sqlite"
)

// maxStatements bounds a session's cache; only queries built at run time reach it.
const maxStatements = 256

// session is one connection with its prepared statements, used by one goroutine at a time.
type session struct {
	path     string
	conn     *sql.Conn
	controls map[string]*sql.Stmt // BEGIN, COMMIT and the like
	cache    map[string]*statement
}

// statement is busy while Rows of it are open: running it again would reset them.
type statement struct {
	*sql.Stmt
	query  string
	busy   bool
	cached bool
}

// openPool returns a pool whose connections are closed, not kept, when handed back: who owns one, owns its end.
func openPool(dsn string, size int) (*sql.DB, error) {
	connector, err := sqlite.NewConnector(dsn)
	if err != nil {
		return nil, err
	}
	pool := sql.OpenDB(connector)
	pool.SetMaxOpenConns(size)
	pool.SetMaxIdleConns(-1)
	return pool, nil
}

// openSession repeats while the file is locked: switching a new file to WAL does not go through SQLite's own
// busy handler.
func openSession(ctx context.Context, c Config, pool *sql.DB) (*session, error) {
	deadline := time.Now().Add(c.BusyTimeout)
	for {
		conn, err := pool.Conn(ctx)
		if err == nil {
			return &session{path: c.Path, conn: conn, controls: map[string]*sql.Stmt{}, cache: map[string]*statement{}}, nil
		}
		err = translate(c.Path, "open", err)
		if !errors.Is(err, ErrLocked) || time.Now().After(deadline) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *session) close() error {
	for _, stmt := range s.controls {
		stmt.Close()
	}
	for _, st := range s.cache {
		st.Close()
	}
	return s.conn.Close()
}

// control runs a statement of transaction control. It has no context: a transaction that has begun is ended.
func (s *session) control(query string) error {
	stmt, ok := s.controls[query]
	if !ok {
		var err error
		if stmt, err = s.conn.PrepareContext(context.Background(), query); err != nil {
			return err
		}
		s.controls[query] = stmt
	}
	_, err := stmt.Exec()
	return err
}

// rollback ends a transaction, if SQLite has not done so itself. After an error the session is unusable.
func (s *session) rollback() error {
	err := s.control("ROLLBACK")
	if err != nil && !s.inTransaction() {
		return nil
	}
	return err
}

// inTransaction asks the only way SQL has: BEGIN fails inside a transaction and harms none.
func (s *session) inTransaction() bool {
	if err := s.control("BEGIN"); err != nil {
		return true
	}
	return s.control("ROLLBACK") != nil
}

// acquire returns a statement that is free to run; release it when its rows are closed.
func (s *session) acquire(ctx context.Context, query string) (*statement, error) {
	st, ok := s.cache[query]
	if ok && !st.busy {
		st.busy = true
		return st, nil
	}
	if controlsTransaction(query) {
		return nil, errors.New("a function of Write or Read can't begin or end transactions; return an error to roll back")
	}
	stmt, err := s.conn.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	st = &statement{Stmt: stmt, query: query, busy: true, cached: !ok && s.makeRoom()}
	if st.cached {
		s.cache[query] = st
	}
	return st, nil
}

func (s *session) release(st *statement) {
	st.busy = false
	if !st.cached {
		st.Close()
	}
}

// makeRoom drops any idle statement of a full cache and reports whether there is room.
func (s *session) makeRoom() bool {
	if len(s.cache) < maxStatements {
		return true
	}
	for query, st := range s.cache {
		if !st.busy {
			st.Close()
			delete(s.cache, query)
			return true
		}
	}
	return false
}

// controlsTransaction looks at the first word, past blanks and comments.
func controlsTransaction(query string) bool {
	for {
		query = strings.TrimLeft(query, " \t\r\n\f;")
		var found bool
		switch {
		case strings.HasPrefix(query, "--"):
			_, query, found = strings.Cut(query, "\n")
		case strings.HasPrefix(query, "/*"):
			_, query, found = strings.Cut(query, "*/")
		default:
			end := strings.IndexFunc(query, func(r rune) bool { return (r|0x20) < 'a' || (r|0x20) > 'z' })
			if end < 0 {
				end = len(query)
			}
			switch strings.ToUpper(query[:end]) {
			case "BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE":
				return true
			}
			return false
		}
		if !found {
			return false
		}
	}
}
