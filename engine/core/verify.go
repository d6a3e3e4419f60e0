package core

import (
	"fmt"
	"maps"

	"github.com/cairnrun/cairn"
)

// Fold brings a machine that has not stepped yet up to date with one more committed frame. What the run was blocked
// after, the last frame whose plan is known, is verified on the way.
func (m *Machine) Fold(f *Frame, hash string) error {
	if f.Unrendered && !m.state.Unrendered && m.state.Frame > 0 {
		m.tentatively(func() bool { m.diverged = m.verify(); return false })
	}
	if !f.Unrendered {
		m.diverged = nil
	}
	return m.state.Fold(f, hash)
}

// Divergence says that today's code renders another structure than a committed frame has.
type Divergence struct {
	Frame int64
	// Want and Got are the digests; Today is the plan as rendered now.
	Want, Got string
	Today     []Line
	// Failure is set where today's code can't render that frame at all.
	Failure *cairn.Failure
}

// Verify renders the last frame that was rendered when it was made, and compares. Nil is agreement; a render is then
// not repeated by the next Step. A machine that diverges must not step, but for a block or an adoption.
func (m *Machine) Verify() *Divergence {
	switch {
	case m.state.Frame == 0 || m.memo != nil:
		return nil
	case m.state.Unrendered:
		return m.diverged
	}
	var d *Divergence
	m.tentatively(func() bool { d = m.verify(); return d == nil })
	return d
}

// tentatively runs fn, and when it returns false takes back the memo and the decisions it has made.
func (m *Machine) tentatively(fn func() (keep bool)) {
	patches := maps.Clone(m.state.Patches)
	if !fn() {
		m.memo, m.decisions, m.commands, m.state.Patches = nil, nil, nil, patches
	}
}

func (m *Machine) verify() *Divergence {
	d := &Divergence{Frame: m.state.Frame, Want: m.state.Structure}
	d.Failure = m.guard(func() { m.restore(true, m.state.closed()) })
	if d.Failure == nil {
		return nil
	}
	if mo := m.memo; mo != nil && d.Failure.Code == cairn.CodeChanged {
		d.Got, d.Today = mo.structure.String(), mo.lines()
	}
	return d
}

// lines is the whole plan, in tree order.
func (mo *memo) lines() (lines []Line) {
	mo.root.walk(func(n *node) bool {
		if n.path != "" {
			lines = append(lines, n.line())
		}
		return true
	})
	return lines
}

// Plan is the plan of the last step, in tree order; nil when it is not known.
func (m *Machine) Plan() []Line {
	if m.memo == nil {
		return nil
	}
	return m.memo.lines()
}

// Lines is a plan by path, as folded from the deltas of frames.
type Lines map[string]Line

// Fold applies a frame's delta.
func (ls Lines) Fold(d Delta) {
	if d.Full {
		clear(ls)
	}
	for _, l := range d.Set {
		ls[l.Path] = l
	}
	for _, path := range d.Gone {
		delete(ls, path)
	}
}

// Digest is the structure digest of the lines.
func (ls Lines) Digest() string {
	var sum digest
	for _, l := range ls {
		sum.add(l.digest())
	}
	return sum.String()
}

// String is a line as people read it.
func (l Line) String() string {
	s := fmt.Sprintf("%s %s", l.Kind, l.Path)
	if len(l.After) > 0 {
		s += fmt.Sprintf(" after %v", l.After)
	}
	if l.Schema != "" {
		s += " schema " + l.Schema
	}
	if l.Untaken {
		s += " untaken"
	}
	return s
}
