package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// Drawing is a plan to be drawn: as text, for Graphviz or for Mermaid. The same plan gives the same bytes.
type Drawing struct {
	Title string
	// Lines are the plan, in the order to draw it in.
	Lines []Line
	// Joins are the members of the joins that lines name. A join without members is drawn with nothing before it.
	Joins map[string][]string
	// State adds where each node stands; nil leaves that out.
	State *State
}

// Draw returns the drawing of the machine's plan; of nothing, where the plan is not known.
func (m *Machine) Draw() Drawing {
	d := Drawing{Title: m.state.Run, Lines: m.Plan(), Joins: map[string][]string{}, State: m.state}
	if m.memo != nil {
		m.memo.root.exits(nil, d.Joins)
	}
	return d
}

// Draw returns the drawing of a plan of which only the lines are known: in the order of the paths, and without the
// members of joins.
func (ls Lines) Draw(s *State) Drawing {
	d := Drawing{Title: s.Run, State: s}
	for _, path := range slices.SortedFunc(maps.Keys(ls), comparePaths) {
		d.Lines = append(d.Lines, ls[path])
	}
	return d
}

// exits names what the next node follows, as the builder did, and collects the members of joins on the way.
func (n *node) exits(preds []string, joins map[string][]string) []string {
	switch n.kind {
	case cairn.KindSequence, cairn.KindAspects, kindPart:
		for _, c := range n.children {
			preds = c.exits(preds, joins)
		}
		return preds
	case cairn.KindParallel:
		var all []string
		for _, c := range n.children {
			if out := c.exits(preds, joins); !slices.Equal(out, preds) {
				all = append(all, out...)
			}
		}
		switch len(all) {
		case 0:
			return preds
		case 1:
			return all
		}
		name := join(all)
		joins[name] = all
		return []string{name}
	case cairn.KindBranch:
		out := preds
		for _, c := range n.children {
			if side := c.exits(preds, joins); c.untaken == n.untaken {
				out = side
			}
		}
		return out
	}
	for _, c := range n.children {
		c.exits(nil, joins)
	}
	return []string{n.path}
}

// label is a vertex in a word or two.
func (v *vertex) label() string {
	if v.Kind == cairn.KindTask {
		return v.name
	}
	return string(v.Kind) + " " + v.name
}

// standing is where a node stands; "" for nowhere yet.
func (d Drawing) standing(l Line) string {
	s := d.State
	switch {
	case l.Untaken:
		return "not taken"
	case s == nil:
		return ""
	case l.Kind == cairn.KindTask:
		t := s.Tasks[l.Path]
		switch {
		case t == nil:
			return "pending"
		case t.Tolerated:
			return "failed, optional"
		}
		return string(t.Status)
	case l.Kind == cairn.KindLoop:
		switch at := s.Loops[l.Path]; {
		case at == nil:
			return ""
		case at.Exhausted:
			return fmt.Sprintf("exhausted after %d", at.Iteration+1)
		case at.Done:
			return fmt.Sprintf("done after %d", at.Iteration+1)
		default:
			return fmt.Sprintf("iteration %d", at.Iteration)
		}
	case l.Kind == cairn.KindTry:
		switch t := s.Tries[l.Path]; {
		case t == nil:
			return ""
		case t.Closing:
			return "closing"
		default:
			return string(t.Phase)
		}
	}
	return ""
}

// Text draws a tree. What a node comes after is said in words.
func (d Drawing) Text() string {
	p := d.picture()
	var b strings.Builder
	b.WriteString(d.Title + "\n")
	p.text(&b, p.top, "")
	return b.String()
}

func (p *picture) text(b *strings.Builder, vs []*vertex, indent string) {
	for i, v := range vs {
		branch, below := "├─ ", "│  "
		if i == len(vs)-1 {
			branch, below = "└─ ", "   "
		}
		b.WriteString(indent + branch + v.label())
		if after := p.after(v); after != "" {
			b.WriteString(", after " + after)
		}
		if standing := p.standing(v.Line); standing != "" {
			b.WriteString(": " + standing)
		}
		b.WriteString("\n")
		p.text(b, v.children, indent+below)
	}
}

// maxNamed is how many members of a join the text names.
const maxNamed = 3

// after names what a vertex waits for, as seen from where it stands.
func (p *picture) after(v *vertex) string {
	var names []string
	for _, after := range v.After {
		members, joined := p.Joins[after]
		switch {
		case joined && len(members) > maxNamed:
			names = append(names, fmt.Sprintf("all %d from %s to %s", len(members), p.short(members[0]), p.short(members[len(members)-1])))
		case joined:
			for _, member := range members {
				names = append(names, p.short(member))
			}
		case strings.HasPrefix(after, joinPrefix):
			names = append(names, "several")
		default:
			names = append(names, p.short(after))
		}
	}
	return strings.Join(names, ", ")
}

func (p *picture) short(path string) string {
	if strings.HasPrefix(path, joinPrefix) {
		return "several"
	}
	scope, name := placeOf(path)
	if _, _, loop := cairn.CutIteration(scope); scope == "" || loop {
		return name
	}
	return path
}
