package core

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
)

// cancelTimer is the path of the timer that ends a cancelled run's grace.
const cancelTimer = "#cancel"

// cancelled is why the attempts of a cancelled run are told to stop.
const cancelled = "the run is cancelled"

// settleRun closes the root of a run that was asked to cancel. Nothing drains any more.
func (m *Machine) settleRun() {
	s, root := m.state, m.memo.root
	if s.Cancelling == nil {
		return
	}
	if !root.closed {
		why := &cairn.Failure{Code: cairn.Cancelled, Message: s.Cancelling.Reason, Permanent: true}
		m.shut(root, cancelled, why)
	}
	for _, path := range s.runningPaths() {
		if s.Tasks[path].Stopping == Draining {
			m.stop(path, cancelled)
		}
	}
	if m.forced() {
		m.stopAll("the grace of the cancelled run is over")
	}
}

func (m *Machine) stopAll(reason string) {
	for _, path := range m.state.runningPaths() {
		m.stop(path, reason)
	}
}

// forced says that a cancelled run's grace is over: its Finally is not waited for any more.
func (m *Machine) forced() bool {
	c := m.state.Cancelling
	return c != nil && m.state.Time >= c.Deadline
}

// finish ends the run, or lets it rest.
func (m *Machine) finish(admit bool) {
	s, root := m.state, m.memo.root
	quiet := len(s.running) == 0 && (root.busy == 0 || m.forced())
	switch {
	case !quiet:
	case root.closed && s.Cancelling == nil && s.handed(s.Failure):
		m.succeed(admit)
	case root.closed && s.Failure != nil && !s.handed(s.Failure):
		m.end(Failed, s.Failure)
	case root.closed && s.Cancelling != nil:
		m.end(CancelledRun, &cairn.Failure{Code: cairn.Cancelled, Message: s.Cancelling.Reason})
	case root.settled && !root.closed:
		if _, ok := m.Result(); !ok {
			m.end(Failed, &cairn.Failure{Code: cairn.ResultMissing, Path: m.def.Result, Permanent: true,
				Message: fmt.Sprintf("everything has finished and the result key %q has no value", m.def.Result)})
			return
		}
		m.end(Finished, nil)
	}
	if admit && s.Status == Running && s.Successor == nil && len(s.running) == 0 && len(s.waiting) == 0 && len(m.memo.ready) == 0 {
		m.stuck()
	}
	m.rest()
}

// stuck blocks a run in which nothing runs, nothing is ready and nothing is waited for, though it is not finished:
// the tasks whose turn it is come After tasks that wait for a place in a Parallel.
func (m *Machine) stuck() {
	var names []string
	m.memo.root.walk(func(n *node) bool {
		if n.kind == cairn.KindTask && n.active && !n.free() {
			names = append(names, n.path)
		}
		return !n.settled
	})
	panic(&cairn.Error{Code: cairn.InvalidTree, Path: strings.Join(names, ", "), Message: "nothing can go on: what this comes After can't start either",
		Next: "put what comes first first in its Parallel, or raise its Max"})
}

// rest tells the owner of a run that is paused or blocked, and has nothing running, to let it go.
func (m *Machine) rest() {
	if s := m.state; len(s.running) == 0 {
		switch s.Status {
		case Paused:
			m.command(Command{Kind: Pause})
		case Blocked:
			m.command(Command{Kind: Block})
		}
	}
}

func (m *Machine) end(status Status, f *cairn.Failure) {
	m.decide(Decision{Kind: Ended, Status: status, Failure: f})
	kinds := map[Status]CommandKind{Finished: Complete, Failed: Fail, CancelledRun: Cancel, Continued: Complete}
	m.command(Command{Kind: kinds[status]})
}

// Result is the newest value of the workflow's result key at the root.
func (m *Machine) Result() (json.RawMessage, bool) {
	values := m.state.values[valueKey{"", m.def.Result}]
	if len(values) == 0 {
		return nil, false
	}
	return values[len(values)-1].task.Output, true
}

// block ends a step that the workflow's code has failed: what arrived is kept, nothing is rendered.
func (m *Machine) block(f *Frame, why *cairn.Failure) {
	m.memo = nil
	f.Plan, f.Unrendered = Delta{}, true
	m.decide(Decision{Kind: Ended, Status: Blocked, Failure: why})
	m.rest()
}

// blocked ends a step of a blocked run: what arrived is kept, nothing is rendered. It can still be cancelled, without
// its Finally, whose code is what does not render.
func (m *Machine) blocked(f *Frame) {
	m.memo = nil
	f.Unrendered = true
	if c := m.state.Cancelling; c != nil {
		m.stopAll(cancelled)
		if len(m.state.running) == 0 {
			m.end(CancelledRun, &cairn.Failure{Code: cairn.Cancelled, Message: c.Reason})
			return
		}
	}
	m.rest()
}
