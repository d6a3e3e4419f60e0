package sqlite

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
)

// SaveNote adds a note and returns it as it is stored, and whether it is new. It is not when its id is there with the same
// content (MEMORY_EXISTS with another), and when an equal note of the same namespace and bank is there: same type, title,
// body, tags, validity, links and task. That one is returned, whatever its id and status, so equal notes are one row
// however many write them at once, and what was rejected is not proposed again. A note that is superseded or retired does
// not stand in the way of an equal new one.
//
// NOT_FOUND for a link to a note that is not there; links go to notes of the same namespace, Supersedes also of the same
// bank.
func (s *Store) SaveNote(ctx context.Context, n memory.Note) (saved memory.Note, isNew bool, err error) {
	if n, err = n.Resolve(); err != nil {
		return memory.Note{}, false, err
	}
	err = s.write(ctx, func(c *change) error {
		r, fresh, err := c.saveNote(n)
		if err == nil {
			saved, isNew = r.note(), fresh
		}
		return err
	})
	return saved, isNew, err
}

// Retain saves a digest: see SaveNote.
func (s *Store) Retain(ctx context.Context, d memory.Digest) (memory.Note, bool, error) {
	n, err := d.Note()
	if err != nil {
		return memory.Note{}, false, err
	}
	return s.SaveNote(ctx, n)
}

// content is what makes two notes equal. The time of a digest belongs to it, that of another note if it was given.
func content(n memory.Note) ([]byte, error) {
	at := from(n.Time)
	if n.Task == "" && at == from(n.Created) {
		at = ever
	}
	return json.Marshal([]any{n.Type, n.Title, n.Body, n.Task, n.Tags, n.Supersedes, n.Sources, from(n.Valid.From), until(n.Valid.To), at})
}

func (c *change) saveNote(n memory.Note) (*record, bool, error) {
	n.Created = moment(c.now)
	if n.Time.IsZero() {
		n.Time = n.Created
	}
	raw, err := content(n)
	if err != nil {
		return nil, false, err
	}
	slot := c.ring.hash(raw)
	if n.ID != "" {
		was, err := c.named(n.Namespace, memory.NoteLane, 0, n.ID)
		if err != nil {
			return nil, false, err
		}
		if was != nil {
			return was, false, c.sameNote(was, n)
		}
	}
	slots := [][]byte{slot, slot}
	if c.ring.digest != nil { // an equal note may not be re-encrypted yet
		slots[1] = (&ring{}).hash(raw)
	}
	was, err := c.record("WHERE p.kind = ? AND p.id = ? AND i.bank = ? AND i.slot IN (?, ?)", string(n.Namespace.Kind), n.Namespace.ID, n.Bank, slots[0], slots[1])
	if err != nil || was != nil {
		return was, false, err
	}
	if n.ID == "" {
		if n.ID, err = c.freeID(n.Namespace, slot); err != nil {
			return nil, false, err
		}
	}
	r := &record{lane: memory.NoteLane, ns: n.Namespace, name: n.ID, bank: n.Bank, tags: n.Tags, title: []byte(n.Title), body: []byte(n.Body),
		slot: slot, at: from(n.Time), created: c.now, changed: c.now, expires: never, validFrom: from(n.Valid.From), valid: until(n.Valid.To), origin: n.Origin,
		kind: string(n.Type), status: n.Status, pinned: n.Pinned, task: n.Task, supersedes: n.Supersedes, sources: n.Sources}
	if err := c.insert(r); err != nil {
		return nil, false, err
	}
	if err := c.link(r); err != nil {
		return nil, false, err
	}
	return r, true, c.settleSlots(r.no)
}

// sameNote is MEMORY_EXISTS unless the note of that id says the same.
func (c *change) sameNote(was *record, n memory.Note) error {
	have := was.note()
	switch {
	case have.Bank != n.Bank:
		return exists("note", n.ID, "bank")
	case have.Body != n.Body:
		return exists("note", n.ID, "body")
	case have.Title != n.Title:
		return exists("note", n.ID, "title")
	case have.Type != n.Type:
		return exists("note", n.ID, "type")
	case have.Task != n.Task:
		return exists("note", n.ID, "task")
	case !slices.Equal(have.Tags, n.Tags):
		return exists("note", n.ID, "set of tags")
	}
	return nil
}

// freeID makes an id of the content, so that it is the same wherever the note is saved.
func (l *look) freeID(ns memory.Namespace, slot []byte) (string, error) {
	base := hex.EncodeToString(slot[:10])
	for i := 1; ; i++ {
		id := base
		if i > 1 { // an equal note that is superseded or retired
			id = fmt.Sprintf("%s-%d", base, i)
		}
		was, err := l.named(ns, memory.NoteLane, 0, id)
		if err != nil || was == nil {
			return id, err
		}
	}
}

// link writes a note's links, which go to notes that are there: so there are no cycles.
func (c *change) link(r *record) error {
	for _, id := range r.supersedes {
		old, err := c.linked(r, id)
		if err != nil {
			return err
		}
		if old.bank != r.bank {
			return contradictory(fmt.Sprintf("the note supersedes %q, which is in bank %q and not in %q", id, old.bank, r.bank), "supersede it by a note of its own bank")
		}
		if _, err := c.tx.Exec("INSERT INTO mem_supersedes (note, old) VALUES (?, ?)", r.no, old.no); err != nil {
			return err
		}
	}
	for _, id := range r.sources {
		source, err := c.linked(r, id)
		if err != nil {
			return err
		}
		if _, err := c.tx.Exec("INSERT INTO mem_sources (note, source) VALUES (?, ?)", r.no, source.no); err != nil {
			return err
		}
	}
	return nil
}

func (c *change) linked(r *record, id string) (*record, error) {
	if id == r.name {
		return nil, contradictory("the note "+id+" names itself", "name other notes")
	}
	old, err := c.named(r.ns, memory.NoteLane, 0, id)
	if err == nil && old == nil {
		err = notFound("note", r.ns, id)
	}
	return old, err
}

// settleSlots gives the slot of an equal note away or back, of a note and of those it supersedes, after something has changed
// about them. A note holds its slot unless it is superseded; if an equal one has taken it meanwhile, it goes without. One that
// is retired holds another than before, because its validity is another.
func (c *change) settleSlots(note int64) error {
	list, err := c.records("WHERE i.no = ? OR i.no IN (SELECT old FROM mem_supersedes WHERE note = ?)", note, note)
	if err != nil {
		return err
	}
	for _, r := range list {
		var slot any
		free := false
		if err := c.QueryRow(`SELECT EXISTS (SELECT 1 FROM mem_supersedes e JOIN mem_items o ON o.no = e.note
			WHERE e.old = ? AND o.status = 'accepted')`, r.no).Scan(&free); err != nil {
			return err
		}
		if !free {
			raw, err := content(r.note())
			if err != nil {
				return err
			}
			slot = c.ring.hash(raw)
		}
		if _, err := c.tx.Exec("UPDATE OR IGNORE mem_items SET slot = ? WHERE no = ? AND slot IS NOT ?", slot, r.no, slot); err != nil {
			return err
		}
	}
	return nil
}

// GetNote returns a note, whatever its status: NOT_FOUND.
func (s *Store) GetNote(ctx context.Context, ns memory.Namespace, id string) (n memory.Note, err error) {
	err = s.read(ctx, func(l *look) error {
		r, err := l.noted(ns, id)
		if err == nil {
			n = r.note()
		}
		return err
	})
	return n, err
}

// noted returns the record of a note: NOT_FOUND.
func (l *look) noted(ns memory.Namespace, id string) (*record, error) {
	r, err := l.named(ns, memory.NoteLane, 0, id)
	if err == nil && r == nil {
		err = notFound("note", ns, id)
	}
	return r, err
}

// Notes lists the notes in a scope, the oldest first. Without Statuses these are those that count: accepted, not superseded,
// and valid now.
func (s *Store) Notes(ctx context.Context, scope memory.Scope) (list []memory.Note, err error) {
	scope.Lanes = []memory.Lane{memory.NoteLane}
	err = s.read(ctx, func(l *look) error {
		where, args, err := l.within(scope)
		if err != nil {
			return err
		}
		records, err := l.records("WHERE "+where+" ORDER BY i.created, i.no", args...)
		for _, r := range records {
			list = append(list, r.note())
		}
		return err
	})
	return list, err
}

// SetStatus accepts, rejects or proposes a note: NOT_FOUND. Accepting it hides what it supersedes, rejecting it brings that
// back.
func (s *Store) SetStatus(ctx context.Context, ns memory.Namespace, id string, status memory.Status) (memory.Note, error) {
	if err := status.Check(); err != nil {
		return memory.Note{}, err
	}
	return s.changeNote(ctx, ns, id, "UPDATE mem_items SET status = ?, changed = ? WHERE no = ?", func(c *change, r *record) any { return string(status) })
}

// SetPinned makes a note a primer, or ends that: NOT_FOUND.
func (s *Store) SetPinned(ctx context.Context, ns memory.Namespace, id string, pinned bool) (memory.Note, error) {
	return s.changeNote(ctx, ns, id, "UPDATE mem_items SET pinned = ?, changed = ? WHERE no = ?", func(c *change, r *record) any { return pinned })
}

// Retire ends a note's validity, now or at another time, without a successor: NOT_FOUND. It can't lengthen it: a note that
// ends earlier stays as it is. What it supersedes stays superseded.
func (s *Store) Retire(ctx context.Context, ns memory.Namespace, id string, at time.Time) (memory.Note, error) {
	return s.changeNote(ctx, ns, id, "UPDATE mem_items SET valid_to = min(valid_to, ?), changed = ? WHERE no = ?", func(c *change, r *record) any {
		if at.IsZero() {
			return c.now
		}
		return at.UnixMilli()
	})
}

func (s *Store) changeNote(ctx context.Context, ns memory.Namespace, id, update string, value func(c *change, r *record) any) (n memory.Note, err error) {
	err = s.write(ctx, func(c *change) error {
		r, err := c.noted(ns, id)
		if err != nil {
			return err
		}
		if _, err := c.tx.Exec(update, value(c, r), c.now, r.no); err != nil {
			return err
		}
		if err := c.settleSlots(r.no); err != nil {
			return err
		}
		if r, err = c.noted(ns, id); err == nil {
			n = r.note()
		}
		return err
	})
	return n, err
}

// Primer returns the pinned note of a bank with that id, in its latest version that counts, as a task without tags is given
// it: NOT_FOUND. Where notes of several namespaces are called so, memory.CurrentPrimer says which one.
func (s *Store) Primer(ctx context.Context, bank, id string) (p memory.Primer, err error) {
	return s.primer(ctx, bank, id, memory.RecallFilter(bank, nil, nil))
}

func (s *Store) primer(ctx context.Context, bank, id string, filter memory.Filter) (p memory.Primer, err error) {
	err = s.read(ctx, func(l *look) error {
		notes, err := l.primers(bank, id, filter, true)
		if err != nil {
			return err
		}
		n, found := memory.CurrentPrimer(notes, filter)
		if !found {
			return &cairn.Error{Code: memory.NotFound, Message: fmt.Sprintf("bank %s has no primer %q", bank, id),
				Next: "pin an accepted note of that id"}
		}
		p = memory.Primer{Bank: bank, ID: id, Text: n.Body, Note: memory.Ref{Namespace: n.Namespace, Lane: memory.NoteLane, ID: n.ID}}
		return nil
	})
	return p, err
}

// primers are the versions of a primer that count for a reader.
func (l *look) primers(bank, id string, filter memory.Filter, persons bool) (notes []memory.Note, err error) {
	where, args, err := l.visible(memory.Scope{Bank: bank, Tags: filter, Lanes: []memory.Lane{memory.NoteLane}, Pinned: true}, persons)
	if err != nil {
		return nil, err
	}
	records, err := l.records("WHERE "+where+" AND (i.name = ? OR i.name > ? AND i.name < ?)", append(args, id, id+"@", id+"A")...) // A follows @
	for _, r := range records {
		if of, _ := memory.PrimerOf(r.name); of == id || r.name == id {
			notes = append(notes, r.note())
		}
	}
	return notes, err
}

func (r *record) note() memory.Note {
	n := memory.Note{Place: r.where(), ID: r.name, Type: memory.Type(r.kind), Status: r.status, Title: string(r.title), Body: string(r.body),
		Supersedes: r.supersedes, Sources: r.sources, Valid: r.span(), Pinned: r.pinned, Task: r.task, Time: moment(r.at),
		Created: moment(r.created), Changed: moment(r.changed), Origin: r.origin, Superseded: r.superseded}
	return n
}
