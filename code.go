package cairn

import (
	"errors"
	"strings"
)

// Code is the stable name of a kind of failure. It is an error itself, so that errors.Is(err, cairn.KeyType)
// asks for it. Codes of other packages and of users are constants of this type.
type Code string

// Error is the code itself.
func (c Code) Error() string { return string(c) }

// Codes lists what a Try catches.
type Codes []Code

// Has says whether c is in the list. An empty list has every code.
func (cs Codes) Has(c Code) bool {
	for _, have := range cs {
		if have == c {
			return true
		}
	}
	return len(cs) == 0
}

// What can go wrong with a task or the run around it: the code of a Failure.
const (
	// TaskFailed: a body returned an error that carries no code of its own.
	TaskFailed Code = "TASK_FAILED"
	// TaskPanicked: a body panicked; the failure has the stack.
	TaskPanicked Code = "TASK_PANICKED"
	// TaskTimeout: an attempt, or all attempts together, took longer than Timeout allows.
	TaskTimeout Code = "TASK_TIMEOUT"
	// HeartbeatTimeout: a task with Heartbeat was silent for longer than that.
	HeartbeatTimeout Code = "HEARTBEAT_TIMEOUT"
	// InvalidOutput: an output could not be encoded, decoded or did not pass its validate tags.
	InvalidOutput Code = "INVALID_OUTPUT"
	// WorkerLost: the process died under the fifth attempt of a task.
	WorkerLost Code = "WORKER_LOST"
	// LoopExhausted: a Loop with OnMax Fail reached Max without its Until.
	LoopExhausted Code = "LOOP_EXHAUSTED"
	// ResultMissing: everything finished and the workflow's result key has no value.
	ResultMissing Code = "RESULT_MISSING"
	// BudgetExceeded: a limit of package aspects is reached; the failure's Detail is a Breach.
	BudgetExceeded Code = "BUDGET_EXCEEDED"
	// StateTooLarge: the state of a handoff has more than MaxState bytes.
	StateTooLarge Code = "STATE_TOO_LARGE"
	// StateInvalid: the state or the input of a handoff has no JSON form.
	StateInvalid Code = "STATE_INVALID"
	// StateType: a successor reads the state of a handoff as another type than it was written as.
	StateType Code = "STATE_TYPE"
	// KeepInLoop: a handoff keeps an output of a loop's iteration, which the successor's loop has yet to come to.
	KeepInLoop Code = "KEEP_IN_LOOP"
	// TooManyGenerations: a chain of runs is as long as it may get.
	TooManyGenerations Code = "TOO_MANY_GENERATIONS"
	// ShareExhausted: a sub-agent has used up the tokens that it was given. Who has delegated the work is told.
	ShareExhausted Code = "SHARE_EXHAUSTED"
	// ForkSource: the task that another one forks has left no conversation to go on from.
	ForkSource Code = "FORK_SOURCE"
	// Cancelled: the run was asked to cancel, or the task's surroundings failed.
	Cancelled Code = "CANCELLED"
)

// What is wrong with a workflow's code, found when it is registered or rendered. At the start of a run these refuse
// it; later they block it, so that a mended program can resume.
const (
	// InvalidTree: the rendered tree has mistakes; the message lists all of them.
	InvalidTree Code = "INVALID_TREE"
	// KeyType: a key is read or produced as two types.
	KeyType Code = "KEY_TYPE"
	// KeyMissing: Must on a key without a value.
	KeyMissing Code = "KEY_MISSING"
	// PromptFailed: a Prompt or Input could not be made, or is empty.
	PromptFailed Code = "PROMPT_FAILED"
	// OutputDecode: a stored output no longer decodes as its key's type.
	OutputDecode Code = "OUTPUT_DECODE"
	// RenderPanicked: Render, Body, Until, Catch, Finally, Prompt, Input or SkipIf panicked.
	RenderPanicked Code = "RENDER_PANICKED"
	// NoFixpoint: a step rendered 100 times and each render changed what the next one reads.
	NoFixpoint Code = "NO_FIXPOINT"
	// UnpricedModel: a budget limits the cost, and a model has no price.
	UnpricedModel Code = "UNPRICED_MODEL"
	// WriterConflict: two sub-agents that may change one working directory could run at once.
	WriterConflict Code = "WRITER_CONFLICT"
	// CodeChanged: today's code renders another structure than the last frame has.
	CodeChanged Code = "CODE_CHANGED"
)

// Error is what an API call of this module returns when it refuses: a stable code, whose run and path it
// is about, what is wrong and what to do next.
type Error struct {
	Code Code
	// Run and Path say what it is about; empty where there is none.
	Run, Path string
	// Message says what is wrong, Next what to do about it.
	Message, Next string
	// Err is the cause, if any.
	Err error
}

// Error is one line: code, run, path, what is wrong, and what to do next.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString(string(e.Code))
	for _, about := range [][2]string{{" run ", e.Run}, {" at ", e.Path}, {": ", e.Message}} {
		if about[1] != "" {
			b.WriteString(about[0] + about[1])
		}
	}
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	if e.Next != "" {
		b.WriteString("; " + e.Next)
	}
	return b.String()
}

// Is matches the error's code.
func (e *Error) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == e.Code
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Coder is an error that carries a code: *Error, *Failure, a Code itself, and the errors of adapters.
type Coder interface{ ErrorCode() Code }

// ErrorCode makes every code its own.
func (c Code) ErrorCode() Code { return c }

// ErrorCode is the error's code.
func (e *Error) ErrorCode() Code { return e.Code }

// ErrorCode is the failure's code.
func (f *Failure) ErrorCode() Code { return f.Code }

// CodeOf finds the outermost code an error carries, and the fallback when it carries none.
func CodeOf(err error, fallback Code) Code {
	var c Coder
	if errors.As(err, &c) {
		return c.ErrorCode()
	}
	return fallback
}
