package scripted_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/enginetest"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

// TestRules: the first one that matches and has a reply left.
func TestRules(t *testing.T) {
	agent := &scripted.Agent{
		Replies: []scripted.Reply{{Text: "first of all"}},
		Rules: []scripted.Rule{
			{Contains: "apple", Replies: []scripted.Reply{{Text: "a1"}, {Text: "a2"}}},
			{Matches: regexp.MustCompile(`^(apple|pear)s?$`), By: scripted.ByCall, Replies: []scripted.Reply{{Text: "fruit"}}},
			{When: func(req task.Request) bool { return req.Memory != "" }, Repeat: true, Replies: []scripted.Reply{{Text: "m1"}, {Text: "m2"}}},
			{Path: "a/b", Replies: []scripted.Reply{{Text: "never: there is no task"}}},
			{Replies: []scripted.Reply{{Text: "any"}}},
		},
		Answer: func(req task.Request) scripted.Reply { return scripted.Reply{Text: "answer"} },
	}
	for i, c := range []struct{ prompt, memory, want string }{
		{"pear", "", "first of all"}, {"apple", "", "a1"}, {"pears", "", "fruit"}, {"apple pie", "", "a2"}, {"apple", "", "any"},
		{"pear", "m", "m1"}, {"x", "m", "m2"}, {"x", "m", "m2"}, {"pear", "", "answer"},
	} {
		resp, err := agent.Run(t.Context(), task.Request{Prompt: c.prompt, Memory: c.memory})
		if err != nil || resp.Text != c.want {
			t.Errorf("%d: %q gives %q, %v, want %q", i, c.prompt, resp.Text, err, c.want)
		}
	}
}

func TestPathsOfRules(t *testing.T) {
	for _, c := range []struct {
		pattern, path string
		want          bool
	}{
		{"work[0]/step", "work[0]/step", true}, {"work[*]/step", "work[12]/step", true}, {"work[*]/step", "work[12]/sub/step", false},
		{"*/step", "work[1]/step", true}, {"*", "step", true}, {"*", "a/b", false}, {"*b*", "abc", true}, {"a*", "ba", false}, {"", "x", true},
	} {
		agent := &scripted.Agent{Rules: []scripted.Rule{{Path: c.pattern, Replies: []scripted.Reply{{}}}}}
		_, err := agent.Run(cairn.WithCall(t.Context(), &cairn.Call{Path: c.path, Attempt: 1}), task.Request{Prompt: "x"})
		if (err == nil) != c.want {
			t.Errorf("%q and %q: %v", c.pattern, c.path, err)
		}
	}
}

// TestRulesInARun: sequences belong to the task, however many stand side by side, and go on when an attempt has failed of them:
// by an error, a value that is refused, a delay that is too long.
func TestRulesInARun(t *testing.T) {
	agent := &scripted.Agent{Model: "m", Rules: []scripted.Rule{
		{Contains: "try", Replies: []scripted.Reply{{Err: errors.New("boom")}, {Value: Verdict{}}, {Delay: time.Hour}, {Value: Verdict{Why: "fourth"}, Delay: time.Second}}},
	}}
	var all cairn.Nodes
	var keys []cairn.Key[Verdict]
	for i := range 20 {
		key := cairn.Key[Verdict](fmt.Sprintf("t%d", i))
		keys = append(keys, key)
		all = append(all, task.Task[Verdict]{ID: key, Agent: agent, Prompt: func(*cairn.View) string { return "try" },
			AttemptTimeout: time.Minute, Retry: task.Retry{Max: 4, Initial: time.Second, Factor: 1}})
	}
	wf := cairn.Workflow[struct{}, []any]{Name: "w", Result: log, Render: func(*cairn.View, struct{}) cairn.Node {
		return cairn.Nodes{cairn.Parallel{Children: all}, task.Task[[]any]{ID: log, Value: new([]any)}}
	}}
	run := enginetest.Run(t, wf, struct{}{}, nil)
	if run.Status != core.Finished {
		t.Fatalf("%+v", run.Outcome)
	}
	for _, key := range keys {
		if got := string(run.State.Tasks[string(key)].Output); got != `{"approved":false,"why":"fourth"}` {
			t.Errorf("%s: %s", key, got)
		}
	}
	// A minute for the third reply, a second for the fourth, three pauses of a second and their jitter: on one clock.
	if run.Took < 64*time.Second || run.Took > 65*time.Second {
		t.Errorf("it took %s", run.Took)
	}
}

// TestTokensOfReplies: what is not given is counted, of all that is asked.
func TestTokensOfReplies(t *testing.T) {
	req := task.Request{Prompt: "12345678", Memory: "1234", Schema: json.RawMessage(`{"a":1}`), History: []cairn.Message{{Content: "123"}},
		Tools: []cairn.Tool{{Name: "t", Description: "des", Schema: json.RawMessage(`{}`)}}}
	given := []cairn.Usage{{Model: "other", Output: 1}}
	agent := &scripted.Agent{Model: "m", Replies: []scripted.Reply{{Text: "12345"}, {Value: "12"}, {Err: errors.New("x")}, {Usage: given}, {Usage: []cairn.Usage{}}}}
	const in = (8 + 2 + 4 + 7 + 3 + 6 + 3) / 4
	for i, want := range [][]cairn.Usage{{{Model: "m", Input: in, Output: 2}}, {{Model: "m", Input: in, Output: 1}}, {{Model: "m", Input: in}}, given, {}} {
		if resp, _ := agent.Run(t.Context(), req); !slices.Equal(resp.Usage, want) {
			t.Errorf("%d: %v, want %v", i, resp.Usage, want)
		}
	}
	if !reflect.DeepEqual(agent.Models(), []string{"m"}) || new(scripted.Agent).Models() != nil {
		t.Error("models")
	}
	if resp, err := (&scripted.Agent{Auto: true}).Run(t.Context(), req); err != nil || resp.Usage != nil {
		t.Errorf("without a model: %v, %v", resp.Usage, err)
	}
}

// TestBudget: what is counted breaks a budget, of agents and of models.
func TestBudget(t *testing.T) {
	for name, agent := range map[string]task.Agent{
		"agent": &scripted.Agent{Model: "m", Auto: true},
		"model": &loop.Agent{Model: &scripted.Model{Name: "m", Auto: true}},
	} {
		wf := cairn.Workflow[struct{}, string]{Name: "w", Result: steady, Render: func(*cairn.View, struct{}) cairn.Node {
			return aspects.Aspects{Tokens: aspects.Budget{Max: 2500}, Children: cairn.Nodes{cairn.Loop{
				ID: "l", Max: 9, Until: func(*cairn.View) bool { return false }, Body: func(*cairn.View) cairn.Node {
					return task.Task[string]{ID: steady, Agent: agent, Prompt: func(*cairn.View) string { return strings.Repeat("word", 1000) }}
				}}}}
		}}
		run := enginetest.Run(t, wf, struct{}{}, nil)
		if spent := run.State.Ledgers["#aspects"].Spent.Tokens; run.Failure == nil || run.Failure.Code != cairn.BudgetExceeded || spent != 3*(1000+54) {
			t.Errorf("%s: %d tokens, %+v", name, spent, run.Outcome)
		}
	}
}

// TestIdentity: equal data, equal identity; a function, or a value that is no data, has none.
func TestIdentity(t *testing.T) {
	script := func(text string) *scripted.Agent {
		return &scripted.Agent{Replies: []scripted.Reply{{Text: "r"}}, Rules: []scripted.Rule{
			{Contains: "x", Matches: regexp.MustCompile("y"), Replies: []scripted.Reply{{Value: map[string]any{"b": 1, "a": text}, Delay: time.Second}}}}}
	}
	one, again, other := script("1").Identity(), script("1").Identity(), script("2").Identity()
	if one != again || one == other || one == "" {
		t.Errorf("%q, %q, %q", one, again, other)
	}
	for _, nameless := range []*scripted.Agent{
		{Answer: func(task.Request) scripted.Reply { return scripted.Reply{} }},
		{Rules: []scripted.Rule{{When: func(task.Request) bool { return true }}}},
		{Replies: []scripted.Reply{{Value: math.NaN()}}},
	} {
		if id := nameless.Identity(); id != "" {
			t.Errorf("%q", id)
		}
	}
}

// TestCached: the output of a script that is data is stored, and one with functions asks for a Version.
func TestCached(t *testing.T) {
	agent := &scripted.Agent{Auto: true}
	cached := func(agent task.Agent, version string) cairn.Workflow[struct{}, string] {
		return cairn.Workflow[struct{}, string]{Name: "w", Result: steady, Render: func(*cairn.View, struct{}) cairn.Node {
			return cairn.Loop{ID: "l", Max: 2, OnMax: cairn.ReturnLast, Until: func(*cairn.View) bool { return false }, Body: func(*cairn.View) cairn.Node {
				return task.Task[string]{ID: steady, Agent: agent, Version: version, Prompt: func(*cairn.View) string { return "x" }, With: cairn.With{cache.Policy{}}}
			}}
		}}
	}
	if run := enginetest.Run(t, cached(agent, ""), struct{}{}, nil); run.Status != core.Finished || len(agent.Prompts()) != 1 {
		t.Errorf("%+v, asked %q", run.Outcome, agent.Prompts())
	}
	anonymous := &scripted.Agent{Answer: func(task.Request) scripted.Reply { return scripted.Reply{} }}
	for version, wrong := range map[string]bool{"": true, "1": false} {
		task := task.Task[string]{ID: steady, Agent: anonymous, Version: version, Prompt: func(*cairn.View) string { return "x" }, With: cairn.With{cache.Policy{}}}
		if err := errors.Join(task.Lower().Mistakes...); (err != nil) != wrong {
			t.Errorf("version %q: %v", version, err)
		}
	}
}

func TestRulesSideBySide(t *testing.T) {
	agent := &scripted.Agent{Auto: true, Model: "m", Rules: []scripted.Rule{{By: scripted.ByCall, Replies: make([]scripted.Reply, 10)}, {Contains: "x", Replies: []scripted.Reply{{Text: "x"}}}}}
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := agent.Run(t.Context(), task.Request{Prompt: "x"}); err != nil {
				t.Error(err)
			}
			agent.Identity()
		})
	}
	group.Wait()
	if n := len(agent.Requests()); n != 20 {
		t.Errorf("%d requests", n)
	}
}
