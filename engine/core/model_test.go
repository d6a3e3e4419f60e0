package core_test

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// model is the slow, obvious oracle: it keeps what has happened and nothing about the plan. For each event it renders the
// whole tree and works everything out again, from the top.
type model struct {
	tree   *tree
	now    int64
	limit  int
	tasks  map[string]*modelTask
	loops  map[string]*core.Loop
	tries  map[string]*modelTry
	books  map[string]*book
	order  int
	status core.Status

	closed, failing, cancelling bool
	// handing: what reached the root is a handoff; asked: a successor was asked for, ready: it can go on.
	handing, asked, ready bool
	// first are the iterations that loops began with in this run.
	first map[string]int
	// begunHandoffs are continue-as-news whose turn has come.
	begunHandoffs map[string]bool
	deadline      int64
	// untold are tasks whose end what is around them has not been told yet.
	untold map[string]bool
	// timers are the moments of the machine's timers: how long a pause is, is not the model's matter.
	timers map[string]int64
}

type modelTask struct {
	status           core.TaskStatus
	value, order     int
	failures, losses int
	attempt, max     int
	optional         bool
	tolerated        bool
	code             cairn.Code
	kept             bool
	stopping         string
	failed, pausing  bool // its attempt has failed just now; waits for its retry timer
	// on are the budgets that its attempt is booked on, spent is by all its attempts, refused what has ended the last one.
	on      []string
	spent   int64
	refused *cairn.Breach
}

// book is what is spent below a budget, and how many attempts run there.
type book struct {
	spent   int64
	running int
}

type modelTry struct {
	phase           core.Phase
	closing, caught bool
	pending         cairn.Code // "" for none
}

// inst is a node of the rendered tree.
type inst struct {
	t       *tree
	kind    cairn.Kind // or "part"
	path    string     // of tasks, scopes, loops; the address of tries
	scope   string
	parent  *inst
	index   int
	kids    []*inst
	untaken bool
	active  bool
}

func newModel(t *tree, limit int) *model {
	root := &tree{kind: cairn.KindSequence, kids: []*tree{t, {kind: cairn.KindTask, id: "out", policy: T("out").policy}}}
	return &model{tree: root, now: epoch, limit: limit, status: core.Running, untold: map[string]bool{},
		tasks: map[string]*modelTask{}, loops: map[string]*core.Loop{}, tries: map[string]*modelTry{}, books: map[string]*book{}, begunHandoffs: map[string]bool{}, timers: map[string]int64{}}
}

// Rendering

func (m *model) render() *inst {
	root := &inst{kind: "part"}
	m.add(root, m.tree, "", false)
	m.activateAll(root)
	return root
}

func (m *model) add(parent *inst, t *tree, scope string, untaken bool) {
	if t == nil {
		return
	}
	if t.kind == "when" {
		if m.ask(t.cond, scope) {
			m.add(parent, t.kids[0], scope, untaken)
		}
		return
	}
	n := &inst{t: t, kind: t.kind, scope: scope, parent: parent, index: len(parent.kids), untaken: untaken}
	parent.kids = append(parent.kids, n)
	part := func(scope string, kid *tree, mounted bool) {
		p := &inst{kind: "part", scope: scope, parent: n, index: len(n.kids), untaken: untaken}
		n.kids = append(n.kids, p)
		if mounted {
			m.add(p, kid, scope, untaken)
		}
	}
	switch t.kind {
	case cairn.KindTask:
		n.path = cairn.Join(scope, t.id)
	case cairn.KindSequence, cairn.KindParallel, cairn.KindAspects:
		if t.kind == cairn.KindAspects {
			n.path = scope + "#" + t.id
		}
		for _, kid := range t.kids {
			m.add(n, kid, scope, untaken)
		}
	case cairn.KindBranch:
		sides := append(slices.Clone(t.kids), nil)[:2]
		if !m.ask(t.cond, scope) {
			sides[0], sides[1] = sides[1], sides[0]
		}
		m.add(n, sides[0], scope, untaken)
		m.add(n, sides[1], scope, true)
	case cairn.KindScope:
		n.path = cairn.Join(scope, t.id)
		part(n.path, t.kids[0], !untaken)
	case cairn.KindLoop:
		n.path = cairn.Join(scope, t.id)
		part(cairn.Iteration(n.path, m.iteration(n.path)), t.kids[0], !untaken)
	case cairn.KindContinueAsNew:
		n.path = scope + "#" + t.id
	case cairn.KindTry:
		n.path = scope + "#" + t.id
		st := m.tries[n.path]
		part(scope, t.kids[0], true)
		part(scope, t.catch, !untaken && st != nil && st.caught)
		part(scope, t.finally, !untaken && st != nil && (st.phase == core.PhaseFinally || st.phase == core.PhaseDone))
	}
}

func (m *model) iteration(loop string) int {
	if l := m.loops[loop]; l != nil {
		return l.Iteration
	}
	return m.first[loop]
}

// Reading

func (m *model) ask(c *cond, scope string) bool {
	switch c.kind {
	case "get", "failed":
		for at := scope; ; at, _ = cairn.Split(at) {
			t := m.tasks[cairn.Join(at, c.key)]
			if t != nil && t.status != core.TaskRunning && t.status != core.TaskWaiting {
				if c.kind == "failed" {
					return t.status == core.TaskGaveUp
				}
				return t.status == core.TaskFinished && (t.value%2 == 1) == c.odd
			}
			if at == "" {
				return false
			}
		}
	case "latest", "all":
		var found []*modelTask
		for path, t := range m.tasks {
			at, key := cairn.Split(path)
			if t.status != core.TaskFinished || key != c.key {
				continue
			}
			for at != scope {
				if _, _, ok := cairn.CutIteration(at); !ok {
					break
				}
				at, _ = cairn.Split(at)
			}
			if at == scope {
				found = append(found, t)
			}
		}
		if c.kind == "all" {
			return (len(found)%2 == 1) == c.odd
		}
		slices.SortFunc(found, func(a, b *modelTask) int { return a.order - b.order })
		return len(found) > 0 && (found[len(found)-1].value%2 == 1) == c.odd
	case "loop":
		l := m.loops[cairn.Join(scope, c.key)]
		return l != nil && l.Done
	case "time":
		return m.now >= c.at
	}
	panic(c.kind)
}

// Where a node stands

func (m *model) settled(n *inst) bool {
	switch {
	case n.untaken:
		return true
	case n.kind == cairn.KindContinueAsNew:
		return false
	case n.kind == cairn.KindTask:
		t := m.tasks[n.path]
		return t != nil && !m.untold[n.path] &&
			(t.status == core.TaskFinished || t.status == core.TaskSkipped || t.status == core.TaskGaveUp && t.tolerated)
	case n.kind == cairn.KindLoop:
		l := m.loops[n.path]
		return l != nil && l.Done
	case n.kind == cairn.KindTry:
		st := m.tries[n.path]
		return st != nil && st.phase == core.PhaseDone && st.pending == ""
	}
	return !slices.ContainsFunc(n.kids, func(k *inst) bool { return !m.settled(k) })
}

func (m *model) begun(n *inst) bool {
	return n.kind == cairn.KindTask && m.tasks[n.path] != nil && !m.tasks[n.path].kept || n.kind == cairn.KindLoop && m.loops[n.path] != nil ||
		n.kind == cairn.KindTry && m.tries[n.path] != nil || m.begunHandoffs[n.path] || slices.ContainsFunc(n.kids, m.begun)
}

func (m *model) holds(n *inst) bool {
	t := m.tasks[n.path]
	return n.kind == cairn.KindTask && t != nil && (t.status == core.TaskRunning || t.status == core.TaskWaiting) || slices.ContainsFunc(n.kids, m.holds)
}

// busy: attempts run in it, or tries that have a Finally are on the way there.
func (m *model) busy(n *inst) bool {
	t := m.tasks[n.path]
	return n.kind == cairn.KindTask && t != nil && t.status == core.TaskRunning || n.kind == cairn.KindTry && n.active && n.t.finally != nil ||
		slices.ContainsFunc(n.kids, m.busy)
}

func phaseOf(st *modelTry) int {
	switch {
	case st == nil || st.phase == core.PhaseBody:
		return 0
	case st.phase == core.PhaseCatch:
		return 1
	}
	return 2
}

// Whose turn it is

func (m *model) activateAll(root *inst) {
	root.visit(func(n *inst) { n.active = false })
	if m.closed {
		m.revive(root)
	} else {
		m.activate(root)
	}
}

func (m *model) activate(n *inst) {
	if n.kind != "part" && m.settled(n) {
		return
	}
	n.active = true
	switch n.kind {
	case "part", cairn.KindSequence, cairn.KindAspects:
		first := true
		for _, k := range n.kids {
			if !m.settled(k) {
				if first || m.begun(k) {
					m.activate(k)
				}
				first = false
			}
		}
	case cairn.KindBranch, cairn.KindScope:
		for _, k := range n.kids {
			m.activate(k)
		}
	case cairn.KindParallel:
		m.open(n)
	case cairn.KindLoop:
		if l := m.loops[n.path]; l == nil || !l.Exhausted {
			m.activate(n.kids[0])
		}
	case cairn.KindTry:
		st := m.tries[n.path]
		switch {
		case st != nil && st.phase == core.PhaseDone:
		case st != nil && st.closing:
			m.revive(n.kids[phaseOf(st)])
		default:
			m.activate(n.kids[phaseOf(st)])
		}
	}
}

// open opens as many children of a parallel as may be in progress: what holds its place, what has begun, the others.
func (m *model) open(n *inst) {
	rank := func(k *inst) int {
		switch {
		case m.holds(k):
			return 0
		case m.begun(k):
			return 1
		}
		return 2
	}
	kids := slices.DeleteFunc(slices.Clone(n.kids), m.settled)
	slices.SortStableFunc(kids, func(a, b *inst) int {
		return cmp.Or(rank(a)-rank(b), b.t.policy.Priority-a.t.policy.Priority)
	})
	for i, k := range kids {
		if n.t.max == 0 || i < n.t.max || rank(k) == 0 {
			m.activate(k)
		}
	}
}

// revive: in a closed part only tries go on that have met a failure or are in their Finally.
func (m *model) revive(n *inst) {
	for _, k := range n.kids {
		if st := m.tries[k.path]; k.kind == cairn.KindTry && st != nil {
			if !m.settled(k) && st.phase != core.PhaseDone {
				m.activate(k)
			}
			continue
		}
		m.revive(k)
	}
}

// visit goes through a tree, what is inside first.
func (n *inst) visit(fn func(n *inst)) {
	for _, k := range n.kids {
		k.visit(fn)
	}
	fn(n)
}

func (n *inst) find(path string) (found *inst) {
	n.visit(func(k *inst) {
		if k.path == path && k.kind == cairn.KindTask {
			found = k
		}
	})
	return found
}

func (n *inst) within(o *inst) bool {
	for ; n != nil; n = n.parent {
		if n == o {
			return true
		}
	}
	return false
}

// free: all that a task comes After is over.
func (m *model) free(n, root *inst) bool {
	var targets []*inst
	for _, key := range n.t.after {
		var target *inst
		for at := n.scope; target == nil; at, _ = cairn.Split(at) {
			root.visit(func(k *inst) {
				if k.path == cairn.Join(at, key) && k.kind != cairn.KindTry && k.kind != cairn.KindAspects {
					target = k
				}
			})
			if at == "" {
				break
			}
		}
		targets = append(targets, target)
	}
	if n.t.fork != "" {
		targets = append(targets, m.forked(n, root))
	}
	for _, target := range targets {
		goesOn := target != nil && m.busy(target)
		over := target == nil // it has finished and is no longer mounted
		for k := target; k != nil; k = k.parent {
			over = over || m.settled(k)
			// in a closed part that the waiting task stands in too only Finally parts go on
			over = over || k.kind == "part" && n.within(k) && m.closedPart(k) && !goesOn
			goesOn = goesOn || k.kind == "part" && k.index == 2 && !m.closedPart(k)
			// of a try that the waiting task stands in too, the parts before its own are over
			if k.kind == "part" && k.parent != nil && k.parent.kind == cairn.KindTry {
				for _, later := range k.parent.kids[k.index+1:] {
					over = over || n.within(later)
				}
			}
		}
		if !over {
			return false
		}
	}
	return true
}

// Failing

func (m *model) closedPart(part *inst) bool {
	if part.parent == nil {
		return m.closed
	}
	st := m.tries[part.parent.path]
	return part.parent.kind == cairn.KindTry && st != nil && (st.closing && phaseOf(st) == part.index || phaseOf(st) > part.index)
}

func (m *model) raise(from *inst, code cairn.Code) {
	for n := from.parent; n != nil; n = n.parent {
		if n.kind != "part" {
			continue
		}
		if m.closedPart(n) {
			return
		}
		if n.parent != nil && n.parent.kind == cairn.KindTry {
			if !n.parent.active {
				return
			}
			m.closeTry(n.parent.path, code)
			m.shut(n, manner(code))
			return
		}
		if n.parent == nil {
			m.failing, m.closed, m.handing = true, true, code == core.HandingOn
			m.shut(n, manner(code))
		}
	}
}

func (m *model) closeTry(path string, code cairn.Code) {
	st := m.tries[path]
	if st == nil {
		st = &modelTry{}
		m.tries[path] = st
	}
	st.closing, st.pending = true, code
}

// draining attempts have not been told to stop.
const draining = "draining"

// manner: what runs beside a breached budget, or a handoff, drains.
func manner(code cairn.Code) string {
	if code == cairn.BudgetExceeded || code == core.HandingOn {
		return draining
	}
	return "shut"
}

func (m *model) shut(part *inst, why string) {
	for _, k := range part.kids {
		switch k.kind {
		case cairn.KindTask:
			m.stop(k.path, why)
			continue
		case cairn.KindTry:
			st := m.tries[k.path]
			if m.settled(k) || !k.active && !m.begun(k) || st != nil && (st.phase == core.PhaseDone || st.phase == core.PhaseFinally) {
				continue
			}
			if k.t.finally != nil || st != nil {
				if st == nil || !st.closing {
					m.closeTry(k.path, cairn.Cancelled)
				}
				m.shut(k.kids[phaseOf(st)], why)
				continue
			}
		}
		m.shut(k, why)
	}
}

// inherit takes over what a run before has handed over.
func (m *model) inherit(started *core.Event) {
	m.first = started.Envelope.Loops
	for _, k := range started.Kept {
		t := &modelTask{status: core.TaskFinished, kept: true}
		fmt.Sscan(string(k.Output), &t.value)
		m.tasks[k.Path] = t
	}
}

// replace: a Finally that fails beside a handoff fails the outermost part that the handoff has closed.
func (m *model) replace(n *inst, code cairn.Code) {
	var outermost *inst
	for p := n.parent; p != nil; p = p.parent {
		if p.kind != "part" {
			continue
		}
		if p.parent == nil && m.closed && m.handing {
			outermost = p
		}
		if p.parent != nil && p.parent.kind == cairn.KindTry {
			if p.index == 2 {
				break
			}
			if st := m.tries[p.parent.path]; m.closedPart(p) && st.pending == core.HandingOn {
				outermost = p
			}
		}
	}
	switch {
	case outermost == nil:
		return
	case outermost.parent == nil:
		m.handing = false
	default:
		m.closeTry(outermost.parent.path, code)
	}
	m.shut(outermost, manner(code))
}

func (m *model) stop(path, why string) {
	switch t := m.tasks[path]; {
	case t == nil:
	case t.status == core.TaskRunning && (t.stopping == "" || t.stopping == draining && why != draining):
		t.stopping = why
	case t.status == core.TaskWaiting:
		t.reset()
	}
}

func (t *modelTask) reset() {
	*t = modelTask{status: core.TaskCancelled, attempt: t.attempt}
}

// nothingClosed: a Catch is for what is on its way inside of nothing that is closed, up to a Finally.
func (m *model) nothingClosed(n *inst) bool {
	for n = n.parent; n != nil; n = n.parent {
		if n.kind == "part" && m.closedPart(n) {
			return false
		}
		if n.kind == "part" && n.parent != nil && n.parent.kind == cairn.KindTry && n.index == 2 {
			return true
		}
	}
	return true
}

// Stepping

func (m *model) forced() bool { return m.cancelling && m.now >= m.deadline }

// step takes events as the machine does: all are applied, then each has its consequences in the plan there was.
func (m *model) step(now int64, events []core.Event) {
	if m.status.Terminal() {
		return
	}
	plan := m.render()
	m.now = max(m.now, now)
	var ended []string
	for _, e := range events {
		t := m.tasks[e.Path]
		running := t != nil && t.status == core.TaskRunning
		switch e.Kind {
		case core.TaskDone, core.TaskFailed, core.TaskLost:
			if running && t.attempt == e.Attempt {
				m.end(e, t)
				ended = append(ended, e.Path)
			}
		case core.HandedOver:
			if m.asked && m.status == core.Running {
				m.ready = true
			}
		case core.HandoffRefused:
			if m.asked && m.status == core.Running {
				m.handing, m.asked, m.ready = false, false, false
			}
		case core.RunResumed:
			m.asked, m.ready = false, false
			for _, path := range slices.Sorted(maps.Keys(m.tasks)) {
				if t := m.tasks[path]; t.status == core.TaskRunning {
					m.end(core.Event{Kind: core.TaskLost}, t)
					ended = append(ended, path)
				}
			}
		case core.TimerFired:
			if t != nil && t.pausing && m.timers[e.Path] <= m.now {
				t.pausing = false
			}
		case core.CancelAsked:
			if !m.cancelling {
				m.cancelling, m.deadline = true, m.now+10_000
			}
			m.status, m.asked, m.ready = core.Running, false, false
		case core.PauseAsked:
			if !m.cancelling && m.status != core.Paused {
				m.asked, m.ready = false, false
				m.status = core.Paused
			}
		case core.Unpaused:
			m.status = core.Running
		}
	}
	for _, path := range ended {
		m.untold[path] = true
	}
	for _, path := range ended {
		t := m.tasks[path]
		failed := t.failed
		t.failed = false
		switch {
		case t.status != core.TaskWaiting || t.refused != nil:
		case failed && t.failures < t.max:
			t.pausing = true
		case failed:
			t.status, t.tolerated = core.TaskGaveUp, t.optional
		case t.losses >= 5:
			t.status, t.code, t.tolerated = core.TaskGaveUp, cairn.WorkerLost, t.optional
		}
	}
	for _, path := range ended {
		delete(m.untold, path)
		m.activateAll(plan)
		if t, n := m.tasks[path], plan.find(path); n != nil && t.status == core.TaskGaveUp && !t.tolerated {
			m.raise(n, t.code)
		}
	}
	m.activateAll(plan)
	if m.cancelling && !m.closed {
		m.closed = true
		m.shut(plan, "shut")
	}
	for path, t := range m.tasks {
		if m.cancelling && t.status == core.TaskRunning && t.stopping == draining {
			m.stop(path, "shut")
		}
	}
	if m.forced() {
		for path := range m.tasks {
			if m.tasks[path].status == core.TaskRunning {
				m.stop(path, "forced")
			}
		}
	}
	m.fixpoint()
	m.overdrawn(ended)
	for m.admit() {
		m.fixpoint()
	}
	m.finish()
}

func (m *model) end(e core.Event, t *modelTask) {
	used := int64(0)
	for _, u := range e.Usage {
		used += u.Output
	}
	t.spent += used
	for _, address := range t.on {
		m.books[address].spent += used
		m.books[address].running--
	}
	switch {
	case e.Kind == core.TaskDone && t.stopping != "unmounted":
		m.order++
		t.status, t.stopping, t.order = core.TaskFinished, "", m.order
		fmt.Sscan(string(e.Output), &t.value)
	case t.stopping != "":
		t.reset()
	case e.Kind == core.TaskLost:
		t.status = core.TaskWaiting
		if !e.Graceful {
			t.losses++
		}
	case e.Refused != nil:
		t.status, t.refused = core.TaskWaiting, e.Refused
	default:
		t.status, t.failed, t.code = core.TaskWaiting, true, e.Failure.Code
		t.failures++
		if e.Failure.Permanent {
			t.failures = 1000
		}
	}
}

func (m *model) fixpoint() {
	for range 1000 {
		plan := m.render()
		// what is no longer mounted
		for path := range m.tasks {
			if n := plan.find(path); n == nil || n.untaken {
				m.stop(path, "unmounted")
			}
		}
		m.activateAll(plan)
		moved := m.raiseOld(plan)
		m.activateAll(plan)
		var due []*inst
		plan.visit(func(n *inst) {
			if n.kind == cairn.KindLoop || n.kind == cairn.KindTry {
				due = append(due, n)
			}
		})
		due = slices.DeleteFunc(due, func(n *inst) bool { return !m.due(n) })
		for _, n := range due {
			m.activateAll(plan)
			if m.due(n) {
				m.advance(n)
				moved = true
			}
		}
		if !moved {
			return
		}
	}
	panic("the model comes to no rest")
}

// raiseOld: a node that has failed before it came here fails what is around it now.
func (m *model) raiseOld(plan *inst) (moved bool) {
	var first func(n *inst) bool
	first = func(n *inst) bool {
		t, l, st := m.tasks[n.path], m.loops[n.path], m.tries[n.path]
		switch {
		case !n.active || m.settled(n):
		case n.kind == cairn.KindContinueAsNew:
			m.begunHandoffs[n.path] = true
			m.raise(n, core.HandingOn)
			return true
		case n.kind == cairn.KindTask && t != nil && t.status == core.TaskGaveUp && m.free(n, plan):
			m.raise(n, t.code)
			return true
		case n.kind == cairn.KindLoop && l != nil && l.Exhausted:
			m.raise(n, cairn.LoopExhausted)
			return true
		case n.kind == cairn.KindTry && st != nil && st.phase == core.PhaseDone:
			m.raise(n, st.pending)
			return true
		}
		return slices.ContainsFunc(n.kids, first)
	}
	for first(plan) {
		moved = true
		m.activateAll(plan)
	}
	return moved
}

func (m *model) due(n *inst) bool {
	if !n.active || m.settled(n) {
		return false
	}
	if n.kind == cairn.KindLoop {
		l := m.loops[n.path]
		return m.settled(n.kids[0]) && (l == nil || !l.Exhausted)
	}
	st := m.tries[n.path]
	if st != nil && st.phase == core.PhaseDone {
		return false
	}
	part := n.kids[phaseOf(st)]
	if st != nil && st.closing {
		return !m.busy(part)
	}
	return m.settled(part)
}

func (m *model) advance(n *inst) {
	if n.kind == cairn.KindLoop {
		l := m.loops[n.path]
		if l == nil {
			l = &core.Loop{Iteration: m.first[n.path]}
			m.loops[n.path] = l
		}
		switch {
		case n.t.until != nil && m.ask(n.t.until, cairn.Iteration(n.path, l.Iteration)):
			l.Done = true
		case l.Iteration+1 < n.t.max && m.skipsRest(n):
			l.Exhausted, l.Done = true, true
		case l.Iteration+1 < n.t.max && n.t.every > 0 && l.Iteration+1-m.first[n.path] >= n.t.every:
			m.raise(n, core.HandingOn)
		case l.Iteration+1 < n.t.max:
			l.Iteration++
		default:
			l.Exhausted = true
			if l.Done = n.t.onMax == cairn.ReturnLast; !l.Done {
				m.raise(n, cairn.LoopExhausted)
			}
		}
		return
	}
	st := m.tries[n.path]
	if st == nil {
		st = &modelTry{}
		m.tries[n.path] = st
	}
	broken := st.phase == core.PhaseFinally && st.closing
	switch {
	case st.phase == core.PhaseBody && st.closing && n.t.catch != nil && st.pending != core.HandingOn && n.t.only.Has(st.pending) && m.nothingClosed(n):
		*st = modelTry{phase: core.PhaseCatch, caught: true}
	case st.phase != core.PhaseFinally && n.t.finally != nil:
		st.phase, st.closing = core.PhaseFinally, false
	default:
		st.phase, st.closing = core.PhaseDone, false
		switch {
		case st.pending == "":
		case m.nothingClosed(n):
			m.raise(n, st.pending)
		case broken:
			m.replace(n, st.pending)
		}
	}
}

// admit starts what may start, and says whether a task was skipped instead.
func (m *model) admit() bool {
	plan := m.render()
	if m.status != core.Running || m.forced() {
		return false
	}
	var ready []*inst
	plan.visit(func(n *inst) {
		t := m.tasks[n.path]
		if n.kind == cairn.KindTask && n.active && !m.settled(n) && m.free(n, plan) &&
			(t == nil || t.status == core.TaskCancelled || t.status == core.TaskWaiting && !t.pausing) {
			ready = append(ready, n)
		}
	})
	slices.SortStableFunc(ready, func(a, b *inst) int { return b.t.policy.Priority - a.t.policy.Priority })
	for _, n := range ready {
		if m.limit > 0 && m.running() >= m.limit {
			return false
		}
		t := m.tasks[n.path]
		if m.full(n) {
			continue
		}
		if t == nil {
			t = &modelTask{}
		}
		m.tasks[n.path] = t
		if t.status != core.TaskWaiting && n.t.skip != nil && m.ask(n.t.skip, n.scope) {
			t.status = core.TaskSkipped
			return true
		}
		if m.refuses(n, t) {
			if t.status == "" {
				delete(m.tasks, n.path)
			}
			return true
		}
		t.refused, t.on = nil, nil
		for p := n.parent; p != nil; p = p.parent {
			if p.kind == cairn.KindAspects {
				t.on = append(t.on, p.path)
				m.book(p).running++
			}
		}
		t.attempt++
		t.status, t.optional, t.max = core.TaskRunning, n.t.policy.Optional, cmp.Or(n.t.policy.Retry.Max, 3)
	}
	return false
}

// Budgets

func (m *model) book(n *inst) *book {
	if m.books[n.path] == nil {
		m.books[n.path] = &book{}
	}
	return m.books[n.path]
}

// governing are the budgets around a node up to the Finally it stands in, the outermost first.
func governing(n *inst) (around []*inst) {
	for p := n.parent; p != nil; p = p.parent {
		if p.kind == "part" && p.parent != nil && p.parent.kind == cairn.KindTry && p.index == 2 {
			break
		}
		if p.kind == cairn.KindAspects {
			around = append(around, p)
		}
	}
	slices.Reverse(around)
	return around
}

// refuses: a limit that is reached skips the task, or fails it or its budget.
func (m *model) refuses(n *inst, t *modelTask) bool {
	for _, a := range governing(n) {
		b, r := a.t.budget, t.refused
		if b.OnExceeded == cairn.WarnExceeded {
			continue
		}
		told := func(perTask bool) bool { return r != nil && r.Budget == a.path && r.PerTask == perTask }
		whole := b.Max > 0 && (m.book(a).spent >= b.Max || told(false))
		each := b.PerTask > 0 && t.status == core.TaskWaiting && (t.spent >= b.PerTask || told(true))
		switch {
		case !whole && !each:
			continue
		case b.OnExceeded == cairn.SkipExceeded:
			t.status, t.pausing = core.TaskSkipped, false
		case whole:
			m.raise(a, cairn.BudgetExceeded)
		default:
			t.status, t.pausing, t.code, t.tolerated = core.TaskGaveUp, false, cairn.BudgetExceeded, n.t.policy.Optional
			if !t.tolerated {
				m.raise(n, t.code)
			}
		}
		return true
	}
	return false
}

// overdrawn: a task that has used what each may does not wait for its pause to end.
func (m *model) overdrawn(ended []string) {
	moved := false
	for _, path := range ended {
		plan := m.render()
		t, n := m.tasks[path], plan.find(path)
		if t.status != core.TaskWaiting {
			continue
		}
		over := false
		for p := n; p != nil; p = p.parent {
			if p.kind == cairn.KindAspects && slices.Contains(t.on, p.path) && p.t.budget.OnExceeded != cairn.WarnExceeded && p.t.budget.PerTask > 0 {
				over = over || t.spent >= p.t.budget.PerTask || t.refused != nil && t.refused.PerTask && t.refused.Budget == p.path
			}
		}
		if over && n.active {
			moved = m.refuses(n, t) || moved
		}
	}
	if moved {
		m.fixpoint()
	}
}

// full: beside others only what fits with its reserve may start.
func (m *model) full(n *inst) bool {
	for _, a := range governing(n) {
		b, book := a.t.budget, m.book(a)
		if b.OnExceeded != cairn.WarnExceeded && b.Max > 0 && b.Reserve > 0 && book.running > 0 && book.spent < b.Max &&
			book.spent+int64(book.running+1)*b.Reserve > b.Max {
			return true
		}
	}
	return false
}

func (m *model) skipsRest(n *inst) bool {
	return slices.ContainsFunc(governing(n), func(a *inst) bool {
		b := a.t.budget
		return b.OnExceeded == cairn.SkipExceeded && b.Max > 0 && m.book(a).spent >= b.Max
	})
}

func (m *model) running() (n int) {
	for _, t := range m.tasks {
		if t.status == core.TaskRunning {
			n++
		}
	}
	return n
}

func (m *model) finish() {
	plan := m.render()
	switch {
	case m.running() > 0 || m.busy(plan) && !m.forced():
	case m.closed && m.handing && !m.cancelling:
		if m.status == core.Running {
			if m.asked && m.ready {
				m.status = core.Continued
			}
			m.asked = true
		}
	case m.closed && m.failing && !m.handing:
		m.status = core.Failed
	case m.closed:
		m.status = core.CancelledRun
	case m.settled(plan):
		m.status = core.Finished
	}
}

// String lists what the model and the machine must agree on.
func (m *model) String() string {
	var lines []string
	for path, t := range m.tasks {
		lines = append(lines, fmt.Sprintf("%s %s stopping=%t pausing=%t", path, t.status, t.stopping != "", t.pausing))
	}
	for path, l := range m.loops {
		lines = append(lines, fmt.Sprintf("%s %+v", path, *l))
	}
	for path, b := range m.books {
		if b.spent > 0 || b.running > 0 {
			lines = append(lines, fmt.Sprintf("%s spent %d running %d", path, b.spent, b.running))
		}
	}
	for path, st := range m.tries {
		lines = append(lines, fmt.Sprintf("%s %s closing=%t caught=%t pending=%s", path, st.phase, st.closing, st.caught, st.pending))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%s\n%s", m.status, strings.Join(lines, "\n"))
}

// asModel lists the same of a machine's state.
func asModel(s *core.State) string {
	var lines []string
	for path, t := range s.Tasks {
		lines = append(lines, fmt.Sprintf("%s %s stopping=%t pausing=%t", path, t.Status, t.Stopping != "", t.Status == core.TaskWaiting && t.At > 0))
	}
	for path, l := range s.Loops {
		lines = append(lines, fmt.Sprintf("%s %+v", path, *l))
	}
	for path, l := range s.Ledgers {
		if l.Spent.Tokens > 0 || l.Running > 0 {
			lines = append(lines, fmt.Sprintf("%s spent %d running %d", path, l.Spent.Tokens, l.Running))
		}
	}
	for path, st := range s.Tries {
		var pending cairn.Code
		if st.Pending != nil {
			pending = st.Pending.Code
		}
		lines = append(lines, fmt.Sprintf("%s %s closing=%t caught=%t pending=%s", path, st.Phase, st.Closing, st.Caught != nil, pending))
	}
	slices.Sort(lines)
	return fmt.Sprintf("%s\n%s", s.Status, strings.Join(lines, "\n"))
}

// forked is what a task waits for that forks another: the task itself, or the outermost loop that it is in, if the one that
// waits is not in there too.
func (m *model) forked(n, root *inst) (target *inst) {
	for at := n.scope; ; at, _ = cairn.Split(at) {
		root.visit(func(k *inst) {
			if k.kind == cairn.KindTask && k.path == cairn.Join(at, n.t.fork) {
				target = k
			}
		})
		root.visit(func(k *inst) {
			if target == nil && k.kind == cairn.KindTask && k.t.id == n.t.fork && k.scope != at {
				for up := k.parent; up != nil && up.kind != cairn.KindScope; up = up.parent {
					if up.kind == cairn.KindLoop && up.scope == at && !n.within(up) {
						target = up
					}
				}
			}
		})
		if target != nil || at == "" {
			return target
		}
	}
}
