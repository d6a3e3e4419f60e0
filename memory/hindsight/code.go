package hindsight

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
)

// What can go wrong between this client and the server. All come as *cairn.Error that says what to do next.
const (
	// Invalid: the configuration or the input was refused before anything was sent. Permanent.
	Invalid cairn.Code = "HINDSIGHT_INVALID"
	// Unavailable: no answer, or one that says to come again: a lost connection, a timeout, 408, 425, 429, 5xx. Worth
	// a retry; an answer of 500 only a few times, since a request may cause it.
	Unavailable cairn.Code = "HINDSIGHT_UNAVAILABLE"
	// Auth: 401, 402 or 403. Permanent.
	Auth cairn.Code = "HINDSIGHT_AUTH"
	// Refused: another 4xx, and a redirect. Permanent: the same request gets the same answer.
	Refused cairn.Code = "HINDSIGHT_REFUSED"
	// Conflict: 409, an operation's id that belongs to another bank. Permanent.
	Conflict cairn.Code = "HINDSIGHT_CONFLICT"
	// Answer: an answer that is too large or is not what the call returns. Worth a retry: something between may have
	// written it.
	Answer cairn.Code = "HINDSIGHT_ANSWER"
	// OperationFailed: the server took a retain and then failed at it. Worth a retry.
	OperationFailed cairn.Code = "HINDSIGHT_OPERATION_FAILED"
)

// Fault is the part of an error that decides about a retry. It is in the chain of every error of this package, and
// cairn.FailureOf reads it too. It is immutable.
type Fault struct {
	// Status is the HTTP status, 0 where there was no answer.
	Status int
	// After is the pause the server asked for by Retry-After, 0 for none.
	After time.Duration
	// Detail is what the server said, cleaned and at most 512 bytes.
	Detail string

	permanent bool
	cause     error
}

// Error is what the server said, or why there was no answer.
func (f *Fault) Error() string {
	switch {
	case f.cause != nil:
		return f.cause.Error()
	case f.Detail != "":
		return strconv.Itoa(f.Status) + " " + f.Detail
	case f.Status != 0:
		return strconv.Itoa(f.Status) + " " + http.StatusText(f.Status)
	}
	return "refused before sending"
}

// Permanent says that the same request will fail again.
func (f *Fault) Permanent() bool { return f.permanent }

// RetryAfter is the pause the server asked for.
func (f *Fault) RetryAfter() time.Duration { return f.After }

// Unwrap returns the cause, e.g. context.DeadlineExceeded.
func (f *Fault) Unwrap() error { return f.cause }

// Retryable says whether the same call may succeed later. Errors that are not of this package are.
func Retryable(err error) bool {
	var f *Fault
	return err != nil && !(errors.As(err, &f) && f.permanent)
}

func invalid(message, next string) error {
	return &cairn.Error{Code: Invalid, Message: message, Next: next, Err: &Fault{permanent: true}}
}

func unavailable(call string, cause error) error {
	return &cairn.Error{Code: Unavailable, Message: call, Err: &Fault{cause: cause},
		Next: "see that the server runs and HINDSIGHT_URL leads to it"}
}

func unreadable(call string, status int, cause error) error {
	return &cairn.Error{Code: Answer, Message: call, Err: &Fault{Status: status, cause: cause},
		Next: "see that HINDSIGHT_URL leads to a Hindsight server and not to something before it"}
}

// refusal makes an error of an answer that is not 2xx.
func refusal(call string, status int, header http.Header, body []byte, now time.Time) error {
	f := &Fault{Status: status, Detail: detailOf(body), After: retryAfter(header.Get("Retry-After"), now)}
	e := &cairn.Error{Message: call, Err: f}
	switch {
	case status == http.StatusRequestTimeout || status == http.StatusTooEarly || status == http.StatusTooManyRequests:
		e.Code, e.Next = Unavailable, "try again later"
	case status == http.StatusServiceUnavailable:
		e.Code, e.Next = Unavailable, "see that its Postgres (15 or later, with pgvector) answers"
	case status >= 500:
		e.Code, e.Next = Unavailable, "read the server's log"
	case status == http.StatusUnauthorized || status == http.StatusPaymentRequired || status == http.StatusForbidden:
		e.Code, e.Next, f.permanent = Auth, "check HINDSIGHT_API_KEY", true
	case status == http.StatusConflict:
		e.Code, e.Next, f.permanent = Conflict, "give the record another operation id", true
	case status < 400:
		e.Code, e.Next, f.permanent = Refused, "set HINDSIGHT_URL to where the redirect leads", true
	default:
		e.Code, e.Next, f.permanent = Refused, "change the request; sending it again does not help", true
	}
	return e
}

// statusOf is the HTTP status behind an error, 0 where there is none.
func statusOf(err error) int {
	var f *Fault
	if errors.As(err, &f) {
		return f.Status
	}
	return 0
}

// retryAfter reads both forms of the header; what it can't read is no pause. A day is the most.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	var d time.Duration
	if seconds, err := strconv.ParseInt(value, 10, 32); err == nil {
		d = time.Duration(seconds) * time.Second
	} else if at, err := http.ParseTime(value); err == nil {
		d = at.Sub(now)
	}
	return min(max(d, 0), 24*time.Hour)
}
