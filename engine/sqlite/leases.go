package sqlite

import (
	"context"
	"errors"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// checkClaim refuses a claim that would make a lease nobody can tell from none.
func checkClaim(run string, c engine.Claim) error {
	switch {
	case c.Owner.Token == "":
		return misuse(run, "the claim's owner has no token", "give each engine instance a unique token")
	case c.TTL <= 0:
		return misuse(run, "the claim's TTL is "+c.TTL.String(), "claim for a time that is long enough to renew in")
	}
	return nil
}

// Claim leases a run that nobody holds, whose lease has run out, or whose epoch is claim.Dead: RUN_NOT_FOUND,
// RUN_ENDED, LEASE_HELD. The owner's own lease is held like any other, so that two goroutines of one process can't both
// drive a run; name its epoch as Dead to take it back.
func (s *Store) Claim(ctx context.Context, run string, claim engine.Claim) (engine.Lease, error) {
	if err := checkClaim(run, claim); err != nil {
		return engine.Lease{}, err
	}
	var lease engine.Lease
	err := s.change(ctx, run, func(tx *dbfile.Tx) error {
		r, err := findRun(&tx.ReadTx, run)
		if err != nil {
			return err
		}
		now := s.clock()
		free := r.Owner.Token == "" || r.Until.UnixMilli() <= now.UnixMilli() || claim.Dead != 0 && claim.Dead == r.Epoch
		switch {
		case r.Status.Terminal() && !(claim.Reopen && r.Reopens()):
			return ended(run, r.Status)
		case !free:
			return held(r)
		}
		lease = leaseOf(run, r.Epoch+1, claim, now)
		o := claim.Owner
		_, err = tx.Exec("UPDATE runs SET epoch = ?, lease_until = ?, owner = ?, host = ?, pid = ?, started = ? WHERE no = ?",
			lease.Epoch, lease.Until.UnixMilli(), o.Token, o.Host, o.PID, o.Started, r.no)
		return err
	})
	if err != nil {
		return engine.Lease{}, err
	}
	return lease, nil
}

func leaseOf(run string, epoch int64, claim engine.Claim, now time.Time) engine.Lease {
	return engine.Lease{Run: run, Epoch: epoch, Owner: claim.Owner.Token, Until: moment(now.Add(claim.TTL).UnixMilli())}
}

// Renew extends leases to ttl from now, all in one transaction, and returns the ids of the runs whose lease is lost.
// A run whose row is damaged counts as lost: it can't be driven, and the others must not stop with it.
func (s *Store) Renew(ctx context.Context, leases []engine.Lease, ttl time.Duration) ([]string, error) {
	if ttl <= 0 {
		return nil, misuse("", "the leases' new TTL is "+ttl.String(), "renew for a time that is long enough to renew in again")
	}
	if len(leases) == 0 {
		return nil, nil
	}
	var lost []string
	err := s.db.Write(ctx, func(tx *dbfile.Tx) error {
		until := s.clock().Add(ttl).UnixMilli()
		for _, l := range leases {
			held, err := touch(tx, "UPDATE runs SET lease_until = ? WHERE id = ? AND epoch = ? AND owner = ? AND owner <> ''",
				until, l.Run, l.Epoch, l.Owner)
			if err != nil && !errors.Is(err, dbfile.ErrConstraint) {
				return err
			}
			if !held {
				lost = append(lost, l.Run)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return lost, nil
}

// Release ends a lease early. Releasing a lost lease does nothing.
func (s *Store) Release(ctx context.Context, lease engine.Lease) error {
	err := s.change(ctx, lease.Run, func(tx *dbfile.Tx) error {
		_, err := touch(tx, `UPDATE runs SET lease_until = 0, owner = '', host = '', pid = 0, started = ''
			WHERE id = ? AND epoch = ? AND owner = ?`, lease.Run, lease.Epoch, lease.Owner)
		return err
	})
	if err == nil {
		s.numbers.drop(lease.Run)
	}
	return err
}

// touch runs a statement that changes at most one row and says whether there was one.
func touch(tx *dbfile.Tx, query string, args ...any) (bool, error) {
	result, err := tx.Exec(query, args...)
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n == 1, err
}
