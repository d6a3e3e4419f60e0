package command

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/internal/toolset"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
	"github.com/cairnrun/cairn/tool/mcp"
)

// served are the tools of one attempt behind an MCP server. Calls are numbered in the order in which they come. A session
// that goes on makes a call again whose answer it has not seen: so one that is equal to a call of an earlier attempt is
// taken for that, once for each such call, and told that it is.
type served struct {
	*mcp.Endpoint
	caller *toolcall.Caller
	name   string
	// stop ends the attempt, hide cuts out secrets.
	stop context.CancelCauseFunc
	hide func(text string) string
	// pointed are the tools whose results may be told by a pointer to one of told.
	pointed map[string]bool
	told    told
	// listing makes the calls of the list of things to do take turns: the last one's answer has all of it, and is known by its number.
	listing sync.Mutex
	// ready is closed when the server's address and token are known, to calls as well.
	ready chan struct{}

	mu sync.Mutex // guards what follows
	// next is the number of the next new call, earlier are those of earlier attempts that are not taken yet, by tool and
	// input.
	next    int
	earlier map[string][]madeCall
	closed  bool
	running sync.WaitGroup
	lost    error
}

// madeCall is a call of an earlier attempt. answered says that its outcome is known.
type madeCall struct {
	number   int
	answered bool
}

// gap is how many numbers may be missing in a row: calls that a kill has cut off before they were in the journal, while
// others that came later were.
const gap = 256

// serve begins to serve the tools.
func (c *conversation) serve(ctx context.Context, stop context.CancelCauseFunc) error {
	s := &served{name: c.name, stop: stop, hide: c.hide, ready: make(chan struct{}), next: 1, earlier: map[string][]madeCall{}}
	s.caller = &toolcall.Caller{Tools: c.tools, Timeout: c.agent.cfg.ToolTimeout, Durable: true, Observe: func(use window.Block, ended bool, err error) {
		kind := loop.ToolBegun
		if ended {
			kind = loop.ToolEnded
		}
		c.tell(loop.Event{Kind: kind, Name: use.Name, Failed: err != nil})
	}}
	if c.offload() > 0 { // or there is nothing that a pointer could lead to
		s.pointed = pointed(c.tools)
	}
	if err := s.recall(ctx, c.call.Journal, c.todo); err != nil {
		return err
	}
	tools := make([]cairn.Tool, len(c.tools))
	for i, t := range c.tools {
		tools[i] = t
		tools[i].Call = func(request context.Context, in json.RawMessage) (json.RawMessage, error) {
			return s.call(ctx, request, t.Name, in)
		}
	}
	endpoint, err := mcp.Listen(ctx, tools)
	if err != nil && !errors.Is(err, mcp.Unreachable) {
		err = task.Permanent(err)
	}
	if err != nil {
		return err
	}
	s.Endpoint, c.served = endpoint, s
	close(s.ready)
	return nil
}

// eachCall goes through the calls of a conversation that are in the journal.
func eachCall(j cairn.Journal, conversation string, do func(n int, what toolcall.Intent) error) error {
	last := 0
	for n := 1; n <= last+gap; n++ {
		intent, found, err := toolcall.Lookup(j, transcript.CallName(conversation, n))
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		last = n
		if err := do(n, intent); err != nil {
			return err
		}
	}
	return nil
}

// recall finds the calls of earlier attempts. What those that have an outcome emitted and wrote is this attempt's now, and the list
// of things to do is what the last of them has made of it.
func (s *served) recall(ctx context.Context, j cairn.Journal, todo *tool.Todo) error {
	var newest int64
	return eachCall(j, s.name, func(n int, intent toolcall.Intent) error {
		s.next = n + 1
		name := transcript.CallName(s.name, n)
		key, err := keyOf(intent.Tool, intent.Input, intent.InputHash)
		if err != nil {
			return task.Permanent(fmt.Errorf("command: the journal's %s: %w", name, err))
		}
		_, answered := j.Lookup(name)
		if answered {
			out, err := task.Step(ctx, name, func(context.Context) (toolcall.Outcome, error) {
				return toolcall.Outcome{}, errors.New("its record is gone")
			})
			if err != nil {
				return err
			}
			if todo != nil && out.Tool == toolset.Todo && !out.Error && out.Ended >= newest {
				newest = out.Ended
				if err := todo.Restore(json.RawMessage(out.Text)); err != nil {
					return task.Permanent(err)
				}
			}
		}
		if _, pointed := j.Lookup(transcript.SameName(s.name, n)); pointed {
			_, err := task.Step(ctx, transcript.SameName(s.name, n), func(context.Context) (transcript.Same, error) {
				return transcript.Same{}, errors.New("its record is gone")
			})
			if err != nil {
				return err
			}
		}
		s.earlier[key] = append(s.earlier[key], madeCall{n, answered})
		return nil
	})
}

// keyOf stands for a tool and its input, or the hash of that.
func keyOf(tool string, in json.RawMessage, hash string) (string, error) {
	if hash == "" {
		in, err := schema.Canonical(in)
		if err != nil {
			return "", err
		}
		sum := sha256.Sum256(in)
		hash = hex.EncodeToString(sum[:])
	}
	return tool + " " + hash, nil
}

// take gives a call its number. again says that it is one of an earlier attempt, which was answered.
func (s *served) take(key string) (n int, again, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return 0, false, false
	}
	s.running.Add(1)
	if made := s.earlier[key]; len(made) > 0 {
		s.earlier[key] = made[1:]
		return made[0].number, made[0].answered, true
	}
	s.next++
	return s.next - 1, false, true
}

// madeBefore goes before an answer that a call of an earlier attempt has got.
const madeBefore = "[You made this call before you were interrupted. It was not made again; this is what it answered. Call once more if that is what you want.]\n"

// call is one by the program. An error is told to it; one that ends the attempt does so.
func (s *served) call(attempt, request context.Context, tool string, in json.RawMessage) (json.RawMessage, error) {
	<-s.ready
	if len(in) == 0 {
		in = json.RawMessage("{}") // which clients leave out
	}
	in, err := schema.Canonical([]byte(s.hide(string(in))))
	if err == nil && in[0] != '{' {
		err = errors.New("it is no object")
	}
	if err != nil { // a call that is not made gets no number
		return nil, fmt.Errorf("the arguments: %w", err)
	}
	key, err := keyOf(tool, in, "")
	if err != nil {
		return nil, err
	}
	if tool == toolset.Todo {
		s.listing.Lock()
		defer s.listing.Unlock()
	}
	n, again, ok := s.take(key)
	if !ok {
		return nil, errors.New("the attempt is over")
	}
	defer s.running.Done()
	out, err := s.caller.Do(request, transcript.CallName(s.name, n), window.Block{Kind: window.ToolUse, Name: tool, Input: in})
	if err != nil {
		if request.Err() == nil || attempt.Err() != nil {
			s.fail(attempt, err)
		}
		return nil, fmt.Errorf("the call was interrupted: %w", err)
	}
	text := s.shown(request, key, n, out, again)
	if again && !out.Unknown {
		text = madeBefore + text
	}
	if out.Error {
		return nil, errors.New(text)
	}
	return schema.Encode(text)
}

// fail ends the attempt because of a call.
func (s *served) fail(attempt context.Context, err error) {
	if attempt.Err() != nil { // it ends anyway, and not because of this
		return
	}
	s.mu.Lock()
	if s.lost == nil {
		s.lost = err
	}
	s.mu.Unlock()
	s.stop(err)
}

// close ends the server and waits for calls. Its error is that of the call that the attempt has ended because of.
func (s *served) close() error {
	s.mu.Lock()
	s.closed = true
	lost := s.lost
	s.mu.Unlock()
	s.stop(errors.New("the attempt is over"))
	ended := s.Endpoint.Close()
	s.running.Wait()
	return cmp.Or(lost, ended)
}

// mcpValues are what placeholders stand for that tell of the server.
func (c *conversation) mcpValues(v values) {
	m := c.agent.template.MCP
	v["{mcp_url}"] = c.served.URL
	names := make([]string, len(c.tools))
	for i, t := range c.tools {
		if names[i] = t.Name; m.Tool != "" {
			names[i] = strings.ReplaceAll(m.Tool, "{tool}", t.Name)
		}
	}
	v["{mcp_tools}"] = strings.Join(names, ",")
	longest := c.agent.cfg.ToolTimeout
	for _, t := range c.tools {
		longest = max(longest, t.Timeout)
	}
	seconds := 24 * 60 * 60.0
	if c.agent.cfg.ToolTimeout > 0 {
		seconds = math.Ceil(longest.Seconds()) + 10 // so that it is here where it ends
	}
	v["{mcp_timeout}"] = fmt.Sprint(int64(seconds))
}
