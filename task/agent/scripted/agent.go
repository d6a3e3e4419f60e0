// Package scripted is an agent that answers from a script, for tests and for examples that run without a model.
//
//	agent := &scripted.Agent{Replies: []scripted.Reply{
//		{Value: Step{Summary: "read the code"}},
//		{Err: errors.New("overloaded")},
//		{Value: Step{Summary: "wrote the report", Done: true}},
//	}}
//	task.Task[Step]{ID: step, Agent: agent, Prompt: …}
//
// # What is not safe
//
// Replies are handed out in the order of the calls, and calls are made again: tasks side by side come in any order, and
// a process that resumes a run starts the script over. Where that matters use Answer, which decides by the request.
package scripted

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// Agent is a task.Agent with a script. It is safe for concurrent use and must not be copied.
type Agent struct {
	// Replies are given first, in order, one for each call.
	Replies []Reply
	// Answer replies to the calls after those. Without it a call after the last reply is an error.
	Answer func(req task.Request) Reply

	mu       sync.Mutex // guards requests
	requests []task.Request
}

// Reply is one answer. The zero value is an empty text.
type Reply struct {
	Text string
	// Value is encoded as the structured output; nil is none.
	Value any
	// Err fails the call, which has its Usage all the same.
	Err   error
	Usage []cairn.Usage
	// Delay passes before the reply, unless the context ends sooner.
	Delay time.Duration
}

// Run gives the next reply.
func (a *Agent) Run(ctx context.Context, req task.Request) (task.Response, error) {
	reply, err := a.next(req)
	if err != nil {
		return task.Response{}, err
	}
	if reply.Delay > 0 {
		timer := time.NewTimer(reply.Delay)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return task.Response{}, context.Cause(ctx)
		}
	}
	resp := task.Response{Text: reply.Text, Usage: slices.Clone(reply.Usage)}
	if reply.Err != nil {
		return resp, reply.Err
	}
	if reply.Value != nil {
		if resp.Output, err = json.Marshal(reply.Value); err != nil {
			return resp, task.Permanent(fmt.Errorf("scripted: encode the reply: %w", err))
		}
	}
	return resp, nil
}

// next takes the request down and picks its reply.
func (a *Agent) next(req task.Request) (Reply, error) {
	a.mu.Lock()
	a.requests = append(a.requests, req)
	n := len(a.requests)
	a.mu.Unlock()
	switch {
	case n <= len(a.Replies):
		return a.Replies[n-1], nil
	case a.Answer != nil:
		return a.Answer(req), nil
	}
	return Reply{}, task.Permanent(fmt.Errorf("scripted: call %d has no reply, the script has %d; the prompt begins %.80q", n, len(a.Replies), req.Prompt))
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
