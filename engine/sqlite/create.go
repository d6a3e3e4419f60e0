package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// Create stores a run with its first frame, and leases it: RUN_EXISTS. A first frame that ends the run leaves no lease.
func (s *Store) Create(ctx context.Context, run engine.NewRun, first engine.Commit, claim engine.Claim) (engine.Lease, error) {
	if err := errors.Join(checkClaim(run.ID, claim), checkCommit(run.ID, first)); err != nil {
		return engine.Lease{}, err
	}
	if first.Successor != nil {
		return engine.Lease{}, misuse(run.ID, "its first frame comes with a successor", "commit that with a later one")
	}
	if err := checkChain(run.ID, []engine.Commit{first}); err != nil {
		return engine.Lease{}, err
	}
	var lease engine.Lease
	var no int64
	run.Successor = ""
	err := s.change(ctx, run.ID, func(tx *dbfile.Tx) (err error) {
		now := s.clock()
		no, lease, err = s.begin(tx, run, first, first.Consumed, claim, now)
		return err
	})
	if err != nil {
		return engine.Lease{}, err
	}
	s.numbers.put(run.ID, no)
	return lease, nil
}

// begin adds a run with its first frame, under the first lease.
func (s *Store) begin(tx *dbfile.Tx, run engine.NewRun, first engine.Commit, consumed int64, claim engine.Claim, now time.Time) (no int64, lease engine.Lease, err error) {
	lease = leaseOf(run.ID, 1, claim, now)
	until, owner := lease.Until, claim.Owner
	if first.Status.Terminal() {
		until, owner = time.UnixMilli(0), engine.Owner{}
	}
	if no, err = s.insertRun(tx, run, first, consumed, 1, owner, until.UnixMilli()); err != nil {
		return 0, lease, err
	}
	return no, lease, s.appendFrame(tx, no, first, now)
}

// succeed adds the successor of run no, which has consumed so many items of its inbox, and moves to it what is unread and
// what dedupe keys were seen: the inbox is the chain's.
func (s *Store) succeed(tx *dbfile.Tx, no, consumed int64, next *engine.Successor, now time.Time) error {
	run := next.Run
	run.Successor = ""
	heir, _, err := s.begin(tx, run, next.First, consumed, next.Claim, now)
	if err != nil {
		return err
	}
	for _, move := range []struct {
		query string
		args  []any
	}{
		{"DELETE FROM inbox WHERE id > ? AND id <= ?", []any{key(no, 0), key(no, consumed)}},
		{"UPDATE inbox SET id = id + ? WHERE id > ? AND id <= ?", []any{key(heir, 0) - key(no, 0), key(no, 0), key(no, perRun)}},
		{"UPDATE seen SET run = ? WHERE run = ?", []any{heir, no}},
	} {
		if _, err := tx.Exec(move.query, move.args...); err != nil {
			return err
		}
	}
	if next.First.Status.Terminal() {
		_, err = tx.Exec("DELETE FROM inbox WHERE id > ? AND id <= ?", key(heir, 0), key(heir, perRun))
	}
	return err
}

// Import stores a whole run that no one holds, frames and journal included: RUN_EXISTS, or FRAME_CONFLICT if the frames
// are no chain. Their effects are not stored: whoever ran them delivers
// them. Nor are their cache entries: what they were made from is not here.
func (s *Store) Import(ctx context.Context, run engine.NewRun, frames []engine.Commit, entries []engine.Entry) error {
	if len(frames) == 0 {
		return misuse(run.ID, "there are no frames to import", "export the run again")
	}
	for _, c := range frames {
		if err := checkCommit(run.ID, c); err != nil {
			return err
		}
	}
	if err := checkChain(run.ID, frames); err != nil {
		return err
	}
	return s.change(ctx, run.ID, func(tx *dbfile.Tx) error {
		consumed := int64(0)
		for _, c := range frames {
			consumed = max(consumed, c.Consumed)
		}
		no, err := s.insertRun(tx, run, frames[len(frames)-1], consumed, 0, engine.Owner{}, 0)
		if err != nil {
			return err
		}
		for _, c := range frames {
			if err := insertFrame(tx, no, c); err != nil {
				return err
			}
		}
		for _, e := range entries {
			if err := insertEntry(tx, no, e); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkChain says whether the frames are numbered from 1 without gaps, each naming the hash of the one before.
func checkChain(run string, frames []engine.Commit) error {
	prev := ""
	for i, c := range frames {
		switch {
		case c.N != int64(i)+1:
			return conflict(run, fmt.Sprintf("frame %d stands where frame %d belongs", c.N, i+1))
		case c.Prev != prev:
			return conflict(run, fmt.Sprintf("frame %d follows a frame of hash %q, but the one before has %q", c.N, c.Prev, prev))
		}
		prev = c.Hash
	}
	return nil
}

// insertRun adds a row to the catalog and returns its number. last is the run's last frame.
func (s *Store) insertRun(tx *dbfile.Tx, run engine.NewRun, last engine.Commit, consumed, epoch int64, owner engine.Owner, until int64) (int64, error) {
	switch _, err := number(&tx.ReadTx, run.ID); {
	case err == nil:
		return 0, exists(run.ID)
	case !errors.Is(err, engine.RunNotFound):
		return 0, err
	}
	failure, err := encodeFailure(run.ID, last.Failure)
	if err != nil {
		return 0, err
	}
	now := s.now()
	created := now
	if !run.Created.IsZero() {
		created = run.Created.UnixMilli()
	}
	var result sql.Result
	result, err = tx.Exec(`INSERT INTO runs (id, workflow, version, status, created, updated, head, hash, consumed,
		epoch, lease_until, owner, host, pid, started, generation, parent, successor, result, failure)
		VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)`,
		run.ID, run.Workflow, run.Version, string(last.Status), created, now, last.N, last.Hash, consumed,
		epoch, until, owner.Token, owner.Host, owner.PID, owner.Started,
		run.Generation, run.Parent, run.Successor, []byte(last.Result), failure)
	if err != nil {
		return 0, err
	}
	no, err := result.LastInsertId()
	if err == nil && no > math.MaxInt32 {
		err = misuse(run.ID, "the file has room for 2^31 runs and they are used up", "go on with a new file")
	}
	return no, err
}
