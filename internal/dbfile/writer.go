package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
)

// maxBatch bounds how long the first function of a batch waits for its COMMIT.
const maxBatch = 256

// writer owns the only writing connection. Its goroutine alone touches session.
type writer struct {
	config  Config
	pool    *sql.DB
	session *session // nil after it broke; the next batch opens another

	mu      sync.Mutex // guards waiting and closed
	waiting []*request
	closed  bool

	wake    chan struct{} // holds one token: something has changed
	stopped chan struct{} // closed when the goroutine is done

	writes, commits atomic.Uint64
}

// openWriter opens the connection before the goroutine starts, so that Open reports what is wrong.
func openWriter(ctx context.Context, c Config) (*writer, error) {
	pool, err := openPool(writerDSN(c), 1)
	if err != nil {
		return nil, cannotOpen(c, err)
	}
	w := &writer{config: c, pool: pool, wake: make(chan struct{}, 1), stopped: make(chan struct{})}
	if w.session, err = openSession(ctx, c, pool); err != nil {
		return nil, errors.Join(err, pool.Close())
	}
	var mode string
	var objects int
	err = w.session.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&mode)
	if err == nil { // the first query recovers a WAL left by a kill; without one Close would leave it lying too
		err = w.session.conn.QueryRowContext(ctx, "SELECT count(*) FROM sqlite_schema").Scan(&objects)
	}
	if err == nil && mode != "wal" {
		err = cannotOpen(c, errors.New("the file system can't hold a WAL (journal mode stays "+mode+"): use a local disk"))
	}
	if err != nil {
		w.session.close()
		pool.Close()
		return nil, translate(c.Path, "open", err)
	}
	go w.run()
	return w, nil
}

// submit queues r and waits for its outcome.
func (w *writer) submit(ctx context.Context, r *request) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		return &Error{Code: ErrClosed, Path: w.config.Path, Op: "write"}
	}
	w.waiting = append(w.waiting, r)
	w.mu.Unlock()
	w.notify()

	select {
	case <-r.settled:
	case <-ctx.Done():
		if r.withdraw() {
			return ctx.Err()
		}
		<-r.settled
	}
	return r.err
}

func (w *writer) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// close lets the queue run dry and waits for it. It may be called again.
func (w *writer) close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.notify()
	<-w.stopped
	return w.pool.Close()
}

func (w *writer) run() {
	finished := false
	defer func() {
		if !finished { // a function has called runtime.Goexit, as t.FailNow does; a panic passes here only if it is ours
			go w.run()
		}
	}()
	for {
		n, more := w.pending()
		switch {
		case n > 0:
			w.commitWaiting(n)
		case more:
			<-w.wake
		default:
			w.discard()
			close(w.stopped)
			finished = true
			return
		}
	}
}

// pending returns how many requests wait, and whether more can come.
func (w *writer) pending() (n int, more bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.waiting), !w.closed
}

// commitWaiting begins first and takes up requests second: those who come while BEGIN waits join the batch,
// and those who give up meanwhile have never run. The first n have waited all through a BEGIN that fails.
func (w *writer) commitWaiting(n int) {
	// Those whom the last COMMIT has woken are about to write again: letting them run first joins them into one
	// batch (64 writers on two cores: 50 functions a commit instead of 32, at half the time each). No clock is involved.
	runtime.Gosched()
	if err := w.begin(); err != nil {
		for _, r := range w.take(n) {
			r.settle(err)
		}
		return
	}
	todo := w.take(maxBatch)
	if len(todo) == 0 {
		w.end("ROLLBACK")
		return
	}
	if todo[0].bare { // it is alone
		err := w.end("ROLLBACK")
		if err == nil {
			err = w.checkpoint()
		}
		todo[0].settle(err)
		return
	}
	for {
		b := &batch{writer: w, members: todo}
		todo = b.commit()
		if len(todo) == 0 {
			return
		}
		if err := w.begin(); err != nil {
			for _, r := range todo {
				r.settle(err)
			}
			return
		}
	}
}

// take removes up to max requests from the queue's head and returns those that have not been withdrawn.
func (w *writer) take(max int) []*request {
	w.mu.Lock()
	defer w.mu.Unlock()
	var taken []*request
	i := 0
	for ; i < len(w.waiting) && i < max; i++ {
		r := w.waiting[i]
		if r.alone && len(taken) > 0 {
			break
		}
		if r.claim() {
			taken = append(taken, r)
		}
		if r.alone && len(taken) > 0 {
			i++
			break
		}
	}
	rest := copy(w.waiting, w.waiting[i:])
	clear(w.waiting[rest:])
	w.waiting = w.waiting[:rest]
	return taken
}

func (w *writer) begin() error {
	if w.session == nil {
		s, err := openSession(context.Background(), w.config, w.pool)
		if err != nil {
			return err
		}
		w.session = s
	}
	err := translate(w.config.Path, "write", w.session.control("BEGIN IMMEDIATE"))
	if err != nil && !errors.Is(err, ErrLocked) {
		w.discard()
	}
	return err
}

// end runs COMMIT or ROLLBACK. After an error the transaction is gone, if need be with its connection.
func (w *writer) end(how string) error {
	err := w.session.control(how)
	if err != nil && w.session.rollback() != nil {
		w.discard()
	}
	return translate(w.config.Path, "write", err)
}

// checkpoint moves the WAL into the file and empties it, which works only outside of a transaction. It waits for nobody: all
// Writes would wait with it.
func (w *writer) checkpoint() (err error) {
	ctx, conn := context.Background(), w.session.conn
	var busy, pages, moved int
	_, err = conn.ExecContext(ctx, "PRAGMA busy_timeout = 0")
	if err == nil {
		err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &pages, &moved)
	}
	if _, undo := conn.ExecContext(ctx, "PRAGMA busy_timeout = "+busyMillis(w.config)); undo != nil {
		err = errors.Join(err, undo)
		w.discard()
	}
	if err == nil && busy != 0 {
		return &Error{Code: ErrLocked, Path: w.config.Path, Op: "checkpoint", Err: errors.New("a long Read, or another process, uses the WAL")}
	}
	return translate(w.config.Path, "checkpoint", err)
}

func (w *writer) discard() {
	if w.session != nil {
		w.session.close()
		w.session = nil
	}
}
