package cli_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/task"
)

// limitEnv is the token limit of costly, which a process can be started with another one of.
const limitEnv = "CAIRN_TEST_LIMIT"

// costly uses up a budget in a loop, after some of everything that is told of budgets.
var costly = cairn.Workflow[ask, string]{
	Name: "costly", Result: last, Example: new(ask{Name: "ape"}),
	Render: func(v *cairn.View, in ask) cairn.Node {
		limit, _ := strconv.ParseInt(os.Getenv(limitEnv), 10, 64)
		return aspects.Aspects{
			Tokens:  aspects.Budget{Max: limit, PerTask: 200_000},
			Latency: aspects.Budget{Max: aspects.Hour, OnExceeded: aspects.Warn},
			Children: cairn.Nodes{
				aspects.Aspects{ID: "side", Cost: aspects.Budget{Max: 10 * aspects.Cent, OnExceeded: aspects.SkipRemaining}, AllowUnpriced: true,
					Children: cairn.Nodes{
						uses("odd", cairn.Usage{Model: "homemade", Output: 500}),
						uses("dear", cairn.Usage{Model: "claude-opus-4-6", Input: 15_000, Output: 3_000}),
						uses("spare"),
					}},
				cairn.Loop{ID: "work", Max: 4, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node {
					return step(v.Iteration())
				}},
				say(last, "bye "+in.Name),
			},
		}
	},
}

func uses(id cairn.Key[string], calls ...cairn.Usage) cairn.Node {
	return task.Task[string]{ID: id, Do: func(ctx context.Context) (string, error) {
		for _, u := range calls {
			task.Spend(ctx, u)
		}
		return string(id), nil
	}}
}

// step makes two calls of 30,000 tokens, the second time after a failure.
func step(i int) cairn.Node {
	prompt := func(*cairn.View) string { return strings.Repeat("go on ", 100+i) }
	return task.Task[string]{ID: "step", Retry: task.Retry{Initial: time.Millisecond},
		From: task.From(prompt, func(ctx context.Context, in string) (string, error) {
			if i == 1 && task.Attempt(ctx) == 1 {
				task.Spend(ctx, cairn.Usage{Model: "claude-haiku-4-5", Input: 110_000})
				return "", errors.New("not yet")
			}
			for range 2 {
				if err := task.Admit(ctx); err != nil {
					return "", err
				}
				task.Spend(ctx, cairn.Usage{Model: "claude-haiku-4-5", Input: 4_000, Output: 1_000, CacheRead: 20_000, CacheWrite: 5_000, CacheWrite1h: 2_000})
			}
			return "stepped", nil
		})}
}

// spend runs a command line of a program with that workflow.
func (p place) spend(limit int64, code int, args ...string) result {
	p.t.Helper()
	p.t.Setenv(limitEnv, strconv.FormatInt(limit, 10))
	var out, errOut bytes.Buffer
	got := cli.Run(p.t.Context(), append(args, "--db", p.db()), strings.NewReader(""), &out, &errOut, costly)
	if got != code {
		p.t.Fatalf("%q: exit code %d, want %d\nstdout: %s\nstderr: %s", args, got, code, out.String(), errOut.String())
	}
	return result{got, out.String(), errOut.String()}
}

// timeless takes the time that a run has taken out of its budget's line.
func timeless(text string) string {
	return regexp.MustCompile(`\S+ of 1h \(\S+ left\)`).ReplaceAllString(text, "SPAN of 1h (SPAN left)")
}

// What budgets do is seen in the progress, in events and by inspect, and a run that one has stopped goes on with a higher
// limit.
func TestBudgetsAreVisible(t *testing.T) {
	p := newPlace(t)
	up := p.spend(220_000, cli.ExitFailed, "up", "costly", "--run-id", "r1")
	golden(t, "budget-up.golden", p.canon(up.err))
	golden(t, "budget-events.golden", p.canon(p.spend(0, 0, "events", "r1").out))
	golden(t, "budget-inspect.golden", timeless(p.canon(p.spend(0, 0, "inspect", "r1").out)))

	has(t, p.spend(0, 0, "ps").err, "cairn: a budget has stopped r1: raise the limit and go on with run resume RUN --db ")
	has(t, p.spend(220_000, 0, "why", "r1", "last").out, "the run is failed, because of BUDGET_EXCEEDED", "Raise the limit and go on with run resume r1 --db ")
	has(t, p.spend(220_000, 0, "why", "r1", "spare").out, "spare was skipped in frame", "cost of #side: $0.15 spent of $0.10.")
	if why := p.spend(220_000, 0, "why", "r1", "dear").out; strings.Contains(why, "aise") {
		t.Errorf("what has finished needs no higher limit: %s", why)
	}
	has(t, p.spend(220_000, 0, "why", "r1", "#side").out, "Budget #side: cost $0.15 spent of $0.10, which is reached (skip-remaining).")
	for _, args := range [][]string{{"up", "costly", "--run-id", "r1"}, {"cancel", "r1"}, {"pause", "r1"}} {
		has(t, p.spend(400_000, cli.ExitRefused, args...).err, "RUN_ENDED run r1: a budget has stopped the run; raise the limit and go on with run resume r1")
	}

	again := p.spend(220_000, cli.ExitFailed, "resume", "r1") // nothing was raised
	has(t, again.err, "run-reopened", "BUDGET_EXCEEDED", "raise the limit and go on with run resume r1")
	has(t, p.spend(0, 0, "inspect", "r1").out, "failed")
	done := p.spend(400_000, 0, "resume", "r1")
	has(t, done.err, "run-reopened", "tokens 400,000 (fail)", "finished     work[3]/step", "run-finished")
	if done.out != "\"bye ape\"\n" || strings.Contains(done.err, "work[0]/step") {
		t.Errorf("the run did not go on where it was: %s%s", done.out, done.err)
	}
	has(t, p.spend(0, 0, "inspect", "r1").out, "368,500 of 400,000 (31,500 left) fail")
	has(t, p.spend(0, 2, "resume", "r1").err, "RUN_ENDED run r1: the run is finished, which is final")
}

// Lines of --json carry what the text says.
func TestBudgetsInJSON(t *testing.T) {
	p := newPlace(t)
	p.spend(220_000, cli.ExitFailed, "up", "costly", "--run-id", "r1", "-q")
	found := map[string]int{}
	for _, h := range lines[struct {
		Type, Path, Mode, Bucket, Model string
		Context                         int64
		HalfFull                        bool
		Breach                          *cairn.Breach
		Limits                          *cairn.AspectsSpec
	}](t, p.spend(0, 0, "events", "r1", "--json").out) {
		switch h.Type {
		case "breach":
			if h.Breach == nil || h.Breach.Budget != h.Path || h.Mode == "" {
				t.Errorf("%+v", h)
			}
		case "context":
			if h.Context != 110_000 || h.Bucket != "200k" || h.Path != "work[1]/step" {
				t.Errorf("%+v", h)
			}
		case "unpriced":
			if h.Model != "homemade" {
				t.Errorf("%+v", h)
			}
		case "limits":
			if h.Limits == nil {
				t.Errorf("%+v", h)
			}
		default:
			continue
		}
		found[h.Type]++
	}
	if found["breach"] != 2 || found["context"] != 2 || found["unpriced"] != 1 || found["limits"] != 2 {
		t.Errorf("%v", found)
	}
	r := lines[struct {
		Budgets []struct {
			Budget, Measure, OnExceeded string
			Limit                       int64
			PerTask                     bool
			Spent, Left                 *int64
		}
		Skipped []struct{ Path, Reason string }
	}](t, p.spend(0, 0, "inspect", "r1", "--json").out)[0]
	if len(r.Skipped) != 1 || r.Skipped[0].Path != "spare" || len(r.Budgets) != 4 {
		t.Fatalf("%+v", r)
	}
	if b := r.Budgets[0]; b.Budget != "#aspects" || b.Measure != "tokens" || b.Limit != 220_000 || *b.Left != 220_000-*b.Spent || b.OnExceeded != "fail" {
		t.Errorf("%+v", b)
	}
	if b := r.Budgets[1]; !b.PerTask || b.Spent != nil || b.Left != nil {
		t.Errorf("%+v", b)
	}
}

// greedy has a task that its budget cuts off before its second call, and one that does not need to be optional for it.
var greedy = cairn.Workflow[struct{}, string]{Name: "greedy", Result: last, Example: new(struct{}{}), Render: func(*cairn.View, struct{}) cairn.Node {
	return cairn.Nodes{
		cairn.Try{
			Only:  cairn.Codes{aspects.BudgetExceeded},
			Body:  aspects.Aspects{Tokens: aspects.Budget{Max: 100_000, Reserve: 20_000, PerTask: 25_000}, Children: cairn.Nodes{step(0)}},
			Catch: func(*cairn.View, cairn.Failure) cairn.Node { return say("caught", "caught") },
		},
		say(last, "bye"),
	}
}}

// An attempt that a budget has cut off is told of as what it is.
func TestRefusedAttempt(t *testing.T) {
	p := newPlace(t)
	var out, errOut bytes.Buffer
	if code := cli.Run(t.Context(), []string{"up", "greedy", "--run-id", "r1", "--db", p.db()}, strings.NewReader(""), &out, &errOut, greedy); code != 0 {
		t.Fatal(code, errOut.String())
	}
	has(t, p.canon(errOut.String()), "limits       #aspects: tokens 100,000 (fail), tokens 25,000 per task (fail)\n",
		"refused      step, attempt 1 after SPAN: tokens of #aspects: 30,000 spent of 25,000 per task\n",
		"breach       #aspects: tokens 30,000 spent of 25,000 per task (fail), by step\n", "failed       step, BUDGET_EXCEEDED", "finished     caught")
	if strings.Contains(errOut.String(), "retry") {
		t.Error("a refused attempt is tried again")
	}
	has(t, p.must(0, "node", "r1", "step").out, "1: 1 refused", "30,000 tokens, $0.01875: tokens of #aspects: 30,000 spent of 25,000 per task\n", "30,000 of 25,000 (5,000 over) per task fail", "30,000 of 100,000 (70,000 left) fail, reserves 20,000")
	has(t, p.must(0, "metrics", "r1").out, `cairn_attempts_total{workflow="greedy",outcome="refused"} 1`, `cairn_budget_breaches_total{workflow="greedy",measure="tokens",mode="fail"} 1`)
}

// rounds has a budget in each iteration of a loop.
var rounds = cairn.Workflow[struct{}, string]{Name: "rounds", Result: last, Example: new(struct{}{}), Render: func(*cairn.View, struct{}) cairn.Node {
	return aspects.Aspects{Cost: aspects.Budget{Max: aspects.Dollar}, Children: cairn.Nodes{
		cairn.Loop{ID: "l", Max: 30, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node {
			return aspects.Aspects{Tokens: aspects.Budget{Max: 10}, Children: cairn.Nodes{say(last, "again")}}
		}},
	}}
}}

// Of very many budgets the outermost and the last are shown.
func TestManyBudgets(t *testing.T) {
	p := newPlace(t)
	var out, errOut bytes.Buffer
	if code := cli.Run(t.Context(), []string{"up", "rounds", "--run-id", "r1", "-q", "--db", p.db()}, strings.NewReader(""), &out, &errOut, rounds); code != 0 {
		t.Fatal(code, errOut.String())
	}
	text := p.must(0, "inspect", "r1").out
	has(t, text, "budget    #aspects       cost", "$0.00 of $1.00 ($1.00 left) fail", "l[8]#aspects", "11 more: see --json", "l[20]#aspects", "l[29]#aspects")
	if n := strings.Count(text, "#aspects"); n != 20 || strings.Contains(text, "l[9]#aspects") || strings.Contains(text, "l[19]#aspects") {
		t.Errorf("%d budgets are shown:\n%s", n, text)
	}
	if r := lines[struct{ Budgets []any }](t, p.must(0, "inspect", "r1", "--json").out)[0]; len(r.Budgets) != 31 {
		t.Errorf("%d budgets in JSON", len(r.Budgets))
	}
}
