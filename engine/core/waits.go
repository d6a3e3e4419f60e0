package core

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
)

// whyWaits tells what a node that has not ended waits for.
func (m *Machine) whyWaits(n *node) string {
	if n.untaken {
		return fmt.Sprintf("%s is on the side of a branch that is not taken.", n.path)
	}
	var idle *node // the outermost node around n, or n, whose turn has not come
	for p := n; p != nil; p = p.parent {
		switch {
		case m.isOver(p):
			try := p.parent.path
			if st := m.state.Tries[try]; st.Caught != nil || st.Pending != nil {
				return fmt.Sprintf("%s was left behind: the Try %s around it went on, because of %s.", n.path, try, cause(cmp.Or(st.Caught, st.Pending)))
			}
			return fmt.Sprintf("%s was left behind: the Try %s around it went on.", n.path, try)
		case p.closed:
			return m.whyClosed(n, p)
		}
		if !p.active {
			idle = p
		}
	}
	if idle != nil && idle.parent != nil {
		return m.whyIdle(n, idle)
	}
	var after []string
	for _, t := range n.targets {
		if !past(t) {
			after = append(after, m.name(t))
		}
	}
	if len(after) > 0 {
		how := "comes After"
		if n.task.Fork != "" {
			how = "comes After or forks"
		}
		return fmt.Sprintf("%s waits for %s, which it %s.", n.path, enumerate(after, 3), how)
	}
	if n.kind != cairn.KindTask {
		return fmt.Sprintf("%s has begun, and waits for %s.", n.path, m.unfinished(n))
	}
	if limit := m.state.Limit; limit > 0 && len(m.state.running) >= limit {
		return fmt.Sprintf("%s is ready, and waits for a place: the run makes %d attempts at once, its limit.", n.path, limit)
	}
	if a := m.full(n); a != nil {
		return fmt.Sprintf("%s is ready, and waits until the budget %s has room for what an attempt may use.", n.path, a.path)
	}
	if t := m.state.Tasks[n.path]; t != nil && t.Status == TaskWaiting {
		return fmt.Sprintf("%s is ready for attempt %d: attempt %d ended with its process or its pause is over.", n.path, t.Attempt+1, t.Attempt)
	}
	return fmt.Sprintf("%s is ready, and starts with the next step of the run.", n.path)
}

// whyClosed tells why nothing starts any more in the part around a node.
func (m *Machine) whyClosed(n, part *node) string {
	if part.parent == nil {
		if c := m.state.Cancelling; c != nil && m.state.Failure == nil {
			return fmt.Sprintf("%s does not start: the run was asked to cancel.", n.path)
		}
		if m.state.handed(m.state.Failure) {
			return fmt.Sprintf("%s does not start: the run is handing over to a successor.", n.path)
		}
		return fmt.Sprintf("%s does not start: the run is failing because of %s.", n.path, cause(m.state.Failure))
	}
	try := part.parent
	var why *cairn.Failure
	if st := m.state.Tries[try.path]; st != nil {
		why = st.Pending
	}
	return fmt.Sprintf("%s does not start: the Try %s around it is closed because of %s.", n.path, try.path, cause(why))
}

// whyIdle tells what has to happen before it is the turn of idle, which is n or around it.
func (m *Machine) whyIdle(n, idle *node) string {
	p := idle.parent
	switch {
	case p.kind == cairn.KindParallel && p.max > 0:
		var open []string
		for _, c := range p.children {
			if c.active && !c.settled {
				open = append(open, m.name(c))
			}
		}
		return fmt.Sprintf("%s waits for a place: the Parallel around it takes %d at once, and has %s in progress.", n.path, p.max, enumerate(open, 3))
	case p.kind == cairn.KindTry:
		return fmt.Sprintf("%s belongs to a part of the Try %s that has not been reached, or is over.", n.path, p.path)
	}
	var before []string
	for _, c := range p.children[:idle.index] {
		if !c.settled {
			before = append(before, m.unfinished(c))
			break
		}
	}
	if len(before) == 0 {
		return fmt.Sprintf("%s waits for its turn.", n.path)
	}
	return fmt.Sprintf("%s waits for what comes before it in sequence: %s.", n.path, before[0])
}

// past says that nothing more comes of a node.
func past(n *node) bool {
	for ; n != nil; n = n.parent {
		if n.settled {
			return true
		}
	}
	return false
}

// unfinished names the tasks in a node that have not ended, with where they stand.
func (m *Machine) unfinished(n *node) string {
	var names []string
	n.walk(func(c *node) bool {
		if c.kind == cairn.KindTask && !c.settled {
			names = append(names, m.name(c))
		}
		return !c.settled && !c.untaken
	})
	if len(names) == 0 {
		return m.name(n)
	}
	return enumerate(names, 3)
}

// settling names what runs in a node.
func (m *Machine) settling(n *node) string {
	var names []string
	n.walk(func(c *node) bool {
		if t := m.state.Tasks[c.path]; c.kind == cairn.KindTask && t != nil && t.Status == TaskRunning {
			names = append(names, c.path)
		}
		return true
	})
	return enumerate(names, 3)
}

// name is a node as a sentence has it: its path and, for a task, where it stands.
func (m *Machine) name(n *node) string {
	switch {
	case n.kind == cairn.KindTask:
		if t := m.state.Tasks[n.path]; t != nil {
			return fmt.Sprintf("%s (%s)", n.path, t.Status)
		}
		return n.path + " (pending)"
	case n.path != "":
		return n.path
	}
	name := ""
	n.walk(func(c *node) bool {
		if name == "" && c.kind == cairn.KindTask {
			name = "the " + string(n.kind) + " with " + c.path
		}
		return name == ""
	})
	if name == "" {
		return "an empty " + string(n.kind)
	}
	return name
}

// enumerate joins names as a sentence does, the first few of them.
func enumerate(names []string, most int) string {
	switch more := len(names) - most; {
	case len(names) == 0:
		return "nothing"
	case more > 1:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	case len(names) == 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}
