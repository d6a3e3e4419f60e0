package core_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestBudgetMatrix drives {Fail, Warn, SkipRemaining} × {Tokens, Cost, Latency} × {Max, PerTask} × {nested, parallel, loop,
// Try} × {straight, killed} and compares with a ledger in plain Go: which attempts are made, how the run ends, what is skipped.
func TestBudgetMatrix(t *testing.T) {
	for _, mode := range modes {
		for _, measure := range cairn.Measures {
			for _, each := range []bool{false, true} {
				for _, shape := range []string{"nested", "parallel", "loop", "try"} {
					for _, killed := range []bool{false, true} {
						c := matrixCase{mode, measure, each, shape, killed}
						t.Run(c.String(), func(t *testing.T) { c.check(t) })
					}
				}
			}
		}
	}
}

type matrixCase struct {
	mode    cairn.OnExceeded
	measure cairn.Measure
	each    bool // the limit is on each task
	shape   string
	killed  bool
}

const (
	matrixTasks = 6
	matrixLimit = 250
	matrixUse   = 100 // what an attempt uses of each measure
	matrixTries = 4   // which attempt of a task succeeds, where the limit is on each
)

func (c matrixCase) String() string {
	return fmt.Sprintf("%s%s each=%t %s killed=%t", c.mode, c.measure, c.each, c.shape, c.killed)
}

// tree is the workflow, paths its tasks in order.
func (c matrixCase) tree() (root cairn.Node, paths []string) {
	tight := limited{}
	b := cairn.Budget{Max: matrixLimit, OnExceeded: c.mode}
	if c.each {
		b = cairn.Budget{PerTask: matrixLimit, OnExceeded: c.mode}
	}
	switch c.measure {
	case cairn.Tokens:
		tight.Tokens = b
	case cairn.Cost:
		tight.Cost = b
	default:
		tight.Latency = b
	}
	var tasks cairn.Nodes
	for i := range matrixTasks {
		paths = append(paths, fmt.Sprintf("t%d", i))
		tasks = append(tasks, retry(9, T(paths[i])))
	}
	switch c.shape {
	case "nested":
		tight.children = cairn.Nodes{named("looser", tokens(1_000_000, tasks...))}
	case "parallel":
		tight.children = cairn.Nodes{cairn.Parallel{Max: 2, Children: tasks}}
	case "loop":
		tight.children = cairn.Nodes{cairn.Loop{ID: "l", Max: matrixTasks, OnMax: cairn.ReturnLast, Body: mount(tasks[0])}}
		for i := range paths {
			paths[i] = fmt.Sprintf("l[%d]/t0", i)
		}
	case "try":
		tight.children = tasks
		return cairn.Try{Only: cairn.Codes{cairn.BudgetExceeded}, Body: tight, Catch: catch("catch")}, paths
	}
	return tight, paths
}

func (c matrixCase) check(t *testing.T) {
	root, paths := c.tree()
	s := run(t, mount(root, T("out")))
	m := &matrixModel{matrixCase: c, now: epoch, last: epoch, slots: 1}
	if c.shape == "parallel" {
		m.slots = 2
	}
	for _, path := range paths {
		m.tasks = append(m.tasks, &matrixTask{path: path})
	}
	m.admit()
	for turn := 0; !s.m.State().Status.Terminal() && turn < 200; turn++ {
		if got, want := s.paths(), m.runs(); !slices.Equal(got, want) {
			t.Fatalf("turn %d: %v run, want %v\nlast frame: %s", turn, got, want, s.last.Body)
		}
		if c.killed && turn == 2 {
			s.resume(s.def)
			m.kill()
			continue
		}
		if len(s.running) == 0 { // the pause before another attempt
			path := m.pausing()
			s.fire(path)
			m.wake(s.now.UnixMilli())
			continue
		}
		// The path that runs and comes first ends, after a while.
		path := m.runs()[0]
		s.now = s.now.Add(matrixUse * time.Millisecond)
		usage := []cairn.Usage{{Model: "m", Output: matrixUse, Cost: matrixUse}}
		ev := core.Event{}
		if done := m.end(path, s.now.UnixMilli()); done {
			ev = s.doneEvent(path, 1)
		} else {
			ev = s.failEvent(path, "BROKEN")
		}
		ev.Usage = usage
		s.step(ev)
		m.admit()
	}
	if c.shape == "try" && m.broken {
		m.broken = false
	}
	want := core.Finished
	if m.broken {
		want = core.Failed
	}
	s.status(want)
	var skipped []string
	for _, task := range m.tasks {
		st := s.m.State().Tasks[task.path]
		if st != nil && st.Status == core.TaskSkipped {
			skipped = append(skipped, task.path)
		}
		if got := s.starts[task.path]; got != task.starts {
			t.Errorf("%s was started %d times, want %d", task.path, got, task.starts)
		}
	}
	if !slices.Equal(skipped, m.skipped) {
		t.Errorf("skipped %v, want %v", skipped, m.skipped)
	}
	if l := s.m.State().Ledgers["#aspects"]; l.Spent.Of(c.measure) != m.total {
		t.Errorf("the ledger has %d, want %d", l.Spent.Of(c.measure), m.total)
	}
	if told := len(s.breaches()); (told > 0) != m.told {
		t.Errorf("told %d times, want some: %t", told, m.told)
	}
}

// matrixModel is the ledger in plain Go, with just as much of a scheduler as the matrix needs.
type matrixModel struct {
	matrixCase
	tasks   []*matrixTask
	slots   int
	now     int64
	last    int64 // the time of the last frame
	total   int64
	since   int64 // when something began to run, for latency
	broken  bool  // nothing more starts in the budget
	told    bool
	skipped []string
	after   string // what runs once the budget is over
}

type matrixTask struct {
	path          string
	starts, fails int
	spent, since  int64
	state         string // "", running, paused, over
}

func (m *matrixModel) running() (n int) {
	for _, t := range m.tasks {
		if t.state == "running" {
			n++
		}
	}
	return n
}

// runs lists what runs, sorted.
func (m *matrixModel) runs() []string {
	out := []string{}
	for _, t := range m.tasks {
		if t.state == "running" {
			out = append(out, t.path)
		}
	}
	if len(out) == 0 && m.after != "" {
		out = append(out, m.after)
	}
	return out
}

func (m *matrixModel) pausing() string {
	for _, t := range m.tasks {
		if t.state == "paused" {
			return t.path
		}
	}
	return "nothing"
}

// spend books the end of an attempt. Of a killed one only the time counts that a frame knows of.
func (m *matrixModel) spend(t *matrixTask, at int64, used int64) {
	t.state = ""
	if m.measure != cairn.Latency {
		t.spent += used
		m.total += used
		return
	}
	t.spent += at - t.since
	if m.running() == 0 {
		m.total += at - m.since
	}
}

// spentNow is the budget's total, with what is under way.
func (m *matrixModel) spentNow() int64 {
	if m.measure == cairn.Latency && m.running() > 0 {
		return m.total + m.now - m.since
	}
	return m.total
}

// end ends the attempt on a path, and says whether with success.
func (m *matrixModel) end(path string, now int64) (done bool) {
	m.now, m.last = now, now
	for _, t := range m.tasks {
		if t.path != path || t.state != "running" {
			continue
		}
		m.spend(t, now, matrixUse)
		if !m.each && m.spentNow() >= matrixLimit {
			m.told = true
		}
		if !m.each || t.fails == matrixTries-1 {
			t.state = "over"
			return true
		}
		t.fails++
		t.state = "paused"
		switch {
		case m.broken:
			t.state = "over"
		case t.spent >= matrixLimit:
			m.told = true
			if m.mode == cairn.FailExceeded {
				t.state, m.broken = "over", true
			} else if m.mode == cairn.SkipExceeded {
				t.state, m.skipped = "over", append(m.skipped, t.path)
			}
		}
		return false
	}
	m.after = map[string]string{"catch": "out", "out": ""}[m.after]
	return true
}

func (m *matrixModel) wake(now int64) {
	m.now, m.last = now, now
	for _, t := range m.tasks {
		if t.state == "paused" {
			t.state = "ready"
			break
		}
	}
	m.admit()
}

func (m *matrixModel) kill() {
	for _, t := range m.tasks {
		if t.state == "running" {
			m.spend(t, m.last, 0)
			t.state = "ready"
		}
	}
	m.admit()
}

// admit starts what may start, in order.
func (m *matrixModel) admit() {
	over := true
	places := m.slots
	for _, t := range m.tasks {
		if t.state == "running" || t.state == "paused" {
			places--
		}
	}
	for _, t := range m.tasks {
		if m.broken && t.state == "paused" {
			t.state = "over"
		}
		if (t.state == "" || t.state == "ready") && places > 0 && !m.broken {
			switch refused := !m.each && m.spentNow() >= matrixLimit; {
			case refused && m.mode == cairn.FailExceeded:
				m.broken = true
			case refused && m.mode == cairn.SkipExceeded:
				if t.state = "over"; m.shape != "loop" { // a loop begins no further iteration
					m.skipped = append(m.skipped, t.path)
				}
			default:
				if m.running() == 0 {
					m.since = m.now
				}
				t.state, t.since = "running", m.now
				t.starts++
				places--
			}
		}
		over = over && t.state == "over"
	}
	if (over || m.broken && m.running() == 0) && m.after == "" {
		switch {
		case !m.broken:
			m.after = "out"
		case m.shape == "try":
			m.after = "catch"
		}
	}
}

// TestOvershootIsBounded: whatever the order in which attempts end, a budget is overdrawn by less than one attempt's use for
// each attempt at once; with a reserve of as much as an attempt uses, by less than one.
func TestOvershootIsBounded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most := rapid.Int64Range(1, 60).Draw(rt, "use")
		limit := rapid.Int64Range(most, 400).Draw(rt, "max")
		slots := rapid.IntRange(1, 8).Draw(rt, "at once")
		reserve := rapid.Bool().Draw(rt, "reserve")
		inner := rapid.Bool().Draw(rt, "nested")
		var tasks cairn.Nodes
		for i := range 40 {
			tasks = append(tasks, retry(3, T(fmt.Sprintf("t%02d", i))))
		}
		l := tokens(limit, cairn.Parallel{Children: tasks})
		if inner {
			l = tokens(limit, cairn.Parallel{Children: cairn.Nodes{
				named("left", tokens(limit, cairn.Parallel{Children: tasks[:20]})), named("right", tokens(limit/2+1, cairn.Parallel{Children: tasks[20:]}))}})
		}
		if reserve {
			l.Tokens.Reserve = most
		}
		first := begin
		first.Limit = slots
		s := startWith(t, flow(mount(l, T("out"))), first)
		for !s.m.State().Status.Terminal() {
			switch {
			case len(s.running) > 0:
				i := rapid.IntRange(0, len(s.running)-1).Draw(rt, "which")
				path := s.running[i].Path
				ev := s.doneEvent(path, 1)
				if rapid.IntRange(0, 4).Draw(rt, "fails") == 0 {
					ev = core.Event{Kind: core.TaskFailed, Path: path, Attempt: ev.Attempt, Failure: &cairn.Failure{Code: "A"}}
				}
				if path != "out" {
					ev.Usage = []cairn.Usage{{Model: "m", Output: rapid.Int64Range(0, most).Draw(rt, "used")}}
				}
				s.step(ev)
			case len(s.timers) > 0:
				for path := range s.timers {
					s.fire(path)
					break
				}
			default:
				rt.Fatalf("nothing runs, and the run is %s", s.m.State().Status)
			}
			bound := limit - 1 + int64(slots)*most
			if reserve {
				bound = limit - 1 + most
			}
			if spent := s.m.State().Ledgers["#aspects"].Spent.Tokens; spent > bound {
				rt.Fatalf("%d are spent of %d, by attempts of %d, %d at once, reserve %t: more than %d", spent, limit, most, slots, reserve, bound)
			}
		}
	})
}
