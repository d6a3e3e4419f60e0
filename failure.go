package cairn

import (
	"encoding/json"
	"errors"
	"time"
)

// Failure is why a task, a node or a run failed, as data: it is stored in frames, given to Catch and
// returned by Wait. It is an error and matches its Code, and the codes of its causes, with errors.Is.
type Failure struct {
	Code    Code   `json:"code"`
	Message string `json:"message,omitempty"`
	// Path is the task or node that failed.
	Path string `json:"path,omitempty"`
	// Attempt is the last attempt of a failed task, from 1.
	Attempt int `json:"attempt,omitempty"`
	// Permanent failures are not retried.
	Permanent bool `json:"permanent,omitempty"`
	// RetryAfter is the pause the callee asked for, if it did.
	RetryAfter time.Duration `json:"retryAfter,omitempty"`
	// Detail is data of the feature that raised it, e.g. which budget broke.
	Detail json.RawMessage `json:"detail,omitempty"`
	// Stack is set for panics.
	Stack string `json:"stack,omitempty"`
	// Cause is the failure this one replaced: a failing Catch or Finally has one.
	Cause *Failure `json:"cause,omitempty"`
}

// Error is one line: code, path, what is wrong.
func (f *Failure) Error() string {
	s := string(f.Code)
	if f.Path != "" {
		s += " at " + f.Path
	}
	if f.Message != "" {
		s += ": " + f.Message
	}
	return s
}

// Is matches the failure's own code.
func (f *Failure) Is(target error) bool {
	code, ok := target.(Code)
	return ok && code == f.Code
}

// Unwrap returns the failure this one replaced.
func (f *Failure) Unwrap() error {
	if f.Cause == nil {
		return nil
	}
	return f.Cause
}

// FailureOf makes a failure of a task body's error. An error may say more than its text:
//
//   - a *Failure or *Error or Code in its chain gives the code, else it is TASK_FAILED;
//   - Permanent() bool in its chain stops retries (package task has a constructor);
//   - RetryAfter() time.Duration in its chain sets the pause before the next attempt.
func FailureOf(err error) *Failure {
	out := &Failure{Code: CodeOf(err, TaskFailed), Message: err.Error()}
	var f *Failure
	if errors.As(err, &f) {
		out.Permanent, out.RetryAfter, out.Detail, out.Stack = f.Permanent, f.RetryAfter, f.Detail, f.Stack
		if error(f) == err {
			out.Message = f.Message
		}
	}
	var permanent interface{ Permanent() bool }
	if errors.As(err, &permanent) && permanent.Permanent() {
		out.Permanent = true
	}
	var after interface{ RetryAfter() time.Duration }
	if errors.As(err, &after) {
		out.RetryAfter = after.RetryAfter()
	}
	return out
}
