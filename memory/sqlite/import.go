package sqlite

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/memory"
)

// maxLine bounds a line of an import, in bytes: a text of MaxText, each byte of it escaped, and what is around it.
const maxLine = 8 * memory.MaxText

// ImportedTag is what MarkImported adds.
const ImportedTag = "source:import"

// ImportOption changes what an import does.
type ImportOption func(*importing)

type importing struct{ mark bool }

// MarkImported adds ImportedTag to what has no tag source:… yet: facts with their earlier versions, notes, and threads for their
// messages. It counts towards memory.MaxTagged. Without it an import is a restoration, and changes nothing.
func MarkImported() ImportOption { return func(i *importing) { i.mark = true } }

// Import reads what Export has written into the store and returns how many items that were. All of it is read and checked
// first and then written in one transaction, or nothing: MEMORY_BAD_IMPORT for another format, version, field or kind of
// line, MEMORY_EXISTS for an item whose name is taken, MEMORY_TOO_LARGE for one that has no room for the tag of
// MarkImported. It is held in memory meanwhile. Without options an import into an empty file exports the same bytes again.
func (s *Store) Import(ctx context.Context, r io.Reader, options ...ImportOption) (items int, err error) {
	lines, err := parse(r, options)
	if err != nil {
		return 0, err
	}
	err = s.write(ctx, func(c *change) error {
		for i, l := range lines {
			if err := c.importLine(l); err != nil {
				return badLine(i+2, err)
			}
		}
		// Links are all there: who holds a slot can be told.
		for _, l := range lines {
			if l.Note == nil {
				continue
			}
			r, err := c.noted(l.Note.Namespace, l.Note.ID)
			if err != nil {
				return err
			}
			if err := c.settleSlots(r.no); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	for _, l := range lines {
		if l.Namespace == nil && l.Version == nil {
			items++
		}
	}
	return items, nil
}

// CheckExport reads what Import would with these options and says what is wrong with it, apart from names that are taken:
// MEMORY_BAD_IMPORT, MEMORY_TOO_LARGE.
func CheckExport(r io.Reader, options ...ImportOption) error {
	_, err := parse(r, options)
	return err
}

// badLine says where it is. Failures of the file and contexts pass unchanged.
func badLine(n int, err error) error {
	var ours *cairn.Error
	if errors.As(err, &ours) && ours.Code != memory.BadImport {
		return &cairn.Error{Code: ours.Code, Message: fmt.Sprintf("line %d: %s", n, ours.Message), Err: ours.Err, Next: "nothing was imported; " + ours.Next}
	}
	return err
}

func refused(n int, message string, cause error) error {
	return &cairn.Error{Code: memory.BadImport, Message: fmt.Sprintf("line %d: %s", n, message), Err: cause,
		Next: "nothing was imported; give an unchanged export of this program, or of an older one"}
}

// parse reads all lines and checks what can be checked without the store.
func parse(r io.Reader, options []ImportOption) (lines []line, err error) {
	var how importing
	for _, option := range options {
		option(&how)
	}
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		raw, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF) && n == 1:
			return nil, refused(1, "the file is empty", nil)
		case errors.Is(err, io.EOF):
			return lines, nil
		case errors.Is(err, io.ErrUnexpectedEOF):
			return nil, refused(n, "it has no end: the file was cut off", nil)
		case errors.Is(err, bufio.ErrBufferFull):
			return nil, refused(n, fmt.Sprintf("it is longer than %d bytes", maxLine), nil)
		case err != nil:
			return nil, err
		}
		if n == 1 {
			var h header
			if err := strict(raw, &h); err != nil || h.Format == 0 {
				return nil, refused(1, "it is no export of memory", err)
			}
			if h.Format != formatVersion {
				return nil, refused(1, fmt.Sprintf("it has version %d, and this program knows version %d", h.Format, formatVersion), nil)
			}
			continue
		}
		var l line
		if err := strict(raw, &l); err != nil {
			return nil, refused(n, "it is not understood", err)
		}
		err = l.check()
		if err == nil && how.mark {
			err = l.mark()
		}
		if err != nil {
			return nil, badLine(n, err)
		}
		lines = append(lines, l)
	}
}

func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, bufio.ErrBufferFull
		}
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case errors.Is(err, io.EOF) && len(line) > 0:
			return nil, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

// strict decodes one JSON value without members that are not known, or are there twice.
func strict(raw []byte, v any) error {
	if _, err := schema.Canonical(raw); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// check resolves a line's item in place.
func (l *line) check() (err error) {
	n := 0
	if l.Namespace != nil {
		n++
		if err := l.Namespace.Name.Check(); err != nil {
			return err
		}
		if l.Namespace.High <= 0 {
			return contradictory("a namespace without a mark", "leave it away")
		}
	}
	if l.Fact != nil {
		n++
		if *l.Fact, err = l.Fact.Resolve(); err != nil {
			return err
		}
		if l.Fact.Version <= 0 || l.Fact.Created.IsZero() || l.Fact.Updated.IsZero() {
			return contradictory("the fact "+l.Fact.Key+" has no version, or was never written", "give version, created and updated")
		}
	}
	if l.Version != nil {
		n++
		v := l.Version
		if v.Fact, err = v.Fact.Resolve(); err != nil {
			return err
		}
		if v.Version <= 0 || v.Created.IsZero() || v.Updated.IsZero() || v.Dead < 0 || v.Dead > 2 || v.Dead == 0 && v.Ended.IsZero() {
			return contradictory("a version of "+v.Key+" that can't be", "give version, created, updated and ended")
		}
	}
	if l.Thread != nil {
		n++
		if l.Thread.Thread, err = l.Thread.Thread.Resolve(); err != nil {
			return err
		}
		if l.Thread.Last < 0 || l.Thread.Created.IsZero() {
			return contradictory("the thread "+l.Thread.ID+" was never made", "give created")
		}
	}
	if l.Message != nil {
		n++
		if err := l.Message.check(); err != nil {
			return err
		}
	}
	if l.Note != nil {
		n++
		if *l.Note, err = l.Note.Resolve(); err != nil {
			return err
		}
		if l.Note.ID == "" || l.Note.Created.IsZero() || l.Note.Changed.IsZero() {
			return contradictory("a note has no id, or was never written", "give id, created and changed")
		}
	}
	if n != 1 {
		return &cairn.Error{Code: memory.BadImport, Message: fmt.Sprintf("a line of %d items", n), Next: "nothing was imported; give one a line"}
	}
	return nil
}

// mark says of a line's item that it was imported. A version that tells of a deletion has no tags.
func (l *line) mark() (err error) {
	var place *memory.Place
	switch {
	case l.Fact != nil:
		place = &l.Fact.Place
	case l.Version != nil && l.Version.Dead == 0:
		place = &l.Version.Place
	case l.Thread != nil:
		place = &l.Thread.Place
	case l.Note != nil:
		place = &l.Note.Place
	}
	if place == nil || slices.ContainsFunc(place.Tags, func(tag string) bool { return strings.HasPrefix(tag, "source:") }) {
		return nil
	}
	place.Tags = append(place.Tags, ImportedTag)
	*place, err = place.Resolve()
	return err
}

func (m *messageLine) check() (err error) {
	if m.Message, err = m.Message.Resolve(); err != nil {
		return err
	}
	ref := memory.Ref{Namespace: m.Namespace, Lane: memory.MessageLane, Thread: m.Thread, ID: m.ID}
	if err := ref.Check(); err != nil {
		return err
	}
	if m.Seq <= 0 || m.Created.IsZero() {
		return contradictory("the message "+m.ID+" has no place in its thread", "give seq and created")
	}
	if s := m.Summary; (s == nil) != (len(m.Originals) == 0) || s != nil && (s.First <= 0 || s.First > s.Last || s.Last != m.Seq || s.Count != int64(len(m.Originals))) {
		return contradictory("the message "+m.ID+" is a summary that does not fit its originals", "give both as they were exported")
	}
	return nil
}

func (c *change) importLine(l line) error {
	switch {
	case l.Namespace != nil:
		space, err := c.makeSpace(l.Namespace.Name)
		if err != nil {
			return err
		}
		_, err = c.tx.Exec("UPDATE mem_spaces SET high = max(high, ?) WHERE no = ?", l.Namespace.High, space)
		return err
	case l.Fact != nil:
		f := *l.Fact
		return c.importItem(&record{lane: memory.FactLane, ns: f.Namespace, name: f.Key, bank: f.Bank, tags: f.Tags, title: []byte(f.Key), body: f.Value,
			version: f.Version, at: f.Updated.UnixMilli(), created: f.Created.UnixMilli(), changed: f.Updated.UnixMilli(), expires: until(f.Expires),
			validFrom: from(f.Valid.From), valid: until(f.Valid.To), origin: f.Origin})
	case l.Version != nil:
		return c.importVersion(*l.Version)
	case l.Thread != nil:
		t := *l.Thread
		return c.importItem(&record{lane: memory.ThreadLane, ns: t.Namespace, name: t.ID, bank: t.Bank, tags: t.Tags, title: []byte(t.Title), seq: t.Last,
			at: t.Created.UnixMilli(), created: t.Created.UnixMilli(), changed: t.Created.UnixMilli(), expires: never, validFrom: ever, valid: never, origin: t.Origin})
	case l.Message != nil:
		return c.importMessage(*l.Message)
	default:
		n := *l.Note
		at := n.Time
		if at.IsZero() {
			at = n.Created
		}
		r := &record{lane: memory.NoteLane, ns: n.Namespace, name: n.ID, bank: n.Bank, tags: n.Tags, title: []byte(n.Title), body: []byte(n.Body),
			at: at.UnixMilli(), created: n.Created.UnixMilli(), changed: n.Changed.UnixMilli(), expires: never, validFrom: from(n.Valid.From), valid: until(n.Valid.To),
			origin: n.Origin, kind: string(n.Type), status: n.Status, pinned: n.Pinned, task: n.Task, supersedes: n.Supersedes, sources: n.Sources}
		if err := c.importItem(r); err != nil {
			return err
		}
		return c.link(r)
	}
}

func (c *change) importItem(r *record) error {
	was, err := c.named(r.ns, r.lane, r.thread, r.name)
	if err != nil {
		return err
	}
	if was != nil {
		return exists(string(r.lane), r.name, "content, or the same")
	}
	return c.insert(r)
}

func (c *change) importVersion(v versionLine) error {
	space, err := c.makeSpace(v.Namespace)
	if err != nil {
		return err
	}
	var taken int
	err = c.QueryRow(`SELECT (SELECT count(*) FROM mem_versions WHERE space = ?1 AND name = ?2 AND version = ?3)
		+ (SELECT count(*) FROM mem_items WHERE space = ?1 AND lane = 'fact' AND thread = 0 AND name = ?2 AND version <= ?3)`, space, v.Key, v.Version).Scan(&taken)
	if err != nil {
		return err
	}
	if taken > 0 {
		return exists("version of the fact", v.Key, "content, or the same")
	}
	tags, err := json.Marshal(v.Tags)
	if err != nil {
		return err
	}
	r := record{lane: memory.FactLane, ns: v.Namespace, space: space, name: v.Key, bank: v.Bank, body: v.Value, version: v.Version,
		created: v.Created.UnixMilli(), changed: v.Updated.UnixMilli(), expires: until(v.Expires), validFrom: from(v.Valid.From), valid: until(v.Valid.To), origin: v.Origin}
	return c.insertVersion(&version{record: r, dead: v.Dead, ended: until(v.Ended)}, string(tags))
}

func (c *change) importMessage(m messageLine) error {
	t, err := c.thread(m.Namespace, m.Thread)
	if err != nil {
		return err
	}
	r := &record{lane: memory.MessageLane, ns: t.ns, thread: t.no, within: t.name, name: m.ID, bank: t.bank, body: []byte(m.Content), data: m.Data,
		at: m.Created.UnixMilli(), created: m.Created.UnixMilli(), changed: m.Created.UnixMilli(), expires: never, validFrom: ever, valid: never,
		origin: m.Origin, kind: string(m.Role), seq: m.Seq, calls: m.Calls, answers: m.Answers}
	if m.Seq > t.seq {
		return contradictory(fmt.Sprintf("the message %s has number %d in a thread that has given %d", m.ID, m.Seq, t.seq), "give both as they were exported")
	}
	if m.Summary != nil {
		r.first, r.folded = m.Summary.First, -t.no
	}
	var taken int
	err = c.QueryRow("SELECT count(*) FROM mem_items WHERE lane = 'message' AND thread = ? AND folded = ? AND seq = ?", t.no, r.folded, m.Seq).Scan(&taken)
	if err != nil {
		return err
	}
	if taken > 0 {
		return contradictory(fmt.Sprintf("two messages have number %d", m.Seq), "give them as they were exported")
	}
	if err := c.importItem(r); err != nil || m.Summary == nil {
		return err
	}
	return c.fold(r, m.Originals)
}
