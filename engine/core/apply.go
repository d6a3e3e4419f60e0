package core

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"

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
		s.inherit(e)
	case RunResumed:
		s.resumed(e.Failure)
	case CodeAdopted:
		s.resumed(nil)
		s.Adopted = s.Frame
	case CancelAsked:
		if s.Cancelling == nil {
			s.Cancelling = &Cancelled{Reason: e.Name, Deadline: s.Time + s.Grace}
		}
		s.Successor = nil
		if s.Status == Paused {
			s.Status = Running
		}
	case PauseAsked:
		if s.Status == Running && s.Cancelling == nil {
			s.Status, s.Successor = Paused, nil
		}
	case Unpaused:
		if s.Status == Paused {
			s.Status = Running
		}
	case RunReopened:
		s.Status, s.Failure, s.Successor = Running, nil, nil
		s.Reopened++
	case TaskDone, TaskFailed, TaskLost:
		return s.attempt(e)
	case HandedOver, HandoffRefused:
		return s.succession(e)
	case HistoryLong:
		s.Long = true
	case TimerFired:
		if t := s.waiting[e.Path]; t != nil {
			t.At = 0
		}
	case SignalReceived, ApprovalDecided, ChildDone:
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
	s.booked(e.Path, t, outcomeOf(e, t), e.Usage, s.Time)
	if !e.Unbegun {
		t.Booked = e.Attempt
	}
	for _, r := range e.Recalls {
		if !r.Tool {
			t.Recall = r.Status
		}
	}
	switch {
	case e.Kind == TaskDone && t.Stopping != Unmounted:
		s.end(e.Path, t, TaskFinished)
		t.Output, t.Artifacts, t.Frame, t.Failure, t.Cached = e.Output, e.Artifacts, s.Frame, nil, e.Cached
		s.index(e.Path, t)
	case t.Stopping != "":
		s.reset(e.Path, t)
	case e.Kind == TaskLost:
		s.move(e.Path, t, TaskWaiting)
		if !e.Graceful {
			t.Losses++
		}
	case e.Refused != nil:
		s.move(e.Path, t, TaskWaiting)
		t.Refused = e.Refused
	default:
		s.move(e.Path, t, TaskWaiting)
		t.Failure = e.Failure
		t.Failures++
	}
	return nil
}

// resumed loses every running attempt. A failure blocks the run again at once.
func (s *State) resumed(failure *cairn.Failure) {
	s.Successor = nil // who was asked for it is gone
	for _, path := range s.runningPaths() {
		t := s.running[path]
		s.booked(path, t, AttemptLost, nil, s.before) // the time in which nobody drove the run is nobody's
		if t.Stopping != "" {
			s.reset(path, t)
			continue
		}
		s.move(path, t, TaskWaiting)
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
		return s.start(d)
	case Retried, GaveUp, Settled:
		return s.settle(d)
	case SkippedTask:
		t := s.task(d.Path)
		if t.Status != "" && t.Status != TaskCancelled && t.Status != TaskWaiting {
			return fmt.Errorf("%s can't be skipped: it is %s", d.Path, t.Status)
		}
		s.end(d.Path, t, TaskSkipped)
		t.Reason, t.Frame = d.Reason, s.Frame
	case Cancelling:
		t := s.running[d.Path]
		if t == nil {
			return fmt.Errorf("%s is cancelled and does not run", d.Path)
		}
		t.Stopping = d.Reason
	case Verdict:
		if d.I < 0 || d.I == math.MaxInt {
			return fmt.Errorf("a verdict on iteration %d of %s", d.I, d.Path)
		}
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
		s.replaced(t.Pending, d.Failure)
		t.Closing, t.Pending = true, d.Failure
	case Entered:
		t := s.try(d.Path)
		if d.Phase == PhaseCatch {
			t.Caught, t.Pending = t.Pending, nil
		}
		t.Phase, t.Closing = d.Phase, false
	case Patched:
		s.Patches[d.Path+"#"+d.Reason] = d.Yes
	case HandingOver:
		if d.Handoff == nil {
			return fmt.Errorf("%s hands over nothing", d.Path)
		}
		s.Handoffs[d.Path] = d.Handoff
		if d.Handoff.Loops != nil {
			s.loop(d.Path) // it has begun
		}
	case Succeeding:
		s.Successor = &Successor{ID: d.Reason}
	case Failing:
		s.replaced(s.Failure, d.Failure)
		s.Failure = d.Failure
	case Undone:
		return s.undo(d.Path)
	case Limited, Breached, Crowded, Unpriced:
		return s.spending(d)
	case Ended:
		s.Status = d.Status
		switch {
		case d.Status == Blocked:
			s.Block = d.Failure
		case d.Status == Continued:
			s.Failure = nil // it was the handoff
		case d.Failure != nil:
			s.Failure = d.Failure
		}
	default:
		return fmt.Errorf("unknown decision %q", d.Kind)
	}
	return nil
}

// start begins an attempt of a task.
func (s *State) start(d *Decision) error {
	t := s.task(d.Path)
	if t.Status != "" && t.Status != TaskWaiting && t.Status != TaskCancelled || d.Attempt != t.Attempt+1 {
		return fmt.Errorf("attempt %d of %s can't start: it is %s at attempt %d", d.Attempt, d.Path, t.Status, t.Attempt)
	}
	s.move(d.Path, t, TaskRunning)
	t.Attempt, t.Schema, t.Policy, t.Reason, t.Kept = d.Attempt, d.Schema, d.Policy, "", false
	t.Budgets, t.Tracking, t.Refused = d.Budgets, d.Tracking, nil
	s.clockOn(t)
	if d.Deadline != 0 {
		t.Deadline = d.Deadline
	}
	if d.InputHash != "" {
		t.InputHash, t.Input = d.InputHash, d.Input
	}
	t.Delegate = d.Policy != nil && d.Policy.Delegate != nil
	if d.Fork != "" {
		t.Fork = d.Fork
	}
	return nil
}

// settle says what becomes of a task that waits: another attempt, or none.
func (s *State) settle(d *Decision) error {
	t := s.waiting[d.Path]
	if t == nil {
		return fmt.Errorf("%s of %s, which does not wait for an attempt", d.Kind, d.Path)
	}
	switch d.Kind {
	case Retried:
		t.At = d.At
	case GaveUp:
		s.end(d.Path, t, TaskGaveUp)
		t.Frame, t.Tolerated = s.Frame, d.Yes
		if d.Failure != nil {
			t.Failure = d.Failure
		}
	case Settled:
		s.reset(d.Path, t)
	}
	return nil
}

// Unmounted is the reason of an attempt that was cancelled because a render left its task out: its outcome is discarded.
const Unmounted = "unmounted"

// move gives a task that is not over its status.
func (s *State) move(path string, t *Task, status TaskStatus) {
	delete(s.running, path)
	delete(s.waiting, path)
	switch status {
	case TaskRunning:
		s.running[path] = t
	case TaskWaiting:
		s.waiting[path] = t
	}
	t.Status, t.At = status, 0
}

// end gives a task its outcome. What only attempts need is dropped.
func (s *State) end(path string, t *Task, status TaskStatus) {
	s.move(path, t, status)
	t.Stopping, t.Input, t.Policy, t.Refused = "", nil, nil, nil
}

// reset makes a task that was cancelled startable anew, should it be mounted again: with a new input and all its
// attempts, under a number not used before.
func (s *State) reset(path string, t *Task) {
	s.end(path, t, TaskCancelled)
	t.Failures, t.Losses, t.Failure, t.InputHash, t.Deadline, t.Fork = 0, 0, nil, "", 0, ""
	t.Spent, t.Noticed = Spent{}, nil
}

// normal is an event as a frame gives it back: a run must not depend on whether its owner has learnt of something or
// read it. Parts that are no JSON would make a frame that can't be written.
func normal(e Event) Event {
	e.Name = strings.ToValidUTF8(e.Name, "\ufffd")
	normalHandoff(&e)
	var bad error
	for _, raw := range []*json.RawMessage{&e.Output, &e.Payload} {
		if *raw == nil && raw != &e.Output {
			continue
		}
		text, err := json.Marshal(*raw)
		if *raw = text; err != nil {
			*raw, bad = nil, err
		}
	}
	if e.Kind != TaskFailed {
		e.Refused = nil
	}
	if len(e.Usage) == 0 {
		e.Usage = nil
	}
	if len(e.Recalls) == 0 {
		e.Recalls = nil
	}
	if e.Kind != TaskDone {
		e.Output, e.Cached = nil, false
	} else if bad != nil {
		e.Kind, e.Output, e.Cached = TaskFailed, nil, false
		e.Failure = &cairn.Failure{Code: cairn.InvalidOutput, Message: "the output is not JSON: " + bad.Error(), Permanent: true}
	}
	if e.Failure != nil {
		var f cairn.Failure
		text, err := json.Marshal(e.Failure)
		if err == nil {
			err = json.Unmarshal(text, &f)
		}
		if err != nil {
			f = cairn.Failure{Code: e.Failure.Code, Message: strings.ToValidUTF8(e.Failure.Message, "\ufffd"), Permanent: e.Failure.Permanent}
		}
		e.Failure = &f
	} else if e.Kind == TaskFailed || e.Kind == HandoffRefused {
		e.Failure = &cairn.Failure{Code: cairn.TaskFailed}
	}
	return e
}

// stale says that an event is of an attempt that is over, of a moment that has not come, or repeats what was taken
// already. Such events are dropped: delivering twice has one effect.
func (s *State) stale(e *Event) bool {
	if e.Seq > 0 && e.Seq <= s.Inbox {
		return true
	}
	if s.Status == "" {
		return e.Kind != RunStarted
	}
	switch e.Kind {
	case RunStarted:
		return true
	case RunReopened:
		return !s.Reopens()
	case TaskDone, TaskFailed, TaskLost:
		t := s.running[e.Path]
		return t == nil || t.Attempt != e.Attempt
	case TimerFired:
		at, waits := s.timer(e.Path)
		return !waits || at > s.Time
	case CancelAsked:
		return s.Cancelling != nil && e.Seq == 0
	case PauseAsked:
		return (s.Status != Running || s.Cancelling != nil) && e.Seq == 0
	case Unpaused:
		return s.Status != Paused && e.Seq == 0
	case HandedOver, HandoffRefused:
		return !s.asked(e)
	case HistoryLong:
		return s.Long
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
	t := s.waiting[path]
	if t == nil || t.At == 0 {
		return 0, false
	}
	return t.At, true
}

// closed says that a failure has reached the root, or that the run is being cancelled.
func (s *State) closed() bool { return s.Failure != nil || s.Cancelling != nil }
