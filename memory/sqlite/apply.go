package sqlite

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// Apply carries out an operation once: its id is recorded in the same transaction, and with a recorded id it does nothing and
// is false. An operation that could not be carried out (NOT_FOUND, MEMORY_EXISTS, VERSION_CONFLICT and the like) is not recorded.
func (s *Store) Apply(ctx context.Context, id string, op memory.Operation) (applied bool, err error) {
	if err := memory.CheckName("an operation's id", id); err != nil {
		return false, err
	}
	if op, err = resolve(op); err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(id))
	err = s.write(ctx, func(c *change) error {
		result, err := c.tx.Exec("INSERT INTO mem_applied (id, at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING", sum[:], c.now)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return err
		}
		applied = true
		return c.apply(op)
	})
	return applied && err == nil, err
}

// Applied says whether an operation of that id was carried out, by whomever: for who must know before making another one up.
func (s *Store) Applied(ctx context.Context, id string) (applied bool, err error) {
	if err := memory.CheckName("an operation's id", id); err != nil {
		return false, err
	}
	sum := sha256.Sum256([]byte(id))
	err = s.read(ctx, func(l *look) error {
		return l.QueryRow("SELECT EXISTS (SELECT 1 FROM mem_applied WHERE id = ?)", sum[:]).Scan(&applied)
	})
	return applied, err
}

// resolve prepares all parts of an operation, digests as notes.
func resolve(op memory.Operation) (memory.Operation, error) {
	var err error
	if op.Facts, err = resolveFacts(op.Facts); err != nil {
		return op, err
	}
	notes := make([]memory.Note, 0, len(op.Notes)+len(op.Digests))
	for _, n := range op.Notes {
		if n, err = n.Resolve(); err != nil {
			return op, err
		}
		notes = append(notes, n)
	}
	for _, d := range op.Digests {
		n, err := d.Note()
		if err != nil {
			return op, err
		}
		notes = append(notes, n)
	}
	op.Notes, op.Digests = notes, nil
	if len(op.Turns) > 0 && op.Thread == nil {
		return op, contradictory("the operation has turns and no thread", "say which thread they belong to")
	}
	if op.Thread != nil {
		t, err := op.Thread.Resolve()
		if err != nil {
			return op, err
		}
		op.Thread = &t
	}
	if op.Turns, err = resolveMessages(op.Turns); err != nil {
		return op, err
	}
	for _, p := range op.Projections {
		if err := p.Check(); err != nil {
			return op, err
		}
	}
	return op, nil
}

func (c *change) apply(op memory.Operation) error {
	for _, e := range op.Expect {
		notes, err := c.primers(e.Bank, e.ID, e.Filter, false)
		if err != nil {
			return err
		}
		if !e.Met(notes) {
			return &cairn.Error{Code: memory.VersionConflict, Message: fmt.Sprintf("the primer %q of bank %s has been changed meanwhile", e.ID, e.Bank), Next: "read it again"}
		}
	}
	if err := c.setFacts(op.Facts, func(*record, memory.Fact) error { return nil }); err != nil {
		return err
	}
	for _, n := range op.Notes {
		if _, _, err := c.saveNote(n); err != nil {
			return err
		}
	}
	if op.Thread != nil {
		t, err := c.makeThread(*op.Thread)
		if err != nil {
			return err
		}
		if err := c.append(t, op.Turns); err != nil {
			return err
		}
	}
	return c.enqueue(op.Projections)
}

// PruneApplied forgets up to limit operations that were applied before a time, and returns how many. One that is delivered
// again after that is carried out again, so keep them for longer than any outbox may wait.
func (s *Store) PruneApplied(ctx context.Context, before time.Time, limit int) (pruned int, err error) {
	err = s.write(ctx, func(c *change) error {
		result, err := c.tx.Exec("DELETE FROM mem_applied WHERE id IN (SELECT id FROM mem_applied WHERE at < ? ORDER BY at LIMIT ?)", before.UnixMilli(), limit)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		pruned = int(n)
		return err
	})
	return pruned, err
}
