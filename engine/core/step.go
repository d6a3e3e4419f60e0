package core

import (
	"fmt"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
)

// Step is the outcome of one step. Frame, Effects and what Consumed says become durable in one transaction; only then
// may Commands be carried out. Without a Frame nothing happened.
type Step struct {
	Frame *Frame
	// Body is the frame encoded, Hash its hash.
	Body []byte
	Hash string
	// Effects are those of accepted results.
	Effects []Effect
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

// Step takes events in the order they arrived in and decides. now is the wall clock; the frame's time is never less
// than that of the frame before. Events that are stale are dropped. With admit false nothing new starts: the owner
// is about to stop.
func (m *Machine) Step(now time.Time, events []Event, admit bool) Step {
	s := m.state
	if s.Status.Terminal() {
		return Step{Status: s.Status}
	}
	n, at := s.Frame, s.Time
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
	changed := slices.ContainsFunc(events, func(e Event) bool {
		return e.Kind == CodeAdopted || e.Kind == RunResumed && e.Failure != nil
	})
	var diverged any
	if m.memo == nil && !first && s.Status != Blocked && !s.Unrendered && !changed {
		// The plan of the last frame comes first, before anything new is applied to it.
		diverged = catch(func() { m.restore(true) })
	}
	if diverged != nil {
		m.memo = nil
	}
	for i := range events {
		if e := &events[i]; !s.stale(e) {
			m.apply(f, e, out)
		} else if at, waits := s.timer(e.Path); e.Kind == TimerFired && waits {
			m.command(Command{Kind: SetTimer, Path: e.Path, At: at})
		}
	}
	if diverged != nil {
		panic(diverged)
	}
	if s.Status == Blocked {
		m.blocked(f)
		return
	}
	if m.memo == nil {
		m.restore(false)
		m.memo.full = !first
	}
	m.settleRun()
	m.fixpoint()
	for admit && m.admit() {
		m.fixpoint()
	}
	m.finish()
	f.Plan = m.memo.delta()
}

// apply takes an event into the state and the plan.
func (m *Machine) apply(f *Frame, e *Event, out *Step) {
	s := m.state
	var lost []string
	if e.Kind == RunResumed || e.Kind == CodeAdopted {
		lost = s.runningPaths()
	}
	must(s.event(e))
	f.Events = append(f.Events, *e)
	for _, path := range lost {
		m.ended(path, 0, nil, out)
	}
	if e.Seq > 0 {
		out.Consumed = max(out.Consumed, e.Seq)
	}
	switch e.Kind {
	case RunStarted:
		if m.memo == nil {
			m.bind()
		}
	case TaskDone, TaskFailed, TaskLost:
		m.ended(e.Path, e.Attempt, e.Effects, out)
	case CancelAsked:
		m.command(Command{Kind: SetTimer, Path: cancelTimer, At: s.Cancelling.Deadline})
	case TimerFired:
		if m.memo != nil {
			if n := m.memo.nodes[e.Path]; n != nil && n.kind == cairn.KindTask {
				m.offer(n)
			}
		}
	}
}
