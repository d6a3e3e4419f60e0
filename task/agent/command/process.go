package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	childprocess "github.com/cairnrun/cairn/internal/process"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/internal/secret"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// process is one run of the program, for one turn.
type process struct {
	c      *conversation
	n      int
	reader Reader
	turn   turnRecord
	// done and failure are what the program has said about its end.
	done    bool
	failure *cairn.Failure
	// alive says that a model has had a part in it.
	alive bool
	// unread counts lines that could not be read; last is one of them.
	unread int
	last   string
	// stopped says that the attempt was told to end, killed that the program was ended by a signal that was not ours.
	stopped, killed bool
	// err is why there is no turn.
	err error
}

// process starts the program with what it is to be told. That is in the journal before.
func (c *conversation) process(ctx context.Context, start transcript.Start) *process {
	n := start.Turn
	p := &process{c: c, n: n, turn: turnRecord{Turn: transcript.Turn{Attempt: c.call.Attempt}}, reader: c.agent.template.Format(c.agent.cfg)(maps.Clone(c.totals))}
	if p.err = task.Admit(ctx); p.err != nil {
		return p
	}
	say, err := c.tells(ctx, start)
	if err != nil {
		p.err = err
		return p
	}
	cmd, stdin, err := c.command(say)
	if err != nil {
		p.err = err
		return p
	}
	defer stdin.Close()
	c.tell(loop.Event{Kind: loop.TurnBegun, Turn: n})
	p.run(ctx, cmd)
	c.tell(loop.Event{Kind: loop.TurnEnded, Turn: n, Failed: p.err != nil})
	return p
}

// command is the program as it is to be started, and what its standard input reads.
func (c *conversation) command(say string) (*exec.Cmd, *os.File, error) {
	a := c.agent
	v := values{"{dir}": a.cfg.Dir}
	set := func(name, value string) {
		if value != "" {
			v[name] = value
		}
	}
	set("{session}", c.session)
	set("{model}", a.cfg.Model)
	set("{system}", a.cfg.System)
	if a.cfg.System != "" {
		quoted, err := schema.Encode(a.cfg.System)
		if err != nil {
			return nil, nil, err
		}
		set("{system_json}", string(quoted))
	}
	var err error
	put := func(name, content string) (path string) {
		path = filepath.Join(c.dir, name)
		if err == nil {
			err = os.WriteFile(path, []byte(content), 0o600)
		}
		return path
	}
	if c.native != nil {
		v["{schema}"], v["{schema_file}"] = string(c.native), put("schema.json", string(c.native))
	}
	env := a.cfg.Env
	if c.served != nil {
		m := a.template.MCP
		c.mcpValues(v)
		if m.Config != "" {
			own := maps.Clone(v)
			own["{mcp_token}"] = c.served.Token
			config, _ := own.fill(m.Config)
			v["{mcp_config}"] = put("mcp.json", config)
		}
		if m.TokenEnv != "" {
			env = append(slices.Clone(env), m.TokenEnv+"="+c.served.Token)
		}
	}
	input := say
	if !a.template.Stdin {
		v["{prompt}"], input = say, ""
	}
	path := put("input", input)
	if err != nil {
		return nil, nil, fmt.Errorf("command: a file for the program: %w", err)
	}
	stdin, err := os.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("command: a file for the program: %w", err)
	}
	_ = os.Remove(path) // where an open file can't be removed it goes with the folder
	home, _ := os.UserHomeDir()
	cmd := exec.Command(a.path, a.template.args(v, a.cfg.Args, c.served != nil)...)
	cmd.Dir, cmd.Stdin = a.cfg.Dir, stdin
	cmd.Env = childprocess.Environment(home, slices.Concat(a.template.Inherit, a.cfg.Inherit), env)
	return cmd, stdin, nil
}

// run starts the program, takes what it writes, and waits until all that it has started is gone.
func (p *process) run(ctx context.Context, cmd *exec.Cmd) {
	cfg := &p.c.agent.cfg
	read, write, err := os.Pipe() // of ours, so that a process that has left the group and holds it open can be let go
	if err != nil {
		p.err = fmt.Errorf("command: a pipe for the program: %w", err)
		return
	}
	defer read.Close()
	said := &tail{}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = write, said, cfg.Grace
	own, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	said.most, said.over = cfg.MaxOutput, func() { stop(p.tooMuch()) }
	group, err := childprocess.Start(cmd)
	_ = write.Close() // the program has its own
	if err != nil {
		p.err = p.notStarted(err)
		return
	}
	type ending struct {
		told bool
		err  error
	}
	ended := make(chan ending, 1)
	go func() {
		told, err := group.Wait(own, cfg.Grace)
		_ = read.SetReadDeadline(time.Now().Add(cfg.Grace)) // all of the group is dead: only who has got away holds the pipe
		ended <- ending{told, err}
	}()
	wrong := p.lines(ctx, read, stop)
	end := <-ended
	p.stopped = ctx.Err() != nil
	switch {
	case p.done && p.failure == nil: // the work is done and paid for, however it has ended
	case wrong != nil:
		p.err = wrong
	case p.stopped:
		p.err = context.Cause(ctx)
	case said.full():
		p.err = p.tooMuch()
	default:
		p.finish(cmd, end.err, said)
	}
}

// errDone ends a program that has answered and does not end by itself.
var errDone = errors.New("the turn is done")

// finish takes what is to be said about the end of a program that was not stopped.
func (p *process) finish(cmd *exec.Cmd, err error, said *tail) {
	if errors.Is(err, exec.ErrWaitDelay) { // someone who got away held standard error
		err = nil
	}
	if p.failure == nil {
		last := p.reader.End()
		if p.failure = last.Failure; err == nil && last.Failure == nil {
			p.done = last.Done
			p.turn.Text, p.turn.Output = cmp.Or(last.Answer, p.turn.Text), last.Output
		}
	}
	if p.failure != nil {
		p.err = p.failure
		return
	}
	if p.done {
		return
	}
	var exit *exec.ExitError
	p.killed = errors.As(err, &exit) && exit.ExitCode() < 0
	name := p.c.agent.template.Name
	message := name + " has ended without an answer"
	if err != nil {
		message += ": " + err.Error()
	}
	if p.unread > 0 {
		message += fmt.Sprintf("; %d lines of its output could not be read, the last was %s", p.unread, p.last)
	}
	text := p.c.hide(strings.TrimSpace(said.text()))
	if text == "" {
		p.err = failure(Failed, message, 0)
		return
	}
	f := classify(text, 0)
	f.Message = cut(message, mostMessage) + "; it says: " + lastOf(text, mostMessage)
	p.err = f
}

// lastOf is the end of a text, at most so many bytes of it.
func lastOf(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return grapheme.Mark + strings.ToValidUTF8(text[len(text)-most:], "")
}

func (p *process) notStarted(err error) error {
	name := p.c.agent.template.Name
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
		return task.Permanent(&cairn.Error{Code: Missing, Message: name + " can't be started", Err: err, Next: "see that the program and its folder are there"})
	}
	return &cairn.Error{Code: Failed, Message: name + " can't be started", Err: err, Next: "see that this host has room for it"}
}

// lines takes the output. What is wrong, with it or with the attempt, ends the program; the rest is read and dropped.
func (p *process) lines(ctx context.Context, from io.Reader, stop context.CancelCauseFunc) (wrong error) {
	cfg := &p.c.agent.cfg
	r := bufio.NewReaderSize(from, 64<<10)
	var line []byte
	var total int64
	long := 0 // of a line that is too long
	for {
		part, err := r.ReadSlice('\n')
		total += int64(len(part))
		if wrong == nil && total > cfg.MaxOutput {
			wrong = p.tooMuch()
			stop(wrong)
		}
		if long > 0 || len(line)+len(part) > cfg.MaxLine {
			long += len(line) + len(part)
			line = line[:0]
		} else if wrong == nil {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if wrong == nil && long > 0 {
			p.unread++
			p.last = fmt.Sprintf("one of %d bytes", long)
		} else if text := trim(line); wrong == nil && len(text) > 0 && p.failure == nil {
			was := p.done
			if wrong = p.line(ctx, text); wrong != nil {
				stop(wrong)
			}
			if p.done && !was { // it may stay for who it waits for
				leave := time.AfterFunc(max(cfg.Grace, time.Second), func() { stop(errDone) })
				defer leave.Stop()
			}
		}
		line, long = line[:0], 0
		if err != nil { // the end: of the program, or of our patience with who holds the pipe
			return wrong
		}
	}
}

func (p *process) tooMuch() error {
	return &cairn.Failure{Code: TooMuchOutput, Message: fmt.Sprintf("%s has written more than %d bytes; raise the agent's MaxOutput, if that is right",
		p.c.agent.template.Name, p.c.agent.cfg.MaxOutput)}
}

func trim(line []byte) string { return strings.TrimRight(string(line), "\r\n") }

// line takes one line. Its error ends the program.
func (p *process) line(ctx context.Context, text string) error {
	_ = task.Heartbeat(ctx, nil) // why to stop is read from the context
	line := []byte(p.c.hide(text))
	ev, err := p.reader.Line(line)
	if err != nil {
		p.unread++
		p.last = unreadable(line)
		return nil
	}
	if ev.Session != "" {
		if err := p.c.told(ctx, ev.Session); err != nil {
			return err
		}
	}
	if ev.Answer != "" {
		p.turn.Text = ev.Answer
	}
	if ev.Output != nil {
		p.turn.Output = ev.Output
	}
	if ev.Totals != nil {
		p.turn.Totals = ev.Totals
	}
	if ev.Compacted && p.c.served != nil {
		p.c.served.told.forget()
	}
	p.done, p.failure = p.done || ev.Done, ev.Failure
	p.alive = p.alive || len(ev.Usage) > 0 || ev.Calling || ev.Done
	p.turn.Usage = append(p.turn.Usage, ev.Usage...)
	p.c.spend(ctx, ev.Usage)
	p.observe(ev)
	if ev.Calling && !p.done {
		return task.Admit(ctx)
	}
	return nil
}

func (p *process) observe(ev Event) {
	told := ev.Compacted
	if told {
		p.c.tell(loop.Event{Kind: loop.Compacted, Turn: p.n})
	}
	for _, one := range []loop.Event{{Kind: loop.TextDelta, Text: ev.Said}, {Kind: loop.ThinkingDelta, Text: ev.Thought}, {Kind: loop.ToolNamed, Name: ev.Tool}} {
		if one.Text != "" || one.Name != "" {
			one.Turn, told = p.n, true
			p.c.tell(one)
		}
	}
	if !told {
		p.c.tell(loop.Event{Kind: loop.Progress, Turn: p.n})
	}
}

// told keeps the session, so that the next attempt finds it whatever becomes of this one.
func (c *conversation) told(ctx context.Context, session string) error {
	if session == c.session {
		return nil
	}
	if len(session) > 200 || strings.HasPrefix(session, "-") || strings.ContainsFunc(session, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return &cairn.Failure{Code: Failed, Message: fmt.Sprintf("%s tells a session that can't be one: %.50q", c.agent.template.Name, session)}
	}
	c.session = session
	return journal.Put(context.WithoutCancel(ctx), c.call.Journal, c.name+".session", sessionRecord{session, c.call.Attempt})
}

// hide cuts out secrets.
func (c *conversation) hide(text string) string {
	secrets := c.agent.secrets
	if c.served != nil {
		secrets = append(slices.Clip(secrets), c.served.Token)
	}
	return secret.Redact(text, secrets...)
}

// tell passes an event on.
func (c *conversation) tell(ev loop.Event) {
	if c.agent.cfg.Observe != nil {
		ev.Path = c.call.Path
		c.agent.cfg.Observe(ev)
	}
}

// tail keeps the end of what is written to it, and calls over once that is more than most.
type tail struct {
	most int64
	over func()

	mu    sync.Mutex // guards the rest
	end   []byte
	total int64
}

// mostTail is how much of standard error is kept, in bytes.
const mostTail = 8 << 10

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.total += int64(len(p)); t.total > t.most {
		t.over()
	}
	t.end = append(t.end, p...)
	if over := len(t.end) - mostTail; over > 0 {
		t.end = append(t.end[:0], t.end[over:]...)
	}
	return len(p), nil
}

func (t *tail) full() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total > t.most
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.end)
}
