package cli

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// happening is one thing that happened in a run, as people tell it: what events and the progress of up show.
type happening struct {
	Run   string    `json:"run"`
	Frame int64     `json:"frame"`
	Time  time.Time `json:"time"`
	// Type is one of the constants of the table below; that of a run or a decision unknown here is its own name.
	Type      string           `json:"type"`
	Path      string           `json:"path,omitempty"`
	Attempt   int              `json:"attempt,omitempty"`
	Millis    int64            `json:"tookMs,omitempty"`
	At        time.Time        `json:"at,omitzero"`
	Iteration *int             `json:"iteration,omitempty"`
	Reason    string           `json:"reason,omitempty"`
	Failure   *cairn.Failure   `json:"failure,omitempty"`
	Artifacts []cairn.Artifact `json:"artifacts,omitempty"`
	// Cached: the output was taken from the cache, nothing was run.
	Cached bool `json:"cached,omitempty"`
	// Generation is the successor's, where one starts.
	Generation int `json:"generation,omitempty"`
	// Breach is the limit that was reached, Mode what that does; Limits are a budget's.
	Breach *cairn.Breach      `json:"breach,omitempty"`
	Mode   string             `json:"mode,omitempty"`
	Limits *cairn.AspectsSpec `json:"limits,omitempty"`
	// Context is what a model call has read, in tokens, Bucket where that is metered, HalfFull that it is more than half of
	// the model's window. Model has no price.
	Context  int64  `json:"context,omitempty"`
	Bucket   string `json:"bucket,omitempty"`
	HalfFull bool   `json:"halfFull,omitempty"`
	Model    string `json:"model,omitempty"`
	// Recall is what memory has put before a prompt, or told an agent.
	Recall *cairn.Recall `json:"recall,omitempty"`
	// text is what people read of a decision about budgets or usage.
	text string
}

// Types of happenings.
const (
	runStarted, runResumed, runAdopted               = "run-started", "run-resumed", "run-adopted"
	runReopened, taskRefused, undone                 = "run-reopened", "refused", "undone"
	limitsSet, limitReached, crowded, unpricedModel  = "limits", "breach", "context", "unpriced"
	recalled                                         = "recalled"
	taskStarted, taskDone, taskRetry, taskFailed     = "started", "finished", "retry", "failed"
	taskLost, taskSkipped, taskStopping, taskSettled = "lost", "skipped", "cancelling", "cancelled"
	loopNext, loopDone, loopSpent                    = "iteration", "loop-done", "loop-exhausted"
	tryClosed, tryCatch, tryFinally, tryDone         = "try-closed", "try-catch", "try-finally", "try-done"
	handingOver, successorAsked, handoffRefused      = "handing-over", "successor", "handoff-refused"
	historyLong                                      = "history-long"
)

// projector turns frames into happenings. It has to see all frames of a run, in order.
type projector struct {
	run, workflow string
	began         int64
	// since is when running tasks were started, stopping why some were told to stop.
	since    map[string]int64
	stopping map[string]string
}

func newProjector() *projector {
	return &projector{since: map[string]int64{}, stopping: map[string]string{}}
}

// project tells what happened in a frame.
func (p *projector) project(f *core.Frame) (out []happening) {
	tell := func(h happening) {
		h.Run, h.Frame, h.Time = p.run, f.N, time.UnixMilli(f.Time).UTC()
		out = append(out, h)
	}
	// What an attempt's end has led to stands among the decisions of the same frame.
	led := map[string]*core.Decision{}
	for i := range f.Decisions {
		if d := &f.Decisions[i]; d.Kind == core.Retried || d.Kind == core.GaveUp {
			led[d.Path] = d
		}
	}
	for i := range f.Events {
		p.event(f, &f.Events[i], led, tell)
	}
	for i := range f.Decisions {
		p.decision(f, &f.Decisions[i], led, tell)
	}
	return out
}

func (p *projector) event(f *core.Frame, e *core.Event, led map[string]*core.Decision, tell func(happening)) {
	for i := range e.Recalls {
		tell(happening{Type: recalled, Path: e.Path, Attempt: e.Attempt, Recall: &e.Recalls[i], text: e.Recalls[i].String()})
	}
	switch e.Kind {
	case core.RunStarted:
		p.run, p.workflow, p.began = e.Path, e.Name, f.Time
		started := happening{Type: runStarted, Reason: e.Name}
		if e.Envelope != nil {
			started.Generation = e.Envelope.Generation
		}
		tell(started)
	case core.RunResumed, core.CodeAdopted:
		kind := runResumed
		if e.Kind == core.CodeAdopted {
			kind = runAdopted
		}
		tell(happening{Type: kind, Failure: e.Failure})
		for _, path := range slices.Sorted(maps.Keys(p.since)) {
			p.over(path)
			tell(happening{Type: taskLost, Path: path, Reason: "its process is gone"})
		}
		if e.Failure != nil {
			tell(happening{Type: "run-" + string(core.Blocked), Failure: e.Failure})
		}
	case core.TaskDone:
		stopped := p.stopping[e.Path] == core.Unmounted
		took := f.Time - p.over(e.Path)
		if stopped {
			tell(happening{Type: taskSettled, Path: e.Path, Attempt: e.Attempt, Reason: core.Unmounted})
			return
		}
		tell(happening{Type: taskDone, Path: e.Path, Attempt: e.Attempt, Millis: took, Artifacts: e.Artifacts, Cached: e.Cached})
	case core.TaskFailed, core.TaskLost:
		reason, stopped := p.stopping[e.Path]
		took := f.Time - p.over(e.Path)
		d := led[e.Path]
		switch {
		case stopped:
			tell(happening{Type: taskSettled, Path: e.Path, Attempt: e.Attempt, Reason: reason})
		case e.Refused != nil: // A decision of its own tells what that leads to.
			tell(happening{Type: taskRefused, Path: e.Path, Attempt: e.Attempt, Millis: took, Breach: e.Refused, text: refusal(e)})
		case e.Kind == core.TaskLost && e.Graceful:
			tell(happening{Type: taskLost, Path: e.Path, Attempt: e.Attempt, Reason: "its process was stopped"})
		case e.Kind == core.TaskLost:
			tell(happening{Type: taskLost, Path: e.Path, Attempt: e.Attempt, Reason: "its process is gone"})
		case d != nil && d.Kind == core.Retried:
			tell(happening{Type: taskRetry, Path: e.Path, Attempt: e.Attempt + 1, At: time.UnixMilli(d.At).UTC(), Failure: e.Failure})
			delete(led, e.Path)
		case d != nil && d.Failure == nil:
			tell(happening{Type: taskFailed, Path: e.Path, Attempt: e.Attempt, Millis: took, Failure: e.Failure, Reason: tolerated(d)})
			delete(led, e.Path)
		case d == nil: // A decision of its own tells the rest.
			tell(happening{Type: taskFailed, Path: e.Path, Attempt: e.Attempt, Millis: took, Failure: e.Failure})
		}
	case core.RunReopened:
		tell(happening{Type: runReopened})
	case core.TimerFired, core.HandedOver: // the end of the run tells
	case core.HandoffRefused:
		tell(happening{Type: handoffRefused, Failure: e.Failure})
	case core.HistoryLong:
		tell(happening{Type: historyLong, Reason: e.Name + ": let a successor go on, with handoff.ContinueAsNew or a Loop's HandoffEvery"})
	default:
		tell(happening{Type: string(e.Kind) + "-asked", Path: e.Path, Reason: e.Name})
	}
}

// refusal is why an attempt could make no further model call.
func refusal(e *core.Event) string {
	if e.Failure != nil && e.Failure.Code == cairn.UnpricedModel {
		return fmt.Sprintf("%s is limited by %s, and a model has no price", e.Refused.Measure, e.Refused.Budget)
	}
	return e.Refused.String()
}

// over forgets a running task and says since when it ran.
func (p *projector) over(path string) int64 {
	since := p.since[path]
	delete(p.since, path)
	delete(p.stopping, path)
	return since
}

func tolerated(d *core.Decision) string {
	if d.Yes {
		return "optional"
	}
	return ""
}

func (p *projector) decision(f *core.Frame, d *core.Decision, led map[string]*core.Decision, tell func(happening)) {
	h := happening{Path: d.Path, Attempt: d.Attempt, Reason: d.Reason, Failure: d.Failure}
	switch d.Kind {
	case core.Started:
		h.Type = taskStarted
		p.since[d.Path] = f.Time
	case core.Retried:
		if led[d.Path] != d {
			return // told with its event
		}
		h.Type, h.At = taskRetry, time.UnixMilli(d.At).UTC()
	case core.GaveUp:
		if led[d.Path] != d {
			return
		}
		h.Type, h.Reason = taskFailed, tolerated(d)
	case core.SkippedTask:
		h.Type = taskSkipped
	case core.Cancelling:
		h.Type = taskStopping
		p.stopping[d.Path] = d.Reason
	case core.Settled:
		h.Type = taskSettled
	case core.Verdict:
		at := d.I + 1
		h.Type, h.Iteration = loopNext, &at
		if d.Yes {
			h.Type, h.Iteration = loopDone, &d.I
		}
	case core.Exhausted:
		h.Type, h.Iteration = loopSpent, &d.I
	case core.Closed:
		h.Type = tryClosed
	case core.Entered:
		h.Type = map[core.Phase]string{core.PhaseCatch: tryCatch, core.PhaseFinally: tryFinally, core.PhaseDone: tryDone}[d.Phase]
	case core.HandingOver:
		h.Type = handingOver
		if d.Handoff != nil && len(d.Handoff.State) > 0 {
			h.Reason = "a state of " + size(int64(len(d.Handoff.State)))
		}
	case core.Failing:
		if d.Failure != nil && d.Failure.Code == core.HandingOn {
			return // told as handing over
		}
		h.Type = string(d.Kind)
	case core.Succeeding:
		h.Type = successorAsked
	case core.Undone:
		h.Type = undone
	case core.Limited:
		h.Type, h.Limits = limitsSet, d.Limits
	case core.Breached:
		h.Type, h.Breach, h.Mode, h.Reason = limitReached, d.Breach, core.ModeName(cairn.OnExceeded(d.Reason)), ""
	case core.Crowded:
		h.Type, h.Context, h.HalfFull, h.Bucket = crowded, d.At, d.Yes, core.BucketName(core.ContextBucket(d.At))
	case core.Unpriced:
		h.Type, h.Model, h.Reason = unpricedModel, d.Reason, ""
	case core.Ended:
		h.Type, h.Millis = "run-"+string(d.Status), max(1, f.Time-p.began) // less than a millisecond counts as one
	default:
		h.Type = string(d.Kind)
	}
	h.text = d.Spending()
	tell(h)
}

// String is a happening as one line.
func (h happening) String() string {
	verb, rest := h.Type, ""
	switch h.Type {
	case runStarted:
		rest = fmt.Sprintf("%s, workflow %s", h.Run, h.Reason)
		if h.Generation > 1 {
			rest += fmt.Sprintf(", generation %d", h.Generation)
		}
	case taskStarted:
		if rest = h.Path; h.Attempt > 1 {
			rest += fmt.Sprintf(", attempt %d", h.Attempt)
		}
	case taskDone:
		rest = h.Path + " in " + span(h.Millis)
		if h.Cached {
			rest = h.Path + " from the cache"
		}
		for _, file := range h.Artifacts {
			rest += fmt.Sprintf(", wrote %s (%s)", file.Name, size(file.Size))
		}
	case taskRetry:
		rest = fmt.Sprintf("%s, attempt %d in %s, after %s", h.Path, h.Attempt, span(max(0, h.At.Sub(h.Time).Milliseconds())), brief(h.Failure))
	case limitsSet, limitReached, crowded, unpricedModel, recalled:
		rest = h.Path + ": " + h.text
	case taskRefused:
		rest = fmt.Sprintf("%s, attempt %d after %s: %s", h.Path, h.Attempt, span(h.Millis), h.text)
	case loopNext:
		rest = fmt.Sprintf("%d of %s", *h.Iteration, h.Path)
	case loopDone, loopSpent:
		rest = fmt.Sprintf("%s with iteration %d", h.Path, *h.Iteration)
	default:
		rest = h.Path
		if h.Reason != "" {
			rest += ", " + h.Reason
		}
		if h.Failure != nil {
			rest += ", " + brief(h.Failure)
		}
		if strings.HasPrefix(h.Type, "run-") && h.Millis > 0 {
			rest += " after " + span(h.Millis)
		}
	}
	return strings.TrimRight(fmt.Sprintf("%-12s %s", verb, strings.TrimLeft(oneLine(rest), ", ")), " ")
}
