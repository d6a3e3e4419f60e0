package loop

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/internal/secret"
)

// mostMessage is how much of a provider's error message is kept, in bytes.
const mostMessage = 1000

// FromStatus is the failure that an HTTP status of a provider means: 401 and 403 are MODEL_AUTH, 429 is RATE_LIMITED, 529 and
// 503 are MODEL_OVERLOADED, other 5xx, 408, 409 and 425 are MODEL_UNAVAILABLE, the rest MODEL_REQUEST. The secrets are cut out
// of the message, whoever put them there.
func FromStatus(provider string, status int, message string, after time.Duration, secrets ...string) *cairn.Failure {
	f := &cairn.Failure{RetryAfter: after}
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		f.Code, f.Permanent = ModelAuth, true
	case status == http.StatusTooManyRequests:
		f.Code = RateLimited
	case status == 529, status == http.StatusServiceUnavailable:
		f.Code = ModelOverloaded
	case status >= 500, status == http.StatusRequestTimeout, status == http.StatusConflict, status == http.StatusTooEarly:
		f.Code = ModelUnavailable
	default:
		f.Code, f.Permanent = ModelRequest, true
	}
	f.Message = fmt.Sprintf("%s answered %d", provider, status) + told(Redact(message, secrets...))
	return f
}

func told(message string) string {
	if message = strings.TrimSpace(message); message == "" {
		return ""
	}
	return ": " + grapheme.Cut(message, mostMessage)
}

// Broken is the failure of a call that found no provider, or that broke off: MODEL_UNAVAILABLE. An address in the error is
// left out, because a key may be in it.
func Broken(provider string, err error, secrets ...string) *cairn.Failure {
	var address *url.Error
	if errors.As(err, &address) {
		err = address.Err
	}
	return &cairn.Failure{Code: ModelUnavailable, Message: provider + told(Redact(err.Error(), secrets...))}
}

// Redact cuts secrets out of a text. Those of less than 8 bytes are left, as they would be found in innocent words.
func Redact(text string, secrets ...string) string { return secret.Redact(text, secrets...) }

// After reads what a provider says about when to come again: retry-after-ms, or retry-after as seconds or a date. It is 0
// without a header that can be read.
func After(h http.Header, now time.Time) time.Duration {
	if ms, err := time.ParseDuration(h.Get("Retry-After-Ms") + "ms"); err == nil && ms > 0 {
		return ms
	}
	value := h.Get("Retry-After")
	if s, err := time.ParseDuration(value + "s"); err == nil && s > 0 {
		return s
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
