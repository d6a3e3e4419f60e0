package delegate

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/tool"
)

// Config says who works, with what, and what for.
type Config struct {
	// Agent is the sub-agent, required. Unless Writer is set it has to be a task.Restrictable.
	Agent task.Agent
	// Name is the tool's, by default "delegate". Description tells the parent what the sub-agent is good at; the default
	// says what any is.
	Name, Description string
	// Share is the most tokens that one call of the tool may use; 0 is as many as the budgets around the task allow.
	Share int64
	// Writer lets the sub-agent use tools with side effects. Dir is its working directory; "" is the process's.
	Writer bool
	Dir    string
	// Timeout is the longest that a call may take. 0 is DefaultTimeout.
	Timeout time.Duration
}

// Defaults of Config.
const (
	DefaultName    = "delegate"
	DefaultTimeout = 2 * time.Hour
)

const about = "Gives a task to a sub-agent, who works on it alone in a clean window and answers in at most 2,000 tokens. It knows nothing " +
	"of this conversation: say what is wanted, all it has to know, where to look and where to stop. Delegate what can be done apart; several " +
	"calls in one turn work side by side."

// input is what the parent's model sends.
type input struct {
	Task   string `json:"task" validate:"required" jsonschema_description:"What to do, complete in itself."`
	Answer string `json:"answer,omitempty" jsonschema_description:"What the answer has to contain, and in which form."`
}

func (in input) prompt() string {
	if in.Answer == "" {
		return in.Task
	}
	return in.Task + "\n\nThe answer: " + in.Answer
}

// New makes the tool. It may be given to several agents, and is as safe for concurrent use as the sub-agent. It panics where
// the program is wrong: without an Agent, with one that can't be kept from writing and is no Writer, with a negative Share or
// Timeout.
func New(c Config) cairn.Tool {
	how := cairn.DelegateSpec{Writer: c.Writer}
	if c.Dir != "" || c.Writer {
		how.Dir = filepath.ToSlash(filepath.Clean(c.Dir))
	}
	agent, err := task.Isolate(c.Agent, how)
	if c.Share < 0 || c.Timeout < 0 {
		err = errors.Join(err, errors.New("a Share or a Timeout must not be negative"))
	}
	if err != nil {
		panic(&cairn.Error{Code: tool.Invalid, Message: "delegate: " + err.Error(), Next: "mend the delegate.New that makes it"})
	}
	d := &delegate{agent: agent, how: how, name: cmp.Or(c.Name, DefaultName), share: c.Share}
	options := []tool.Option{tool.Timeout(cmp.Or(c.Timeout, DefaultTimeout))}
	if c.Writer {
		// Whether it has happened is never unknown: what the sub-agent has done stands in the journal, and it is told itself of
		// what is not known.
		options = append(options, tool.Idempotent())
	}
	t := tool.New(d.name, cmp.Or(c.Description, about), d.call, options...)
	t.Delegation = &cairn.Delegation{Identity: "anonymous", Writes: agent.(task.Writer).Writes(), Models: agent.(task.Modeler).Models()}
	if who, ok := c.Agent.(task.Identifier); ok {
		t.Delegation.Identity = fmt.Sprintf("%s writer=%t share=%d", who.Identity(), c.Writer, c.Share)
	}
	return t
}

type delegate struct {
	agent task.Agent
	how   cairn.DelegateSpec
	name  string
	share int64
}

// call has a sub-agent do the task, under a Call in which there is nothing of the parent's.
func (d *delegate) call(ctx context.Context, in input) (string, error) {
	if d.how.Writer {
		inside, leave, err := writers.enter(ctx, d.how.Dir)
		if err != nil {
			return "", err
		}
		defer leave()
		ctx = inside
	}
	prompt := in.prompt()
	parent, ok := cairn.CallFrom(ctx)
	if !ok {
		resp, err := d.agent.Run(ctx, task.Request{Prompt: prompt})
		return resp.Text, err
	}
	own := *parent
	own.Memory, own.History, own.Tools, own.Detail, own.Prompted = "", nil, nil, nil, true
	own.Policy.Delegate, own.Policy.Memory, own.Policy.Config = &d.how, nil, nil
	var err error
	if own.Input, err = json.Marshal(prompt); err != nil {
		return "", err
	}
	// The key is the same in each attempt, and no other call of a tool has it.
	sum := sha256.Sum256([]byte(parent.IdempotencyKey))
	name := "delegate." + hex.EncodeToString(sum[:6])
	s := &share{around: parent.Meter, name: d.name, limit: d.share}
	if err := s.recall(parent.Journal, name+".spent"); err != nil {
		return "", err
	}
	own.Meter = s
	resp, err := d.agent.Run(loop.Within(cairn.WithCall(ctx, &own), name), task.Request{Prompt: prompt})
	for _, u := range resp.Usage {
		s.Spend(u)
	}
	if err == nil {
		return resp.Text, nil
	}
	if lost := s.keep(ctx, parent.Journal, name+".spent"); lost != nil {
		return "", errors.Join(err, lost)
	}
	if s.exhausted() && errors.Is(err, cairn.ShareExhausted) {
		return "", &cairn.Error{Code: cairn.ShareExhausted,
			Message: fmt.Sprintf("the sub-agent was stopped before it had an answer: it has spent %s tokens of its share of %s",
				cairn.Tokens.Format(s.total()), cairn.Tokens.Format(d.share)),
			Next: "delegate a smaller part of the task, or do without"}
	}
	return "", err
}
