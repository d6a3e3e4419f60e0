package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// Rule says what is answered to some requests. All of its conditions that are set have to hold; without any it is for all.
type Rule struct {
	// Path is the task's path. A * stands for anything but a /: "work[*]/step". Outside of a task there is none.
	Path string
	// Contains is a part of the prompt, Matches a pattern that is found in it. What memory puts before a prompt is no part of it.
	Contains string
	Matches  *regexp.Regexp
	// When decides by all of the request.
	When func(req task.Request) bool
	// Replies are given one after another, in the order that By says. A rule that has none left no longer matches.
	Replies []Reply
	By      Order
	// Repeat gives the last reply again and again.
	Repeat bool
}

// Order says what moves a Rule on to its next reply.
type Order string

const (
	// ByAttempt begins at the first reply for every task. An attempt that the reply has failed brings the next one: by its Err, by
	// a value that the task refuses, by a Delay that was longer than the attempt's time. All calls in one attempt get the same.
	// Outside of a task each call moves on.
	ByAttempt Order = ""
	// ByIteration gives the first reply in the first iteration of the innermost loop around the task, in all of its attempts,
	// and so on. Outside of a loop it is always the first.
	ByIteration Order = "iteration"
	// ByCall gives each reply once in the life of the process, in the order of the calls.
	ByCall Order = "call"
)

func (r Rule) matches(path string, req task.Request) bool {
	return (r.Path == "" || pathMatches(r.Path, path)) && strings.Contains(req.Prompt, r.Contains) &&
		(r.Matches == nil || r.Matches.MatchString(req.Prompt)) && (r.When == nil || r.When(req))
}

// pathMatches compares a path with a pattern, whose only special sign is the *.
func pathMatches(pattern, path string) bool {
	before, after, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == path
	}
	rest, ok := strings.CutPrefix(path, before)
	if !ok {
		return false
	}
	for i := 0; ; i++ {
		if pathMatches(after, rest[i:]) {
			return true
		}
		if i == len(rest) || rest[i] == '/' {
			return false
		}
	}
}

// position is how many replies of a rule come before the one for this call.
func (a *Agent) position(ctx context.Context, rule int) (int, error) {
	call, inTask := cairn.CallFrom(ctx)
	switch by := a.Rules[rule].By; {
	case by == ByIteration && inTask:
		return iteration(call.Path), nil
	case by == ByIteration:
		return 0, nil
	case by == ByAttempt && inTask && call.Journal != nil:
		n := 0
		for attempt := 1; attempt < call.Attempt; attempt++ {
			if _, passed := call.Journal.Lookup(a.passed(rule, attempt)); passed {
				n++
			}
		}
		return n, nil
	case by == ByAttempt && inTask:
		return max(call.Attempt-1, 0), nil
	case by != ByAttempt && by != ByCall:
		return 0, task.Permanent(fmt.Errorf("scripted: rule %d has the order %q: use ByAttempt, ByIteration or ByCall", rule, by))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.given == nil {
		a.given = map[int]int{}
	}
	a.given[rule]++
	return a.given[rule] - 1, nil
}

// iteration is the number of the innermost one that a path is in.
func iteration(path string) int {
	for scope, _ := cairn.Split(path); scope != ""; scope, _ = cairn.Split(scope) {
		if _, i, ok := cairn.CutIteration(scope); ok {
			return i
		}
	}
	return 0
}

// over says that a reply has been given and failed its attempt, so that the next attempt is not to get it again. Whoever is
// stopped for another reason than its time has not failed.
func over(ctx context.Context, req task.Request, resp task.Response, err error) bool {
	var limit *cairn.Failure
	switch cause := context.Cause(ctx); {
	case errors.As(cause, &limit):
		return limit.Code == cairn.TaskTimeout || limit.Code == cairn.HeartbeatTimeout
	case cause != nil:
		return false
	case err != nil:
		return true
	case req.Check == nil:
		return false
	case resp.Output == nil:
		return req.Check(json.RawMessage(resp.Text)) != nil
	}
	return req.Check(resp.Output) != nil
}

// pass says in the journal that an attempt's reply is over, before the attempt fails of it.
func (a *Agent) pass(ctx context.Context, rule int) error {
	call, ok := cairn.CallFrom(ctx)
	if !ok || call.Journal == nil {
		return nil
	}
	if err := call.Journal.Record(context.WithoutCancel(ctx), a.passed(rule, call.Attempt), json.RawMessage("true")); err != nil {
		return fmt.Errorf("scripted: record that a reply was given: %w", err)
	}
	return nil
}

// passed names the record of an attempt's reply. Other agents of the task have other scripts, or the same.
func (a *Agent) passed(rule, attempt int) string {
	a.once.Do(a.describe)
	return fmt.Sprintf("scripted.%s.%d.%d", a.who, rule, attempt)
}
