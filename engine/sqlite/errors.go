package sqlite

import (
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// Codes of this store besides those of engine.Store. What is wrong with the file itself has the codes of the file
// layer: DB_LOCKED, DB_FULL, DB_CORRUPT and the like.
const (
	// Damaged: a row holds what this store never writes.
	Damaged cairn.Code = "STORE_DAMAGED"
	// Misuse: a call that no engine should make; nothing was written.
	Misuse cairn.Code = "STORE_MISUSE"
)

func notFound(run string) error {
	return &cairn.Error{Code: engine.RunNotFound, Run: run, Message: "the store has no run of this id",
		Next: "check the id, and that this is the right database"}
}

func exists(run string) error {
	return &cairn.Error{Code: engine.RunExists, Run: run, Message: "a run of this id is stored already",
		Next: "take another id, or go on with the run that is there"}
}

func ended(run string, status core.Status) error {
	return &cairn.Error{Code: engine.RunEnded, Run: run, Message: fmt.Sprintf("it has ended as %s, which is final", status),
		Next: "start a new run"}
}

func held(r *row) error {
	by := r.Owner
	return &cairn.Error{Code: engine.LeaseHeld, Run: r.ID,
		Message: fmt.Sprintf("process %d on %s (owner %s) drives it under epoch %d until %s",
			by.PID, by.Host, by.Token, r.Epoch, r.Until.Format("2006-01-02 15:04:05.000Z07:00")),
		Next: fmt.Sprintf("wait until the lease ends, or claim with Dead %d if that process is known to be dead", r.Epoch)}
}

// lost says where the lease has gone.
func lost(r *row, lease engine.Lease) error {
	e := &cairn.Error{Code: engine.LeaseLost, Run: r.ID, Next: "stop driving the run; nothing was written"}
	switch {
	case r.Epoch != lease.Epoch:
		e.Message = fmt.Sprintf("the lease of epoch %d has been claimed away: the run is in epoch %d", lease.Epoch, r.Epoch)
	case r.Status.Terminal():
		e.Message = fmt.Sprintf("the lease ended with the run, which has ended as %s", r.Status)
	case r.Owner.Token == "":
		e.Message = fmt.Sprintf("the lease of epoch %d was released", lease.Epoch)
	default:
		e.Message = fmt.Sprintf("the lease of epoch %d is %s's, not %s's", lease.Epoch, r.Owner.Token, lease.Owner)
	}
	return e
}

func conflict(run, message string) error {
	return &cairn.Error{Code: engine.FrameConflict, Run: run, Message: message,
		Next: "nothing was written; read the run's frames again and go on from the last one"}
}

func misuse(run, message, next string) error {
	return &cairn.Error{Code: Misuse, Run: run, Message: message, Next: next}
}

func damaged(run, what string, cause error) error {
	return &cairn.Error{Code: Damaged, Run: run, Message: what, Err: cause,
		Next: "stop the engines on this file and check it with PRAGMA integrity_check; restore the file from a copy, or this run from an export"}
}

// unreadable tells a row that does not fit its types, which is damage, from failures of the file and contexts, which
// pass unchanged.
func unreadable(run, what string, err error) error {
	var bad *typeError
	if !errors.As(err, &bad) {
		return err
	}
	var file *dbfile.Error
	if errors.As(err, &file) {
		err = file.Err
	}
	return damaged(run, "can't read "+what, err)
}

// unchangeable tells that a constraint has stopped a change, which is damage: this store never asks for what one
// forbids, but SQLite checks a row as a whole. Other errors pass unchanged.
func unchangeable(run, what string, err error) error {
	if !errors.Is(err, dbfile.ErrConstraint) || errors.Is(err, Damaged) {
		return err
	}
	return damaged(run, "can't change "+what+", because of what is in it or beside it", err)
}
