package core

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// maxDepth bounds how deep a tree may nest: a component that mounts itself is told so instead of running out of stack.
const maxDepth = 1000

// build renders a part's cell and hangs the nodes below the part. Cells inside are rendered as well: their closures
// captured what this render read.
func (m *Machine) build(part *node) {
	c := part.cell
	c.dirty = false
	m.memo.forget(c)
	b := builder{m: m, scope: part.scope, cell: c, untaken: part.untaken, memory: part.memory}
	var tree cairn.Node
	m.view(part.scope, c, func(v *cairn.View) { tree = c.render(v) })
	b.add(part, tree, b.entry(part))
	part.left = len(part.children)
}

// builder lowers the tree of one render.
type builder struct {
	m       *Machine
	scope   string
	cell    *cell
	untaken bool
	// memory is the tasks', as far as the nodes around say; nil is none.
	memory *cairn.MemorySpec
}

// entry names what the first nodes of a part follow. Inside loops and scopes the path says it already.
func (b *builder) entry(part *node) []string {
	if part.parent == nil || part.parent.kind != cairn.KindTry {
		return nil
	}
	return []string{part.parent.path + [...]string{":body", ":catch", ":finally"}[part.index]}
}

// add lowers a node and hangs it below parent. It takes the names of what comes before and returns the names of what
// the next one follows.
func (b *builder) add(parent *node, in cairn.Node, preds []string) []string {
	if in == nil {
		return preds
	}
	if parent.depth >= maxDepth {
		panic(fmt.Errorf("the tree below scope %q is more than %d nodes deep", b.scope, maxDepth))
	}
	spec := in.Lower()
	n := &node{kind: spec.Kind, scope: b.scope, parent: parent, index: len(parent.children), depth: parent.depth + 1,
		follows: preds, preds: preds, untaken: b.untaken}
	for _, mistake := range spec.Mistakes {
		b.mistake(cairn.InvalidTree, cairn.Join(b.scope, spec.ID), mistake.Error())
	}
	parent.children = append(parent.children, n)
	switch spec.Kind {
	case cairn.KindSequence:
		for _, c := range spec.Children {
			preds = b.add(n, c, preds)
		}
		n.left = len(n.children)
		return preds
	case cairn.KindParallel:
		return b.parallel(n, spec)
	case cairn.KindBranch:
		return b.branch(n, spec)
	case cairn.KindTask:
		if n.task = spec.Task; n.task == nil || n.task.Run == nil {
			return b.reject(n, spec, "a task without a body")
		}
		b.remember(n, spec.ID)
		if err := storable(n.task.Policy); err != nil {
			b.mistake(cairn.InvalidTree, cairn.Join(b.scope, spec.ID), "the policy can't be stored: "+err.Error())
		}
		b.name(n, spec.ID)
	case cairn.KindLoop:
		b.loop(n, spec)
	case cairn.KindScope:
		b.name(n, spec.ID)
		if spec.Body == nil {
			return b.reject(n, spec, "a Scope without a Body")
		}
		if !n.untaken {
			b.part(n, n.path, spec.Body, true)
		}
	case cairn.KindTry:
		b.try(n, spec)
	case cairn.KindAspects:
		return b.aspects(n, spec, preds)
	case cairn.KindMemory:
		return b.within(n, spec, preds)
	case cairn.KindContinueAsNew:
		b.address(n, cmp.Or(spec.ID, string(spec.Kind)))
		if n.handoff = spec.Handoff; n.handoff == nil {
			return b.reject(n, spec, "a ContinueAsNew without its part")
		}
		b.handsOver(n)
	default:
		return b.reject(n, spec, fmt.Sprintf("a node of unknown kind %q", spec.Kind))
	}
	return []string{n.path}
}

func (b *builder) parallel(n *node, spec cairn.Spec) []string {
	if spec.Parallel != nil {
		n.max = spec.Parallel.Max
	}
	if n.max < 0 {
		b.mistake(cairn.InvalidTree, b.scope, fmt.Sprintf("a Parallel with Max %d; 0 is no limit", n.max))
	}
	var exits []string
	for _, c := range spec.Children {
		before := len(n.children)
		if out := b.add(n, c, n.preds); len(n.children) > before && !slices.Equal(out, n.preds) {
			exits = append(exits, out...)
		}
	}
	n.left = len(n.children)
	switch len(exits) {
	case 0:
		return n.preds
	case 1:
		return exits
	}
	return []string{join(exits)}
}

// joinPrefix begins the names of joins. No path begins so: '[' is not for names.
const joinPrefix = "["

// join names the meeting point of several nodes by what meets there, so that what follows has one edge and not a
// thousand, whoever groups them.
func join(exits []string) string {
	sorted := slices.Clone(exits)
	slices.Sort(sorted)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(sorted), "\n")))
	return joinPrefix + hex.EncodeToString(sum[:6])
}

func (b *builder) branch(n *node, spec cairn.Spec) []string {
	if spec.Branch == nil {
		return b.reject(n, spec, "a Branch without sides")
	}
	taken, other := spec.Branch.Then, spec.Branch.Else
	if !spec.Branch.If {
		taken, other = other, taken
	}
	exits := b.add(n, taken, n.preds)
	aside := *b
	aside.untaken = true
	aside.add(n, other, n.preds)
	n.left = len(n.children)
	return exits
}

func (b *builder) loop(n *node, spec cairn.Spec) {
	b.name(n, spec.ID)
	if n.loop = spec.Loop; n.loop == nil || spec.Body == nil {
		n.loop = &cairn.LoopSpec{}
		b.reject(n, spec, "a Loop without a Body")
		return
	}
	switch n.loop.Max {
	case 0:
		n.loop.Max = cairn.DefaultLoopMax
	case cairn.Unbounded:
	default:
		if n.loop.Max < 0 {
			b.mistake(cairn.InvalidTree, n.path, fmt.Sprintf("a Loop with Max %d; 0 is %d and cairn.Unbounded is explicit", n.loop.Max, cairn.DefaultLoopMax))
		}
	}
	switch {
	case n.loop.HandoffEvery < 0:
		b.mistake(cairn.InvalidTree, n.path, fmt.Sprintf("a Loop with HandoffEvery %d; 0 is never", n.loop.HandoffEvery))
	case n.loop.HandoffEvery > 0:
		b.handsOver(n)
	}
	if n.untaken {
		return
	}
	b.part(n, cairn.Iteration(n.path, b.m.state.iteration(n.path)), spec.Body, true)
}

// handsOver refuses a handoff in a Finally, which is what a handoff waits for.
func (b *builder) handsOver(n *node) {
	for p := n.parent; p != nil; p = p.parent {
		if p.isFinally() {
			b.mistake(cairn.InvalidTree, n.path, "a handoff in a Finally: a handoff waits until every Finally around it is done")
			return
		}
	}
}

func (b *builder) try(n *node, spec cairn.Spec) {
	b.address(n, cmp.Or(spec.ID, string(spec.Kind)))
	if n.try = spec.Try; n.try == nil {
		n.try = &cairn.TrySpec{}
		b.reject(n, spec, "a Try without parts")
		return
	}
	b.part(n, n.scope, nil, false)
	body := n.children[bodyPart]
	inside := *b
	preds := inside.entry(body)
	for _, c := range spec.Children {
		preds = inside.add(body, c, preds)
	}
	body.left = len(body.children)
	if n.untaken {
		return
	}
	st := b.m.state.Tries[n.path]
	catch := func(v *cairn.View) cairn.Node { return n.try.Catch(v, *b.m.state.Tries[n.path].Caught) }
	b.part(n, n.scope, catch, st != nil && st.Caught != nil && n.try.Catch != nil)
	b.part(n, n.scope, n.try.Finally, st != nil && (st.Phase == PhaseFinally || st.Phase == PhaseDone) && n.try.Finally != nil)
}

// aspects adds nothing to the paths and the order of what is below it.
func (b *builder) aspects(n *node, spec cairn.Spec, preds []string) []string {
	b.address(n, cmp.Or(spec.ID, string(spec.Kind)))
	if n.aspects = spec.Aspects; n.aspects == nil {
		n.aspects = &cairn.AspectsSpec{}
		b.mistake(cairn.InvalidTree, n.path, "aspects without limits")
	}
	for _, c := range spec.Children {
		preds = b.add(n, c, preds)
	}
	n.left = len(n.children)
	return preds
}

// part hangs a part below n. One that is mounted renders now.
func (b *builder) part(n *node, scope string, render func(v *cairn.View) cairn.Node, mounted bool) {
	p := &node{kind: kindPart, scope: scope, parent: n, index: len(n.children), depth: n.depth + 1, untaken: n.untaken, memory: b.memory}
	n.children = append(n.children, p)
	n.left = len(n.children)
	if render == nil {
		return
	}
	p.cell = &cell{part: p, render: render, reads: map[read]struct{}{}}
	if mounted {
		b.m.build(p)
	}
}

// name gives a task, loop or scope its path.
func (b *builder) name(n *node, name string) {
	if err := cairn.CheckName(name); err != nil {
		b.mistake(cairn.InvalidTree, b.scope, fmt.Sprintf("a %s: %v", n.kind, err))
		return
	}
	b.register(n, cairn.Join(b.scope, name))
}

// address gives a try or a budget its own, outside of task paths.
func (b *builder) address(n *node, name string) {
	if err := cairn.CheckName(name); err != nil {
		b.mistake(cairn.InvalidTree, b.scope, fmt.Sprintf("a %s: %v", n.kind, err))
		return
	}
	b.register(n, b.scope+"#"+name)
}

func (b *builder) register(n *node, path string) {
	n.path = path
	if other := b.m.memo.nodes[path]; other != nil {
		b.mistake(cairn.InvalidTree, path, fmt.Sprintf("two nodes on one path, a %s and a %s; give one of them another ID", other.kind, n.kind))
		return
	}
	b.m.memo.nodes[path] = n
	b.m.memo.fresh = append(b.m.memo.fresh, n)
	if n.kind == cairn.KindTask {
		b.m.memo.key(n)
		b.m.memo.stir(n.key())
	}
	if n.task == nil {
		return
	}
	if n.task.Fork != "" {
		b.m.memo.forked(n)
	}
	if len(n.task.After) > 0 || n.task.Fork != "" {
		b.m.memo.unresolved = append(b.m.memo.unresolved, n)
	}
}

func (b *builder) reject(n *node, spec cairn.Spec, why string) []string {
	b.mistake(cairn.InvalidTree, cairn.Join(b.scope, spec.ID), why)
	n.kind = cairn.KindSequence
	return n.preds
}

func (b *builder) mistake(code cairn.Code, path, why string) {
	b.m.memo.mistake(code, path, why)
}

// storable says whether a policy can stand in a frame.
func storable(p cairn.Policy) error {
	if p.IsZero() {
		return nil
	}
	_, err := json.Marshal(p)
	return err
}
