package dbfile

import (
	"context"
	"errors"
	"runtime/debug"
	"sync/atomic"
)

// request is one function waiting for the writer.
type request struct {
	fn      func(*Tx) error
	alone   bool          // wants a transaction for itself
	bare    bool          // wants none, but a checkpoint; alone as well
	decided atomic.Bool   // taken up by the writer or withdrawn by its caller, whoever came first
	err     error         // its own outcome; settled guards it
	settled chan struct{} // closed when err is final
}

func newRequest(fn func(*Tx) error) *request { return &request{fn: fn, settled: make(chan struct{})} }

func (r *request) claim() bool    { return r.decided.CompareAndSwap(false, true) }
func (r *request) withdraw() bool { return r.decided.CompareAndSwap(false, true) }

func (r *request) settle(err error) {
	r.err = err
	close(r.settled)
}

// errGoexit is the cause where a function has ended the writer's goroutine.
var errGoexit = errors.New("the function called runtime.Goexit (testing's FailNow does): return an error instead")

// batch is the set of requests that share one transaction, which has begun.
type batch struct {
	writer  *writer
	members []*request
	lost    error // why SQLite has ended the transaction by itself
}

// commit runs the members, ends the transaction and settles everyone who ran. It returns those who did not:
// SQLite had ended the transaction before their turn.
func (b *batch) commit() (rest []*request) {
	errs := make([]error, 0, len(b.members))
	exited := true
	defer func() {
		if exited {
			b.lost = &Error{Code: ErrPanic, Path: b.writer.config.Path, Op: "write", Err: errGoexit}
			b.writer.end("ROLLBACK")
			b.settle(b.members, append(errs, make([]error, len(b.members)-len(errs))...), nil)
		}
	}()
	stored := 0
	for _, r := range b.members {
		err := b.runMember(r.fn)
		errs = append(errs, err)
		if err == nil {
			stored++
		}
		if b.lost != nil {
			break
		}
	}
	exited = false

	var commitErr error
	switch {
	case b.lost != nil:
		if b.writer.session.rollback() != nil {
			b.writer.discard()
		}
	case stored == 0:
		b.writer.end("ROLLBACK")
	default:
		commitErr = b.writer.end("COMMIT")
	}
	if b.lost == nil && commitErr == nil && stored > 0 {
		b.writer.commits.Add(1)
		b.writer.writes.Add(uint64(stored))
	}
	b.settle(b.members[:len(errs)], errs, commitErr)
	return b.members[len(errs):]
}

// settle gives a member its own error, or else that of the whole batch.
func (b *batch) settle(members []*request, errs []error, commitErr error) {
	for i, r := range members {
		err := errs[i]
		switch {
		case err != nil:
		case b.lost != nil:
			err = &Error{Code: ErrRolledBack, Path: b.writer.config.Path, Op: "write", Err: b.lost}
		default:
			err = commitErr
		}
		r.settle(err)
	}
}

// runMember runs one function inside a savepoint, which a batch of one does without.
func (b *batch) runMember(fn func(*Tx) error) error {
	s, many := b.writer.session, len(b.members) > 1
	if many {
		if err := s.control("SAVEPOINT member"); err != nil {
			return b.lose(err)
		}
	}
	tx := &Tx{ReadTx{ctx: context.Background(), session: s}}
	defer tx.end() // for a Goexit; the call below comes in time for ROLLBACK TO, which open rows would disturb
	err := b.call(fn, tx)
	tx.end()
	if tx.lost != nil {
		b.lost = tx.lost
		if err == nil {
			err = tx.lost
		}
		return err
	}
	if !many {
		return err
	}
	if err != nil {
		if undo := s.control("ROLLBACK TO member"); undo != nil {
			b.lose(undo)
			return err
		}
	}
	if release := s.control("RELEASE member"); release != nil {
		return errors.Join(err, b.lose(release))
	}
	return err
}

func (b *batch) lose(err error) error {
	b.lost = translate(b.writer.config.Path, "write", err)
	return b.lost
}

func (b *batch) call(fn func(*Tx) error, tx *Tx) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Code: ErrPanic, Path: b.writer.config.Path, Op: "write", Err: &PanicError{Value: v, Stack: debug.Stack()}}
		}
	}()
	return fn(tx)
}
