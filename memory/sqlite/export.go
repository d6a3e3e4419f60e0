package sqlite

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"time"

	"github.com/cairnrun/cairn/memory"
)

// formatVersion is in the first line of an export.
const formatVersion = 1

// EmptyExport is what Export writes of a store that holds nothing.
const EmptyExport = `{"cairn-memory":1}` + "\n"

// header is the first line.
type header struct {
	Format int `json:"cairn-memory"`
}

// line is every other one: one of its fields is set.
type line struct {
	Namespace *spaceLine   `json:"namespace,omitempty"`
	Fact      *memory.Fact `json:"fact,omitempty"`
	Version   *versionLine `json:"version,omitempty"`
	Thread    *threadLine  `json:"thread,omitempty"`
	Message   *messageLine `json:"message,omitempty"`
	Note      *memory.Note `json:"note,omitempty"`
}

// spaceLine is written for a namespace in which versions are remembered without their facts.
type spaceLine struct {
	Name memory.Namespace `json:"name"`
	High int64            `json:"high"`
}

// versionLine is an earlier version of a fact.
type versionLine struct {
	memory.Fact
	Dead  int       `json:"dead,omitempty"`
	Ended time.Time `json:"ended,omitzero"`
}

type threadLine struct {
	memory.Thread
	Last int64 `json:"last,omitempty"` // the last number given
}

type messageLine struct {
	Namespace memory.Namespace `json:"namespace"`
	Thread    string           `json:"thread"`
	memory.Message
	Originals []string `json:"originals,omitempty"` // what a summary stands for
}

// Export writes all of memory as JSON, one item a line, in the order in which the items were made, after a line with the
// format's version. Facts that have expired are left out. Not in it: vectors, which are made again, what is queued for a
// remote backend, and which operations were applied. Texts are in clear, also from a file that is encrypted. It sees one
// moment; others may write meanwhile, and the -wal file grows until it ends.
func (s *Store) Export(ctx context.Context, w io.Writer) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	err := s.read(ctx, func(l *look) error {
		if err := encoder.Encode(header{formatVersion}); err != nil {
			return err
		}
		if err := l.exportSpaces(encoder); err != nil {
			return err
		}
		if err := l.exportItems(encoder); err != nil {
			return err
		}
		return l.exportVersions(encoder)
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

func (l *look) exportSpaces(encoder *json.Encoder) error {
	rows, err := l.Query(`SELECT kind, id, mark FROM (SELECT s.no, s.kind, s.id, max(s.high,
			coalesce((SELECT max(version) FROM mem_items i WHERE i.space = s.no AND i.lane = 'fact' AND i.expires <= ?), 0)) mark FROM mem_spaces s)
		WHERE mark > 0 ORDER BY no`, l.now)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var s spaceLine
		if err := rows.Scan(&s.Name.Kind, &s.Name.ID, &s.High); err != nil {
			return err
		}
		if err := encoder.Encode(line{Namespace: &s}); err != nil {
			return err
		}
	}
	return rows.Close()
}

func (l *look) exportItems(encoder *json.Encoder) error {
	for after := int64(0); ; {
		list, err := l.records("WHERE i.no > ? AND i.expires > ? ORDER BY i.no LIMIT 500", after, l.now)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, r := range list {
			after = r.no
			entry, err := l.exported(r)
			if err != nil {
				return err
			}
			if err := encoder.Encode(entry); err != nil {
				return err
			}
		}
	}
}

func (l *look) exported(r *record) (entry line, err error) {
	switch r.lane {
	case memory.FactLane:
		f := r.fact()
		entry.Fact = &f
	case memory.ThreadLane:
		entry.Thread = &threadLine{Thread: r.asThread(), Last: r.seq}
	case memory.MessageLane:
		m := &messageLine{Namespace: r.ns, Thread: r.within, Message: r.message()}
		if r.first > 0 {
			m.Originals, err = column[string](l, "SELECT name FROM mem_items WHERE folded = ? ORDER BY seq", r.no)
		}
		entry.Message = m
	case memory.NoteLane:
		n := r.note()
		n.Superseded = false // follows from the others
		entry.Note = &n
	}
	return entry, err
}

func (l *look) exportVersions(encoder *json.Encoder) error {
	for after := int64(0); ; {
		ids, err := column[int64](l, "SELECT rowid FROM mem_versions WHERE rowid > ? ORDER BY rowid LIMIT 500", after)
		if err != nil || len(ids) == 0 {
			return err
		}
		list, err := l.versions(`v.rowid > ? AND v.rowid <= ?
			AND NOT EXISTS (SELECT 1 FROM mem_items i WHERE i.space = v.space AND i.lane = 'fact' AND i.thread = 0 AND i.name = v.name AND i.expires <= ?)
			ORDER BY v.rowid`, after, ids[len(ids)-1], l.now)
		if err != nil {
			return err
		}
		after = ids[len(ids)-1]
		for _, v := range list {
			if v.dead == 0 && v.expires <= l.now {
				v.dead, v.bank, v.tags, v.body, v.origin, v.expires = 2, "", nil, nil, memory.Origin{}, never
			}
			entry := versionLine{Fact: v.fact(), Dead: v.dead, Ended: moment(v.ended)}
			if v.dead > 0 {
				entry.Value = json.RawMessage("null")
			}
			if err := encoder.Encode(line{Version: &entry}); err != nil {
				return err
			}
		}
	}
}
