package crashtest

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// try is one attempt of a task.
type try struct {
	path string
	n    int
}

// result is an accepted result.
type result struct {
	attempt   int
	frame     int64
	output    json.RawMessage
	artifacts []cairn.Artifact
}

// history is what the frames tell, read without the core's own fold, which could share a mistake with what wrote them.
type history struct {
	hashes []string
	status core.Status
	// started holds the frame that decided each attempt, last the newest attempt of each path, running what is neither
	// over nor lost.
	started map[try]int64
	last    map[string]int
	running map[string]int
	// accepted holds results by path, failed the paths that were given up.
	accepted map[string]result
	failed   map[string]int64
	// resumed are the frames with which a new owner began.
	resumed []int64

	inbox int64
	// waits is when a path may start again, fired for which moments a timer has fired.
	waits map[string]int64
	fired map[string]int64
	time  int64
	bad   *complaints
}

func readHistory(ev *Evidence, bad *complaints) *history {
	h := &history{started: map[try]int64{}, last: map[string]int{}, running: map[string]int{}, accepted: map[string]result{},
		failed: map[string]int64{}, waits: map[string]int64{}, fired: map[string]int64{}, inbox: ev.Taken, bad: bad}
	prev := ""
	for i, body := range ev.Frames {
		f, err := core.Decode(body)
		if err != nil {
			bad.add("I1", "frame %d: %v", i+1, err)
			return h
		}
		if f.N != int64(i)+1 {
			bad.add("I1", "frame %d stands where frame %d belongs", f.N, i+1)
		}
		if f.Prev != prev {
			bad.add("I1", "frame %d follows a frame of hash %q, the one before has %q", f.N, f.Prev, prev)
		}
		reopens := len(f.Events) > 0 && f.Events[0].Kind == core.RunReopened
		if h.status.Terminal() && !(reopens && h.status == core.Failed) {
			bad.add("I8", "frame %d follows the end, which was %s", f.N, h.status)
		}
		if f.Time < h.time {
			bad.add("I6", "the time of frame %d is %d, before that of the frame before, %d", f.N, f.Time, h.time)
		}
		prev, h.time = core.Hash(body), f.Time
		h.hashes = append(h.hashes, prev)
		for i := range f.Events {
			h.event(f, &f.Events[i])
		}
		for i := range f.Decisions {
			h.decision(f, &f.Decisions[i])
		}
	}
	return h
}

func (h *history) event(f *core.Frame, e *core.Event) {
	if e.Seq > 0 {
		if e.Seq != h.inbox+1 {
			h.bad.add("I5", "frame %d takes inbox item %d after item %d", f.N, e.Seq, h.inbox)
		}
		h.inbox = e.Seq
	}
	switch e.Kind {
	case core.RunStarted:
		h.status = core.Running
	case core.RunReopened: // a history epoch begins
		h.status = core.Running
		h.resumed = append(h.resumed, f.N)
	case core.RunResumed, core.CodeAdopted:
		h.resumed = append(h.resumed, f.N)
		clear(h.running)
		switch {
		case e.Failure != nil:
			h.status = core.Blocked
		case h.status == core.Blocked:
			h.status = core.Running
		}
	case core.PauseAsked:
		if h.status == core.Running {
			h.status = core.Paused
		}
	case core.Unpaused, core.CancelAsked:
		if h.status == core.Paused {
			h.status = core.Running
		}
	case core.TaskDone, core.TaskFailed, core.TaskLost:
		h.over(f, e)
	case core.TimerFired:
		at, ok := h.waits[e.Path]
		switch {
		case !ok:
		case f.Time < at:
			h.bad.add("I6", "frame %d: a timer of %s fires %d ms early", f.N, e.Path, at-f.Time)
		case h.fired[e.Path] == at:
			h.bad.add("I6", "frame %d: a timer of %s fires a second time", f.N, e.Path)
		}
		h.fired[e.Path] = at
	}
}

// over is the end of an attempt.
func (h *history) over(f *core.Frame, e *core.Event) {
	if now, ok := h.running[e.Path]; !ok || now != e.Attempt {
		h.bad.add("I2", "frame %d takes %q of %s attempt %d, which is not running", f.N, e.Kind, e.Path, e.Attempt)
	}
	delete(h.running, e.Path)
	if e.Kind != core.TaskDone {
		return
	}
	if was, ok := h.accepted[e.Path]; ok {
		h.bad.add("I2", "frame %d accepts a result of %s attempt %d after frame %d has one, of attempt %d", f.N, e.Path, e.Attempt, was.frame, was.attempt)
	}
	h.accepted[e.Path] = result{attempt: e.Attempt, frame: f.N, output: e.Output, artifacts: e.Artifacts}
}

func (h *history) decision(f *core.Frame, d *core.Decision) {
	switch d.Kind {
	case core.Started:
		if was, ok := h.accepted[d.Path]; ok {
			h.bad.add("I7", "frame %d starts attempt %d of %s, which has finished in frame %d", f.N, d.Attempt, d.Path, was.frame)
		}
		if was, ok := h.failed[d.Path]; ok {
			h.bad.add("I7", "frame %d starts attempt %d of %s, which was given up in frame %d", f.N, d.Attempt, d.Path, was)
		}
		if d.Attempt != h.last[d.Path]+1 {
			h.bad.add("I7", "frame %d starts attempt %d of %s after attempt %d", f.N, d.Attempt, d.Path, h.last[d.Path])
		}
		if now, ok := h.running[d.Path]; ok {
			h.bad.add("I7", "frame %d starts attempt %d of %s while attempt %d runs", f.N, d.Attempt, d.Path, now)
		}
		if at := h.waits[d.Path]; f.Time < at {
			h.bad.add("I6", "frame %d starts %s %d ms before its pause is over", f.N, d.Path, at-f.Time)
		}
		delete(h.waits, d.Path)
		h.last[d.Path], h.running[d.Path] = d.Attempt, d.Attempt
		h.started[try{d.Path, d.Attempt}] = f.N
	case core.Retried:
		h.waits[d.Path] = d.At
	case core.Undone:
		undone := func(path string) bool { return path == d.Path || strings.HasPrefix(path, d.Path+"[") }
		maps.DeleteFunc(h.accepted, func(path string, _ result) bool { return undone(path) })
		maps.DeleteFunc(h.failed, func(path string, _ int64) bool { return undone(path) })
	case core.GaveUp:
		h.failed[d.Path] = f.N
	case core.Ended:
		h.status = d.Status
	}
}

// Losses is the most attempts of one task that have died with their process, those that run now included: at five the
// task fails for good.
func (ev *Evidence) Losses() (most int) {
	s := core.NewState()
	for _, body := range ev.Frames {
		f, err := core.Decode(body)
		if err != nil || s.Fold(f, core.Hash(body)) != nil {
			return most
		}
	}
	for t := range maps.Values(s.Tasks) {
		n := t.Losses
		if t.Status == core.TaskRunning {
			n++
		}
		if !t.Ended() {
			most = max(most, n)
		}
	}
	return most
}

// acceptedPaths lists the finished tasks, in order.
func (h *history) acceptedPaths() []string { return slices.Sorted(maps.Keys(h.accepted)) }
