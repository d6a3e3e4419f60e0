package anthropic

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/cairnrun/cairn/task/agent/internal/credential"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// failure is what an error of the SDK means. Its text is not used: it has the address, and whatever the server sent. What the server
// has said back is cut out by the secrets.
func (m *Model) failure(ctx context.Context, err error, secrets []string) error {
	var api *anthropic.Error
	if !errors.As(err, &api) {
		if ctx.Err() != nil {
			err = ctx.Err() // a slow stream: the words of the transport tell less
		}
		return loop.Broken(provider, err, secrets...)
	}
	secrets = append(secrets, credential.Of(api.Response)...)
	status, after := api.StatusCode, time.Duration(0)
	if api.Response != nil {
		after = loop.After(api.Response.Header, time.Now())
	}
	if status < 400 { // an error in the middle of a stream, which began well
		status = statusOf(string(api.Type()))
	}
	message := cmp.Or(api.Message, http.StatusText(status))
	if kind := string(api.Type()); kind != "" {
		message = kind + ": " + message
	}
	f := loop.FromStatus(provider, status, message, after, secrets...)
	if f.Code == loop.ModelRequest && strings.HasPrefix(api.Message, "prompt is too long") { // there is no type for it
		f.Code, f.Permanent = loop.ContextFull, false
	}
	if api.RequestID != "" {
		f.Message += " (request " + loop.Redact(api.RequestID, secrets...) + ")"
	}
	return f
}

// statusOf is the status that a type of error has where there is one.
func statusOf(kind string) int {
	switch kind {
	case "invalid_request_error":
		return http.StatusBadRequest
	case "authentication_error":
		return http.StatusUnauthorized
	case "permission_error":
		return http.StatusForbidden
	case "rate_limit_error":
		return http.StatusTooManyRequests
	case "overloaded_error":
		return 529
	}
	return http.StatusInternalServerError
}
