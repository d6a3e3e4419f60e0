package sqlite

import (
	"context"
	"slices"

	"github.com/cairnrun/cairn/memory"
)

// CreateThread makes a thread, or returns the one of that id: MEMORY_EXISTS if its bank, tags or title differ.
func (s *Store) CreateThread(ctx context.Context, t memory.Thread) (made memory.Thread, err error) {
	if t, err = t.Resolve(); err != nil {
		return memory.Thread{}, err
	}
	err = s.write(ctx, func(c *change) error {
		r, err := c.makeThread(t)
		if err == nil {
			made = r.asThread()
		}
		return err
	})
	return made, err
}

func (c *change) makeThread(t memory.Thread) (*record, error) {
	was, err := c.named(t.Namespace, memory.ThreadLane, 0, t.ID)
	if err != nil {
		return nil, err
	}
	if was != nil {
		switch {
		case was.bank != t.Bank:
			return nil, exists("thread", t.ID, "bank")
		case !slices.Equal(was.tags, t.Tags):
			return nil, exists("thread", t.ID, "set of tags")
		case string(was.title) != t.Title:
			return nil, exists("thread", t.ID, "title")
		}
		return was, nil
	}
	r := &record{lane: memory.ThreadLane, ns: t.Namespace, name: t.ID, bank: t.Bank, tags: t.Tags, title: []byte(t.Title),
		at: c.now, created: c.now, changed: c.now, expires: never, validFrom: ever, valid: never, origin: t.Origin}
	return r, c.insert(r)
}

// GetThread returns a thread: NOT_FOUND.
func (s *Store) GetThread(ctx context.Context, ns memory.Namespace, id string) (t memory.Thread, err error) {
	err = s.read(ctx, func(l *look) error {
		r, err := l.thread(ns, id)
		if err == nil {
			t = r.asThread()
		}
		return err
	})
	return t, err
}

// thread returns the record of one: NOT_FOUND.
func (l *look) thread(ns memory.Namespace, id string) (*record, error) {
	r, err := l.named(ns, memory.ThreadLane, 0, id)
	if err == nil && r == nil {
		err = notFound("thread", ns, id)
	}
	return r, err
}

// Threads lists the threads of a namespace, by id.
func (s *Store) Threads(ctx context.Context, ns memory.Namespace) (list []memory.Thread, err error) {
	err = s.read(ctx, func(l *look) error {
		records, err := l.records("WHERE p.kind = ? AND p.id = ? AND i.lane = 'thread' ORDER BY i.name", string(ns.Kind), ns.ID)
		for _, r := range records {
			list = append(list, r.asThread())
		}
		return err
	})
	return list, err
}

// DeleteThread deletes a thread with all its messages and their summaries, in one transaction, and says whether there was one.
// The remote backend is told as by ForgetItem, which also takes the bytes out of the file.
func (s *Store) DeleteThread(ctx context.Context, ns memory.Namespace, id string) (bool, error) {
	ref := memory.Ref{Namespace: ns, Lane: memory.ThreadLane, ID: id}
	if err := ref.Check(); err != nil {
		return false, err
	}
	f := Forgotten{unverified: true}
	err := s.write(ctx, func(c *change) error { return c.forgetItem(&f, ref) })
	return f.Items > 0 && err == nil, err
}

func (r *record) asThread() memory.Thread {
	return memory.Thread{Place: r.where(), ID: r.name, Title: string(r.title), Created: moment(r.created), Origin: r.origin}
}
