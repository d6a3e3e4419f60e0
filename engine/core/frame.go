package core

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"github.com/cairnrun/cairn"
)

// Frame is one committed step: what happened, what was decided, how the plan changed. State is the fold of frames.
// JSON names are short because a frame is written for every step of a run's life.
type Frame struct {
	// N counts from 1 without gaps.
	N int64 `json:"n"`
	// Time is the logical time in Unix milliseconds: wall time, but never less than the frame's before.
	Time int64 `json:"t"`
	// Prev is the hash of the frame before; "" in the first.
	Prev string `json:"prev,omitempty"`
	// Events are what caused it, in arrival order; Decisions what the core made of them.
	Events    []Event    `json:"ev,omitempty"`
	Decisions []Decision `json:"do,omitempty"`
	// Plan is how the plan differs from the last frame's.
	Plan Delta `json:"plan,omitzero"`
	// The hashes of the plan, each left out where it is the last frame's. Only Structure tells a divergence.
	Structure string `json:"structure,omitempty"`
	Input     string `json:"input,omitempty"`
	Policy    string `json:"policy,omitempty"`
	// Stopping marks a frame whose owner was about to stop: nothing was started in it.
	Stopping bool `json:"stopping,omitempty"`
	// Unrendered marks a frame whose events could not be rendered: the run is blocked.
	Unrendered bool `json:"unrendered,omitempty"`
}

// Delta is a difference between two plans, by path.
type Delta struct {
	// Full says that Set is the whole plan: after the code has changed, or a blocked run goes on.
	Full bool `json:"full,omitempty"`
	// Set holds nodes that are new or changed, in tree order.
	Set []Line `json:"set,omitempty"`
	// Gone holds paths of nodes no longer mounted.
	Gone []string `json:"gone,omitempty"`
}

// IsZero says that nothing changed.
func (d Delta) IsZero() bool { return !d.Full && len(d.Set) == 0 && len(d.Gone) == 0 }

// Line is a node as far as structure goes: what a divergence is told from.
type Line struct {
	Path string     `json:"p"`
	Kind cairn.Kind `json:"k"`
	// After are the nodes it waits for: paths, or the name of a join.
	After []string `json:"after,omitempty"`
	// Schema is the hash of a task's output schema.
	Schema string `json:"s,omitempty"`
	// Untaken marks a node on the side of a branch not taken.
	Untaken bool `json:"untaken,omitempty"`
}

// DecisionKind is what the core decided.
type DecisionKind string

const (
	// Started: an attempt is to be made. Input is the frozen input of the first one.
	Started DecisionKind = "start"
	// Retried: another attempt follows at At.
	Retried DecisionKind = "retry"
	// GaveUp: the task has failed for good, with the failure of its last event or the one given here.
	GaveUp DecisionKind = "fail"
	// SkippedTask: SkipIf said so.
	SkippedTask DecisionKind = "skip"
	// Cancelling: a running attempt was told to stop, because of Reason.
	Cancelling DecisionKind = "cancel"
	// Settled: a cancelled attempt has ended without an outcome that counts.
	Settled DecisionKind = "settled"
	// Verdict: what Until said of iteration I.
	Verdict DecisionKind = "until"
	// Exhausted: the loop ended at its Max.
	Exhausted DecisionKind = "exhausted"
	// Closed: a Try's current part takes no more starts, because of the failure.
	Closed DecisionKind = "close"
	// Entered: a Try goes on with Phase.
	Entered DecisionKind = "enter"
	// Patched: what View.Patched answers for an id in a scope.
	Patched DecisionKind = "patch"
	// Ended: the run has reached a status.
	Ended DecisionKind = "end"
	// HandingOver: a node's turn has come, and Handoff is what it hands over. Of a loop it stands in place of the verdict on
	// iteration I.
	HandingOver DecisionKind = "hand-over"
	// Succeeding: the handoff has reached the root and all is quiet; the successor Reason was asked for.
	Succeeding DecisionKind = "succeed"
	// Failing: a failure has reached the root; the run ends when all has settled.
	Failing DecisionKind = "failing"
	// Undone: what the path's task or try has come to is taken back, because the run was reopened.
	Undone DecisionKind = "undo"
	// Limited: what a budget limits, when the first task below it starts and when the limits have changed.
	Limited DecisionKind = "limits"
	// Breached: a limit is reached, told once. What follows stands in decisions of its own.
	Breached DecisionKind = "breach"
	// Crowded: a model call of the task was the first in bucket I of ContextBuckets, or, with Yes, to fill more than half
	// of its model's window. At is its context in tokens.
	Crowded DecisionKind = "context"
	// Unpriced: a call was made with a model that has no price, the first of the run. Reason is the model.
	Unpriced DecisionKind = "unpriced"
)

// Decision is one thing the core decided. Applying the events and then the decisions of a frame to the state
// before it gives the state after it.
type Decision struct {
	Kind    DecisionKind `json:"k"`
	Path    string       `json:"p,omitempty"`
	Attempt int          `json:"a,omitempty"`
	// Schema, InputHash, Input, Reads, Policy and Deadline stand in a start: a completion is booked on these,
	// never on a later plan. Policy is left out where it is all defaults.
	Schema    string          `json:"s,omitempty"`
	InputHash string          `json:"ih,omitempty"`
	Input     json.RawMessage `json:"in,omitempty"`
	Reads     []string        `json:"reads,omitempty"`
	// Budgets are the addresses of the budgets that a start is booked on, the outermost first; Tracking what of it appears
	// in metrics.
	Budgets  []string       `json:"on,omitempty"`
	Tracking cairn.Tracking `json:"track,omitempty"`
	Policy   *cairn.Policy  `json:"pol,omitempty"`
	// Fork is the path of the task whose conversation all attempts begin with.
	Fork     string         `json:"fork,omitempty"`
	Deadline int64          `json:"deadline,omitempty"`
	At       int64          `json:"at,omitempty"`
	Failure  *cairn.Failure `json:"f,omitempty"`
	Reason   string         `json:"why,omitempty"`
	// I is an iteration, Yes a verdict or a patch's answer, Phase a Try's.
	I      int    `json:"i,omitempty"`
	Yes    bool   `json:"yes,omitempty"`
	Phase  Phase  `json:"phase,omitempty"`
	Status Status `json:"status,omitempty"`
	// Limits are a budget's, Breach is what has reached one of them.
	Limits *cairn.AspectsSpec `json:"limits,omitempty"`
	Breach *cairn.Breach      `json:"breach,omitempty"`
	// Handoff is what a HandingOver hands over.
	Handoff *Handoff `json:"handoff,omitempty"`
}

// Encode returns the frame's bytes, as stored and hashed.
func (f *Frame) Encode() ([]byte, error) { return json.Marshal(f) }

// Hash identifies a frame's bytes: 128 bits of SHA-256, in hex. Frames are chained by it.
func Hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:16])
}
