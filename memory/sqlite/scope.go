package sqlite

import (
	"strings"

	"github.com/cairnrun/cairn/memory"
)

// conditions collects what a query must fulfil.
type conditions struct {
	all  []string
	args []any
}

func (c *conditions) add(sql string, args ...any) {
	c.all, c.args = append(c.all, sql), append(c.args, args...)
}

// oneOf wants a column to have one of the values.
func (c *conditions) oneOf(column string, values []any) {
	c.add(column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
}

func values[T ~string](list []T) []any {
	out := make([]any, len(list))
	for i, v := range list {
		out[i] = string(v)
	}
	return out
}

// tagged wants a tag of each group, of the item that is called alias.
func (c *conditions) tagged(alias string, groups [][]string) {
	for _, group := range groups {
		if len(group) == 0 {
			c.add("0")
			continue
		}
		c.add("EXISTS (SELECT 1 FROM mem_tags t WHERE t.item = iif("+alias+".thread = 0, "+alias+".no, "+alias+".thread) AND t.tag IN (?"+
			strings.Repeat(", ?", len(group)-1)+"))", values(group)...)
	}
}

// defaultLanes is where searches look.
var defaultLanes = []memory.Lane{memory.FactLane, memory.MessageLane, memory.NoteLane}

// within is the scope as a condition on an item i in a namespace p, with its arguments.
func (l *look) within(s memory.Scope) (string, []any, error) { return l.visible(s, false) }

// visible is within, but for what a person wrote, which passes whatever its tags if persons says so. What is superseded by
// an item that the reader is not shown is shown to them in either case.
func (l *look) visible(s memory.Scope, persons bool) (string, []any, error) {
	if err := s.Check(); err != nil {
		return "", nil, err
	}
	var c conditions
	if s.Bank != "" {
		c.add("i.bank = ?", s.Bank)
	}
	if s.Namespace != (memory.Namespace{}) {
		c.add("p.kind = ? AND p.id = ?", string(s.Namespace.Kind), s.Namespace.ID)
	}
	lanes := s.Lanes
	if len(lanes) == 0 {
		lanes = defaultLanes
	}
	literals := make([]string, len(lanes))
	for i, lane := range lanes {
		literals[i] = literal(lane)
	}
	c.add("i.lane IN (" + strings.Join(literals, ", ") + ")")
	var tags conditions
	tags.tagged("i", s.Tags)
	switch {
	case len(tags.all) == 0:
	case persons:
		c.add("(i.run = '' OR "+strings.Join(tags.all, " AND ")+")", tags.args...)
	default:
		c.add(strings.Join(tags.all, " AND "), tags.args...)
	}
	c.add("i.expires > ?", l.now)
	c.add("i.folded = 0")
	if s.Pinned {
		c.add("i.pinned = 1")
	}
	if s.Run != "" {
		c.add("i.run = ?", s.Run)
	}
	if s.Path != "" {
		c.add("i.path = ?", s.Path)
	}
	if !s.Since.IsZero() {
		c.add("i.at >= ?", s.Since.UnixMilli())
	}
	if !s.Before.IsZero() {
		c.add("i.at < ?", s.Before.UnixMilli())
	}
	if len(s.Types) > 0 {
		var of conditions
		of.oneOf("i.type", values(s.Types))
		c.add("(i.lane <> 'note' OR "+of.all[0]+")", of.args...)
	}
	if len(s.Statuses) > 0 {
		var of conditions
		of.oneOf("i.status", values(s.Statuses))
		c.add("(CASE i.lane WHEN 'note' THEN "+of.all[0]+" ELSE i.valid_from <= ? AND ? < i.valid_to END)", append(of.args, l.now, l.now)...)
		return strings.Join(c.all, " AND "), c.args, nil
	}
	c.add("i.valid_from <= ? AND ? < i.valid_to", l.now, l.now)
	c.add("i.status IN ('', 'accepted')")
	// What hides a note must itself be something that this reader is shown.
	hides := conditions{all: []string{"e.old = i.no", "o.status = 'accepted'", "o.valid_from <= ?"}, args: []any{l.now}}
	hides.tagged("o", s.Tags)
	c.add("NOT EXISTS (SELECT 1 FROM mem_supersedes e JOIN mem_items o ON o.no = e.note WHERE "+strings.Join(hides.all, " AND ")+")", hides.args...)
	return strings.Join(c.all, " AND "), c.args, nil
}
