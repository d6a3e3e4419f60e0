package mcp

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/process"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/internal/secret"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Server says how an MCP server is reached, and what of it is used.
type Server struct {
	// Name goes in front of its tools' names, with a _ between: letters, digits and _.
	Name string

	// Command is a program and its arguments, which speaks the protocol on its standard input and output. It is started with
	// the connection, in Dir, by default this process's, and ends with it. It sees PATH, HOME and LANG of this
	// process, the variables named in Inherit, and Env, as NAME=value.
	Command      []string
	Dir          string
	Inherit, Env []string

	// URL is where a server speaks the protocol over streamable HTTP; one of Command and URL is given. Header goes with every
	// request to this host by this scheme. HTTP is the client to use; the default is http.DefaultClient.
	URL    string
	Header http.Header
	HTTP   *http.Client

	// Allow are the tools that are used, by the server's names for them. All have to be there.
	Allow []string
	// Reads are those of them that have no side effect, and Idempotent those that may be called again when it is not known
	// whether a call has happened. Of all others the worst is assumed: what the server says about itself does not count.
	Reads, Idempotent []string

	// ConnectTimeout is how long connecting may take, with the start of the program and the list of tools; the default is
	// 30 seconds. Timeout is how long a call may take; the default is 2 minutes.
	ConnectTimeout, Timeout time.Duration
}

func (s Server) filled() (Server, error) {
	s.ConnectTimeout = cmp.Or(s.ConnectTimeout, 30*time.Second)
	s.Timeout = cmp.Or(s.Timeout, 2*time.Minute)
	var wrong []string
	if s.Name == "" {
		wrong = append(wrong, "it has no name")
	}
	if (len(s.Command) == 0) == (s.URL == "") {
		wrong = append(wrong, "it has to have either a Command or a URL")
	}
	if len(s.Allow) == 0 {
		wrong = append(wrong, "none of its tools is allowed")
	}
	for _, name := range slices.Concat(s.Reads, s.Idempotent) {
		if !slices.Contains(s.Allow, name) {
			wrong = append(wrong, fmt.Sprintf("%q is marked and not allowed", name))
		}
	}
	if len(wrong) > 0 {
		return s, &cairn.Error{Code: Invalid, Message: fmt.Sprintf("MCP server %q: %s", s.Name, strings.Join(wrong, "; ")), Next: "mend the mcp.Server"}
	}
	return s, nil
}

// bound is the server and what of it is allowed, for cairn.Tool.Bound. Credentials are left out, and so are the values of this
// process's variables; of either it has the names.
func (s Server) bound() string {
	at := struct {
		Command                   []string
		Dir, URL                  string
		Inherit, Variables, Allow []string
	}{slices.Clone(s.Command), s.Dir, "", slices.Sorted(slices.Values(s.Inherit)), nil, slices.Sorted(slices.Values(s.Allow))}
	secrets := s.secrets()
	for i, argument := range at.Command {
		at.Command[i] = secret.Redact(argument, secrets...)
	}
	for _, pair := range s.Env {
		if name, _, _ := strings.Cut(pair, "="); secret.Named(name) {
			pair = name
		}
		at.Variables = append(at.Variables, pair)
	}
	if u, err := url.Parse(s.URL); err == nil && s.URL != "" {
		query := u.Query()
		for name := range query {
			if secret.Named(name) {
				query.Del(name)
			}
		}
		u.User, u.RawQuery = nil, query.Encode()
		at.URL = u.String()
	} else if dir, err := filepath.Abs(s.Dir); err == nil { // or the working directory is gone
		at.Dir = dir
	}
	raw, err := schema.Encode(at) // of text: it can't fail
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// transport is a new way to the server, and what ends a program's whole group.
func (s Server) transport() (t sdk.Transport, end func(), said *tail) {
	if s.URL != "" {
		client := *cmp.Or(s.HTTP, http.DefaultClient)
		client.Transport = headers{cmp.Or[http.RoundTripper](client.Transport, http.DefaultTransport), s.origin(), s.Header}
		return &sdk.StreamableClientTransport{Endpoint: s.URL, HTTPClient: &client, DisableStandaloneSSE: true}, func() {}, &tail{}
	}
	said = &tail{}
	cmd := exec.Command(s.Command[0], s.Command[1:]...)
	cmd.Dir = s.Dir
	cmd.Env = process.Environment(os.Getenv("HOME"), s.Inherit, s.Env)
	cmd.Stderr = said
	// Its children may hold its streams open.
	cmd.WaitDelay = time.Second
	process.Grouped(cmd)
	return &sdk.CommandTransport{Command: cmd, TerminateDuration: 2 * time.Second}, func() { process.KillGroup(cmd) }, said
}

// origin is where the headers go, and nowhere else: a host, by the scheme of the URL, so that nothing that was to be encrypted
// goes out in plain text.
func (s Server) origin() string {
	at, err := url.Parse(s.URL)
	if err != nil {
		return ""
	}
	return originOf(at)
}

func originOf(at *url.URL) string { return at.Scheme + "://" + at.Host }

// headers adds headers to requests to one origin: they hold secrets, and a server may redirect elsewhere.
type headers struct {
	next   http.RoundTripper
	origin string
	all    http.Header
}

// A journey is what became of the requests of one call.
type journey struct {
	// stopped says that a connection was refused; begun that a request may have got through.
	stopped, begun atomic.Bool
}

type journeyKey struct{}

// RoundTrip adds the headers, and notes whether the request can have arrived.
func (h headers) RoundTrip(r *http.Request) (*http.Response, error) {
	taken, _ := r.Context().Value(journeyKey{}).(*journey)
	if originOf(r.URL) == h.origin && len(h.all) > 0 {
		r = r.Clone(r.Context())
		for name, values := range h.all {
			r.Header[http.CanonicalHeaderKey(name)] = values
		}
	}
	response, err := h.next.RoundTrip(r)
	if taken != nil {
		var dial *net.OpError
		if errors.As(err, &dial) && dial.Op == "dial" {
			taken.stopped.Store(true)
		} else {
			taken.begun.Store(true)
		}
	}
	return response, err
}
