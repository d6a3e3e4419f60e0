package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// perRun is how many frames, or inbox items, a run can have: their number is the lower half of their key.
const perRun = math.MaxUint32

// key is where number n of run no is kept in frames and inbox.
func key(no, n int64) int64 { return no<<32 | n }

// row is a row of the catalog.
type row struct {
	engine.RunInfo
	no       int64
	consumed int64
}

const selectRuns = `SELECT no, id, workflow, version, status, created, updated, head, hash, consumed,
	epoch, lease_until, owner, host, pid, started, generation, parent, successor, result, failure FROM runs `

// scanRun reads a row of selectRuns. With an error the row has its number, and its id if that could be read.
func scanRun(scan func(...any) error) (*row, error) {
	var no, created, updated, head, consumed, epoch, until, pid, generation integer
	var id, workflow, version, status, hash, owner, host, started, parent, successor text
	var result, failure nullable
	err := scan(&no, &id, &workflow, &version, &status, &created, &updated, &head, &hash, &consumed,
		&epoch, &until, &owner, &host, &pid, &started, &generation, &parent, &successor, &result, &failure)
	r := &row{no: int64(no), consumed: int64(consumed), RunInfo: engine.RunInfo{
		ID: string(id), Workflow: string(workflow), Version: string(version), Status: core.Status(status),
		Head: int64(head), Hash: string(hash), Epoch: int64(epoch),
		Owner:   engine.Owner{Token: string(owner), Host: string(host), PID: int(pid), Started: string(started)},
		Created: moment(int64(created)), Updated: moment(int64(updated)),
		Result:     json.RawMessage(result),
		Generation: int(generation), Parent: string(parent), Successor: string(successor),
	}}
	if errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	if err != nil {
		return r, unreadable(r.name(), "its row of the catalog", err)
	}
	if r.Owner.Token != "" {
		r.Until = moment(int64(until))
	}
	if failure != nil {
		r.Failure = new(cairn.Failure)
		if err := json.Unmarshal(failure, r.Failure); err != nil {
			return r, damaged(r.name(), "the failure in its row of the catalog is not JSON of one", err)
		}
	}
	return r, r.check()
}

// check refuses what a later step would stumble over.
func (r *row) check() error {
	known := r.Status == core.Running || r.Status == core.Paused || r.Status == core.Blocked || r.Status.Terminal()
	switch {
	case r.no < 1 || r.no > math.MaxInt32:
		return damaged(r.name(), fmt.Sprintf("its number in the catalog is %d", r.no), nil)
	case !known:
		return damaged(r.name(), fmt.Sprintf("its status in the catalog is %q", r.Status), nil)
	case r.Head < 1 || r.Head > perRun:
		return damaged(r.name(), fmt.Sprintf("its last frame in the catalog is number %d", r.Head), nil)
	case r.consumed < 0 || r.consumed > perRun:
		return damaged(r.name(), fmt.Sprintf("its last consumed inbox item in the catalog is number %d", r.consumed), nil)
	case r.Epoch < 0:
		return damaged(r.name(), fmt.Sprintf("its epoch in the catalog is %d", r.Epoch), nil)
	}
	return nil
}

// name is the run's id, or what else there is to find the row by.
func (r *row) name() string {
	if r.ID == "" {
		return fmt.Sprintf("(row %d of table runs)", r.no)
	}
	return r.ID
}

// findRun returns a run by its id: RUN_NOT_FOUND.
func findRun(tx *dbfile.ReadTx, run string) (*row, error) {
	r, err := scanRun(tx.QueryRow(selectRuns+"WHERE id = ?", run).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, notFound(run)
	}
	return r, err
}

// numbered returns a run by its number.
func numbered(tx *dbfile.ReadTx, run string, no int64) (*row, error) {
	r, err := scanRun(tx.QueryRow(selectRuns+"WHERE no = ?", no).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, damaged(run, "its row is gone from the catalog", nil)
	}
	return r, err
}

// Run returns one run: RUN_NOT_FOUND.
func (s *Store) Run(ctx context.Context, id string) (engine.RunInfo, error) {
	var info engine.RunInfo
	err := s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		r, err := findRun(tx, id)
		if err == nil {
			info = r.RunInfo
		}
		return err
	})
	return info, err
}

// Runs returns runs, newest first: those stored last, so an imported run counts from its import. One damaged row must
// not hide the others from recovery, nor itself from who looks: it is listed with what can be read of it, and the
// STORE_DAMAGED that Run returns as its Failure.
func (s *Store) Runs(ctx context.Context, q engine.Query) ([]engine.RunInfo, error) {
	query, args := selectRuns, []any(nil)
	switch {
	case q.Status != "" && q.Workflow != "":
		query, args = query+"WHERE status = ? AND workflow = ?", []any{string(q.Status), q.Workflow}
	case q.Status != "":
		query, args = query+"WHERE status = ?", []any{string(q.Status)}
	case q.Workflow != "":
		query, args = query+"WHERE workflow = ?", []any{q.Workflow}
	}
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	var infos []engine.RunInfo
	err := s.db.Read(ctx, func(tx *dbfile.ReadTx) error {
		rows, err := tx.Query(query+" ORDER BY no DESC LIMIT ?", append(args, limit)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			r, err := scanRun(rows.Scan)
			switch {
			case errors.Is(err, Damaged):
				r.ID, r.Failure = r.name(), cairn.FailureOf(err)
			case err != nil:
				return err
			}
			infos = append(infos, r.RunInfo)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}
