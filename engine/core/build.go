package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
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
	b := builder{m: m, scope: part.scope, cell: c, untaken: part.untaken}
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
	if n.untaken {
		return
	}
	at := 0
	if l := b.m.state.Loops[n.path]; l != nil {
		at = l.Iteration
	}
	b.part(n, cairn.Iteration(n.path, at), spec.Body, true)
}

func (b *builder) try(n *node, spec cairn.Spec) {
	name := spec.ID
	if name == "" {
		name = string(cairn.KindTry)
	}
	b.address(n, name)
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

// part hangs a part below n. One that is mounted renders now.
func (b *builder) part(n *node, scope string, render func(v *cairn.View) cairn.Node, mounted bool) {
	p := &node{kind: kindPart, scope: scope, parent: n, index: len(n.children), depth: n.depth + 1, untaken: n.untaken}
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

// address gives a try its own, outside of task paths.
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
	}
	if n.task != nil && len(n.task.After) > 0 {
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

// resolve looks up what tasks come After, and reports what can never come.
func (m *Machine) resolve() {
	mo := m.memo
	check := false
	for _, n := range mo.unresolved {
		if n.dropped {
			continue
		}
		check = true
		n.targets = n.targets[:0]
		preds := slices.Clone(n.follows)
		for _, key := range n.task.After {
			path, target, ok := m.lookup(n.scope, key)
			switch {
			case !ok:
				mo.mistakes = append(mo.mistakes, &cairn.Error{Code: cairn.InvalidTree, Path: n.path,
					Message: fmt.Sprintf("it comes After %q, which is not mounted here nor around here, and has not finished", key)})
			case target != nil:
				n.targets = append(n.targets, target)
				target.awaited(n)
			}
			if ok && !slices.Contains(preds, path) {
				preds = append(preds, path)
			}
		}
		n.preds = preds
	}
	mo.unresolved = nil
	if check && len(mo.mistakes) == 0 {
		mo.mistakes = append(mo.mistakes, cycles(mo.root)...)
	}
}

// awaited notes that w waits for a node. A node that stays while those that wait come and go must not collect them.
func (n *node) awaited(w *node) {
	if len(n.waiters) == cap(n.waiters) {
		n.waiters = slices.DeleteFunc(n.waiters, func(w *node) bool { return w.dropped })
	}
	if !slices.Contains(n.waiters, w) {
		n.waiters = append(n.waiters, w)
	}
}

// lookup finds a key's node from a scope outwards. What has ended counts though it is no longer mounted: then there is no node.
func (m *Machine) lookup(scope, key string) (path string, target *node, ok bool) {
	for ; ; scope, _ = cairn.Split(scope) {
		path = cairn.Join(scope, key)
		if target = m.memo.nodes[path]; target != nil {
			return path, target, true
		}
		t, l := m.state.Tasks[path], m.state.Loops[path]
		if t != nil && (t.settled() || t.Status == TaskGaveUp) || l != nil && l.Done {
			return path, nil, true
		}
		if scope == "" {
			return "", nil, false
		}
	}
}

// produced counts the tasks mounted under one key, by the schema of their output: nearly always one schema, and often one
// task, so the first schema needs no map.
type produced struct {
	schema string
	same   int
	others map[string]int
}

func (p produced) count() int {
	n := p.same
	for _, more := range p.others {
		n += more
	}
	return n
}

// key files a mounted task under its key, unkey takes it out.
func (mo *memo) key(n *node) {
	p, hash := mo.keys[n.key()], n.task.SchemaHash
	switch {
	case p.same == 0 && p.others[hash] == 0:
		p.schema, p.same = hash, 1
	case p.same > 0 && p.schema == hash:
		p.same++
	default:
		if p.others == nil {
			p.others = map[string]int{}
		}
		p.others[hash]++
	}
	mo.keys[n.key()] = p
}

func (mo *memo) unkey(n *node) {
	p, hash := mo.keys[n.key()], n.task.SchemaHash
	if p.same > 0 && p.schema == hash {
		p.same--
	} else if p.others[hash]--; p.others[hash] <= 0 {
		delete(p.others, hash)
	}
	if p.same == 0 && len(p.others) == 0 {
		delete(mo.keys, n.key())
		return
	}
	mo.keys[n.key()] = p
}

func (n *node) key() string {
	_, key := cairn.Split(n.path)
	return key
}

// keyed reports keys that new tasks produce as another type than others do, or than the workflow's result has, and keys
// mounted at two levels of one chain of scopes: a read could not tell which is meant.
func (m *Machine) keyed() {
	mo := m.memo
	known := map[string]bool{}
	late := map[*node]map[string]*node{}
	for _, n := range mo.fresh {
		if n.kind != cairn.KindTask {
			continue
		}
		scope, key := cairn.Split(n.path)
		p := mo.keys[key]
		if (len(p.others) > 0 || key == m.def.Result) && !known[key] {
			known[key] = true
			m.oneType(key, p)
		}
		for at := scope; at != ""; {
			at, _ = cairn.Split(at)
			if o := mo.nodes[cairn.Join(at, key)]; o != nil && o.kind == cairn.KindTask {
				mo.shadow(n, o)
			}
		}
		if p.count() > 1 {
			if around := n.beside(); around != nil {
				if late[around] == nil {
					late[around] = map[string]*node{}
				}
				late[around][key] = n
			}
		}
	}
	// A scope renders whole, so what is in it is new with it; a Catch or Finally mounts beside what was there.
	for _, n := range mo.fresh {
		around := n.beside()
		mine := late[around]
		if mine == nil {
			continue
		}
		delete(late, around)
		around.walk(func(o *node) bool {
			if o.kind == cairn.KindTask && o.scope != around.scope && !o.fresh(mo) && mine[o.key()] != nil {
				mo.shadow(o, mine[o.key()])
			}
			return true
		})
	}
}

// oneType reports a key whose tasks, or the workflow's result, have several schemas.
func (m *Machine) oneType(key string, p produced) {
	types := maps.Clone(p.others)
	if types == nil {
		types = map[string]int{}
	}
	if p.same > 0 {
		types[p.schema] = p.same
	}
	if key == m.def.Result {
		if result, err := m.schema(m.def.Output); err == nil {
			types[result]++
		}
	}
	if len(types) < 2 {
		return
	}
	first := map[string]string{}
	for path, n := range m.memo.nodes {
		if n.kind != cairn.KindTask || n.key() != key {
			continue
		}
		if at, ok := first[n.task.SchemaHash]; !ok || comparePaths(path, at) < 0 {
			first[n.task.SchemaHash] = path
		}
	}
	var two []string
	for _, hash := range slices.Sorted(maps.Keys(types)) {
		at := "as the workflow's result"
		if path := first[hash]; path != "" {
			at = "at " + path
		}
		two = append(two, hash+" "+at)
	}
	m.memo.mistake(cairn.KeyType, key, fmt.Sprintf("the key %q is produced as several types, with schema %s", key, strings.Join(two, " and ")))
}

// fresh says that a node is of this round's renders.
func (n *node) fresh(mo *memo) bool { return !n.counted && mo.nodes[n.path] == n }

// beside is the part that holds the whole scope of a task which a later part of a try has mounted; nil for others.
func (n *node) beside() *node {
	if n.kind != cairn.KindTask {
		return nil
	}
	late := false
	for n = n.parent; n.kind != kindPart || n.parent != nil && n.parent.kind == cairn.KindTry; n = n.parent {
		late = late || n.kind == kindPart && n.cell != nil
	}
	if !late {
		return nil
	}
	return n
}

func (mo *memo) shadow(inner, outer *node) {
	mo.mistake(cairn.InvalidTree, inner.path,
		fmt.Sprintf("the key %q is mounted in a scope around this one too, at %s; give one of them another name", inner.key(), outer.path))
}

func (mo *memo) mistake(code cairn.Code, path, why string) {
	mo.mistakes = append(mo.mistakes, &cairn.Error{Code: code, Path: path, Message: why})
}

// storable says whether a policy can stand in a frame.
func storable(p cairn.Policy) error {
	if p.IsZero() {
		return nil
	}
	_, err := json.Marshal(p)
	return err
}
