package core

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
)

// Step is the outcome of one step. Frame, Effects, Labelled and what Consumed says become durable in one transaction; only then
// may Commands be carried out. Without a Frame nothing happened.
type Step struct {
	Frame *Frame
	// Body is the frame encoded, Hash its hash.
	Body []byte
	Hash string
	// Effects are those of accepted results.
	Effects []Effect
	// Labelled are the accepted results that a cache is to keep, or whose use it is to know of.
	Labelled []Labelled
	// Consumed is the number of the last inbox item taken, 0 for none.
	Consumed int64
	Status   Status
	Commands []Command
}

// Effect is an effect of an accepted result, with the operation id that names it for ever.
type Effect struct {
	ID   string
	Path string
	cairn.Effect
}

// Labelled is an accepted result that a cache knows.
type Labelled struct {
	CacheLabel
	Path      string
	Output    json.RawMessage
	Artifacts []cairn.Artifact
	// Hit says that it was taken from there.
	Hit bool
}

// Step takes events in the order they arrived in and decides. now is the wall clock; the frame's time is never less
// than that of the frame before. Events that are stale are dropped. With admit false nothing new starts: the owner
// is about to stop.
func (m *Machine) Step(now time.Time, events []Event, admit bool) Step {
	s := m.state
	reopens := s.Reopens() && len(events) > 0 && events[0].Kind == RunReopened
	if s.Status.Terminal() && !reopens {
		return Step{Status: s.Status}
	}
	n, at := s.Frame, s.Time
	m.last, m.over = at, nil
	s.open(n+1, now.UnixMilli())
	f := &Frame{N: s.Frame, Time: s.Time, Prev: s.Hash, Stopping: !admit}
	out := Step{Frame: f}
	if blocked := m.guard(func() { m.step(f, events, admit, n == 0, &out) }); blocked != nil {
		m.block(f, blocked)
	}
	f.Decisions = m.decisions
	out.Commands, out.Status = m.commands, s.Status
	m.decisions, m.commands = nil, nil
	if len(f.Events) == 0 && len(f.Decisions) == 0 && f.Plan.IsZero() {
		s.Frame, s.Time = n, at
		return Step{Status: s.Status, Commands: out.Commands}
	}
	m.seal(f, &out)
	return out
}

// seal hashes the frame and closes it.
func (m *Machine) seal(f *Frame, out *Step) {
	if mo := m.memo; mo != nil && !f.Unrendered {
		for _, d := range []struct {
			now digest
			was string
			to  *string
		}{{mo.structure, m.state.Structure, &f.Structure}, {mo.policy, m.state.Policy, &f.Policy}, {mo.input, m.state.InputHash, &f.Input}} {
			if text := d.now.String(); text != d.was {
				*d.to = text
			}
		}
	}
	body, err := f.Encode()
	if err != nil {
		panic(fmt.Errorf("a frame of checked parts does not encode: %w", err))
	}
	out.Body, out.Hash = body, Hash(body)
	m.state.close(f, out.Hash)
}

// step does the work of Step. A panic in it is the workflow's code speaking; it blocks the run.
func (m *Machine) step(f *Frame, events []Event, admit, first bool, out *Step) {
	s := m.state
	closed := s.closed()
	changed := slices.ContainsFunc(events, func(e Event) bool {
		return e.Kind == CodeAdopted || e.Kind == RunResumed && e.Failure != nil
	})
	if changed {
		m.memo = nil
	}
	var diverged *cairn.Failure
	if m.memo == nil && !first && s.Status != Blocked && !s.Unrendered && !changed {
		// The plan of the last frame comes first, as of its time, before anything new is applied to it.
		now := s.Time
		s.Time = m.last
		m.tentatively(func() bool {
			diverged = m.guard(func() { m.restore(true, closed) })
			return diverged == nil
		})
		s.Time = now
	}
	if diverged != nil && s.Status.Terminal() {
		return // reopening asks for the code that the run has failed with
	}
	kept := m.memo != nil
	m.take(f, events, out)
	switch {
	case diverged != nil:
		panic(diverged)
	case s.Status == "": // nothing has started yet
		return
	case s.Status == Blocked:
		m.blocked(f)
		return
	case kept && m.memo != nil:
		m.memo.touch(read{kind: readTime})
	default:
		m.restore(false, closed && s.closed())
		m.memo.full = !first
	}
	m.settleRun()
	m.fixpoint()
	m.readmitHeld()
	if m.notice(f.Events) {
		m.fixpoint()
	}
	for admit && m.admit() {
		m.fixpoint()
	}
	m.finish(admit)
	f.Plan = m.memo.delta()
}

// take applies the events to the state, and only then decides what follows from each: a frame is folded that way.
func (m *Machine) take(f *Frame, events []Event, out *Step) {
	s := m.state
	type end struct {
		path string
		lost bool
	}
	var ends []end
	for _, e := range events {
		e = normal(e)
		if s.stale(&e) {
			if at, waits := s.timer(e.Path); e.Kind == TimerFired && waits {
				m.command(Command{Kind: SetTimer, Path: e.Path, At: at})
			}
			continue
		}
		switch e.Kind {
		case RunResumed, CodeAdopted:
			for _, path := range s.runningPaths() {
				ends = append(ends, end{path, true})
			}
			if s.Cancelling != nil {
				m.command(Command{Kind: SetTimer, Path: cancelTimer, At: s.Cancelling.Deadline})
			}
		case TaskDone, TaskFailed, TaskLost:
			ends = append(ends, end{e.Path, e.Kind == TaskLost})
		}
		must(s.event(&e))
		f.Events = append(f.Events, e)
		if e.Seq > 0 {
			out.Consumed = max(out.Consumed, e.Seq)
		}
		switch e.Kind {
		case RunReopened:
			m.takeBack()
		case TaskDone:
			m.results(&e, out)
		case CancelAsked:
			m.command(Command{Kind: SetTimer, Path: cancelTimer, At: s.Cancelling.Deadline})
		}
	}
	for _, e := range ends {
		m.retry(e.path, e.lost)
		m.over = append(m.over, e.path)
	}
	if m.memo == nil {
		return
	}
	for _, e := range ends {
		m.ended(e.path)
	}
	for i := range f.Events {
		if e := &f.Events[i]; e.Kind == TimerFired {
			if n := m.memo.nodes[e.Path]; n != nil && n.kind == cairn.KindTask {
				m.offer(n)
			}
		}
	}
}

// results hands on what an accepted result wants done.
func (m *Machine) results(e *Event, out *Step) {
	if m.state.Tasks[e.Path].Status != TaskFinished {
		return
	}
	if e.Label != nil {
		out.Labelled = append(out.Labelled, Labelled{CacheLabel: *e.Label, Path: e.Path, Output: e.Output, Artifacts: e.Artifacts, Hit: e.Cached})
	}
	for i, effect := range e.Effects {
		id := fmt.Sprintf("%s/%s@%d#%d", m.state.Run, e.Path, e.Attempt, i)
		out.Effects = append(out.Effects, Effect{ID: id, Path: e.Path, Effect: effect})
	}
}
