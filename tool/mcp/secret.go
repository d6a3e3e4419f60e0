package mcp

import (
	"errors"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/secret"
)

// secrets are what the server is given to authorize itself, or Cairn: it may say them back, and its words go to models and into
// journals. Of the variables it is those whose names say so; a folder that a server is given must stay what it is.
func (s Server) secrets() []string {
	return append(secret.Of(s.Header), secret.OfEnvironment(s.Inherit, s.Env)...)
}

// hidden is an error without the secrets in its words. One that has none stays as it is.
func hidden(err error, secrets []string) error {
	if err == nil || secret.Redact(err.Error(), secrets...) == err.Error() {
		return err
	}
	var known *cairn.Error
	if !errors.As(err, &known) {
		return errors.New(secret.Redact(err.Error(), secrets...))
	}
	out := *known
	out.Message = secret.Redact(known.Message, secrets...)
	if known.Err != nil {
		out.Err = errors.New(secret.Redact(known.Err.Error(), secrets...))
	}
	return &out
}
