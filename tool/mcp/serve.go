package mcp

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/tool"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Serve serves tools to one client over a pair of streams, such as standard input and output, until the client goes away or the
// context ends. Calls run under that context, so that tools find the attempt they belong to, and end with it.
func Serve(ctx context.Context, tools []cairn.Tool, in io.ReadCloser, out io.WriteCloser) error {
	server, err := serverOf(ctx, tools)
	if err != nil {
		return err
	}
	return server.Run(ctx, &sdk.IOTransport{Reader: in, Writer: out})
}

// An Endpoint is a server of tools on this host, for one attempt of a program that is an agent.
type Endpoint struct {
	// URL is where it speaks the protocol over streamable HTTP, on the loopback interface. Whoever asks must send
	// "Authorization: Bearer " and Token, which is a secret of this endpoint's life.
	URL, Token string

	server *http.Server
	done   chan error
}

// Listen serves tools at a port of the loopback interface that the system chooses, until Close or the end of the context. Calls run
// under that context. Any number of clients may call at once.
func Listen(ctx context.Context, tools []cairn.Tool) (*Endpoint, error) {
	server, err := serverOf(ctx, tools)
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, &cairn.Error{Code: Unreachable, Message: "no port to serve tools at", Err: err, Next: "see that the loopback interface is up"}
	}
	e := &Endpoint{URL: "http://" + listener.Addr().String() + "/mcp", Token: rand.Text(), done: make(chan error, 1)}
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, &sdk.StreamableHTTPOptions{PropagateRequestCancellation: true})
	e.server = &http.Server{Handler: e.guarded(handler), ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	stop := context.AfterFunc(ctx, func() { _ = e.server.Close() })
	go func() {
		err := e.server.Serve(listener)
		stop()
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		e.done <- err
	}()
	return e, nil
}

// Close ends the endpoint and the calls that run through it.
func (e *Endpoint) Close() error {
	closed := e.server.Close()
	err := <-e.done
	e.done <- nil // for who closes twice
	return errors.Join(closed, err)
}

// guarded lets in who has the token: any process of this host, and any page in a browser on it, can reach the port.
func (e *Endpoint) guarded(next http.Handler) http.Handler {
	want := []byte("Bearer " + e.Token)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if subtle.ConstantTimeCompare([]byte(r.Header.Get("Authorization")), want) != 1 {
			http.Error(w, "the token is missing or wrong", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func serverOf(ctx context.Context, tools []cairn.Tool) (*sdk.Server, error) {
	if err := tool.Check(tools...); err != nil {
		return nil, err
	}
	server := sdk.NewServer(&sdk.Implementation{Name: "cairn", Version: "1"}, &sdk.ServerOptions{Capabilities: &sdk.ServerCapabilities{Tools: &sdk.ToolCapabilities{}}})
	for _, t := range tools {
		var is struct {
			Type any `json:"type"`
		}
		if err := json.Unmarshal(t.Schema, &is); err != nil || is.Type != "object" { // which the SDK panics on
			return nil, &cairn.Error{Code: Invalid, Message: "the schema of " + t.Name + " is not of an object", Err: err, Next: "leave the tool out"}
		}
		server.AddTool(&sdk.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.Schema,
			Annotations: &sdk.ToolAnnotations{ReadOnlyHint: !t.SideEffect, IdempotentHint: t.Idempotent || !t.SideEffect},
		}, func(request context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			return serve(ctx, request, t, r.Params.Arguments), nil
		})
	}
	return server, nil
}

// serve calls a tool with the values of the attempt, until either context ends. An error is an answer that the model sees.
func serve(attempt, request context.Context, t cairn.Tool, in json.RawMessage) *sdk.CallToolResult {
	ctx, cancel := context.WithCancelCause(attempt)
	defer cancel(nil)
	defer context.AfterFunc(request, func() { cancel(context.Cause(request)) })()
	out, err := t.Call(ctx, in)
	if err != nil {
		return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}
	}
	shown := string(out)
	if text := new(string); strings.HasPrefix(shown, `"`) && json.Unmarshal(out, text) == nil {
		shown = *text
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: shown}}}
}
