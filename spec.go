package cairn

import (
	"context"
	"encoding/json"
	"reflect"
	"time"
)

// Kind is the shape of a node. The set is closed: replay must know every kind.
type Kind string

const (
	KindTask     Kind = "task"     // what package task makes
	KindSequence Kind = "sequence" // Sequence, Nodes
	KindParallel Kind = "parallel" // Parallel
	KindBranch   Kind = "branch"   // Branch
	KindLoop     Kind = "loop"     // Loop
	KindScope    Kind = "scope"    // Scope, ForEach
	KindTry      Kind = "try"      // Try
	KindAspects  Kind = "aspects"  // what package aspects makes
	KindMemory   Kind = "memory"   // what package memory makes
	// KindContinueAsNew is what package handoff makes: the run ends and a successor goes on.
	KindContinueAsNew Kind = "continue-as-new"
)

// Spec is a node as data. Exactly the part that its Kind names is set; Children and Body build what is below.
type Spec struct {
	Kind Kind
	// ID is the explicit name of a task, loop or scope, and the optional one of a try, aspects or a continue-as-new.
	ID       string
	Children Nodes
	// Body renders the inside of a scope or of one iteration of a loop.
	Body     func(v *View) Node
	Task     *TaskSpec
	Parallel *ParallelSpec
	Branch   *BranchSpec
	Loop     *LoopSpec
	Try      *TrySpec
	Aspects  *AspectsSpec
	Memory   *MemorySpec
	Handoff  *HandoffSpec
	// Mistakes found while lowering; they are reported with all others of the tree.
	Mistakes []error
}

// ParallelSpec is the part of a Spec that Parallel sets.
type ParallelSpec struct{ Max int }

// BranchSpec is the part of a Spec that Branch sets.
type BranchSpec struct {
	If         bool
	Then, Else Node
}

// LoopSpec is the part of a Spec that Loop sets.
type LoopSpec struct {
	Max          int
	OnMax        OnMax
	HandoffEvery int
	Until        func(v *View) bool
}

// TrySpec is the part of a Spec that Try sets.
type TrySpec struct {
	Only    Codes
	Catch   func(v *View, f Failure) Node
	Finally func(v *View) Node
}

// HandoffSpec is the part of a Spec that a continue-as-new sets.
type HandoffSpec struct {
	// State makes the state to hand over, once, when the node's turn has come, with a View of the node's scope: JSON and the
	// hash of its schema, nil for none. Its error fails the node.
	State func(v *View) (state json.RawMessage, schema string, err error)
	// Keep names the keys whose values the successor gets as finished tasks.
	Keep []string
	// Input makes the successor's input; nil leaves it as it is.
	Input func() (json.RawMessage, error)
}

// TaskSpec is a task as data: what the engine needs to start, retry, time out and check an attempt. The closures are
// used by the process that rendered them and are not part of the hashes.
type TaskSpec struct {
	// Schema is the JSON schema of the output and SchemaHash its identity, annotations left out.
	Schema     json.RawMessage
	SchemaHash string
	// Output is the Go type that the schema is of, for reports.
	Output reflect.Type
	After  []string
	// Fork is the key of the task whose final conversation this one begins with; "" is none. It waits for that task.
	Fork string
	// Policy may change between two versions of a workflow without being a divergence.
	Policy Policy
	// SkipIf is asked once, when the task's turn has come.
	SkipIf func(v *View) bool
	// Input makes the prompt or input, once, when the first attempt starts; it is stored, and later
	// attempts get the same bytes. Nil is no input.
	Input func(v *View) (json.RawMessage, error)
	// Writes are the working directories, clean, that sub-agents of the task may change. No two tasks that could run at once
	// may share one: WRITER_CONFLICT.
	Writes []string
	// Identity says what does the work, as far as a stored output depends on it: an agent's model and configuration, a
	// function's version. Anonymous is an agent that does not tell.
	Identity  string
	Anonymous bool
	// Prompted tasks have a prompt as their Input: memory recalls by it.
	Prompted bool
	// Memory, when set, replaces what is around the task.
	Memory *MemorySpec
	// Models are those that the task's calls are made with, as far as its agent tells: a cost budget wants prices for them.
	Models []string
	// NoTools says why who does the work can't be given tools; "" is that it can, or does not tell.
	NoTools string
	// Describe tells how the agent would begin with an input and with tools besides its own, as a value of the agent's own choosing:
	// for reports, which know what to make of it. It asks nobody, calls no tool and changes nothing. Nil is an agent that does not tell.
	Describe func(input json.RawMessage, tools []Tool) (any, error)
	// Fixed tasks have their output as their Input: no work makes it.
	Fixed bool
	// Check says why a stored output is none of today's type. Nil takes everything.
	Check func(output json.RawMessage) error
	// Run does the work of one attempt.
	Run Run
}

// Policy is how a task is run, as plain data with canonical JSON: zero values are defaults and left out.
type Policy struct {
	Retry RetryPolicy `json:"retry,omitzero"`
	// Timeout bounds all attempts together, pauses included, AttemptTimeout each one. 0 is none.
	Timeout        time.Duration `json:"timeout,omitempty"`
	AttemptTimeout time.Duration `json:"attemptTimeout,omitempty"`
	// Heartbeat is the longest silence of an attempt before it is cut off. 0 is none.
	Heartbeat time.Duration `json:"heartbeat,omitempty"`
	// Optional tasks may fail without failing what is around them.
	Optional bool `json:"optional,omitempty"`
	// Priority decides between tasks that are ready at once: higher first, then tree order.
	Priority int `json:"priority,omitempty"`
	// SideEffect marks work that changes the world: its output alone is not what it is for.
	SideEffect bool `json:"sideEffect,omitempty"`
	// NoCache keeps the task's output from being taken from stored ones, and from being stored: something whose content
	// changes, as an active memory bank, has a part in it.
	NoCache bool `json:"noCache,omitempty"`
	// Delegate is set of work that was delegated to a sub-agent, and of the calls of a tool that delegates.
	Delegate *DelegateSpec `json:"delegate,omitempty"`
	// Memory is the task's, resolved: the core sets it.
	Memory *MemorySpec `json:"memory,omitempty"`
	// Config is what other features attached with With, by feature.
	Config map[string]json.RawMessage `json:"config,omitempty"`
}

// DelegateSpec is how a sub-agent works.
type DelegateSpec struct {
	// Writer may change things; without it only tools are there that have no side effect.
	Writer bool `json:"writer,omitempty"`
	// Dir is its working directory, clean; "" is the process's.
	Dir string `json:"dir,omitempty"`
}

// IsZero says that everything is as by default.
func (p Policy) IsZero() bool {
	return p.Retry == RetryPolicy{} && p.Timeout == 0 && p.AttemptTimeout == 0 && p.Heartbeat == 0 && !p.Optional && p.Priority == 0 &&
		!p.SideEffect && !p.NoCache && p.Delegate == nil && p.Memory == nil && len(p.Config) == 0
}

// Defaults of RetryPolicy.
const (
	DefaultAttempts     = 3
	DefaultRetryInitial = time.Second
	DefaultRetryFactor  = 2.0
	DefaultRetryCap     = 5 * time.Minute
)

// RetryPolicy says how often a failing task is tried and how long the pauses are: Initial × Factor^(n-1) up to Cap after
// failure n, with up to a tenth of it added as jitter that is seeded by run and path. A failure's own RetryAfter, when
// longer, wins.
type RetryPolicy struct {
	// Max is the number of attempts, the first included: 0 is 3, 1 is no retry, Unbounded is explicit.
	Max     int           `json:"max,omitempty"`
	Initial time.Duration `json:"initial,omitempty"`
	Factor  float64       `json:"factor,omitempty"`
	Cap     time.Duration `json:"cap,omitempty"`
}

// Run does the work of one attempt. It may be called more than once for a task, never at the same time. A
// middleware is a function from one Run to another.
type Run func(ctx context.Context, call *Call) (Result, error)

// Attachment is a value of one feature on a task of another: cache.Policy, memory.Memory as override, …
type Attachment interface {
	// Attach returns the feature's name and its configuration as JSON-encodable data.
	Attach() (feature string, config any)
}

// Checker is an Attachment that can be wrong, by itself or on the task it is attached to. What it finds is a mistake of
// the tree.
type Checker interface {
	Attachment
	Check(t *TaskSpec) error
}

// Setter is an Attachment that also sets something of the task it is attached to.
type Setter interface {
	Attachment
	Set(t *TaskSpec)
}

// With lists the attachments of a task; nil entries are skipped.
type With []Attachment
