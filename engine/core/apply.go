package core

import (
	"fmt"

	"github.com/cairnrun/cairn"
)

// event applies what happened. What follows from it is said by decisions, so that a frame can be read, and folded,
// without knowing today's rules.
func (s *State) event(e *Event) error {
	if e.Seq > 0 {
		s.Inbox = max(s.Inbox, e.Seq)
	}
	switch e.Kind {
	case RunStarted:
		s.Run, s.Workflow, s.Input, s.Limit, s.Grace, s.Status = e.Path, e.Name, e.Payload, e.Limit, e.Grace, Running
	case RunResumed:
		s.resumed(e.Failure)
	case CodeAdopted:
		s.resumed(nil)
		s.Adopted = s.Frame
	case CancelAsked:
		if s.Cancelling == nil {
			s.Cancelling = &Cancelled{Reason: e.Name, Deadline: s.Time + s.Grace}
		}
		if s.Status == Paused {
			s.Status = Running
		}
	case PauseAsked:
		if s.Status == Running {
			s.Status = Paused
		}
	case Unpaused:
		if s.Status == Paused {
			s.Status = Running
		}
	case TaskDone, TaskFailed, TaskLost:
		return s.attempt(e)
	case TimerFired, SignalReceived, ApprovalDecided, ChildDone:
	default:
		return fmt.Errorf("unknown event %q", e.Kind)
	}
	return nil
}

// attempt applies the end of an attempt.
func (s *State) attempt(e *Event) error {
	t := s.running[e.Path]
	if t == nil || t.Attempt != e.Attempt {
		return fmt.Errorf("%s of %s attempt %d, which is not running", e.Kind, e.Path, e.Attempt)
	}
	delete(s.running, e.Path)
	switch {
	case e.Kind == TaskDone && t.Stopping != Unmounted:
		t.end(TaskFinished)
		t.Output, t.Artifacts, t.Frame, t.Failure = e.Output, e.Artifacts, s.Frame, nil
		s.index(e.Path, t)
	case t.Stopping != "":
		t.reset()
	case e.Kind == TaskLost:
		t.Status, t.At = TaskWaiting, 0
		if !e.Graceful {
			t.Losses++
		}
	default:
		t.Status, t.At, t.Failure = TaskWaiting, 0, e.Failure
		t.Failures++
	}
	return nil
}

// resumed loses every running attempt. A failure blocks the run again at once.
func (s *State) resumed(failure *cairn.Failure) {
	for path, t := range s.running {
		delete(s.running, path)
		if t.Stopping != "" {
			t.reset()
			continue
		}
		t.Status, t.At = TaskWaiting, 0
		t.Losses++
	}
	switch {
	case failure != nil:
		s.Status, s.Block = Blocked, failure
	case s.Status == Blocked:
		s.Status, s.Block = Running, nil
	}
}

// decision applies what the core decided.
func (s *State) decision(d *Decision) error {
	switch d.Kind {
	case Started:
		t := s.task(d.Path)
		if t.Status == TaskRunning || t.settled() || t.Status == TaskGaveUp || d.Attempt != t.Attempt+1 {
			return fmt.Errorf("attempt %d of %s can't start: it is %s at attempt %d", d.Attempt, d.Path, t.Status, t.Attempt)
		}
		t.Status, t.Attempt, t.Schema, t.At = TaskRunning, d.Attempt, d.Schema, 0
		t.Policy = d.Policy
		if d.Deadline != 0 {
			t.Deadline = d.Deadline
		}
		if d.InputHash != "" {
			t.InputHash, t.Input = d.InputHash, d.Input
		}
		s.running[d.Path] = t
	case Retried:
		t := s.task(d.Path)
		t.Status, t.At = TaskWaiting, d.At
	case GaveUp:
		t := s.task(d.Path)
		t.end(TaskGaveUp)
		t.Frame, t.Tolerated = s.Frame, d.Yes
		if d.Failure != nil {
			t.Failure = d.Failure
		}
	case SkippedTask:
		t := s.task(d.Path)
		t.end(TaskSkipped)
		t.Reason, t.Frame = d.Reason, s.Frame
	case Cancelling:
		t := s.running[d.Path]
		if t == nil {
			return fmt.Errorf("%s is cancelled and does not run", d.Path)
		}
		t.Stopping = d.Reason
	case Settled:
		s.task(d.Path).reset()
	case Verdict:
		l := s.loop(d.Path)
		if d.Yes {
			l.Done = true
		} else {
			l.Iteration = d.I + 1
		}
	case Exhausted:
		l := s.loop(d.Path)
		l.Exhausted, l.Done, l.Iteration = true, d.Yes, d.I
	case Closed:
		t := s.try(d.Path)
		t.Closing, t.Pending = true, d.Failure
	case Entered:
		t := s.try(d.Path)
		if d.Phase == PhaseCatch {
			t.Caught, t.Pending = t.Pending, nil
		}
		t.Phase, t.Closing = d.Phase, false
	case Patched:
		s.Patches[d.Path+"#"+d.Reason] = d.Yes
	case Failing:
		s.Failure = d.Failure
	case Ended:
		s.Status = d.Status
		if d.Status == Blocked {
			s.Block = d.Failure
		} else if d.Failure != nil {
			s.Failure = d.Failure
		}
	default:
		return fmt.Errorf("unknown decision %q", d.Kind)
	}
	return nil
}

// Unmounted is the reason of an attempt that was cancelled because a render left its task out: its outcome is discarded.
const Unmounted = "unmounted"

// end gives a task its outcome. What only attempts need is dropped.
func (t *Task) end(status TaskStatus) {
	t.Status, t.Stopping, t.At = status, "", 0
	t.Input, t.Policy = nil, nil
}

// reset makes a task that was cancelled startable anew, should it be mounted again: with a new input and all its
// attempts, under a number not used before.
func (t *Task) reset() {
	t.end(TaskCancelled)
	t.Failures, t.Losses, t.Failure, t.InputHash, t.Deadline = 0, 0, nil, "", 0
}

// stale says that an event is of an attempt that is over, of a moment that has not come, or repeats what was taken
// already. Such events are dropped: delivering twice has one effect.
func (s *State) stale(e *Event) bool {
	if e.Seq > 0 && e.Seq <= s.Inbox {
		return true
	}
	switch e.Kind {
	case TaskDone, TaskFailed, TaskLost:
		t := s.running[e.Path]
		return t == nil || t.Attempt != e.Attempt
	case TimerFired:
		at, waits := s.timer(e.Path)
		return !waits || at > s.Time
	case CancelAsked:
		return s.Cancelling != nil && e.Seq == 0
	case PauseAsked:
		return s.Status != Running && e.Seq == 0
	case Unpaused:
		return s.Status != Paused
	}
	return false
}

// timer is the moment that something on a path waits for.
func (s *State) timer(path string) (at int64, waits bool) {
	if path == cancelTimer {
		if s.Cancelling == nil {
			return 0, false
		}
		return s.Cancelling.Deadline, true
	}
	t := s.Tasks[path]
	if t == nil || t.Status != TaskWaiting {
		return 0, false
	}
	return t.At, true
}
