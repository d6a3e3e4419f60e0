package dbfile

import (
	"context"
	"database/sql"
	"errors"
	"os"
)

// readers is a fixed number of sessions, each opened when first needed.
type readers struct {
	config  Config
	pool    *sql.DB
	slots   chan *session // nil stands for one not yet open
	closing chan struct{}
}

func newReaders(c Config, dsn string) (*readers, error) {
	pool, err := openPool(dsn, c.Readers)
	if err != nil {
		return nil, cannotOpen(c, err)
	}
	p := &readers{config: c, pool: pool, slots: make(chan *session, c.Readers), closing: make(chan struct{})}
	for range c.Readers {
		p.slots <- nil
	}
	return p, nil
}

// openReadOnly opens the first session at once, so that Open reports what is wrong. Where SQLite can't create
// its lock table and no -wal holds newer pages, the file is read as it lies.
func openReadOnly(ctx context.Context, c Config) (*readers, error) {
	var err error
	for _, dsn := range []string{readerDSN(c), frozenDSN(c)} {
		p, openErr := newReaders(c, dsn)
		if openErr != nil {
			return nil, openErr
		}
		err = p.read(ctx, func(tx *ReadTx) error {
			var version int
			return tx.QueryRow("PRAGMA schema_version").Scan(&version)
		})
		if err == nil {
			return p, nil
		}
		p.close()
		if _, statErr := os.Stat(c.Path + "-wal"); statErr == nil || !errors.Is(err, ErrCannotOpen) {
			return nil, err
		}
	}
	return nil, err
}

// read runs fn in a transaction of its own. A panic of fn goes on to the caller, who owns the goroutine.
func (p *readers) read(ctx context.Context, fn func(*ReadTx) error) error {
	s, err := p.take(ctx)
	if err != nil {
		return err
	}
	if err := s.control("BEGIN"); err != nil {
		p.drop(s)
		return translate(p.config.Path, "read", err)
	}
	tx := &ReadTx{ctx: ctx, session: s}
	defer func() {
		tx.end()
		// An interrupted connection can carry the interrupt into its next statement.
		if err := s.rollback(); err != nil || ctx.Err() != nil {
			p.drop(s)
			return
		}
		p.slots <- s
	}()
	return fn(tx)
}

func (p *readers) take(ctx context.Context) (*session, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var s *session
	select {
	case <-p.closing:
		return nil, &Error{Code: ErrClosed, Path: p.config.Path, Op: "read"}
	case <-ctx.Done():
		return nil, ctx.Err()
	case s = <-p.slots:
	}
	select {
	case <-p.closing:
		p.slots <- s
		return nil, &Error{Code: ErrClosed, Path: p.config.Path, Op: "read"}
	default:
	}
	if s != nil {
		return s, nil
	}
	s, err := openSession(ctx, p.config, p.pool)
	if err != nil {
		p.slots <- nil
		return nil, err
	}
	return s, nil
}

func (p *readers) drop(s *session) {
	s.close()
	p.slots <- nil
}

// close waits for the reads that run. It is called once.
func (p *readers) close() error {
	close(p.closing)
	var errs []error
	for range cap(p.slots) {
		if s := <-p.slots; s != nil {
			errs = append(errs, s.close())
		}
	}
	return errors.Join(append(errs, p.pool.Close())...)
}
