package sqlite

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// Append adds messages to the end of a thread, in their order, in one transaction, and returns them as they are stored.
// NOT_FOUND without the thread. A message whose id is there is not added again: it is returned as it is, or MEMORY_EXISTS if
// what is to be appended differs from it.
func (s *Store) Append(ctx context.Context, ns memory.Namespace, thread string, messages ...memory.Message) ([]memory.Message, error) {
	list, err := resolveMessages(messages)
	if err != nil {
		return nil, err
	}
	err = s.write(ctx, func(c *change) error {
		t, err := c.thread(ns, thread)
		if err != nil {
			return err
		}
		return c.append(t, list)
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

func resolveMessages(messages []memory.Message) ([]memory.Message, error) {
	list := make([]memory.Message, len(messages))
	for i, m := range messages {
		var err error
		if list[i], err = m.Resolve(); err != nil {
			return nil, err
		}
		if list[i].ID == "" {
			list[i].ID = rand.Text()
		}
	}
	return list, nil
}

// append writes resolved messages and completes them in place.
func (c *change) append(t *record, messages []memory.Message) error {
	var last int64
	if err := c.QueryRow("SELECT coalesce(max(seq), 0) FROM mem_items WHERE lane = 'message' AND thread = ?", t.no).Scan(&last); err != nil {
		return err
	}
	// A number is never given twice, even when the end was trimmed.
	last = max(last, t.seq)
	start := last
	for i, m := range messages {
		was, err := c.named(t.ns, memory.MessageLane, t.no, m.ID)
		if err != nil {
			return err
		}
		if was != nil {
			if differs := differs(was.message(), m); differs != "" {
				return exists("message", m.ID, differs)
			}
			messages[i] = was.message()
			continue
		}
		last++
		r := &record{lane: memory.MessageLane, ns: t.ns, thread: t.no, within: t.name, name: m.ID, bank: t.bank, body: []byte(m.Content), data: m.Data,
			at: c.now, created: c.now, changed: c.now, expires: never, validFrom: ever, valid: never, origin: m.Origin,
			kind: string(m.Role), seq: last, calls: m.Calls, answers: m.Answers}
		if err := c.insert(r); err != nil {
			return err
		}
		messages[i] = r.message()
	}
	if last == start {
		return nil
	}
	_, err := c.tx.Exec("UPDATE mem_items SET seq = ? WHERE no = ?", last, t.no)
	return err
}

func differs(have, m memory.Message) string {
	switch {
	case have.Role != m.Role:
		return "role"
	case have.Content != m.Content:
		return "content"
	case string(have.Data) != string(m.Data):
		return "data"
	case !slices.Equal(have.Calls, m.Calls):
		return "list of calls"
	case have.Answers != m.Answers:
		return "answer"
	}
	return ""
}

// Messages returns the newest messages of a thread that the window keeps, oldest first: NOT_FOUND without the thread.
// What a summary stands for is left out. before, if above 0, asks for messages of a smaller Seq, for paging backwards.
func (s *Store) Messages(ctx context.Context, ns memory.Namespace, thread string, w memory.Window, before int64) (list []memory.Message, err error) {
	err = s.read(ctx, func(l *look) error {
		t, err := l.thread(ns, thread)
		if err != nil {
			return err
		}
		list, err = l.live(t.no, before)
		return err
	})
	if err != nil {
		return nil, err
	}
	return w.Keep(list), nil
}

// live returns the messages of a thread for which no summary stands, up to before if that is set.
func (l *look) live(thread, before int64) (list []memory.Message, err error) {
	if before <= 0 {
		before = never
	}
	records, err := l.records("WHERE i.lane = 'message' AND i.thread = ? AND i.folded = 0 AND i.seq < ? ORDER BY i.seq", thread, before)
	for _, r := range records {
		list = append(list, r.message())
	}
	return list, err
}

// CountMessages returns how many messages a thread has, without those that a summary stands for.
func (s *Store) CountMessages(ctx context.Context, ns memory.Namespace, thread string) (n int, err error) {
	err = s.read(ctx, func(l *look) error {
		t, err := l.thread(ns, thread)
		if err != nil {
			return err
		}
		return l.QueryRow("SELECT count(*) FROM mem_items WHERE lane = 'message' AND thread = ? AND folded = 0", t.no).Scan(&n)
	})
	return n, err
}

// LimitTokens deletes messages from the oldest end of a thread until the window keeps the rest, and returns how many. It
// never parts a call from its result; set KeepSystem, as a rule. What a deleted summary stood for is deleted with it.
func (s *Store) LimitTokens(ctx context.Context, ns memory.Namespace, thread string, w memory.Window) (deleted int, err error) {
	err = s.write(ctx, func(c *change) error {
		t, err := c.thread(ns, thread)
		if err != nil {
			return err
		}
		list, err := c.live(t.no, 0)
		if err != nil {
			return err
		}
		kept := map[int64]bool{}
		for _, m := range w.Keep(list) {
			kept[m.Seq] = true
		}
		for _, m := range list {
			if kept[m.Seq] {
				continue
			}
			no, err := c.number(t.space, memory.MessageLane, t.no, m.ID)
			if err != nil {
				return err
			}
			if err := c.removeMessage(no); err != nil {
				return err
			}
			deleted++
		}
		return nil
	})
	return deleted, err
}

// removeMessage deletes a message, and with a summary what it stands for.
func (c *change) removeMessage(no int64) error {
	originals, err := column[int64](&c.look, "SELECT no FROM mem_items WHERE folded = ?", no)
	if err != nil {
		return err
	}
	for _, original := range originals {
		if err := c.removeMessage(original); err != nil {
			return err
		}
	}
	return c.remove(no)
}

// Summarize replaces the old messages of a thread by one that fn writes, and returns it; the last keep messages and all
// system messages stay, and no call is parted from its result. With fewer than two old messages it does nothing and
// returns nil. The summary is a system message that takes the place of the last one it stands for. fn runs outside of any
// transaction; if the old messages have changed meanwhile, the error is VERSION_CONFLICT and nothing is written.
func (s *Store) Summarize(ctx context.Context, ns memory.Namespace, thread string, keep int,
	fn func(ctx context.Context, old []memory.Message) (string, error)) (summary *memory.Message, err error) {
	list, err := s.Messages(ctx, ns, thread, memory.Window{}, 0)
	if err != nil {
		return nil, err
	}
	old, _ := memory.Split(list, keep)
	if len(old) < 2 {
		return nil, nil
	}
	text, err := fn(ctx, old)
	if err != nil {
		return nil, err
	}
	m, err := memory.Message{Role: memory.System, Content: text}.Resolve()
	if err != nil {
		return nil, err
	}
	m.ID = "summary-" + rand.Text()
	err = s.write(ctx, func(c *change) error {
		t, err := c.thread(ns, thread)
		if err != nil {
			return err
		}
		r := &record{lane: memory.MessageLane, ns: t.ns, thread: t.no, within: t.name, name: m.ID, bank: t.bank, body: []byte(m.Content),
			at: c.now, created: c.now, changed: c.now, expires: never, validFrom: ever, valid: never,
			kind: string(m.Role), seq: old[len(old)-1].Seq, first: old[0].Seq, covers: int64(len(old))}
		// The row must be there before the others name it, and their place is free only when they do: it begins as folded.
		r.folded = -t.no
		if err := c.insert(r); err != nil {
			return err
		}
		names := make([]string, len(old))
		for i, m := range old {
			names[i] = m.ID
		}
		if err := c.fold(r, names); errors.Is(err, memory.InvalidItem) {
			return changedMeanwhile(thread, err)
		} else if err != nil {
			return err
		}
		done := r.message()
		summary = &done
		return nil
	})
	if err != nil {
		return nil, err
	}
	return summary, nil
}

// fold lets a summary, which is there as folded, stand for messages that are live.
func (c *change) fold(r *record, originals []string) error {
	for _, name := range originals {
		result, err := c.tx.Exec("UPDATE mem_items SET folded = ? WHERE lane = 'message' AND thread = ? AND folded = 0 AND name = ?", r.no, r.thread, name)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if err != nil {
			return err
		}
		if n != 1 {
			return contradictory(fmt.Sprintf("the summary %s stands for %q, which is not there to be replaced", r.name, name), "read the thread again")
		}
	}
	var taken int
	if err := c.QueryRow("SELECT count(*) FROM mem_items WHERE lane = 'message' AND thread = ? AND folded = 0 AND seq = ?", r.thread, r.seq).Scan(&taken); err != nil {
		return err
	}
	if taken > 0 {
		return contradictory(fmt.Sprintf("the place of the summary %s is taken", r.name), "read the thread again")
	}
	_, err := c.tx.Exec("UPDATE mem_items SET folded = 0 WHERE no = ?", r.no)
	return err
}

func changedMeanwhile(thread string, cause error) error {
	return &cairn.Error{Code: memory.VersionConflict, Message: "the thread " + thread + " has changed while it was summarized", Err: cause,
		Next: "summarize it again"}
}

// Originals returns the messages that a summary stands for, oldest first: NOT_FOUND without it, none for other messages.
func (s *Store) Originals(ctx context.Context, ns memory.Namespace, thread, id string) (list []memory.Message, err error) {
	err = s.read(ctx, func(l *look) error {
		t, err := l.thread(ns, thread)
		if err != nil {
			return err
		}
		no, err := l.number(t.space, memory.MessageLane, t.no, id)
		if err != nil {
			return err
		}
		if no == 0 {
			return notFound("message", ns, id)
		}
		records, err := l.records("WHERE i.folded = ? ORDER BY i.seq", no)
		for _, r := range records {
			list = append(list, r.message())
		}
		return err
	})
	return list, err
}

func (r *record) message() memory.Message {
	m := memory.Message{ID: r.name, Seq: r.seq, Role: memory.Role(r.kind), Content: string(r.body), Calls: r.calls, Answers: r.answers,
		Created: moment(r.created), Origin: r.origin}
	if len(r.data) > 0 {
		m.Data = json.RawMessage(r.data)
	}
	if r.first > 0 {
		m.Summary = &memory.Summary{First: r.first, Last: r.seq, Count: r.covers}
	}
	return m
}
