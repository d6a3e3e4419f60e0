package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/grapheme"
	"github.com/cairnrun/cairn/task"
)

// Agent is a task.Agent with a script. It is safe for concurrent use, must not be copied, and its fields must not be changed
// after its first use.
type Agent struct {
	// Replies are given first, in order, one for each call.
	Replies []Reply
	// Rules reply to the calls after those. The first one that matches and has a reply left decides.
	Rules []Rule
	// Answer replies where no rule does.
	Answer func(req task.Request) Reply
	// Auto answers where nobody else does, with a value made from the request's schema that passes its Check. The same schema
	// gives the same value. Where any text will do it is the beginning of the prompt, said back.
	Auto bool
	// Model is the name under which replies without Usage are counted. "" counts nothing. A call fails or not: it is counted.
	Model string

	// once guards describing, who the rest.
	once sync.Once
	who  string

	mu       sync.Mutex // guards what follows
	requests []task.Request
	// given counts the replies of each rule in this process.
	given map[int]int
}

// Reply is one answer. The zero value is an empty text.
type Reply struct {
	Text string
	// Value is encoded as the structured output; nil is none.
	Value any
	// Err fails the call, which has its Usage all the same.
	Err error
	// Usage is what the call is said to have used. Nil is counted from the text, if the Agent has a Model; empty is nothing.
	Usage []cairn.Usage
	// Delay passes before the reply, unless the context ends sooner.
	Delay time.Duration
}

// Run gives the next reply.
func (a *Agent) Run(ctx context.Context, req task.Request) (task.Response, error) {
	reply, rule, err := a.next(ctx, req)
	if err != nil {
		return task.Response{}, err
	}
	resp, err := a.give(ctx, req, reply)
	if rule < 0 || a.Rules[rule].By != ByAttempt || !over(ctx, req, resp, err) {
		return resp, err
	}
	if lost := a.pass(ctx, rule); lost != nil {
		return task.Response{Usage: resp.Usage}, errors.Join(err, lost)
	}
	return resp, err
}

// give answers with a reply.
func (a *Agent) give(ctx context.Context, req task.Request, reply Reply) (task.Response, error) {
	if err := wait(ctx, reply.Delay); err != nil {
		return task.Response{}, err
	}
	resp := task.Response{Text: reply.Text, Usage: slices.Clone(reply.Usage)}
	var wrong error
	if reply.Value != nil && reply.Err == nil {
		var err error
		if resp.Output, err = json.Marshal(reply.Value); err != nil {
			wrong = task.Permanent(fmt.Errorf("scripted: encode the reply: %w", err))
		}
	}
	if a.Model != "" && reply.Usage == nil {
		resp.Usage = []cairn.Usage{{Model: a.Model, Input: requested(req), Output: tokens(max(len(resp.Text), len(resp.Output)))}}
	}
	if reply.Err != nil {
		wrong = reply.Err
	}
	return resp, wrong
}

// wait lets time pass. Its error is why the context has ended.
func wait(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// next takes the request down and picks its reply, and the number of the rule it is from, or -1.
func (a *Agent) next(ctx context.Context, req task.Request) (Reply, int, error) {
	a.mu.Lock()
	a.requests = append(a.requests, req)
	n := len(a.requests)
	a.mu.Unlock()
	if n <= len(a.Replies) {
		return a.Replies[n-1], -1, nil
	}
	path := ""
	if call, ok := cairn.CallFrom(ctx); ok {
		path = call.Path
	}
	for i, rule := range a.Rules {
		if !rule.matches(path, req) {
			continue
		}
		at, err := a.position(ctx, i)
		if err != nil {
			return Reply{}, i, err
		}
		if reply, ok := pick(rule.Replies, at, rule.Repeat); ok {
			return reply, i, nil
		}
	}
	switch {
	case a.Answer != nil:
		return a.Answer(req), -1, nil
	case a.Auto && req.Schema == nil:
		return Reply{Text: "An answer to: " + grapheme.Cut(strings.TrimSpace(req.Prompt), 200)}, -1, nil
	case a.Auto:
		value, err := Sample(req.Schema, req.Check)
		return Reply{Value: value}, -1, err
	}
	return Reply{}, -1, task.Permanent(fmt.Errorf("scripted: call %d has no reply, the script has %d%s; the prompt begins %.80q",
		n, len(a.Replies), a.unmatched(path), req.Prompt))
}

// unmatched says that the rules had no reply.
func (a *Agent) unmatched(path string) string {
	if len(a.Rules) == 0 {
		return ""
	}
	return fmt.Sprintf(" and no rule of %d has one left for the task %q", len(a.Rules), path)
}

// pick is the one at a place of a list. Where the list is used up it is the last one if that repeats.
func pick[T any](list []T, at int, repeat bool) (one T, ok bool) {
	switch {
	case at < len(list):
		return list[at], true
	case repeat && len(list) > 0:
		return list[len(list)-1], true
	}
	return one, false
}

// Models are those that calls are billed under, as far as the script tells.
func (a *Agent) Models() []string {
	if a.Model == "" {
		return nil
	}
	return []string{a.Model}
}

// Prompts are those of all calls so far, in order.
func (a *Agent) Prompts() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	prompts := make([]string, len(a.requests))
	for i, req := range a.requests {
		prompts[i] = req.Prompt
	}
	return prompts
}

// Requests are all calls so far, in order.
func (a *Agent) Requests() []task.Request {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.requests)
}
