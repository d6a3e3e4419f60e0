package core

import (
	"encoding/json"
	"time"

	"github.com/cairnrun/cairn"
)

// EventKind is what happened outside of the core.
type EventKind string

const (
	// RunStarted is the first event of a run: it carries the input and the limits, which never change after.
	RunStarted EventKind = "started"
	// RunResumed says that a new owner has the run: what was running under the old one is lost.
	RunResumed EventKind = "resumed"
	// CodeAdopted is a resume that accepts today's structure as the run's own.
	CodeAdopted EventKind = "adopted"

	// RunReopened takes back that a run has failed because of a budget: a new history epoch begins, with a new owner.
	RunReopened EventKind = "reopened"

	// TaskDone and TaskFailed end an attempt with a value, or with a failure.
	TaskDone   EventKind = "done"
	TaskFailed EventKind = "failed" // see TaskDone
	// TaskLost says that an attempt ended without an outcome because its process stopped. Graceful ones, stopped by
	// SIGTERM and waited for, do not count as losses.
	TaskLost EventKind = "lost"

	// HandedOver says that the successor Name can go on, HandoffRefused why there can be none: a permanent failure fails the
	// run, any other blocks it. Both answer ContinueAsNew.
	HandedOver     EventKind = "handed-over"
	HandoffRefused EventKind = "handoff-refused" // see HandedOver

	// HistoryLong suggests a handoff: the run's history has passed a threshold of its owner, which Name tells.
	HistoryLong EventKind = "history-long"

	// TimerFired wakes what waits for a moment; the core checks the moment itself.
	TimerFired EventKind = "timer"

	CancelAsked EventKind = "cancel"  // somebody wants the run cancelled
	PauseAsked  EventKind = "pause"   // somebody wants nothing more to start
	Unpaused    EventKind = "unpause" // somebody wants a paused run to go on

	// SignalReceived, ApprovalDecided and ChildDone wake durable waits. There are no such nodes yet; once there are, one that
	// a frame has taken and nothing has consumed has to go into the Envelope, or a handoff would lose it.
	SignalReceived  EventKind = "signal"
	ApprovalDecided EventKind = "approval" // see SignalReceived
	ChildDone       EventKind = "child"    // see SignalReceived
)

// Event is something that happened outside of the core, in the order in which the owner of the run learnt of it. The
// ones a step accepted stand in its frame.
type Event struct {
	Kind EventKind `json:"k"`
	// Path and Attempt say whose event it is.
	Path    string `json:"p,omitempty"`
	Attempt int    `json:"a,omitempty"`
	// Output and Artifacts are a done task's. Usage is every attempt's, however it has ended.
	Output    json.RawMessage  `json:"o,omitempty"`
	Usage     []cairn.Usage    `json:"usage,omitempty"`
	Artifacts []cairn.Artifact `json:"art,omitempty"`
	// Effects go to the outbox with the frame and are not repeated in it.
	Effects []cairn.Effect `json:"-"`
	// Refused is the limit because of which a running body made no further model call. It is set on a failed event: the
	// attempt does not count as one that failed.
	Refused *cairn.Breach `json:"refused,omitempty"`
	// Cached marks an output that was taken from a cache: nothing was run for it.
	Cached bool `json:"cached,omitempty"`
	// Label is how the cache knows the output; an accepted one goes there with the frame. Nil is an output that is none of
	// the cache's.
	Label   *CacheLabel    `json:"-"`
	Failure *cairn.Failure `json:"f,omitempty"`
	// Recalls are what memory reports of an attempt, however it has ended.
	Recalls []cairn.Recall `json:"recalls,omitempty"`
	// Unbegun marks an attempt that has ended before its body began: what attempts before it have used that were lost with their
	// process it can't have booked.
	Unbegun bool `json:"unbegun,omitempty"`
	// Graceful marks an attempt that was stopped on purpose.
	Graceful bool `json:"graceful,omitempty"`
	// Name, Payload and Key are a signal's; Payload is the input of a start; Name the reason of a cancel.
	Name    string          `json:"name,omitempty"`
	Payload json.RawMessage `json:"in,omitempty"`
	// Limit is the most attempts at once of a run, given at its start.
	Limit int `json:"limit,omitempty"`
	// Grace is how long a cancelled run's Finally may take, in milliseconds.
	Grace int64 `json:"grace,omitempty"`
	// Seq is the number in the run's inbox of an event that came through it.
	Seq int64 `json:"seq,omitempty"`
	// Envelope and Kept are what a successor's start carries over from the run before.
	Envelope *Envelope `json:"env,omitempty"`
	Kept     []Kept    `json:"kept,omitempty"`
}

// CommandKind is what the owner of a run has to do.
type CommandKind string

const (
	StartTask  CommandKind = "start-task"  // make the attempt in Start
	CancelTask CommandKind = "cancel-task" // tell the path's attempt to stop
	SetTimer   CommandKind = "set-timer"   // bring TimerFired for the path at At
	ClearTimer CommandKind = "clear-timer" // forget the path's timer

	StartChild    CommandKind = "start-child"     // start a child run
	CancelChild   CommandKind = "cancel-child"    // ask a child run to cancel
	Publish       CommandKind = "publish"         // send a signal to another run
	ContinueAsNew CommandKind = "continue-as-new" // make the first step of Successor, and answer with HandedOver or HandoffRefused

	// Complete, Fail and Cancel end the run; Block and Pause let it rest.
	Complete CommandKind = "complete"
	Fail     CommandKind = "fail"   // see Complete
	Cancel   CommandKind = "cancel" // see Complete
	Block    CommandKind = "block"  // see Complete
	Pause    CommandKind = "pause"  // see Complete
)

// Command is something for the owner of the run to do once the frame that decided it is durable.
type Command struct {
	Kind CommandKind
	Path string
	// Start is set for StartTask.
	Start *Start
	// At is the moment of SetTimer, in Unix milliseconds.
	At int64
	// Successor is the first event of the run that is to go on, for ContinueAsNew. Its input is unchecked where it is not
	// this run's.
	Successor *Event
}

// Start is an attempt to make. All that its completion is booked on stands in the frame; what follows Deadline is of this process.
type Start struct {
	Path string
	// Attempt is the attempt's number, Booked that of the last one before it whose usage, with that of all before, is in a frame.
	Attempt, Booked int

	Input  json.RawMessage
	Policy cairn.Policy
	// Deadline ends all attempts together, in Unix milliseconds; 0 is none.
	Deadline int64
	// Budgets are the addresses of the budgets around the task, the outermost first: State.Ledgers has them. The last
	// Governing of them may refuse it something.
	Budgets   []string
	Governing int
	Run       cairn.Run
	// Schema, Identity and Check are of the body that Run is, as a cache has to know it.
	Schema, Identity string
	Prompted         bool
	// Fork is where the attempt's conversation begins; nil is with its own prompt.
	Fork  *Source
	Check func(output json.RawMessage) error
}

// CacheLabel names an output for a cache.
type CacheLabel struct {
	Key string
	// TTL is how long the output may be used, 0 for ever; Schema the hash of its schema. The scope and the identity are in
	// the key, and here for people.
	TTL             time.Duration
	Schema          string
	Scope, Identity string
}
