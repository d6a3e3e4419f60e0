package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/answer"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

// conversation is one that is being held: a session of the program, and its turns, each a process of its own.
type conversation struct {
	agent *Agent
	req   task.Request
	// call is the attempt's, the zero value outside of a task.
	call  cairn.Call
	tools []cairn.Tool
	// opening is what the conversation has begun with. Its setup is what the program is given now.
	opening window.Opening
	// starts is how often the program was started in it, in all attempts.
	starts int
	// todo is the list that is served, and said again whenever the program is asked; nil without one.
	todo *tool.Todo
	// native is the schema as the program gets it, nil where the prompt spells it out.
	native json.RawMessage
	// id names all conversations of this agent and prompt in the journal, name this one: the first, or the one after as many
	// failed ones. final names the record of the finished one.
	id, name, final string
	// earlier are the failed ones.
	earlier []answer.Failed
	// session is the program's, "" while there is none; totals is what it had used when its last turn ended.
	session string
	totals  Totals
	// usage is what nobody could be told, outside of a task.
	usage []cairn.Usage
	// failure is why the conversation itself has failed: the next attempt begins another.
	failure *cairn.Failure
	// dir is where files for the program are, and served who calls tools, nil if there are none.
	dir    string
	served *served
	// leave lets others hold a conversation of this name.
	leave func()
}

// sessionRecord is what the journal has of a session, from the moment on when the program tells of it.
type sessionRecord struct {
	Session string `json:"session"`
	Attempt int    `json:"attempt,omitempty"`
}

// turnRecord is what the journal keeps of a turn that has ended.
type turnRecord struct {
	transcript.Turn
	Usage  []cairn.Usage `json:"usage,omitempty"`
	Totals Totals        `json:"totals,omitempty"`
}

// find reads which conversation is the current one, and its session.
func (c *conversation) find() (err error) {
	find := journal.Of(c.call.Journal)
	if c.name, c.earlier, err = journal.Current(find, c.id); err != nil {
		return err
	}
	for {
		if _, found := find(transcript.StartName(c.name, c.starts+1)); !found {
			break
		}
		c.starts++
	}
	s, _, err := journal.Get[sessionRecord](find, c.name+".session")
	c.session = s.Session
	return err
}

// settle books what lost attempts have used, in this conversation and the failed ones before it.
func (c *conversation) settle(ctx context.Context) error {
	owed, err := journal.Settle(ctx, &c.call, c.id, func(d *journal.Debt) error {
		for n := range len(c.earlier) + 1 {
			name := fmt.Sprintf("%s.%d", c.id, n+1)
			for n := 1; ; n++ {
				turn, found, err := journal.Step[turnRecord](c.call.Journal.Lookup, transcript.TurnName(name, n))
				if err != nil {
					return err
				}
				if !found {
					break
				}
				d.Add(turn.Attempt, turn.Usage)
			}
			if err := eachCall(c.call.Journal, name, func(n int, _ toolcall.Intent) error {
				out, _, err := journal.Step[toolcall.Outcome](c.call.Journal.Lookup, transcript.CallName(name, n))
				d.Add(out.Attempt, out.Usage)
				return err
			}); err != nil {
				return err
			}
		}
		return nil
	})
	c.spend(ctx, owed)
	return err
}

// run holds the conversation, and says in the journal if it came to no good end.
func (c *conversation) run(ctx context.Context) (resp task.Response, err error) {
	returned := false
	defer func() {
		if wrong := journal.End(ctx, &c.call, c.name, c.failure, returned && err == nil); wrong != nil {
			resp, err = task.Response{Usage: resp.Usage}, errors.Join(err, wrong)
		}
	}()
	resp, err = c.equipped(ctx)
	resp.Usage = c.usage
	returned = true
	return resp, err
}

// equipped holds the conversation with a folder for files and a server of tools.
func (c *conversation) equipped(ctx context.Context) (resp task.Response, err error) {
	if err = c.settle(ctx); err != nil {
		return resp, err
	}
	if c.dir, err = os.MkdirTemp("", "cairn-command-"); err != nil { // its owner's only
		return resp, fmt.Errorf("command: a folder for the program's files: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(c.dir)) }()
	if len(c.tools) == 0 {
		return c.hold(ctx)
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err = c.serve(ctx, stop); err != nil {
		return resp, err
	}
	resp, err = c.hold(ctx)
	lost := c.served.close()
	if lost != nil { // it is why the program was stopped, if it was
		return task.Response{}, lost
	}
	return resp, err
}

// hold goes through the turns until there is an answer.
func (c *conversation) hold(ctx context.Context) (task.Response, error) {
	if err := c.begin(ctx); err != nil {
		return task.Response{}, err
	}
	refused := ""
	for n := 1; ; n++ {
		turn, err := c.turn(ctx, n, refused)
		if err != nil {
			return task.Response{}, err
		}
		output, wrong := c.answer(turn)
		if wrong == nil {
			return task.Response{Text: turn.Text, Output: output}, journal.Put(context.WithoutCancel(ctx), c.call.Journal, c.final, c.said(turn, output))
		}
		if n > c.agent.cfg.Repairs {
			return task.Response{}, c.fail(&cairn.Failure{Code: cairn.InvalidOutput, Message: fmt.Sprintf("the answer of %s is refused: %v", c.agent.template.Name, wrong)})
		}
		refused = answer.Refused(wrong, c.req.Schema != nil)
		if c.session == "" {
			refused = "Your last answer was:\n" + turn.Text + "\n\n" + refused
		}
	}
}

// said is a finished conversation as others can go on with it: what was asked, and the answer. What lies between the program
// has in its session.
func (c *conversation) said(turn turnRecord, output json.RawMessage) []window.Message {
	text := turn.Text
	if output != nil {
		text = string(output)
	}
	block := func(text string) []window.Block { return []window.Block{{Kind: window.Text, Text: text}} }
	return []window.Message{{Role: window.User, Blocks: block(transcript.Text(c.opening.First))}, {Role: window.Assistant, Blocks: block(text)}}
}

// answer reads what a turn has brought. The error is for the model to read.
func (c *conversation) answer(turn turnRecord) (json.RawMessage, error) {
	if turn.Output != nil && c.req.Schema != nil {
		if c.req.Check == nil {
			return turn.Output, nil
		}
		return turn.Output, c.req.Check(turn.Output)
	}
	return answer.Read(turn.Text, c.req.Schema, c.req.Check)
}

// fail ends the conversation for good.
func (c *conversation) fail(f *cairn.Failure) error {
	c.failure = f
	return f
}

// goOn is what a session is told that was interrupted.
const goOn = "You were interrupted. Go on with your task where you were. What you had under way may have happened or not; look before you do it again. " +
	"Your last message must be the answer that was asked for, in the form that was asked for."

// turn is the n-th of the conversation: from the journal, or else from the program.
func (c *conversation) turn(ctx context.Context, n int, refused string) (turnRecord, error) {
	rec, err := task.Step(ctx, transcript.TurnName(c.name, n), func(ctx context.Context) (turnRecord, error) {
		return c.ask(ctx, n, refused)
	})
	if err != nil {
		return turnRecord{}, err
	}
	if rec.Totals != nil {
		c.totals = rec.Totals
	}
	return rec, nil
}

func (c *conversation) spend(ctx context.Context, usage []cairn.Usage) {
	for _, u := range usage {
		if c.call.Meter == nil {
			c.usage = append(c.usage, u)
			continue
		}
		task.Spend(ctx, u)
	}
}

// ask runs the program for one turn: in its session, if there is one. A session that the program does not find any more, for
// it was killed before it could write it down, is begun anew.
func (c *conversation) ask(ctx context.Context, n int, refused string) (turnRecord, error) {
	if c.session == "" || !c.agent.template.resumes() {
		return c.settled(c.anew(ctx, n, refused))
	}
	say := refused
	if n == 1 {
		say = goOn
	}
	p := c.process(ctx, transcript.Start{Turn: n, Say: say})
	if p.err == nil || ctx.Err() != nil || p.alive || p.killed || cairn.CodeOf(p.err, "") != Failed {
		return c.settled(p)
	}
	return c.settled(c.anew(ctx, n, refused))
}

// anew begins another session, which knows nothing of what was told before.
func (c *conversation) anew(ctx context.Context, n int, refused string) *process {
	c.session, c.totals = "", nil
	if c.served != nil {
		c.served.told.forget()
	}
	return c.process(ctx, transcript.Start{Turn: n, Whole: true, Say: refused})
}

// settled says of what has failed whether it was the conversation.
func (c *conversation) settled(p *process) (turnRecord, error) {
	var f *cairn.Failure
	if p.err == nil || !errors.As(p.err, &f) || p.stopped || p.killed {
		return p.turn, p.err
	}
	switch f.Code {
	case Failed, TooMuchOutput, cairn.InvalidOutput, loop.TurnsExhausted, loop.ContextFull, loop.ModelRequest:
		return p.turn, c.fail(f)
	}
	return p.turn, p.err
}
