package core

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// Status is where a run stands.
type Status string

const (
	Running  Status = "running"  // driven, or waiting to be
	Paused   Status = "paused"   // asked to start nothing more, until it is resumed
	Blocked  Status = "blocked"  // the workflow's code can't be rendered; State.Block says why
	Finished Status = "finished" // everything is done, and there is a result
	Failed   Status = "failed"   // State.Failure reached the root
	// CancelledRun: asked to cancel, and all has settled.
	CancelledRun Status = "cancelled"
	// Continued: a successor goes on.
	Continued Status = "continued"
)

// Terminal says that the status is final.
func (s Status) Terminal() bool {
	return s == Finished || s == Failed || s == CancelledRun || s == Continued
}

// State is what a run knows: the fold of its frames, and nothing else. It is plain JSON.
type State struct {
	Run      string          `json:"run"`
	Workflow string          `json:"workflow"`
	Input    json.RawMessage `json:"input,omitempty"`
	// Limit is the most attempts at once, 0 for no limit. Grace is a cancelled run's time for Finally, in milliseconds.
	Limit int   `json:"limit,omitempty"`
	Grace int64 `json:"grace,omitempty"`
	// Frame is the number of the last frame, Hash its hash, Time its time.
	Frame  int64  `json:"frame"`
	Hash   string `json:"hash,omitempty"`
	Time   int64  `json:"time"`
	Status Status `json:"status"`
	// Tasks, Loops and Tries hold what has been decided about nodes, mounted or not, by path or address.
	Tasks map[string]*Task `json:"tasks,omitempty"`
	Loops map[string]*Loop `json:"loops,omitempty"`
	Tries map[string]*Try  `json:"tries,omitempty"`
	// Ledgers holds what is spent below each budget, by address.
	Ledgers map[string]*Ledger `json:"ledgers,omitempty"`
	// Unpriced are the models without a price that calls were made with.
	Unpriced map[string]bool `json:"unpriced,omitempty"`
	// Patches holds the answers of View.Patched by scope#id.
	Patches map[string]bool `json:"patches,omitempty"`
	// Inbox is the number of the last inbox item taken.
	Inbox int64 `json:"inbox,omitempty"`
	// Cancelling is set once the run was asked to cancel.
	Cancelling *Cancelled `json:"cancelling,omitempty"`
	// Failure is what reached the root, Block what the run is blocked by.
	Failure *cairn.Failure `json:"failure,omitempty"`
	Block   *cairn.Failure `json:"block,omitempty"`
	// Structure, InputHash and Policy are the digests of the plan as of the last rendered frame.
	Structure string `json:"structure,omitempty"`
	InputHash string `json:"inputHash,omitempty"`
	Policy    string `json:"policy,omitempty"`
	// Unrendered: the last frame's events have not been rendered yet.
	Unrendered bool `json:"unrendered,omitempty"`
	// Reopened counts the history epochs before this one.
	Reopened int `json:"reopened,omitempty"`
	// Adopted is the frame that last accepted changed code: outputs up to it may have another schema than today's keys.
	Adopted int64 `json:"adopted,omitempty"`
	// Envelope is what the run before has handed over, nil in the first of a chain.
	Envelope *Envelope `json:"envelope,omitempty"`
	// Handoffs holds what was decided to be handed over, by the address of the node or the path of the loop. The one that
	// Failure names is on its way.
	Handoffs map[string]*Handoff `json:"handoffs,omitempty"`
	// Successor is the run that was asked to go on, or does.
	Successor *Successor `json:"successor,omitempty"`
	// Long: HistoryLong was taken.
	Long bool `json:"long,omitempty"`

	// What follows is derived from the above while folding.

	running map[string]*Task
	waiting map[string]*Task
	values  map[valueKey][]entry
	// before is the time of the frame before the open one; over are the attempts that have ended in this one.
	before int64
	over   []Attempt
}

// Task is what is known of a task that was ever started or skipped.
type Task struct {
	Status TaskStatus `json:"status"`
	// Attempt is the number of the last attempt; Failures and Losses count how attempts ended. Booked is the last one that had
	// begun its body and whose end, with all that it has used, is in a frame: what the others since have used is in none.
	Attempt  int `json:"attempt,omitempty"`
	Booked   int `json:"booked,omitempty"`
	Failures int `json:"failures,omitempty"`
	Losses   int `json:"losses,omitempty"`
	// Schema, InputHash, Policy and Deadline are those of the last start. Input is frozen from the first start to the outcome.
	Schema    string          `json:"schema,omitempty"`
	InputHash string          `json:"inputHash,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	Policy    *cairn.Policy   `json:"policy,omitempty"`
	Deadline  int64           `json:"deadline,omitempty"`
	// Fork is the path of the task whose conversation this one's begins with.
	Fork string `json:"fork,omitempty"`
	// Delegate: it is a sub-agent's.
	Delegate bool `json:"delegate,omitempty"`
	// At is when a waiting task may start again; 0 is at once.
	At int64 `json:"at,omitempty"`
	// Stopping is why a running attempt was told to stop.
	Stopping string `json:"stopping,omitempty"`
	// Output, Artifacts and Frame belong to a done task.
	Output    json.RawMessage  `json:"output,omitempty"`
	Artifacts []cairn.Artifact `json:"artifacts,omitempty"`
	Frame     int64            `json:"frame,omitempty"`
	Failure   *cairn.Failure   `json:"failure,omitempty"`
	// Budgets and Tracking are those of the last start, Since its time while it runs.
	Budgets  []string       `json:"budgets,omitempty"`
	Tracking cairn.Tracking `json:"tracking,omitempty"`
	Since    int64          `json:"since,omitempty"`
	// Spent is what all attempts have used up, from the first start to the outcome.
	Spent Spent `json:"spent,omitzero"`
	// Refused is the limit that has ended the last attempt, until another one starts.
	Refused *cairn.Breach `json:"refused,omitempty"`
	// Noticed has the limits per task whose breach was told, by measure and address.
	Noticed map[string]int64 `json:"noticed,omitempty"`
	// Bucket is the highest of ContextBuckets that a call was in; HalfFull tells of one that has filled half of a window.
	Bucket   int  `json:"bucket,omitempty"`
	HalfFull bool `json:"halfFull,omitempty"`
	// Recall is how the last recall of memory for the task went; "" is none.
	Recall cairn.RecallStatus `json:"recall,omitempty"`
	// Cached outputs were taken from a cache.
	Cached bool `json:"cached,omitempty"`
	// Kept outputs are those of the run before.
	Kept bool `json:"kept,omitempty"`
	// Tolerated failures are an optional task's: they go no further.
	Tolerated bool   `json:"tolerated,omitempty"`
	Reason    string `json:"reason,omitempty"`
}

// TaskStatus is where a task stands.
type TaskStatus string

const (
	TaskRunning TaskStatus = "running" // an attempt is being made
	// TaskWaiting: another attempt follows.
	TaskWaiting   TaskStatus = "waiting"
	TaskFinished  TaskStatus = "done"      // it has a value
	TaskGaveUp    TaskStatus = "failed"    // no attempt is left
	TaskSkipped   TaskStatus = "skipped"   // its SkipIf said so
	TaskCancelled TaskStatus = "cancelled" // its attempt was told to stop, and has
)

// Ended says that the task has an outcome that a View can see. A cancelled task has one and may still start again, if it is mounted anew.
func (t *Task) Ended() bool { return t != nil && t.Status != TaskRunning && t.Status != TaskWaiting }

// settled says that the task needs nothing more and stops nothing after it.
func (t *Task) settled() bool {
	return t != nil && (t.Status == TaskFinished || t.Status == TaskSkipped || t.Status == TaskGaveUp && t.Tolerated)
}

// Loop is where a loop stands.
type Loop struct {
	Iteration int  `json:"iteration,omitempty"`
	Done      bool `json:"done,omitempty"`
	Exhausted bool `json:"exhausted,omitempty"`
}

// Phase is which part of a Try is mounted.
type Phase string

const (
	PhaseBody    Phase = ""        // the zero value: what the Try is for
	PhaseCatch   Phase = "catch"   // a failure was caught
	PhaseFinally Phase = "finally" // the way out
	PhaseDone    Phase = "done"    // over; what is pending has gone outward
)

// Try is where a Try stands. One that is in its body and has met no failure has no entry.
type Try struct {
	Phase Phase `json:"phase,omitempty"`
	// Closing: the phase's part takes no more starts and ends when what runs in it has settled.
	Closing bool `json:"closing,omitempty"`
	// Caught is the failure Catch was given.
	Caught *cairn.Failure `json:"caught,omitempty"`
	// Pending is the failure that goes outward after Finally.
	Pending *cairn.Failure `json:"pending,omitempty"`
}

// Cancelled is a request to cancel.
type Cancelled struct {
	Reason string `json:"reason,omitempty"`
	// Deadline ends the grace for Finally, in Unix milliseconds.
	Deadline int64 `json:"deadline"`
}

// valueKey finds the values of a key below a scope.
type valueKey struct{ scope, key string }

// entry is a value in the index: which iteration of the outermost loop below the scope it belongs to, -1 for none.
type entry struct {
	path      string
	task      *Task
	iteration int
}

// NewState is the state before the first frame.
func NewState() *State {
	s := &State{
		Tasks: map[string]*Task{}, Loops: map[string]*Loop{}, Tries: map[string]*Try{}, Ledgers: map[string]*Ledger{},
		Unpriced: map[string]bool{}, Patches: map[string]bool{}, Handoffs: map[string]*Handoff{},
	}
	s.derive()
	return s
}

// UnmarshalJSON reads a state and derives what is not stored.
func (s *State) UnmarshalJSON(raw []byte) error {
	type plain State
	*s = *NewState()
	if err := json.Unmarshal(raw, (*plain)(s)); err != nil {
		return err
	}
	s.derive()
	return nil
}

// Clone copies a state by way of its JSON.
func (s *State) Clone() (*State, error) {
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var out State
	return &out, json.Unmarshal(raw, &out)
}

// derive rebuilds the indexes. Values are indexed in the order of their frames; several of one frame by path, which is
// also how Fold meets them.
func (s *State) derive() {
	s.running, s.waiting, s.values = map[string]*Task{}, map[string]*Task{}, map[valueKey][]entry{}
	maps.DeleteFunc(s.Tasks, func(_ string, t *Task) bool { return t == nil })
	paths := slices.SortedFunc(maps.Keys(s.Tasks), func(a, b string) int {
		if by := s.Tasks[a].Frame - s.Tasks[b].Frame; by != 0 {
			return int(by)
		}
		return comparePaths(a, b)
	})
	for _, path := range paths {
		switch t := s.Tasks[path]; t.Status {
		case TaskRunning:
			s.running[path] = t
		case TaskWaiting:
			s.waiting[path] = t
		case TaskFinished:
			s.index(path, t)
		}
	}
}

// Fold applies a frame. It fails, with the state unusable, when the frame does not follow.
func (s *State) Fold(f *Frame, hash string) error {
	if f.N != s.Frame+1 {
		return fmt.Errorf("frame %d does not follow frame %d", f.N, s.Frame)
	}
	if f.Prev != s.Hash {
		return fmt.Errorf("frame %d follows a frame with hash %q, and frame %d has %q", f.N, f.Prev, s.Frame, s.Hash)
	}
	if f.Time < s.Time {
		return fmt.Errorf("frame %d is older than frame %d", f.N, s.Frame)
	}
	s.open(f.N, f.Time)
	for i := range f.Events {
		if err := s.event(&f.Events[i]); err != nil {
			return fmt.Errorf("frame %d: %w", f.N, err)
		}
	}
	for i := range f.Decisions {
		if err := s.decision(&f.Decisions[i]); err != nil {
			return fmt.Errorf("frame %d: %w", f.N, err)
		}
	}
	s.close(f, hash)
	return nil
}

// open begins frame n: what is applied from now on belongs to it.
func (s *State) open(n, time int64) {
	s.Frame, s.before, s.Time = n, s.Time, max(time, s.Time)
	clear(s.over)
	s.over = s.over[:0]
}

// close ends the frame.
func (s *State) close(f *Frame, hash string) {
	s.Hash, s.Unrendered = hash, f.Unrendered
	s.Structure = cmp.Or(f.Structure, s.Structure)
	s.InputHash = cmp.Or(f.Input, s.InputHash)
	s.Policy = cmp.Or(f.Policy, s.Policy)
}

// runningPaths lists what runs, in order.
func (s *State) runningPaths() []string {
	return slices.SortedFunc(maps.Keys(s.running), comparePaths)
}

// startedPaths lists what runs or waits for another attempt, in order.
func (s *State) startedPaths() []string {
	return slices.SortedFunc(func(yield func(string) bool) {
		for _, started := range []map[string]*Task{s.running, s.waiting} {
			for path := range started {
				if !yield(path) {
					return
				}
			}
		}
	}, comparePaths)
}

// task returns the entry of a path, made on first use.
func (s *State) task(path string) *Task {
	t := s.Tasks[path]
	if t == nil {
		t = &Task{}
		s.Tasks[path] = t
	}
	return t
}

func (s *State) loop(path string) *Loop {
	l := s.Loops[path]
	if l == nil {
		l = &Loop{Iteration: s.firstIteration(path)}
		s.Loops[path] = l
	}
	return l
}

func (s *State) try(address string) *Try {
	t := s.Tries[address]
	if t == nil {
		t = &Try{}
		s.Tries[address] = t
	}
	return t
}

// index files a value under its own scope and under every scope around that is reached through loops only.
func (s *State) index(path string, t *Task) {
	scope, key := cairn.Split(path)
	iteration := -1
	for {
		at := valueKey{scope, key}
		s.values[at] = insert(s.values[at], entry{path, t, iteration})
		i, ok := 0, false
		if _, i, ok = cairn.CutIteration(scope); !ok {
			return
		}
		iteration = i
		scope, _ = cairn.Split(scope)
	}
}

// unindex takes a value out again.
func (s *State) unindex(path string, t *Task) {
	scope, key := cairn.Split(path)
	for {
		at := valueKey{scope, key}
		s.values[at] = slices.DeleteFunc(s.values[at], func(e entry) bool { return e.task == t })
		if _, _, ok := cairn.CutIteration(scope); !ok {
			return
		}
		scope, _ = cairn.Split(scope)
	}
}

// insert keeps the values in the order of their frames, and those of one frame by path: an order that does not depend
// on how the index came about.
func insert(values []entry, e entry) []entry {
	at := len(values)
	for at > 0 && values[at-1].task.Frame == e.task.Frame && comparePaths(values[at-1].path, e.path) > 0 {
		at--
	}
	return slices.Insert(values, at, e)
}

// comparePaths orders paths by name, and iterations by number.
func comparePaths(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	return slices.CompareFunc(as, bs, func(a, b string) int {
		aLoop, i, aOK := cairn.CutIteration(a)
		bLoop, j, bOK := cairn.CutIteration(b)
		if aOK && bOK && aLoop == bLoop {
			return i - j
		}
		return strings.Compare(a, b)
	})
}
