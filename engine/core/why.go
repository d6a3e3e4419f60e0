package core

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
)

// Why says in a sentence or two why the node at a path stands where it does: running, ended, or not started yet and
// waiting for what. The plan has to be known: after folding, Verify makes it.
func (m *Machine) Why(path string) string {
	if t := m.state.Tasks[path]; t != nil {
		if text, told := m.whyTask(path, t); told {
			return text
		}
	}
	var n *node
	if m.memo != nil {
		n = m.memo.nodes[path]
	}
	text, over := m.whyComposite(n)
	if over {
		return text
	}
	if held := m.whyRun(path); held != "" {
		return held
	}
	switch {
	case m.memo == nil:
		return fmt.Sprintf("%s has not started, and today's code does not render the plan that would say why.", path)
	case n == nil:
		return m.whyMissing(path)
	case text != "":
		return text
	}
	return m.whyWaits(n)
}

// whyComposite tells of a loop, a try or a scope: what has ended, for good, or what is going on in it.
func (m *Machine) whyComposite(n *node) (text string, over bool) {
	switch {
	case n == nil || n.untaken:
	case n.kind == cairn.KindLoop:
		return m.whyLoop(n)
	case n.kind == cairn.KindTry:
		return m.whyTry(n)
	case n.kind == cairn.KindContinueAsNew && m.state.Handoffs[n.path] != nil:
		return m.whyHandoff(n), true
	case n.kind == cairn.KindAspects:
		return m.whyBudget(n), true
	case n.kind == cairn.KindScope && n.settled:
		return fmt.Sprintf("All in scope %s has ended.", n.path), true
	}
	return "", false
}

// whyTask tells of a task that has started or ended, as far as that says it all.
func (m *Machine) whyTask(path string, t *Task) (text string, told bool) {
	switch t.Status {
	case TaskRunning:
		text = fmt.Sprintf("%s is running, attempt %d.", path, t.Attempt)
		if t.Stopping != "" {
			text = fmt.Sprintf("%s is running, attempt %d, and was told to stop: %s. It ends when its body notices.", path, t.Attempt, t.Stopping)
		}
		return text, true
	case TaskFinished:
		if t.Kept {
			return fmt.Sprintf("%s has finished: its value was kept from the run before, %s.", path, m.state.Envelope.Parent), true
		}
		return fmt.Sprintf("%s has finished: its value is that of attempt %d, committed in frame %d.", path, t.Attempt, t.Frame), true
	case TaskGaveUp:
		text = fmt.Sprintf("%s has failed for good in frame %d, with attempt %d: %s.", path, t.Frame, t.Attempt, cause(t.Failure))
		if t.Tolerated {
			text += " It is optional, so nothing around it fails."
		}
		return text, true
	case TaskSkipped:
		if t.Reason != BySkipIf {
			return fmt.Sprintf("%s was skipped in frame %d: %s.", path, t.Frame, t.Reason), true
		}
		return fmt.Sprintf("%s was skipped in frame %d: its %s said so.", path, t.Frame, t.Reason), true
	case TaskCancelled:
		text = fmt.Sprintf("%s was cancelled during attempt %d.", path, t.Attempt)
		if m.state.Status.Terminal() || m.memo != nil && m.memo.nodes[path] == nil {
			return text, true
		}
	case TaskWaiting:
		if t.At > m.state.Time && m.state.Status == Running && !m.shutAround(path) {
			return fmt.Sprintf("%s waits until %s for attempt %d, because attempt %d failed: %s.",
				path, moment(t.At), t.Attempt+1, t.Attempt, cause(t.Failure)), true
		}
	}
	return "", false
}

// shutAround says that something around a path is closed or over: a pause that ends there leads to nothing.
func (m *Machine) shutAround(path string) bool {
	if m.memo == nil {
		return false
	}
	for n := m.memo.nodes[path]; n != nil; n = n.parent {
		if n.closed || m.isOver(n) {
			return true
		}
	}
	return false
}

// isOver says that a node is a part of a try that has gone on to another one.
func (m *Machine) isOver(part *node) bool {
	try := part.parent
	return try != nil && try.kind == cairn.KindTry && part.index < phasePart(m.state.Tries[try.path])
}

// whyRun tells what holds up everything.
func (m *Machine) whyRun(path string) string {
	s := m.state
	switch {
	case s.Status == Blocked:
		return fmt.Sprintf("%s does not go on because the run is blocked: %s.", path, cause(s.Block))
	case s.Status == Paused:
		return fmt.Sprintf("%s does not go on because the run is paused: it goes on when the run is resumed.", path)
	case s.Status == Finished:
		return ""
	case s.Status.Terminal():
		if m.memo != nil && m.memo.nodes[path] == nil {
			return ""
		}
		if s.Status == Continued && s.Successor != nil {
			return fmt.Sprintf("%s did not get its turn: %s goes on in this run's place.", path, s.Successor.ID)
		}
		return fmt.Sprintf("%s did not get its turn: the run is %s%s.", path, s.Status, because(s.Failure))
	}
	return ""
}

func because(f *cairn.Failure) string {
	if f == nil {
		return ""
	}
	return ", because of " + cause(f)
}

// cause is a failure in one line, without its last full stop.
func cause(f *cairn.Failure) string {
	if f == nil {
		return "for no stated reason"
	}
	plain := *f
	if plain.Message == string(f.Code) {
		plain.Message = ""
	}
	text, _, more := strings.Cut(strings.TrimSpace(plain.Error()), "\n")
	if more {
		text += " …"
	}
	return strings.TrimSuffix(text, ".")
}

func moment(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05.000 UTC") }

// whyMissing tells of a path that the plan does not have.
func (m *Machine) whyMissing(path string) string {
	for scope := path; scope != ""; scope, _ = cairn.Split(scope) {
		loop, i, ok := cairn.CutIteration(scope)
		if !ok || m.memo.nodes[loop] == nil {
			continue
		}
		at := m.state.iteration(loop)
		if i != at {
			return fmt.Sprintf("%s is not mounted: loop %s is in iteration %d.", path, loop, at)
		}
		if scope == path {
			return m.Why(loop)
		}
	}
	text := fmt.Sprintf("Nothing is mounted at %s, as of frame %d.", path, m.state.Frame)
	if near := Near(path, slices.Collect(maps.Keys(m.memo.nodes))); len(near) > 0 {
		text += " Did you mean " + strings.Join(near, " or ") + "?"
	}
	return text
}

// Near are those of some paths that may have been meant by one that is none of them, up to three: of the same name, else
// spelt much alike.
func Near(path string, of []string) (paths []string) {
	const most = 3
	_, name := placeOf(path)
	best := len(path)/3 + 1
	for _, p := range slices.SortedFunc(slices.Values(of), comparePaths) {
		_, other := placeOf(p)
		d := distance(path, p)
		switch {
		case other == name:
			d = 0
		case d > best:
			continue
		}
		if d < best {
			best, paths = d, nil
		}
		if d == best && len(paths) < most {
			paths = append(paths, p)
		}
	}
	return paths
}

// distance is how many letters have to change to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1], corner = min(row[j+1]+1, row[j]+1, corner+cost), row[j+1]
		}
	}
	return row[len(b)]
}

// whyHandoff tells of a continue-as-new that has decided to hand over.
func (m *Machine) whyHandoff(n *node) string {
	s := m.state
	switch {
	case s.Status == Continued && s.Successor != nil:
		return fmt.Sprintf("%s has handed over to %s.", n.path, s.Successor.ID)
	case s.Status.Terminal():
		return fmt.Sprintf("%s was to hand over, and the run is %s%s.", n.path, s.Status, because(s.Failure))
	case s.Successor != nil:
		return fmt.Sprintf("%s hands over to %s, which is being made.", n.path, s.Successor.ID)
	}
	return fmt.Sprintf("%s hands over once all that runs has ended, and every Finally around it is done.", n.path)
}

func (m *Machine) whyLoop(n *node) (text string, over bool) {
	l := m.state.Loops[n.path]
	switch {
	case l != nil && l.Exhausted && l.Done:
		return fmt.Sprintf("Loop %s has ended at its Max, after %d iterations, with the last one's results.", n.path, l.Iteration+1), true
	case l != nil && l.Exhausted:
		return fmt.Sprintf("Loop %s has failed: after %d iterations, its Max, Until has not been true.", n.path, l.Iteration+1), true
	case l != nil && l.Done:
		return fmt.Sprintf("Loop %s has ended: Until was true for iteration %d.", n.path, l.Iteration), true
	case !n.active:
		return "", false
	}
	i := m.state.iteration(n.path)
	return fmt.Sprintf("Loop %s is in iteration %d, which waits for %s.", n.path, i, m.unfinished(n)), false
}

// whyBudget tells of what a budget has left, and what a limit that is reached does.
func (m *Machine) whyBudget(n *node) string {
	var out []string
	spent := m.spent(n)
	for _, measure := range cairn.Measures {
		b := n.aspects.Of(measure)
		if b.Max <= 0 {
			continue
		}
		text := fmt.Sprintf("%s %s spent of %s", measure, measure.Format(spent.Of(measure)), measure.Format(b.Max))
		if spent.Of(measure) >= b.Max {
			text += fmt.Sprintf(", which is reached (%s)", ModeName(b.OnExceeded))
		}
		out = append(out, text)
	}
	if len(out) == 0 {
		out = append(out, limitsText(n.aspects))
	}
	return fmt.Sprintf("Budget %s: %s.", n.path, strings.Join(out, "; "))
}

func (m *Machine) whyTry(n *node) (text string, over bool) {
	t := m.state.Tries[n.path]
	part := n.children[phasePart(t)]
	switch {
	case t == nil && !n.active:
		return "", false
	case t == nil:
		return fmt.Sprintf("Try %s is in its body and has met no failure; it waits for %s.", n.path, m.unfinished(part)), false
	case t.Phase == PhaseDone && t.Pending != nil:
		return fmt.Sprintf("Try %s has ended, and its failure went outward: %s.", n.path, cause(t.Pending)), true
	case t.Phase == PhaseDone && t.Caught != nil:
		return fmt.Sprintf("Try %s has ended: it caught %s.", n.path, cause(t.Caught)), true
	case t.Phase == PhaseDone:
		return fmt.Sprintf("Try %s has ended without a failure.", n.path), true
	case t.Closing:
		return fmt.Sprintf("Try %s is closed to new starts because of %s; it waits for %s to settle.", n.path, cause(t.Pending), m.settling(part)), false
	case t.Phase == PhaseCatch:
		return fmt.Sprintf("Try %s is in its Catch, because of %s, and waits for %s.", n.path, cause(t.Caught), m.unfinished(part)), false
	}
	return fmt.Sprintf("Try %s is in its Finally, which waits for %s.", n.path, m.unfinished(part)), false
}
