package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/internal/secret"
	"github.com/cairnrun/cairn/tool"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxDescription is the most bytes of a description that a foreign server may put into every window.
const maxDescription = 4 << 10

// A Client is a connection to an MCP server, which it makes anew when it is lost. It is safe for concurrent use; calls wait
// while one of them connects, for ConnectTimeout at most.
type Client struct {
	server Server
	tools  []cairn.Tool
	// seen is how the server has described each allowed tool at first, by its name there.
	seen map[string]string

	mu      sync.Mutex
	session *session // nil while there is none
	closed  bool
}

// A session is one connection.
type session struct {
	*sdk.ClientSession
	end func()
	// lost is closed when the connection is.
	lost chan struct{}
}

func (s *session) isLost() bool {
	select {
	case <-s.lost:
		return true
	default:
		return false
	}
}

// drop ends a session and all that it has started.
func (s *session) drop() {
	_ = s.Close() // what it says is how the other side has ended
	s.end()
	<-s.lost
}

// Connect connects to a server and learns what its tools are. The context is for connecting only; Close ends the connection.
func Connect(ctx context.Context, server Server) (*Client, error) {
	server, err := server.filled()
	if err != nil {
		return nil, err
	}
	c := &Client{server: server}
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.connect(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// Tools are the allowed tools, sorted by name. A name is the server's, with its Name in front and _ for what no tool's name
// has. Schemas and descriptions are those of the first connection.
func (c *Client) Tools() []cairn.Tool { return slices.Clone(c.tools) }

// Close ends the connection, and the program if it was started for it. Calls that run fail. It waits until all is done.
func (c *Client) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.session != nil {
		c.session.drop()
		c.session = nil
	}
	return nil
}

// connect makes a session. mu is held.
func (c *Client) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.server.ConnectTimeout)
	defer cancel()
	transport, end, said := c.server.transport()
	client := sdk.NewClient(&sdk.Implementation{Name: "cairn", Version: "1"}, &sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{}})
	made, err := client.Connect(ctx, transport, nil)
	if err != nil {
		end()
		message := "the MCP server " + c.server.Name + " can't be reached"
		if text := strings.TrimSpace(secret.Redact(said.text(), c.server.secrets()...)); text != "" {
			message += ", it says " + fmt.Sprintf("%.500q", text)
		}
		return hidden(&cairn.Error{Code: Unreachable, Message: message, Err: err, Next: "see that it runs, or go on without its tools"}, c.server.secrets())
	}
	s := &session{ClientSession: made, end: end, lost: make(chan struct{})}
	go func() {
		_ = made.Wait()
		close(s.lost)
	}()
	if err := c.learn(ctx, s); err != nil {
		s.drop()
		return err
	}
	c.session = s
	return nil
}

// learn lists the tools: the first time to have them, later to see that they are the same.
func (c *Client) learn(ctx context.Context, s *session) error {
	found := map[string]*sdk.Tool{}
	var names []string
	for t, err := range s.Tools(ctx, nil) {
		if err != nil {
			return &cairn.Error{Code: Unreachable, Message: "the MCP server " + c.server.Name + " does not list its tools", Err: err, Next: "see that it runs, or go on without its tools"}
		}
		found[t.Name] = t
		names = append(names, t.Name)
	}
	seen := map[string]string{}
	var tools []cairn.Tool
	for _, name := range c.server.Allow {
		t := found[name]
		if t == nil {
			slices.Sort(names)
			return &cairn.Error{Code: Missing, Message: fmt.Sprintf("the MCP server %s has no tool %q", c.server.Name, name), Next: "allow some of " + strings.Join(names, ", ")}
		}
		document, err := json.Marshal(t.InputSchema)
		if err == nil {
			document, err = schema.Canonical(document)
		}
		if err != nil {
			return &cairn.Error{Code: tool.Invalid, Message: fmt.Sprintf("the schema of %s can't be read", name), Err: err, Next: "don't allow it"}
		}
		seen[name] = t.Description + "\n" + string(document)
		if c.seen != nil {
			if seen[name] != c.seen[name] {
				return &cairn.Error{Code: Changed, Message: fmt.Sprintf("the MCP server %s describes %s otherwise than before", c.server.Name, name), Next: "connect anew, if the new description is one to trust"}
			}
			continue
		}
		one, err := c.tool(t, document)
		if err != nil {
			return err
		}
		tools = append(tools, one)
	}
	if c.seen != nil {
		return nil
	}
	if err := tool.Check(tools...); err != nil {
		return err
	}
	slices.SortFunc(tools, func(a, b cairn.Tool) int { return strings.Compare(a.Name, b.Name) })
	c.seen, c.tools = seen, tools
	return nil
}

func (c *Client) tool(t *sdk.Tool, document json.RawMessage) (cairn.Tool, error) {
	name := c.server.Name + "_" + strings.Map(func(r rune) rune {
		if r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, t.Name)
	about := grapheme.Cut(t.Description, maxDescription)
	if about == "" {
		about = "A tool of " + c.server.Name + "."
	}
	opts := []tool.Option{tool.Timeout(c.server.Timeout), tool.Bound(c.server.bound())}
	repeatable := slices.Contains(c.server.Reads, t.Name)
	switch {
	case slices.Contains(c.server.Idempotent, t.Name) && !repeatable:
		repeatable = true
		opts = append(opts, tool.Idempotent())
	case !repeatable:
		opts = append(opts, tool.SideEffect())
	}
	return tool.Foreign(name, about, document, func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		out, err := c.call(ctx, t.Name, in, repeatable)
		return json.RawMessage(secret.Redact(string(out), c.server.secrets()...)), hidden(err, c.server.secrets())
	}, opts...)
}

// call calls a tool. Where a connection turns out to be lost it makes another one, and calls again if the call has not
// happened for sure, or may happen twice.
func (c *Client) call(ctx context.Context, name string, in json.RawMessage, repeatable bool) (json.RawMessage, error) {
	for again := false; ; again = true {
		s, err := c.live(ctx)
		if err != nil {
			return nil, err
		}
		taken := &journey{}
		result, err := s.CallTool(context.WithValue(ctx, journeyKey{}, taken), &sdk.CallToolParams{Name: name, Arguments: in})
		if err == nil {
			return answer(c.server.Name, name, result)
		}
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if answered(err) && !s.isLost() {
			return nil, &cairn.Error{Code: ToolFailed, Message: c.server.Name + " refuses to call " + name, Err: err, Next: "call it otherwise, or go on without it"}
		}
		c.lose(s)
		switch never := errors.Is(err, sdk.ErrSessionMissing) || taken.stopped.Load() && !taken.begun.Load(); {
		case !never && !repeatable:
			return nil, &cairn.Error{Code: Unknown, Message: fmt.Sprintf("the connection to %s was lost while %s was called: it may have happened or not", c.server.Name, name), Err: err, Next: "find out what is the case before calling it again"}
		case again:
			return nil, &cairn.Error{Code: Unreachable, Message: "the connection to the MCP server " + c.server.Name + " was lost, and again when it was new", Err: err, Next: "go on without its tools"}
		}
	}
}

// answered says that an error is the server's answer, and not a connection that fails. The SDK has errors of its own in the
// same form: a closing connection, and what the transport could not send.
func answered(err error) bool {
	var wire *jsonrpc.Error
	return errors.As(err, &wire) && !errors.Is(err, sdk.ErrConnectionClosed) && wire.Message != "rejected by transport"
}

// live is the session, a new one if it was lost.
func (c *Client) live(ctx context.Context) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, &cairn.Error{Code: Closed, Message: "the connection to the MCP server " + c.server.Name + " was closed", Next: "go on without its tools"}
	}
	if c.session != nil && c.session.isLost() {
		c.session.drop()
		c.session = nil
	}
	if c.session == nil {
		if err := c.connect(ctx); err != nil {
			return nil, err
		}
	}
	return c.session, nil
}

// lose drops a session, unless another call has done so.
func (c *Client) lose(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == s {
		s.drop()
		c.session = nil
	}
}

// answer is a result as a tool's: the structured one if there is one, the text of one that is all text, and else the list of
// its parts.
func answer(server, name string, result *sdk.CallToolResult) (json.RawMessage, error) {
	var texts []string
	for _, part := range result.Content {
		if text, ok := part.(*sdk.TextContent); ok {
			texts = append(texts, text.Text)
		}
	}
	if result.IsError {
		message := strings.Join(texts, "\n")
		if message == "" {
			message = "it does not say why"
		}
		return nil, &cairn.Error{Code: ToolFailed, Message: name + " of " + server + ": " + message, Next: "call it otherwise, or go on without it"}
	}
	switch {
	case result.StructuredContent != nil:
		return json.Marshal(result.StructuredContent)
	case len(texts) == len(result.Content):
		return schema.Encode(strings.Join(texts, "\n"))
	}
	return json.Marshal(result.Content)
}
