package core

import (
	"encoding/json"
	"slices"

	"github.com/cairnrun/cairn"
)

// kindPart is the inside of a loop, a scope or a phase of a try: what one cell rendered. It is no kind of the
// vocabulary and stands in no frame.
const kindPart cairn.Kind = "part"

// node is a mounted node: what a render gave, and how far it has come. How far is derived from the state; it is kept
// so that a completion costs a walk to the root and not a look at every task.
type node struct {
	kind cairn.Kind
	// path is a task's, loop's or scope's path, or a try's or a budget's address; "" for groups.
	path string
	// scope is what the node's own name stands in, or for a part what its content stands in.
	scope    string
	parent   *node
	index    int
	depth    int
	children []*node
	// cell is, for a part, the render that fills it.
	cell *cell
	// follows are the nodes that come before this one in the tree; preds, as its Line names them, add its After.
	follows, preds []string
	untaken        bool
	// dropped nodes are no longer mounted.
	dropped bool

	task *cairn.TaskSpec
	max  int
	loop *cairn.LoopSpec
	try  *cairn.TrySpec
	// aspects is a budget's; held are the tasks below it that wait for room.
	aspects *cairn.AspectsSpec
	held    ready
	// memory is what a part's tasks have, unless something in the part says otherwise; nil is none.
	memory *cairn.MemorySpec
	// handoff is what a continue-as-new hands over.
	handoff *cairn.HandoffSpec

	// structure and policy are what the node adds to the plan's digests.
	structure, policy digest

	// active: its turn has come and nothing around it is closed.
	active bool
	// settled: nothing in it is left to do.
	settled bool
	// begun: something in it has been started, skipped or decided. resumed: a sequence has looked for such children.
	begun, resumed bool
	// closed parts take no starts.
	closed bool
	// left is the number of children not settled, next the first of them in a sequence, open how many a capped
	// parallel has in progress and order in which it opens them.
	left, next, open int
	order            []*node
	// contended: more children of a capped parallel have begun than there are places; a render has added to finished ones.
	contended bool
	// busy counts running attempts and entered tries with a Finally, the node itself included.
	busy int
	// entered: the node is a try that counts in busy until it is done.
	entered bool
	// turns counts a loop's iterations in the frame turned.
	turns  int
	turned int64
	// targets are what a task's After and Fork name; waiters are the tasks that name this node.
	targets, waiters []*node
	// origin is where the task that this one forks is to be found.
	origin origin
	// queued in memo.checks, listed in memo.ready, counted in the plan's digests.
	queued, listed, counted bool
}

// Parts of a try, by position.
const (
	bodyPart = iota
	catchPart
	finallyPart
)

// cell is one render: the function that fills a part, and what it read.
type cell struct {
	part   *node
	render func(v *cairn.View) cairn.Node
	reads  map[read]struct{}
	dirty  bool
	// rounds counts the renders in the search fixpoint.
	rounds, fixpoint int
}

// line is the node as the structure sees it.
func (n *node) line() Line {
	l := Line{Path: n.path, Kind: n.kind, After: n.preds, Untaken: n.untaken}
	if n.task != nil {
		l.Schema = n.task.SchemaHash
	}
	return l
}

// digest is the line's part of the structure.
func (l Line) digest() digest {
	parts := append([]string{l.Path, string(l.Kind), l.Schema}, l.After...)
	if l.Untaken {
		parts = append(parts, "untaken")
	}
	return digestOf(parts...)
}

// digests computes what the node adds to the plan's digests.
func (n *node) digests() {
	n.structure = n.line().digest()
	switch n.kind {
	case cairn.KindTask:
		if n.task.Policy.IsZero() {
			return
		}
		if raw, err := json.Marshal(n.task.Policy); err == nil {
			n.policy = digestOf(n.path, string(raw))
		}
	case cairn.KindLoop:
		policy := []any{n.loop.Max, n.loop.OnMax}
		if n.loop.HandoffEvery != 0 {
			policy = append(policy, n.loop.HandoffEvery)
		}
		if raw, err := json.Marshal(policy); err == nil {
			n.policy = digestOf(n.path, string(raw))
		}
	case cairn.KindTry:
		if raw, err := json.Marshal(n.try.Only); err == nil {
			n.policy = digestOf(n.path, string(raw))
		}
	case cairn.KindAspects:
		if raw, err := json.Marshal(n.aspects); err == nil {
			n.policy = digestOf(n.path, string(raw))
		}
	}
}

// before is tree order.
func (n *node) before(o *node) bool {
	a, b := n, o
	for a.depth > b.depth {
		a = a.parent
	}
	for b.depth > a.depth {
		b = b.parent
	}
	if a == b {
		return n.depth < o.depth
	}
	for a.parent != b.parent {
		a, b = a.parent, b.parent
	}
	return a.index < b.index
}

// walk visits the node and all below it, parents first. A visit that returns false is not followed down.
func (n *node) walk(visit func(*node) bool) {
	if !visit(n) {
		return
	}
	for _, c := range n.children {
		c.walk(visit)
	}
}

// memo is the last rendered plan. All of it can be made anew from the state.
type memo struct {
	root  *node
	nodes map[string]*node
	// keys holds the mounted tasks by key: one name has one type, and one place in a chain of scopes.
	keys     map[string]produced
	watchers map[read]map[*cell]struct{}
	dirty    []*cell
	ready    ready
	checks   []*node
	// failed are nodes met while activating that had failed already: it is not known who has been told.
	failed []*node
	// fixpoint numbers the searches for one.
	fixpoint int
	// structure and policy are the sums over the mounted nodes, input over the started ones.
	structure, policy, input digest
	// forks are the mounted tasks that fork a key; restless those of them that have to be offered once the plan is wired.
	forks    map[string][]*node
	restless []*node
	// writers are the mounted tasks whose sub-agents may change things.
	writers []*node
	// changed holds the lines that a step has touched as they were before it, nil for new ones, in order of touch.
	changed map[string]*Line
	touched []string
	// full asks for a whole plan in the next frame.
	full bool
	// fresh are nodes of this round's renders, not yet counted; unresolved ones have to look up their After.
	fresh, unresolved []*node
	mistakes          []error
}

func newMemo() *memo {
	return &memo{
		nodes: map[string]*node{}, keys: map[string]produced{}, watchers: map[read]map[*cell]struct{}{},
		changed: map[string]*Line{}, forks: map[string][]*node{},
	}
}

// watch notes that the cell reads what.
func (mo *memo) watch(what read, c *cell) {
	cells := mo.watchers[what]
	if cells == nil {
		cells = map[*cell]struct{}{}
		mo.watchers[what] = cells
	}
	cells[c] = struct{}{}
}

// forget removes a cell's reads.
func (mo *memo) forget(c *cell) {
	for what := range c.reads {
		if cells := mo.watchers[what]; cells != nil {
			if delete(cells, c); len(cells) == 0 {
				delete(mo.watchers, what)
			}
		}
	}
	c.reads = map[read]struct{}{}
}

// touch marks every render that has read what.
func (mo *memo) touch(what read) {
	for c := range mo.watchers[what] {
		mo.mark(c)
	}
}

func (mo *memo) mark(c *cell) {
	if !c.dirty {
		c.dirty = true
		mo.dirty = append(mo.dirty, c)
	}
}

// note keeps a line as it was before the step, for the frame's delta.
func (mo *memo) note(path string, was *Line) {
	if _, known := mo.changed[path]; !known {
		mo.changed[path] = was
		mo.touched = append(mo.touched, path)
	}
}

// count adds a node, complete with what it waits for, to the digests.
func (mo *memo) count(n *node) {
	n.digests()
	n.counted = true
	mo.structure.add(n.structure)
	mo.policy.add(n.policy)
	mo.note(n.path, nil)
}

// unmount takes it out again.
func (mo *memo) unmount(n *node) {
	if mo.nodes[n.path] != n {
		return
	}
	delete(mo.nodes, n.path)
	if n.kind == cairn.KindTask {
		mo.unkey(n)
		mo.stir(n.key())
	}
	mo.discount(n)
}

// discount takes a node out of the digests, to be counted anew or not at all.
func (mo *memo) discount(n *node) {
	mo.structure.sub(n.structure)
	mo.policy.sub(n.policy)
	l := n.line()
	mo.note(n.path, &l)
}

// delta tells how the plan differs from the one before the step, and starts anew.
func (mo *memo) delta() Delta {
	var d Delta
	if mo.full {
		d.Full, d.Set = true, mo.lines()
	} else {
		for _, path := range mo.touched {
			was, n := mo.changed[path], mo.nodes[path]
			switch {
			case n == nil && was != nil:
				d.Gone = append(d.Gone, path)
			case n != nil && (was == nil || !was.equal(n.line())):
				d.Set = append(d.Set, n.line())
			}
		}
	}
	mo.noted()
	return d
}

// noted starts to note changes anew.
func (mo *memo) noted() {
	if len(mo.touched) > 0 {
		mo.changed = map[string]*Line{} // not cleared: that costs what the largest step has ever touched
	}
	mo.touched, mo.full = nil, false
}

func (l Line) equal(o Line) bool {
	return l.Path == o.Path && l.Kind == o.Kind && l.Schema == o.Schema && l.Untaken == o.Untaken && slices.Equal(l.After, o.After)
}
