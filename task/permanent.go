package task

import "time"

// Permanent marks an error that another attempt would only repeat: the task fails at once. It is nil for nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return permanentError{err}
}

type permanentError struct{ err error }

func (e permanentError) Error() string { return e.err.Error() }
func (e permanentError) Unwrap() error { return e.err }

// Permanent is what cairn.FailureOf looks for.
func (permanentError) Permanent() bool { return true }

// RetryAfter marks an error whose next attempt should not come before the pause is over, as a rate limit asks. It is nil
// for nil.
func RetryAfter(err error, pause time.Duration) error {
	if err == nil {
		return nil
	}
	return retryAfterError{err, pause}
}

type retryAfterError struct {
	err   error
	pause time.Duration
}

func (e retryAfterError) Error() string { return e.err.Error() }
func (e retryAfterError) Unwrap() error { return e.err }

// RetryAfter is what cairn.FailureOf looks for.
func (e retryAfterError) RetryAfter() time.Duration { return e.pause }
