package sqlite

import (
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
)

// record is a row of mem_items, opened, with what belongs to it from other tables.
type record struct {
	no     int64
	lane   memory.Lane
	ns     memory.Namespace
	space  int64
	thread int64
	within string // the thread's id
	name   string
	bank   string
	tags   []string

	title, body, data []byte
	hash, slot        []byte

	version                   int64
	at, created, changed      int64
	expires, validFrom, valid int64 // valid is when it ends
	origin                    memory.Origin
	kind                      string // type or role
	status                    memory.Status
	pinned                    bool
	task                      string
	seq, folded, first        int64
	calls                     []string
	answers                   string

	supersedes, sources []string
	superseded          bool
	covers              int64 // how many messages a summary stands for
}

func (r *record) place() place {
	return place{lane: r.lane, space: r.ns, thread: r.thread, name: r.name}
}

// selectRecords is followed by conditions on i. It has one argument: now.
const selectRecords = `SELECT ` + recordColumns + ` FROM mem_items i JOIN mem_spaces p ON p.no = i.space`

const recordColumns = `i.no, i.lane, p.kind, p.id, i.space, i.thread,
	iif(i.thread = 0, '', (SELECT h.name FROM mem_items h WHERE h.no = i.thread)), i.name, i.bank,
	(SELECT json_group_array(t.tag ORDER BY t.tag) FROM mem_tags t WHERE t.item = iif(i.thread = 0, i.no, i.thread)),
	i.seal, i.title, i.body, i.data, i.hash, i.version, i.at, i.created, i.changed, i.expires, i.valid_from, i.valid_to,
	i.run, i.path, i.attempt, i.type, i.status, i.pinned, i.task, i.seq, i.folded, i.first, i.calls, i.answers,
	iif(i.lane <> 'note', '[]', (SELECT json_group_array(o.name ORDER BY o.name) FROM mem_supersedes e JOIN mem_items o ON o.no = e.old WHERE e.note = i.no)),
	iif(i.lane <> 'note', '[]', (SELECT json_group_array(o.name ORDER BY o.name) FROM mem_sources e JOIN mem_items o ON o.no = e.source WHERE e.note = i.no)),
	i.lane = 'note' AND EXISTS (SELECT 1 FROM mem_supersedes e JOIN mem_items o ON o.no = e.note
		WHERE e.old = i.no AND o.status = 'accepted' AND o.valid_from <= ?),
	iif(i.first = 0, 0, (SELECT count(*) FROM mem_items m WHERE m.folded = i.no))`

// scan reads recordColumns, and what follows them into more.
func (l *look) scan(rows *dbfile.Rows, more ...any) (*record, error) {
	var r record
	var seal, tags, calls, supersedes, sources string
	dest := []any{&r.no, &r.lane, &r.ns.Kind, &r.ns.ID, &r.space, &r.thread, &r.within, &r.name, &r.bank, &tags,
		&seal, &r.title, &r.body, &r.data, &r.hash, &r.version, &r.at, &r.created, &r.changed, &r.expires, &r.validFrom, &r.valid,
		&r.origin.Run, &r.origin.Path, &r.origin.Attempt, &r.kind, &r.status, &r.pinned, &r.task, &r.seq, &r.folded, &r.first, &calls, &r.answers,
		&supersedes, &sources, &r.superseded, &r.covers}
	if err := rows.Scan(append(dest, more...)...); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		json string
		to   *[]string
	}{{tags, &r.tags}, {calls, &r.calls}, {supersedes, &r.supersedes}, {sources, &r.sources}} {
		if err := r.decode(list.json, list.to); err != nil {
			return nil, err
		}
	}
	return &r, l.unseal(&r, seal)
}

// decode reads a list that belongs to the item.
func (r *record) decode(list string, to *[]string) error {
	if list == "[]" || list == "" {
		return nil
	}
	if err := json.Unmarshal([]byte(list), to); err != nil {
		return damaged("can't read a list of "+string(r.lane)+" "+r.name, err)
	}
	return nil
}

// unseal opens what is sealed of the item, as it was read.
func (l *look) unseal(r *record, seal string) (err error) {
	for _, text := range []struct {
		column string
		to     *[]byte
	}{{"title", &r.title}, {"body", &r.body}, {"data", &r.data}} {
		if *text.to, err = l.ring.open(seal, *text.to, r.place(), text.column); err != nil {
			return err
		}
	}
	return nil
}

// records runs selectRecords with the conditions.
func (l *look) records(conditions string, args ...any) (list []*record, err error) {
	return l.all(selectRecords+" "+conditions, append([]any{l.now}, args...)...)
}

// all runs a query whose columns are recordColumns.
func (l *look) all(query string, args ...any) (list []*record, err error) {
	rows, err := l.Query(query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r, err := l.scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, rows.Close()
}

// record returns the one that the conditions find, or nil.
func (l *look) record(conditions string, args ...any) (*record, error) {
	list, err := l.records(conditions, args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	return list[0], nil
}

// named returns an item by its name, or nil.
func (l *look) named(ns memory.Namespace, lane memory.Lane, thread int64, name string) (*record, error) {
	return l.record("WHERE p.kind = ? AND p.id = ? AND i.lane = "+literal(lane)+" AND i.thread = ? AND i.name = ?",
		string(ns.Kind), ns.ID, thread, name)
}

// literal is a lane in SQL. As a parameter it would have SQLite plan the query anew each time, because there is a partial index
// of one lane. A lane that is none finds nothing.
func literal(lane memory.Lane) string {
	switch lane {
	case memory.FactLane, memory.ThreadLane, memory.MessageLane, memory.NoteLane:
		return "'" + string(lane) + "'"
	}
	return "''"
}

// number returns an item's number, 0 if it is not there.
func (l *look) number(space int64, lane memory.Lane, thread int64, name string) (no int64, err error) {
	err = l.QueryRow("SELECT no FROM mem_items WHERE space = ? AND lane = "+literal(lane)+" AND thread = ? AND name = ?", space, thread, name).Scan(&no)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return no, err
}

// insert is the only way by which an item comes into the file, and replace the only one by which its text changes.
func (c *change) insert(r *record) error {
	var err error
	if r.space, err = c.makeSpace(r.ns); err != nil {
		return err
	}
	at, calls := r.place(), "[]"
	if len(r.calls) > 0 {
		raw, err := json.Marshal(r.calls)
		if err != nil {
			return err
		}
		calls = string(raw)
	}
	var slot any
	if r.slot != nil {
		slot = r.slot
	}
	r.hash = c.ring.hash(r.title, r.body)
	result, err := c.tx.Exec(`INSERT INTO mem_items (lane, space, thread, name, bank, seal, title, body, data, hash, slot, version,
			at, created, changed, expires, valid_from, valid_to, run, path, attempt, type, status, pinned, task, seq, folded, first, calls, answers)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		string(r.lane), r.space, r.thread, r.name, r.bank, c.ring.current,
		c.ring.seal(r.title, at, "title"), c.ring.seal(r.body, at, "body"), c.ring.seal(r.data, at, "data"), r.hash, slot, r.version,
		r.at, r.created, r.changed, r.expires, r.validFrom, r.valid, r.origin.Run, r.origin.Path, r.origin.Attempt,
		r.kind, string(r.status), r.pinned, r.task, r.seq, r.folded, r.first, calls, r.answers)
	if err != nil {
		return err
	}
	if r.no, err = result.LastInsertId(); err != nil {
		return err
	}
	c.counts[r.bank]++
	if r.thread == 0 { // a message has its thread's
		if err := c.addTags(r.no, r.tags); err != nil {
			return err
		}
	}
	return c.index(r)
}

// replace writes what may change of a fact. was is what it replaces.
func (c *change) replace(r, was *record) error {
	at := r.place()
	r.no, r.space, r.hash = was.no, was.space, c.ring.hash(r.title, r.body)
	_, err := c.tx.Exec(`UPDATE mem_items SET bank = ?, seal = ?, title = ?, body = ?, hash = ?, version = ?, at = ?, created = ?, changed = ?,
		expires = ?, valid_from = ?, valid_to = ?, run = ?, path = ?, attempt = ? WHERE no = ?`,
		r.bank, c.ring.current, c.ring.seal(r.title, at, "title"), c.ring.seal(r.body, at, "body"), r.hash, r.version, r.at, r.created, r.changed,
		r.expires, r.validFrom, r.valid, r.origin.Run, r.origin.Path, r.origin.Attempt, r.no)
	if err != nil {
		return err
	}
	c.swept = c.swept || r.bank != was.bank // see home
	c.counts[was.bank]--
	c.counts[r.bank]++
	if !slices.Equal(r.tags, was.tags) {
		if _, err := c.tx.Exec("DELETE FROM mem_tags WHERE item = ?", r.no); err != nil {
			return err
		}
		if err := c.addTags(r.no, r.tags); err != nil {
			return err
		}
	}
	if string(r.body) == string(was.body) && r.bank == was.bank {
		return nil
	}
	if err := c.unindex(r.no); err != nil {
		return err
	}
	return c.index(r)
}

func (c *change) addTags(item int64, tags []string) error {
	for _, tag := range tags {
		if _, err := c.tx.Exec("INSERT INTO mem_tags (item, tag) VALUES (?, ?)", item, tag); err != nil {
			return err
		}
	}
	return nil
}

// remove deletes an item with its tags, links and vectors, which go by cascade, and its entry in the index.
func (c *change) remove(no int64) error {
	var bank string
	if err := c.QueryRow("SELECT bank FROM mem_items WHERE no = ?", no).Scan(&bank); err != nil {
		return err
	}
	c.counts[bank]--
	c.gone = append(c.gone, no)
	if err := c.unindex(no); err != nil {
		return err
	}
	_, err := c.tx.Exec("DELETE FROM mem_items WHERE no = ?", no)
	return err
}

func (r *record) ref() memory.Ref {
	return memory.Ref{Namespace: r.ns, Lane: r.lane, Thread: r.within, ID: r.name}
}

func (r *record) span() memory.Span {
	return memory.Span{From: moment(r.validFrom), To: moment(r.valid)}
}

func (r *record) where() memory.Place {
	return memory.Place{Namespace: r.ns, Bank: r.bank, Tags: r.tags}
}

func (r *record) item(score float64) memory.Item {
	i := memory.Item{Ref: r.ref(), No: r.no, Bank: r.bank, Tags: r.tags, Title: string(r.title), Text: string(r.body), Time: moment(r.at),
		Score: score, Seq: r.seq, Status: r.status, Pinned: r.pinned, Origin: r.origin, Hash: r.hash}
	switch r.lane {
	case memory.MessageLane:
		i.Role = memory.Role(r.kind)
	case memory.NoteLane:
		i.Type = memory.Type(r.kind)
	}
	return i
}
