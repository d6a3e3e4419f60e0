package core

import (
	"fmt"
	"slices"
	"strings"

	"github.com/dominikbraun/graph"

	"github.com/cairnrun/cairn"
)

// cycles reports what can never start: tasks that come After something that, in the order of the tree, comes after
// them. Each node has a begin and an end; a node begins after the nodes before it in a sequence and the ones it names
// have ended, and ends after all in it have.
func cycles(root *node) []error {
	return ordered(root).report()
}

// ordered is the order of a plan's begins and ends.
func ordered(root *node) *order {
	g := &order{ids: map[*node]int{}}
	root.walk(func(n *node) bool { g.vertex(n); return true })
	root.walk(func(n *node) bool {
		begin, end := g.vertex(n)
		g.edge(begin, end)
		for i, c := range n.children {
			cb, ce := g.vertex(c)
			g.edge(begin, cb)
			g.edge(ce, end)
			if i > 0 && slices.Contains(inOrder, n.kind) {
				_, before := g.vertex(n.children[i-1])
				g.edge(before, cb)
			}
		}
		for _, t := range n.targets {
			if !t.over(n) {
				_, before := g.vertex(t)
				g.edge(before, begin)
			}
		}
		return true
	})
	return g
}

// leads says that a node has ended before another begins.
func (g *order) leads(from, to *node) bool {
	_, end := g.vertex(from)
	begin, _ := g.vertex(to)
	reached, next := map[int]bool{end: true}, []int{end}
	for len(next) > 0 {
		v := next[len(next)-1]
		next = next[:len(next)-1]
		if v == begin {
			return true
		}
		for _, to := range g.next[v] {
			if !reached[to] {
				reached[to] = true
				next = append(next, to)
			}
		}
	}
	return false
}

// inOrder are the kinds whose children come one after another.
var inOrder = []cairn.Kind{cairn.KindSequence, cairn.KindAspects, kindPart, cairn.KindTry}

// order is the begins and ends of a plan. Readiness and this check are our own few lines: the library's sorts are
// quadratic. It is asked, about the rest that has no order, for the components that hold one another up.
type order struct {
	ids   map[*node]int
	nodes []*node
	next  [][]int
	into  []int
}

func (g *order) vertex(n *node) (begin, end int) {
	i, ok := g.ids[n]
	if !ok {
		i = len(g.nodes)
		g.ids[n] = i
		g.nodes = append(g.nodes, n)
		g.next = append(g.next, nil, nil)
		g.into = append(g.into, 0, 0)
	}
	return 2 * i, 2*i + 1
}

func (g *order) edge(from, to int) {
	g.next[from] = append(g.next[from], to)
	g.into[to]++
}

func (g *order) report() (mistakes []error) {
	var free []int
	for v, n := range g.into {
		if n == 0 {
			free = append(free, v)
		}
	}
	for len(free) > 0 {
		v := free[len(free)-1]
		free = free[:len(free)-1]
		for _, to := range g.next[v] {
			if g.into[to]--; g.into[to] == 0 {
				free = append(free, to)
			}
		}
	}
	rest := graph.New(graph.IntHash, graph.Directed())
	for v, n := range g.into {
		if n > 0 {
			_ = rest.AddVertex(v)
		}
	}
	for v, n := range g.into {
		for _, to := range g.next[v] {
			if n > 0 && g.into[to] > 0 {
				_ = rest.AddEdge(v, to)
			}
		}
	}
	components, err := graph.StronglyConnectedComponents(rest)
	if err != nil {
		return []error{err}
	}
	for _, component := range components {
		if len(component) < 2 {
			continue
		}
		var names []string
		for _, v := range component {
			if n := g.nodes[v/2]; n.path != "" && len(n.targets) > 0 && !slices.Contains(names, n.path) {
				names = append(names, n.path)
			}
		}
		if len(names) == 0 {
			continue
		}
		slices.SortFunc(names, comparePaths)
		mistakes = append(mistakes, &cairn.Error{Code: cairn.InvalidTree, Path: names[0],
			Message: fmt.Sprintf("nothing of it can start: %s come After, or fork, what comes after them", strings.Join(names, ", "))})
	}
	return mistakes
}
