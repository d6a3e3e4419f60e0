package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// checkCommit refuses a frame that could not be read again.
func checkCommit(run string, c engine.Commit) error {
	switch {
	case run == "":
		return misuse("", "the run has no id", "give it one")
	case c.N > perRun:
		return misuse(run, fmt.Sprintf("frame number %d", c.N), "a run has room for 2^32 frames: end it and start another")
	case len(c.Body) == 0 || c.Hash == "":
		return misuse(run, fmt.Sprintf("frame %d has no bytes or no hash", c.N), "encode and hash the frame")
	case c.Status != core.Running && c.Status != core.Paused && c.Status != core.Blocked && !c.Status.Terminal():
		return misuse(run, fmt.Sprintf("frame %d has the status %q", c.N, c.Status), "use one of the core's")
	case c.Consumed < 0 || c.Consumed > perRun:
		return misuse(run, fmt.Sprintf("frame %d has consumed inbox item %d", c.N, c.Consumed), "items count from 1, 0 is none")
	case c.TTL < 0:
		return misuse(run, fmt.Sprintf("frame %d extends the lease by %s", c.N, c.TTL), "0 leaves it as it is")
	}
	if next := c.Successor; next != nil {
		if c.Status != core.Continued || next.First.Successor != nil || next.First.Consumed != 0 || next.Run.ID == run {
			return misuse(run, fmt.Sprintf("frame %d, of status %q, comes with a successor that it can't have", c.N, c.Status),
				"end the run as continued, and give the successor an id and a plain first frame")
		}
		err := errors.Join(checkClaim(next.Run.ID, next.Claim), checkCommit(next.Run.ID, next.First), checkChain(next.Run.ID, []engine.Commit{next.First}))
		if err != nil {
			return err
		}
	}
	for _, e := range c.Effects {
		if e.ID == "" {
			return misuse(run, fmt.Sprintf("an effect of kind %q in frame %d has no id", e.Effect.Kind, c.N), "give it its operation id")
		}
	}
	for _, w := range c.Cache {
		switch {
		case w.Entry.Key == "":
			return misuse(run, fmt.Sprintf("a cache entry in frame %d has no key", c.N), "compute it with package cache")
		case w.TTL < 0:
			return misuse(run, fmt.Sprintf("a cache entry in frame %d lives for %s", c.N, w.TTL), "0 is without end")
		}
	}
	return nil
}

// Commit appends a frame and all that belongs to it, its successor included, in one transaction: LEASE_LOST,
// FRAME_CONFLICT, RUN_EXISTS for a successor whose id is taken. Repeating the last
// commit is success, as long as nobody has claimed the run since.
//
// Most commits leave the status as it is, and take one statement that finds the row only if lease, frame before and
// status are as they should be. Only when it finds none is the row read, to do the rest or to say what is wrong.
func (s *Store) Commit(ctx context.Context, lease engine.Lease, c engine.Commit) error {
	if err := checkCommit(lease.Run, c); err != nil {
		return err
	}
	failure, err := encodeFailure(lease.Run, c.Failure)
	if err != nil {
		return err
	}
	err = s.write(ctx, lease.Run, func(tx *dbfile.Tx, no int64) error {
		now := s.clock()
		if c.Status == core.Running && c.Result == nil && c.Failure == nil && lease.Owner != "" {
			var until any // NULL leaves it
			if c.TTL > 0 {
				until = now.Add(c.TTL).UnixMilli()
			}
			done, err := touch(tx, `UPDATE runs SET head = ?, hash = ?, updated = ?, consumed = max(consumed, ?),
				lease_until = coalesce(?, lease_until)
				WHERE no = ? AND epoch = ? AND owner = ? AND head = ? AND hash = ? AND status = 'running'
				AND result IS NULL AND failure IS NULL`,
				c.N, c.Hash, now.UnixMilli(), c.Consumed, until, no, lease.Epoch, lease.Owner, c.N-1, c.Prev)
			if err != nil {
				return err
			}
			if done {
				return s.appendFrame(tx, no, c, now)
			}
		}
		return s.commitSlowly(tx, no, lease, c, failure)
	})
	if err == nil && c.Status.Terminal() {
		s.numbers.drop(lease.Run)
	}
	return err
}

// commitSlowly is Commit for a change of status, a repeat, or a refusal.
func (s *Store) commitSlowly(tx *dbfile.Tx, no int64, lease engine.Lease, c engine.Commit, failure []byte) error {
	r, err := numbered(&tx.ReadTx, lease.Run, no)
	if err != nil {
		return err
	}
	switch {
	case r.Epoch == lease.Epoch && r.Head == c.N && r.Hash == c.Hash:
		return nil // the acknowledgement was lost
	case r.Epoch != lease.Epoch || r.Owner.Token != lease.Owner || lease.Owner == "":
		return lost(r, lease)
	case r.Head != c.N-1:
		return conflict(lease.Run, fmt.Sprintf("frame %d does not follow: the last one is %d", c.N, r.Head))
	case r.Hash != c.Prev:
		return conflict(lease.Run, fmt.Sprintf("frame %d follows a frame of hash %q, but frame %d has %q", c.N, c.Prev, r.Head, r.Hash))
	}
	now := s.clock()
	until, owner := r.Until.UnixMilli(), r.Owner
	if c.TTL > 0 {
		until = now.Add(c.TTL).UnixMilli()
	}
	successor := ""
	if c.Successor != nil {
		successor = c.Successor.Run.ID
		if err := s.succeed(tx, no, max(r.consumed, c.Consumed), c.Successor, now); err != nil {
			return err
		}
	}
	if c.Status.Terminal() {
		until, owner = 0, engine.Owner{}
	}
	if c.Status.Terminal() && !(engine.RunInfo{Status: c.Status, Failure: c.Failure}).Reopens() {
		if _, err := tx.Exec("DELETE FROM inbox WHERE id > ? AND id <= ?", key(no, 0), key(no, perRun)); err != nil {
			return err
		}
	}
	_, err = tx.Exec(`UPDATE runs SET head = ?, hash = ?, updated = ?, consumed = max(consumed, ?), lease_until = ?, status = ?,
		result = ?, failure = ?, owner = ?, host = ?, pid = ?, started = ?, successor = ? WHERE no = ?`,
		c.N, c.Hash, now.UnixMilli(), c.Consumed, until, string(c.Status),
		[]byte(c.Result), failure, owner.Token, owner.Host, owner.PID, owner.Started, successor, no)
	if err != nil {
		return err
	}
	return s.appendFrame(tx, no, c, now)
}

// appendFrame writes what a commit has besides the row of its run.
func (s *Store) appendFrame(tx *dbfile.Tx, no int64, c engine.Commit, now time.Time) error {
	if err := insertFrame(tx, no, c); err != nil {
		return err
	}
	if c.Consumed > 0 {
		if _, err := tx.Exec("DELETE FROM inbox WHERE id > ? AND id <= ?", key(no, 0), key(no, c.Consumed)); err != nil {
			return err
		}
	}
	if err := insertEffects(tx, no, c, now.UnixMilli()); err != nil {
		return err
	}
	return s.writeCache(tx, c.Cache, now)
}

func insertFrame(tx *dbfile.Tx, no int64, c engine.Commit) error {
	_, err := tx.Exec("INSERT INTO frames (id, body) VALUES (?, ?)", key(no, c.N), c.Body)
	return err
}

// encodeFailure returns nil, which is NULL, for none.
func encodeFailure(run string, f *cairn.Failure) ([]byte, error) {
	if f == nil {
		return nil, nil
	}
	body, err := json.Marshal(f)
	if err != nil {
		return nil, misuse(run, "the run's failure is no JSON: "+err.Error(), "mend its Detail")
	}
	return body, nil
}
