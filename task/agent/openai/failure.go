package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/cairnrun/cairn/task/agent/internal/credential"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// streamError is an error that came in a stream, or as the end of a response.
type streamError struct{ code, message string }

func (e *streamError) Error() string { return e.code + ": " + e.message }

// failure is what an error means. What the server has said back is cut out by the secrets.
func (m *Model) failure(ctx context.Context, err error, secrets []string) error {
	var api *openai.Error
	var sse *ssestream.StreamError
	var told *streamError
	switch {
	case errors.As(err, &api):
		after := time.Duration(0)
		if api.Response != nil {
			after = loop.After(api.Response.Header, time.Now())
		}
		code := cmp.Or(api.Code, api.Type)
		f := loop.FromStatus(m.cfg.Provider, api.StatusCode, joined(code, cmp.Or(api.Message, http.StatusText(api.StatusCode))), after,
			append(credential.Of(api.Response), secrets...)...)
		switch code {
		case "context_length_exceeded":
			f.Code, f.Permanent = loop.ContextFull, false
		case "insufficient_quota": // waiting does not help
			f.Permanent = true
		}
		return f
	case errors.As(err, &sse):
		var body struct {
			Error struct{ Code, Type, Message string }
		}
		if json.Unmarshal(sse.Event.Data, &body) != nil {
			return loop.Broken(m.cfg.Provider, errors.New("the stream has an error that can't be read"))
		}
		return m.told(cmp.Or(body.Error.Code, body.Error.Type), body.Error.Message, secrets)
	case errors.As(err, &told):
		return m.told(told.code, told.message, secrets)
	}
	if ctx.Err() != nil {
		err = ctx.Err() // a slow stream: the words of the transport tell less
	}
	return loop.Broken(m.cfg.Provider, err, secrets...)
}

func joined(code, message string) string {
	if code == "" {
		return message
	}
	return code + ": " + message
}

// told is the failure of an error without a status.
func (m *Model) told(code, message string, secrets []string) error {
	f := loop.Broken(m.cfg.Provider+" failed", errors.New(joined(code, message)), secrets...)
	switch {
	case code == "rate_limit_exceeded":
		f.Code = loop.RateLimited
	case code == "server_overloaded", code == "overloaded":
		f.Code = loop.ModelOverloaded
	case code == "context_length_exceeded":
		f.Code = loop.ContextFull
	case strings.Contains(code, "policy"):
		f.Code, f.Permanent = loop.ModelRefused, true
	case strings.HasPrefix(code, "invalid_"):
		f.Code, f.Permanent = loop.ModelRequest, true
	}
	return f
}

// place is an address without anything that could be a secret.
func place(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "unreadable"
	}
	return u.Scheme + "://" + u.Host + u.Path
}
