package loop

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/answer"
	"github.com/cairnrun/cairn/task/agent/internal/journal"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

// Conversation is the name under which the journal of a task keeps the messages of its last finished conversation, as a
// JSON list of Message.
const Conversation = cairn.ConversationRecord

// conversation is one that is being held. What has been said is rebuilt from the journal, or said for the first time, by
// the same steps in the same order.
type conversation struct {
	agent *Agent
	req   task.Request
	// call is the attempt's, the zero value outside of a task.
	call   cairn.Call
	tools  []cairn.Tool
	byName map[string]cairn.Tool
	// native says that the provider holds the answer to the schema.
	native bool
	// id names all conversations of this agent and prompt in the journal, name this one: the first, or the one after as many
	// failed ones. final names the record of the finished one.
	id, name, final string
	// earlier are the failed ones.
	earlier []answer.Failed
	// plan plans the windows, todo is the list that is repeated in them, if there is one.
	plan *window.Planner
	todo *tool.Todo
	// view is the window of the coming call.
	view window.View
	// allowed, if not nil, are the only tools that may be called in this turn.
	allowed []string
	// repair is what was said last about an answer.
	repair string
	// edits is what the provider has left out of the windows so far.
	edits edits
	// told says that the last message of the user shows the list.
	told bool
	// usage is what nobody could be told, outside of a task.
	usage []cairn.Usage
	// failure is why the conversation itself has failed: the next attempt begins another.
	failure *cairn.Failure
	// leave lets others hold a conversation of this name.
	leave func()
}

// find reads which conversation is the current one, and which have failed before.
func (c *conversation) find() (err error) {
	c.name, c.earlier, err = journal.Current(journal.Of(c.call.Journal), c.id)
	return err
}

// settle books what lost attempts have used, in this conversation and the failed ones before it.
func (c *conversation) settle(ctx context.Context) error {
	owed, err := journal.Settle(ctx, &c.call, c.id, func(d *journal.Debt) error {
		for n := range len(c.earlier) + 1 {
			h, err := read(c.call.Journal.Lookup, fmt.Sprintf("%s.%d", c.id, n+1))
			if err != nil {
				return err
			}
			h.used(d)
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
	resp, err = c.hold(ctx)
	resp.Usage = c.usage
	returned = true
	return resp, err
}

// fail ends the conversation for good.
func (c *conversation) fail(code cairn.Code, permanent bool, format string, args ...any) error {
	c.failure = &cairn.Failure{Code: code, Permanent: permanent, Message: fmt.Sprintf(format, args...)}
	return c.failure
}

// hold goes through the conversation from its first message to its answer.
func (c *conversation) hold(ctx context.Context) (task.Response, error) {
	if err := c.settle(ctx); err != nil {
		return task.Response{}, err
	}
	opening, err := task.Step(ctx, journal.OpeningName(c.name), c.opening)
	if err != nil {
		return task.Response{}, err
	}
	c.plan = window.Open(opening)
	most := orDefault(c.agent.MaxTurns, DefaultMaxTurns, 1<<31-1)
	repairs := orDefault(c.agent.Repairs, DefaultRepairs, 0)
	for n := 1; n <= most; n++ {
		turn, err := c.turn(ctx, n)
		if err != nil {
			return task.Response{}, err
		}
		c.repair = ""
		c.plan.Said(turn.Blocks, turn.Usage)
		if err := c.stopped(turn); err != nil {
			return task.Response{}, err
		}
		if calls := window.Uses(turn.Blocks); len(calls) > 0 {
			results, err := c.results(ctx, n, calls)
			if err != nil {
				return task.Response{}, err
			}
			c.plan.Told(results)
			continue
		}
		if turn.Stop == StopPause {
			continue
		}
		output, wrong := c.answer(window.Said(turn.Blocks))
		if wrong == nil {
			return task.Response{Text: window.Said(turn.Blocks), Output: output}, journal.Put(ctx, c.call.Journal, c.final, c.plan.Messages())
		}
		if repairs == 0 {
			return task.Response{}, c.fail(cairn.InvalidOutput, false, "the model's answer is refused: %v", wrong)
		}
		repairs--
		c.repair = answer.Refused(wrong, c.req.Schema != nil)
		c.plan.Told(text(c.repair))
	}
	return task.Response{}, c.fail(TurnsExhausted, false, "%d model calls brought no answer; raise MaxTurns", most)
}

// stopped is the failure of a turn that is no whole one.
func (c *conversation) stopped(turn Turn) error {
	switch turn.Stop {
	case StopRefusal:
		why := cut(cmp.Or(turn.Why, window.Said(turn.Blocks), "it gave no reason"), answer.MostEarlier)
		return c.fail(ModelRefused, true, "the model refuses to answer: %s", why)
	case StopMaxTokens:
		return c.fail(MaxTokens, false, "the answer was cut after %d tokens; raise the agent's MaxTokens", generated(turn.Usage))
	case StopContext:
		return c.fail(ContextFull, false, "the conversation has filled the model's window")
	}
	return nil
}

func generated(usage []cairn.Usage) int64 {
	if len(usage) == 0 {
		return 0
	}
	return usage[len(usage)-1].Output
}

// turnRecord is what the journal keeps of a model call.
type turnRecord struct {
	// Attempt made the call, and told the usage.
	Attempt int `json:"attempt,omitempty"`
	// Plan is how its window was made.
	Plan window.Plan `json:"plan"`
	// Repair is what the user has said before it about a refused answer.
	Repair string `json:"repair,omitempty"`
	Turn
}

// turn is the n-th of the conversation: from the journal, or else from the model.
func (c *conversation) turn(ctx context.Context, n int) (Turn, error) {
	name := fmt.Sprintf("%s.turn.%d", c.name, n)
	fresh := false
	var announced journal.Beside
	defer func() { _ = announced.Wait() }() // after a panic, too
	rec, err := task.Step(ctx, name, func(ctx context.Context) (turnRecord, error) {
		fresh = true
		plan, err := c.decide(ctx, name, n)
		if err != nil {
			return turnRecord{}, err
		}
		turn, err := c.ask(ctx, name, n, plan, &announced)
		return turnRecord{c.call.Attempt, plan, c.repair, turn}, err
	})
	if lost := announced.Wait(); err == nil {
		err = lost
	}
	if errors.Is(err, ContextFull) { // a new conversation is shorter, unless it is the first message that does not fit
		err = c.fail(ContextFull, n == 1, "%s", cairn.FailureOf(err).Message)
	}
	if err != nil {
		return Turn{}, err
	}
	left := c.edits.next(rec.Turn)
	if !fresh {
		c.plan.Apply(rec.Plan)
		c.allowed = rec.Plan.Allowed
		return rec.Turn, nil
	}
	if left != (Edit{}) {
		c.tell(Event{Kind: Cleared}, n)
	}
	if window.Compacts(rec.Blocks) {
		c.tell(Event{Kind: Compacted}, n)
	}
	return rec.Turn, nil
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

// intent says in the journal that a call of the model is about to be made.
type intent struct {
	Key     string `json:"key"`
	Attempt int    `json:"attempt,omitempty"`
	// Plan is how the window of the call was made.
	Plan   *window.Plan `json:"plan,omitempty"`
	Repair string       `json:"repair,omitempty"`
}

// key is the idempotency key of a call.
func (c *conversation) key(name string) string {
	if c.call.IdempotencyKey == "" {
		return name
	}
	return c.call.IdempotencyKey + "#" + name
}

// ask makes the model call.
func (c *conversation) ask(ctx context.Context, name string, n int, plan window.Plan, announced *journal.Beside) (Turn, error) {
	w := c.window(name)
	return c.patiently(ctx, c.agent.Model, w, n, func() {
		announced.Put(ctx, c.call.Journal, name+".intent", intent{Key: w.Key, Attempt: c.call.Attempt, Plan: &plan, Repair: c.repair})
	})
}

// patiently makes a call, and makes it again after a failure that may pass. Admitted is called when the budgets allow the
// first. The usage of the turn has the failed calls too, the last one's comes last.
func (c *conversation) patiently(ctx context.Context, model Model, w Window, n int, admitted func()) (Turn, error) {
	w.Observe = func(ev Event) {
		_ = task.Heartbeat(ctx, nil) // why to stop is read from the context
		c.tell(ev, n)
	}
	var failed []cairn.Usage
	for try := 0; ; try++ {
		if err := task.Admit(ctx); err != nil {
			return Turn{Usage: failed}, err
		}
		if try == 0 {
			admitted()
		}
		w.Observe(Event{Kind: TurnBegun})
		turn, err := model.Call(ctx, w)
		c.spend(ctx, turn.Usage)
		turn.Usage = append(failed, turn.Usage...)
		w.Observe(Event{Kind: TurnEnded, Failed: err != nil})
		if err == nil {
			return turn, nil
		}
		failed = turn.Usage
		if ctx.Err() != nil || !transient(err) || try >= orDefault(c.agent.Retries, DefaultRetries, 0) || !pause(ctx, err, try) {
			return Turn{Usage: failed}, err
		}
	}
}

// tell passes an event on.
func (c *conversation) tell(ev Event, n int) {
	if c.agent.Observe != nil {
		ev.Path, ev.Turn = c.call.Path, n
		c.agent.Observe(ev)
	}
}

func text(of string) []window.Block { return []window.Block{{Kind: window.Text, Text: of}} }
