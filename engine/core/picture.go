package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// vertex is a line in a picture.
type vertex struct {
	Line
	id string
	// name is the path without what the vertices around it say already.
	name     string
	children []*vertex
}

// edge leads from a vertex or a join to a vertex or a join. Label is the part of a try.
type edge struct {
	from, to string
	label    string
}

// picture is a drawing laid out: vertices inside of vertices, and edges between them.
type picture struct {
	Drawing
	top   []*vertex
	by    map[string]*vertex
	joins []string // in order of first use
	edges []edge
}

func (d Drawing) picture() *picture {
	p := &picture{Drawing: d, by: map[string]*vertex{}}
	for i, l := range d.Lines {
		p.by[l.Path] = &vertex{Line: l, id: fmt.Sprintf("n%d", i)}
	}
	for _, l := range d.Lines {
		v := p.by[l.Path]
		scope, name := placeOf(l.Path)
		holder, inner := p.holder(scope)
		v.name = inner + name
		if holder == nil {
			p.top = append(p.top, v)
		} else {
			holder.children = append(holder.children, v)
		}
		for _, after := range l.After {
			p.edge(after, v.id)
		}
	}
	return p
}

// placeOf splits a path, or the address of a try, into its scope and its name.
func placeOf(path string) (scope, name string) {
	if scope, name, ok := strings.Cut(path, "#"); ok {
		return scope, name
	}
	return cairn.Split(path)
}

// holder finds the loop or scope whose inside a scope is, and what of the scope its name does not say.
func (p *picture) holder(scope string) (v *vertex, rest string) {
	for scope != "" {
		if v := p.by[scope]; v != nil {
			return v, rest
		}
		outer, name := cairn.Split(scope)
		if loop, _, ok := cairn.CutIteration(scope); ok {
			if v := p.by[loop]; v != nil {
				return v, strings.TrimPrefix(scope, loop) + "/" + rest
			}
		}
		rest = name + "/" + rest
		scope = outer
	}
	return nil, rest
}

// edge adds what a line comes after: a node, a part of a try, or a join with all that leads to it.
func (p *picture) edge(after, to string) {
	if strings.HasPrefix(after, joinPrefix) {
		if !slices.Contains(p.joins, after) {
			p.joins = append(p.joins, after)
			for _, member := range p.Joins[after] {
				p.edge(member, after)
			}
		}
		p.edges = append(p.edges, edge{from: after, to: to})
		return
	}
	if v := p.by[after]; v != nil {
		p.edges = append(p.edges, edge{from: v.id, to: to})
		return
	}
	for _, part := range []Phase{"body", PhaseCatch, PhaseFinally} {
		if try, ok := strings.CutSuffix(after, ":"+string(part)); ok && p.by[try] != nil {
			p.edges = append(p.edges, edge{from: p.by[try].id, to: to, label: string(part)})
			return
		}
	}
	// What is not mounted any more has finished, and holds nothing up.
}

// DOT draws for Graphviz: a loop or scope is a cluster around what is in it.
func (d Drawing) DOT() string {
	p := d.picture()
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n\tcompound=true\n\trankdir=TB\n\tnode [shape=box, style=rounded]\n", dotText(d.Title))
	p.dot(&b, p.top, "\t")
	for _, join := range p.joins {
		fmt.Fprintf(&b, "\t%s [shape=point, label=\"\"]\n", dotText(join))
	}
	ids := map[string]*vertex{}
	for _, v := range p.by {
		ids[v.id] = v
	}
	for _, e := range p.edges {
		var attrs []string
		if v := ids[e.from]; v != nil && len(v.children) > 0 {
			attrs = append(attrs, "ltail="+dotText("cluster_"+e.from))
		}
		if v := ids[e.to]; v != nil && len(v.children) > 0 {
			attrs = append(attrs, "lhead="+dotText("cluster_"+e.to))
		}
		if e.label != "" {
			attrs = append(attrs, "label="+dotText(e.label))
		}
		fmt.Fprintf(&b, "\t%s -> %s", dotText(e.from), dotText(e.to))
		if len(attrs) > 0 {
			b.WriteString(" [" + strings.Join(attrs, ", ") + "]")
		}
		b.WriteString("\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func (p *picture) dot(b *strings.Builder, vs []*vertex, indent string) {
	for _, v := range vs {
		label := v.label()
		standing := p.standing(v.Line)
		if standing != "" {
			label += "\n" + standing
		}
		if len(v.children) > 0 {
			fmt.Fprintf(b, "%ssubgraph %s {\n%s\tlabel=%s\n", indent, dotText("cluster_"+v.id), indent, dotText(label))
			// Edges need a node to end at; the cluster's border is where they are cut off.
			fmt.Fprintf(b, "%s\t%s [shape=point, style=invis, label=\"\"]\n", indent, dotText(v.id))
			p.dot(b, v.children, indent+"\t")
			fmt.Fprintf(b, "%s}\n", indent)
			continue
		}
		fmt.Fprintf(b, "%s%s [label=%s", indent, dotText(v.id), dotText(label))
		switch {
		case v.Kind == cairn.KindTry:
			b.WriteString(", shape=diamond")
		case v.Untaken:
			b.WriteString(", style=dashed")
		}
		if colour := colours[class(standing)]; colour != "" {
			b.WriteString(", color=" + dotText(colour))
		}
		b.WriteString("]\n")
	}
}

// dotText makes a text one of DOT's, which escapes quotes and, in labels, the backslash.
func dotText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", "").Replace(s) + `"`
}

// colours of what has begun, by class.
var colours = map[string]string{"done": "#2da44e", "failed": "#cf222e", "running": "#0969da", "waiting": "#bf8700", "skipped": "#8c959f"}

// class sorts standings into a few.
func class(standing string) string {
	switch word, _, _ := strings.Cut(standing, " "); word {
	case "done", "running", "waiting", "failed", "skipped":
		return word
	case "failed,", "exhausted":
		return "failed"
	case "cancelled", "not":
		return "skipped"
	case "iteration", "closing", string(PhaseCatch), string(PhaseFinally):
		return "running"
	}
	return ""
}

// Mermaid draws for Mermaid: a loop or scope is a subgraph around what is in it.
func (d Drawing) Mermaid() string {
	p := d.picture()
	var b strings.Builder
	b.WriteString("flowchart TB\n")
	classes := map[string][]string{}
	p.mermaid(&b, p.top, "\t", classes)
	ids := map[string]string{}
	for i, join := range p.joins {
		ids[join] = fmt.Sprintf("j%d", i)
		fmt.Fprintf(&b, "\tj%d((\" \"))\n", i)
	}
	id := func(end string) string {
		if joined, ok := ids[end]; ok {
			return joined
		}
		return end
	}
	for _, e := range p.edges {
		arrow := "-->"
		if e.label != "" {
			arrow = "-- " + e.label + " -->"
		}
		fmt.Fprintf(&b, "\t%s %s %s\n", id(e.from), arrow, id(e.to))
	}
	for _, name := range []string{"done", "failed", "running", "waiting", "skipped"} {
		if members := classes[name]; len(members) > 0 {
			fmt.Fprintf(&b, "\tclassDef %s stroke:%s\n\tclass %s %s\n", name, colours[name], strings.Join(members, ","), name)
		}
	}
	return b.String()
}

func (p *picture) mermaid(b *strings.Builder, vs []*vertex, indent string, classes map[string][]string) {
	for _, v := range vs {
		label := mermaidText(v.label())
		standing := p.standing(v.Line)
		if standing != "" {
			label += "<br/>" + mermaidText(standing)
		}
		if name := class(standing); name != "" {
			classes[name] = append(classes[name], v.id)
		}
		switch {
		case len(v.children) > 0:
			fmt.Fprintf(b, "%ssubgraph %s [\"%s\"]\n", indent, v.id, label)
			p.mermaid(b, v.children, indent+"\t", classes)
			fmt.Fprintf(b, "%send\n", indent)
		case v.Kind == cairn.KindTry:
			fmt.Fprintf(b, "%s%s{\"%s\"}\n", indent, v.id, label)
		default:
			fmt.Fprintf(b, "%s%s[\"%s\"]\n", indent, v.id, label)
		}
	}
}

// mermaidText replaces what Mermaid or the HTML it makes would take for its own.
func mermaidText(s string) string {
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune("\"#&<>`\\", r) || r < ' ' {
			fmt.Fprintf(&b, "#%d;", r)
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
