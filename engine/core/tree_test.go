package core_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
)

// tree is a workflow as plain data: it renders itself for the machine, and the model reads it.
type tree struct {
	kind cairn.Kind // or "when", a plain Go if
	id   string
	kids []*tree

	// of tasks
	after  []string
	policy cairn.Policy
	skip   *cond
	frozen bool // has an input
	fork   string
	// of parallels and loops
	max   int
	onMax cairn.OnMax
	until *cond
	every int
	// of branches and plain ifs
	cond *cond
	// of tries
	only           cairn.Codes
	catch, finally *tree
	// budget is an aspects node's, of tokens.
	budget cairn.Budget
	// bomb makes the render of a scope panic while the world is broken.
	bomb bool
}

// cond is a read that decides about the shape of a tree.
type cond struct {
	kind string // get, latest, all, failed, loop, time
	key  string
	odd  bool
	at   int64
}

// world is what an impure workflow would read: whether its bombs are armed. Tests break and mend it.
type world struct{ broken bool }

func (c *cond) ask(v *cairn.View) bool {
	key := cairn.Key[int](c.key)
	switch c.kind {
	case "get":
		n, ok := key.Get(v)
		return ok && (n%2 == 1) == c.odd
	case "latest":
		n, ok := key.Latest(v)
		return ok && (n%2 == 1) == c.odd
	case "all":
		n := 0
		for range key.All(v) {
			n++
		}
		return (n%2 == 1) == c.odd
	case "failed":
		return key.Outcome(v).Status == cairn.Failed
	case "loop":
		return v.Loop(c.key).Done
	case "time":
		return v.Now().UnixMilli() >= c.at
	}
	panic(c.kind)
}

// node renders the tree.
func (t *tree) node(v *cairn.View, w *world) cairn.Node {
	if t == nil {
		return nil
	}
	inside := func(kid *tree) func(v *cairn.View) cairn.Node {
		return func(v *cairn.View) cairn.Node {
			if t.bomb && w.broken {
				panic("boom")
			}
			return kid.node(v, w)
		}
	}
	var kids cairn.Nodes
	if t.kind != cairn.KindScope && t.kind != cairn.KindLoop && t.kind != cairn.KindTry {
		for _, kid := range t.kids {
			if n := kid.node(v, w); n != nil {
				kids = append(kids, n)
			}
		}
	}
	switch t.kind {
	case cairn.KindTask:
		n := node{id: t.id, after: t.after, policy: t.policy, agent: true, fork: t.fork}
		if t.skip != nil {
			n.skip = t.skip.ask
		}
		if t.frozen {
			n.input = func(v *cairn.View) string { return fmt.Sprint("<", v.Scope(), v.Now().UnixMilli(), ">") }
		}
		return n
	case cairn.KindContinueAsNew:
		return handsOn{id: t.id, state: len(t.id), keep: t.after}
	case cairn.KindSequence:
		return cairn.Sequence{Children: kids}
	case cairn.KindAspects:
		return limited{id: t.id, AspectsSpec: cairn.AspectsSpec{Tokens: t.budget}, children: kids}
	case cairn.KindParallel:
		return cairn.Parallel{Max: t.max, Children: kids}
	case cairn.KindBranch:
		b := cairn.Branch{If: t.cond.ask(v), Then: t.kids[0].node(v, w)}
		if len(t.kids) > 1 {
			b.Else = t.kids[1].node(v, w)
		}
		return b
	case "when":
		if !t.cond.ask(v) {
			return nil
		}
		return t.kids[0].node(v, w)
	case cairn.KindScope:
		return cairn.Scope{ID: t.id, Body: inside(t.kids[0])}
	case cairn.KindLoop:
		l := cairn.Loop{ID: t.id, Max: t.max, OnMax: t.onMax, HandoffEvery: t.every, Body: inside(t.kids[0])}
		if t.until != nil {
			l.Until = t.until.ask
		}
		return l
	case cairn.KindTry:
		try := cairn.Try{ID: t.id, Body: t.kids[0].node(v, w), Only: t.only}
		if t.catch != nil {
			try.Catch = func(v *cairn.View, _ cairn.Failure) cairn.Node { return inside(t.catch)(v) }
		}
		if t.finally != nil {
			try.Finally = inside(t.finally)
		}
		return try
	}
	panic(t.kind)
}

func (t *tree) workflow(w *world) cairn.Definition {
	return cairn.Workflow[string, int]{Name: "random", Result: "out",
		Render: func(v *cairn.View, _ string) cairn.Node { return cairn.Nodes{t.node(v, w), T("out")} }}.Define()
}

// String is the tree as a failing test shows it.
func (t *tree) String() string {
	var b strings.Builder
	t.write(&b, 0, "")
	return b.String()
}

func (t *tree) write(b *strings.Builder, depth int, role string) {
	if t == nil {
		return
	}
	raw, _ := json.Marshal(t.policy)
	fmt.Fprintf(b, "\n%s%s%s %s", strings.Repeat("  ", depth), role, t.kind, t.id)
	for _, c := range []struct {
		name string
		c    *cond
	}{{"if", t.cond}, {"until", t.until}, {"skipIf", t.skip}} {
		if c.c != nil {
			fmt.Fprintf(b, " %s %s(%s) odd=%t at=%d", c.name, c.c.kind, c.c.key, c.c.odd, c.c.at)
		}
	}
	if len(t.after) > 0 {
		fmt.Fprintf(b, " after %v", t.after)
	}
	if t.fork != "" {
		fmt.Fprintf(b, " forks %s", t.fork)
	}
	if string(raw) != "{}" {
		fmt.Fprintf(b, " %s", raw)
	}
	if t.kind == cairn.KindAspects {
		fmt.Fprintf(b, " %+v", t.budget)
	}
	fmt.Fprintf(b, " max=%d %s every=%d only=%v bomb=%t", t.max, t.onMax, t.every, t.only, t.bomb)
	for _, kid := range t.kids {
		kid.write(b, depth+1, "")
	}
	t.catch.write(b, depth+1, "catch: ")
	t.finally.write(b, depth+1, "finally: ")
}

// gen grows random trees.
type gen struct {
	t     *rapid.T
	n     int
	bombs bool
	// triggers are tasks that end at any time and change what has been rendered long ago.
	triggers []string
	// cleanup: what grows stands in a Finally, where no handoff may.
	cleanup bool
}

// sight is what a node under construction can read and wait for.
type sight struct {
	// keys are the tasks in this scope and around; deep also those in loops below; loops the loops of this scope.
	keys, deep, loops []string
	// targets are mounted whenever a node here is. sources are those that are tasks, with those in loops here and around.
	targets, sources []string
}

func randomTree(t *rapid.T, bombs bool) *tree {
	g := &gen{t: t, bombs: bombs}
	s := &sight{}
	root := &tree{kind: cairn.KindParallel}
	for range rapid.IntRange(0, 2).Draw(t, "triggers") {
		n := &tree{kind: cairn.KindTask, id: g.id("g"), policy: optional(T("")).policy}
		s.keys, s.deep, root.kids = append(s.keys, n.id), append(s.deep, n.id), append(root.kids, n)
		s.sources = append(s.sources, n.id)
		g.triggers = append(g.triggers, n.id)
	}
	root.kids = append(root.kids, g.group(s, 3))
	return root
}

func (g *gen) id(letter string) string { g.n++; return fmt.Sprintf("%s%02d", letter, g.n) }

func (g *gen) flip(label string, outOf int) bool {
	return rapid.IntRange(1, outOf).Draw(g.t, label) == outOf
}

func (g *gen) cond(s *sight) *cond {
	c := &cond{odd: rapid.Bool().Draw(g.t, "odd")}
	kinds := []string{"time"}
	if len(s.keys) > 0 {
		kinds = append(kinds, "get", "get", "get", "failed")
	}
	if len(s.deep) > 0 {
		kinds = append(kinds, "latest", "all")
	}
	if len(s.loops) > 0 {
		kinds = append(kinds, "loop")
	}
	c.kind = rapid.SampledFrom(kinds).Draw(g.t, "cond")
	switch c.kind {
	case "get", "failed":
		c.key = rapid.SampledFrom(s.keys).Draw(g.t, "key")
	case "latest", "all":
		c.key = rapid.SampledFrom(s.deep).Draw(g.t, "key")
	case "loop":
		c.key = rapid.SampledFrom(s.loops).Draw(g.t, "loop")
	case "time":
		c.at = epoch + rapid.Int64Range(-1, 8).Draw(g.t, "at")*1000
	}
	return c
}

// group is a sequence or parallel of a few nodes, the usual inside of everything.
func (g *gen) group(s *sight, depth int) *tree {
	t := &tree{kind: cairn.KindSequence}
	if g.flip("parallel", 3) {
		t.kind = cairn.KindParallel
		t.max = rapid.IntRange(0, 2).Draw(g.t, "max")
	}
	targets, sources := s.targets, s.sources
	for range rapid.IntRange(0, 3).Draw(g.t, "children") {
		if t.kind == cairn.KindParallel && t.max > 0 {
			s.targets, s.sources = targets, sources // a child that holds a place must not wait for one that has none
		}
		t.kids = append(t.kids, g.node(s, depth))
	}
	if t.kind == cairn.KindParallel && t.max > 0 {
		s.targets, s.sources = targets, sources
	}
	return t
}

// below is what can be seen in a scope of its own.
func (s *sight) below() *sight {
	return &sight{keys: slices.Clone(s.keys), targets: slices.Clone(s.targets), sources: slices.Clone(s.sources)}
}

// aside is what can be seen in a part of the same scope that is mounted only sometimes.
func (s *sight) aside() *sight {
	return &sight{keys: slices.Clone(s.keys), deep: slices.Clone(s.deep), loops: slices.Clone(s.loops), targets: slices.Clone(s.targets),
		sources: slices.Clone(s.sources)}
}

func (g *gen) node(s *sight, depth int) *tree {
	kinds := []cairn.Kind{cairn.KindTask, cairn.KindTask, cairn.KindTask}
	if depth > 0 {
		kinds = append(kinds, cairn.KindSequence, cairn.KindLoop, cairn.KindLoop, cairn.KindScope, cairn.KindTry, cairn.KindTry, cairn.KindBranch, "when",
			cairn.KindAspects, cairn.KindAspects)
	}
	if depth > 0 && len(g.triggers) > 0 {
		kinds = append(kinds, "grows", "grows", "grows")
	}
	if !g.cleanup && g.flip("handoff", 8) {
		kinds = []cairn.Kind{cairn.KindContinueAsNew}
	}
	t := &tree{kind: rapid.SampledFrom(kinds).Draw(g.t, "kind")}
	switch t.kind {
	case "grows":
		t.kind, t.id = cairn.KindScope, g.id("s")
		in := s.below()
		more := &tree{kind: "when", cond: &cond{kind: "get", key: rapid.SampledFrom(g.triggers).Draw(g.t, "trigger"), odd: true}}
		t.kids = []*tree{{kind: cairn.KindSequence, kids: []*tree{g.node(in, 0), more}}}
		more.kids = []*tree{g.group(in, depth-1)}
		s.targets = append(s.targets, t.id)
	case cairn.KindTask:
		t.id = g.id("t")
		t.policy.Optional = g.flip("optional", 6)
		t.policy.Priority = rapid.IntRange(0, 1).Draw(g.t, "priority")
		t.policy.Retry.Max = rapid.IntRange(1, 2).Draw(g.t, "attempts")
		t.frozen = g.flip("input", 4)
		if g.flip("skip", 5) {
			t.skip = g.cond(s)
		}
		if len(s.targets) > 0 && g.flip("after", 3) {
			t.after = append(t.after, rapid.SampledFrom(s.targets).Draw(g.t, "target"))
		}
		if len(s.sources) > 0 && g.flip("fork", 4) {
			t.fork = rapid.SampledFrom(s.sources).Draw(g.t, "source")
		}
		s.keys, s.deep, s.targets, s.sources = append(s.keys, t.id), append(s.deep, t.id), append(s.targets, t.id), append(s.sources, t.id)
	case cairn.KindContinueAsNew:
		t.id = g.id("h")
		if len(g.triggers) > 0 && g.flip("keep", 2) {
			t.after = g.triggers // stands for what it keeps: tasks of the root, which no loop has
		}
	case cairn.KindSequence:
		return g.group(s, depth-1)
	case cairn.KindAspects:
		t.id, t.kids = g.id("a"), []*tree{g.group(s, depth-1)}
		t.budget = cairn.Budget{Max: rapid.Int64Range(0, 6).Draw(g.t, "max tokens"), PerTask: rapid.Int64Range(0, 4).Draw(g.t, "per task"),
			Reserve: rapid.Int64Range(0, 3).Draw(g.t, "reserve"), OnExceeded: rapid.SampledFrom(modes).Draw(g.t, "mode")}
	case cairn.KindScope:
		t.id, t.bomb = g.id("s"), g.bombs && g.flip("bomb", 2)
		t.kids = []*tree{g.group(s.below(), depth-1)}
		s.targets = append(s.targets, t.id)
	case cairn.KindLoop:
		t.id, t.bomb = g.id("l"), g.bombs && g.flip("bomb", 2)
		t.max = rapid.IntRange(1, 3).Draw(g.t, "max")
		t.onMax = rapid.SampledFrom([]cairn.OnMax{cairn.Fail, cairn.ReturnLast, cairn.ReturnLast}).Draw(g.t, "onMax")
		if !g.cleanup && g.flip("every", 4) {
			t.every = rapid.IntRange(1, 2).Draw(g.t, "iterations")
		}
		in := s.below()
		t.kids = []*tree{g.group(in, depth-1)}
		if g.flip("until", 2) {
			t.until = g.cond(&sight{keys: in.keys, deep: in.deep, loops: in.loops})
		}
		s.deep = append(s.deep, in.deep...)
		s.sources = append(s.sources, in.sources[len(s.sources):]...)
		s.loops, s.targets = append(s.loops, t.id), append(s.targets, t.id)
	case cairn.KindTry:
		t.id, t.bomb = g.id("y"), g.bombs && g.flip("bomb", 2)
		t.only = rapid.SampledFrom([]cairn.Codes{nil, nil, {"A"}, {"B", cairn.LoopExhausted}}).Draw(g.t, "only")
		t.kids = []*tree{g.group(s, depth-1)}
		if g.flip("catch", 2) {
			t.catch = g.group(s.aside(), depth-1)
		}
		if g.flip("finally", 2) {
			around := g.cleanup
			g.cleanup = true
			t.finally = g.group(s.aside(), depth-1)
			g.cleanup = around
		}
	case cairn.KindBranch:
		t.cond = g.cond(s)
		t.kids = []*tree{g.group(s.aside(), depth-1)}
		if g.flip("else", 2) {
			t.kids = append(t.kids, g.group(s.aside(), depth-1))
		}
	case "when":
		t.cond = g.cond(s)
		t.kids = []*tree{g.group(s.aside(), depth-1)}
	}
	return t
}

// epoch is when simulated runs start.
const epoch = 1_000_000

// modes of a budget.
var modes = []cairn.OnExceeded{cairn.FailExceeded, cairn.WarnExceeded, cairn.SkipExceeded}

func at(ms int64) time.Time { return time.UnixMilli(ms) }
