package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// SetFact writes a fact whatever is there: the last write wins. It replaces all of it; what exists keeps Created. It returns
// the fact as it is stored.
func (s *Store) SetFact(ctx context.Context, f memory.Fact) (memory.Fact, error) {
	list, err := s.SetFacts(ctx, []memory.Fact{f})
	if err != nil {
		return memory.Fact{}, err
	}
	return list[0], nil
}

// SetFacts is SetFact for many in one transaction, in their order; all or none. Everyone who writes to the file waits
// meanwhile, so give it hundreds at a time and not millions.
func (s *Store) SetFacts(ctx context.Context, facts []memory.Fact) ([]memory.Fact, error) {
	return s.setFacts(ctx, facts, func(*record, memory.Fact) error { return nil })
}

// SwapFact writes a fact if its version is the expected one, 0 if there must be none. Otherwise VERSION_CONFLICT, which says
// what there is.
func (s *Store) SwapFact(ctx context.Context, f memory.Fact, expected int64) (memory.Fact, error) {
	list, err := s.setFacts(ctx, []memory.Fact{f}, func(was *record, f memory.Fact) error {
		have := int64(0)
		if was != nil {
			have = was.version
		}
		return compare(f, have, expected)
	})
	if err != nil {
		return memory.Fact{}, err
	}
	return list[0], nil
}

func compare(f memory.Fact, have, expected int64) error {
	if have == expected {
		return nil
	}
	e := &cairn.Error{Code: memory.VersionConflict, Next: "read it again, and write what follows from its new version"}
	switch {
	case have == 0:
		e.Message = fmt.Sprintf("%s has no fact %q, where version %d was expected", f.Namespace, f.Key, expected)
	case expected == 0:
		e.Message = fmt.Sprintf("%s has a fact %q of version %d, where none was expected", f.Namespace, f.Key, have)
	default:
		e.Message = fmt.Sprintf("the fact %q of %s has version %d, not %d", f.Key, f.Namespace, have, expected)
	}
	return e
}

func (s *Store) setFacts(ctx context.Context, facts []memory.Fact, check func(was *record, f memory.Fact) error) ([]memory.Fact, error) {
	facts, err := resolveFacts(facts)
	if err != nil || len(facts) == 0 {
		return nil, err
	}
	err = s.write(ctx, func(c *change) error { return c.setFacts(facts, check) })
	if err != nil {
		return nil, err
	}
	return facts, nil
}

func resolveFacts(facts []memory.Fact) ([]memory.Fact, error) {
	list := make([]memory.Fact, len(facts))
	for i, f := range facts {
		var err error
		if list[i], err = f.Resolve(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// setFacts writes resolved facts and completes them in place.
func (c *change) setFacts(facts []memory.Fact, check func(was *record, f memory.Fact) error) error {
	for i, f := range facts {
		was, err := c.named(f.Namespace, memory.FactLane, 0, f.Key)
		if err != nil {
			return err
		}
		live := was
		if was != nil && was.expires <= c.now {
			live = nil
		}
		if err := check(live, f); err != nil {
			return err
		}
		r, err := c.writeFact(f, was, live)
		if err != nil {
			return err
		}
		facts[i] = r.fact()
	}
	return nil
}

// writeFact writes a resolved fact over was, of which live is left if it has not expired.
func (c *change) writeFact(f memory.Fact, was, live *record) (*record, error) {
	r := &record{lane: memory.FactLane, ns: f.Namespace, name: f.Key, bank: f.Bank, tags: f.Tags, title: []byte(f.Key), body: f.Value,
		at: c.now, created: c.now, changed: c.now, expires: until(f.Expires), validFrom: from(f.Valid.From), valid: until(f.Valid.To), origin: f.Origin}
	if live != nil {
		r.created = live.created
	}
	if was == nil {
		space, err := c.makeSpace(f.Namespace)
		if err != nil {
			return nil, err
		}
		if r.version, err = c.nextVersion(space, f.Key); err != nil {
			return nil, err
		}
		return r, c.insert(r)
	}
	r.version = was.version + 1
	if live == nil { // as if what has expired had been collected
		if err := c.dropHistory(was.space, was.name); err != nil {
			return nil, err
		}
	} else if err := c.archive(was); err != nil {
		return nil, err
	}
	return r, c.replace(r, was)
}

// PatchFact changes parts of a fact: see FactPatch. NOT_FOUND if there is none. With an expected version above 0 it fails
// with VERSION_CONFLICT at any other.
func (s *Store) PatchFact(ctx context.Context, ns memory.Namespace, key string, p memory.FactPatch, expected int64) (f memory.Fact, err error) {
	err = s.write(ctx, func(c *change) error {
		was, err := c.named(ns, memory.FactLane, 0, key)
		if err != nil {
			return err
		}
		if was == nil || was.expires <= c.now {
			return notFound("fact", ns, key)
		}
		if expected > 0 {
			if err := compare(memory.Fact{Place: memory.Place{Namespace: ns}, Key: key}, was.version, expected); err != nil {
				return err
			}
		}
		patched, err := p.Apply(was.fact())
		if err != nil {
			return err
		}
		if patched, err = patched.Resolve(); err != nil {
			return err
		}
		r, err := c.writeFact(patched, was, was)
		if err != nil {
			return err
		}
		f = r.fact()
		return nil
	})
	return f, err
}

// GetFact returns the fact that holds now: NOT_FOUND if there is none, or it has expired.
func (s *Store) GetFact(ctx context.Context, ns memory.Namespace, key string) (memory.Fact, error) {
	return s.FactAt(ctx, ns, key, memory.Moment{})
}

// FactAt returns the fact that held at m.Valid by what had been written at m.System: the newest version whose validity
// covers the one, of those no younger than the other. A deletion covers all times. NOT_FOUND if there is none, and also if
// that version has expired by now, or the fact as a whole has: what has expired is not read back by any moment.
func (s *Store) FactAt(ctx context.Context, ns memory.Namespace, key string, m memory.Moment) (f memory.Fact, err error) {
	err = s.read(ctx, func(l *look) error {
		r, err := l.factAt(ns, key, m)
		if err != nil {
			return err
		}
		if r == nil {
			return notFound("fact", ns, key)
		}
		f = r.fact()
		return nil
	})
	return f, err
}

// Facts lists the facts of a namespace that hold now, by key.
func (s *Store) Facts(ctx context.Context, ns memory.Namespace) ([]memory.Fact, error) {
	return s.FactsAt(ctx, ns, memory.Moment{})
}

// FactsAt is FactAt for every key, by key.
func (s *Store) FactsAt(ctx context.Context, ns memory.Namespace, m memory.Moment) (list []memory.Fact, err error) {
	err = s.read(ctx, func(l *look) error {
		records, err := l.factsAt(ns, m)
		for _, r := range records {
			list = append(list, r.fact())
		}
		return err
	})
	return list, err
}

// FactVersions lists what is kept of a key's versions that have not expired, the newest first. Deletions are left out.
func (s *Store) FactVersions(ctx context.Context, ns memory.Namespace, key string) (list []memory.Fact, err error) {
	err = s.read(ctx, func(l *look) error {
		r, err := l.named(ns, memory.FactLane, 0, key)
		if err != nil {
			return err
		}
		if r != nil {
			if r.expires <= l.now {
				return nil
			}
			list = append(list, r.fact())
		}
		old, err := l.versions("v.space = (SELECT no FROM mem_spaces WHERE kind = ? AND id = ?) AND v.name = ? AND v.dead = 0 AND v.expires > ? ORDER BY v.version DESC",
			string(ns.Kind), ns.ID, key, l.now)
		for _, v := range old {
			list = append(list, v.fact())
		}
		return err
	})
	return list, err
}

// DeleteFact ends a fact and says whether there was one. Its versions stay readable by a Moment before now until they are
// pruned; Forget leaves nothing.
func (s *Store) DeleteFact(ctx context.Context, ns memory.Namespace, key string) (deleted bool, err error) {
	err = s.write(ctx, func(c *change) error {
		was, err := c.named(ns, memory.FactLane, 0, key)
		if err != nil || was == nil {
			return err
		}
		if deleted = was.expires > c.now; !deleted {
			return nil // ExpireFacts collects it
		}
		if err := c.archive(was); err != nil {
			return err
		}
		if err := c.bury(was); err != nil {
			return err
		}
		return c.remove(was.no)
	})
	return deleted && err == nil, err
}

func (r *record) fact() memory.Fact {
	return memory.Fact{Place: r.where(), Key: r.name, Value: json.RawMessage(r.body), Version: r.version, Created: moment(r.created),
		Updated: moment(r.changed), Expires: moment(r.expires), Valid: r.span(), Origin: r.origin}
}
