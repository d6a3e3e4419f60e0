package consolidate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/consolidate"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

const bank = "project-shop"

var ns = memory.Namespace{Kind: memory.WorkflowKind, ID: "incident"}

// bench is an engine with a memory and a distiller.
type bench struct {
	*testing.T
	store  *lanes.Store
	engine *engine.Engine
	runs   int
	// saves fail before they are made, or after.
	before, after error
}

// flaky fails saves as the bench says.
type flaky struct {
	*lanes.Store
	bench *bench
}

func newBench(t *testing.T, agent task.Agent) *bench {
	t.Helper()
	b := &bench{T: t}
	runs, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "cairn.db"), Synchronous: sqlite.Normal})
	b.must(err)
	t.Cleanup(func() { _ = runs.Close() })
	b.store, err = lanes.Open(t.Context(), lanes.Config{DB: runs.DB()})
	b.must(err)
	rt := &memory.Runtime{Store: &flaky{b.store, b}}
	b.engine, err = engine.Open(t.Context(), engine.Config{Store: runs, Workflows: []cairn.Definer{consolidate.Workflow(agent)},
		Middleware: []engine.Middleware{rt.Middleware}})
	b.must(err)
	t.Cleanup(func() { _ = b.engine.Close(t.Context()) })
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// episode saves one.
func (b *bench) episode(id, text string, tags ...string) {
	b.Helper()
	_, _, err := b.store.SaveNote(b.Context(), memory.Note{Place: memory.Place{Namespace: ns, Bank: bank, Tags: tags}, ID: id, Type: memory.Episodic, Body: text})
	b.must(err)
}

func (b *bench) run(in consolidate.Input) (out consolidate.Output) {
	b.Helper()
	in.Bank, in.Namespace = bank, ns
	raw, err := json.Marshal(in)
	b.must(err)
	b.runs++
	run, err := b.engine.Start(b.Context(), "consolidate", raw, engine.StartOptions{ID: fmt.Sprint("r", b.runs)})
	b.must(err)
	outcome, err := run.Wait(b.Context())
	b.must(err)
	if outcome.Status != core.Finished {
		b.Fatal(outcome.Status, outcome.Failure)
	}
	b.must(json.Unmarshal(outcome.Result, &out))
	return out
}

// recalled are the texts that a task with these tags sees.
func (b *bench) recalled(tags ...string) (texts []string) {
	b.Helper()
	found, err := b.store.Recall(b.Context(), memory.Query{Bank: bank, Text: "deploy cache warm", Filter: memory.RecallFilter(bank, tags, nil)})
	b.must(err)
	for _, row := range found.Rows {
		texts = append(texts, row.Text)
	}
	slices.Sort(texts)
	return texts
}

func distiller(list ...consolidate.Rule) *scripted.Agent {
	return &scripted.Agent{Answer: func(task.Request) scripted.Reply { return scripted.Reply{Value: consolidate.Rules{Rules: list}} }}
}

func TestAnAcceptedRuleReplacesItsEpisodes(t *testing.T) {
	agent := distiller(consolidate.Rule{Title: "Deploys", Body: "warm the cache before a deploy", Sources: []string{"e1", "e2", "invented"}},
		consolidate.Rule{Title: "Nothing", Body: "made of nothing", Sources: []string{"invented"}})
	b := newBench(t, agent)
	b.episode("e1", "a deploy with a cold cache took the shop down", "scope:main")
	b.episode("e2", "deploy again, cache cold again", "scope:main", "stream:checkout")
	b.episode("e3", "the deploy of a warm cache was late", "scope:main")
	b.episode("feat", "cache deploy of a branch", "scope:branch", "branch:feat")
	_, _, err := b.store.SaveNote(t.Context(), memory.Note{Place: memory.Place{Namespace: ns, Bank: bank, Tags: []string{"scope:main"}}, Body: "a person knows of the cache"})
	b.must(err)

	out := b.run(consolidate.Input{})
	if out.Episodes != 3 || len(out.Proposed) != 1 || len(out.Dropped) != 1 || out.Dropped[0].Title != "Nothing" {
		t.Fatalf("%+v", out)
	}
	for _, absent := range []string{"branch", "a person"} {
		if p := agent.Prompts()[0]; strings.Contains(p, "cache deploy of a "+absent) {
			t.Errorf("the distiller was shown %s", p)
		}
	}
	before := b.recalled()
	rule, err := b.store.GetNote(t.Context(), ns, out.Proposed[0])
	b.must(err)
	if rule.Status != memory.Proposed || rule.Type != memory.Procedural || fmt.Sprint(rule.Sources, rule.Supersedes, rule.Tags) != "[e1 e2] [e1 e2] [scope:main source:reflection]" {
		t.Errorf("%+v", rule)
	}
	if slices.ContainsFunc(before, func(s string) bool { return strings.Contains(s, "warm the cache") }) {
		t.Errorf("a proposed rule is recalled: %q", before)
	}
	_, err = b.store.SetStatus(t.Context(), ns, rule.ID, memory.Accepted)
	b.must(err)
	if got := fmt.Sprint(b.recalled()); strings.Contains(got, "took the shop down") || !strings.Contains(got, "Deploys: warm the cache") || !strings.Contains(got, "late") {
		t.Errorf("recalled with the rule: %s", got)
	}
	if got := fmt.Sprint(b.recalled("stream:checkout")); !strings.Contains(got, "cold again") {
		t.Errorf("a stream that is not shown the rule has lost its episode: %s", got)
	}
	_, err = b.store.SetStatus(t.Context(), ns, rule.ID, memory.Rejected)
	b.must(err)
	if after := b.recalled(); !slices.Equal(before, after) {
		t.Errorf("rejected again, recalled are %q", after)
	}
	// The agent is told of what was rejected; the same rule again is not proposed again.
	out = b.run(consolidate.Input{})
	if len(out.Proposed) != 0 || len(out.Dropped) != 2 || !strings.Contains(agent.Prompts()[1], `"warm the cache before a deploy"`) {
		t.Errorf("%+v, asked %s", out, agent.Prompts()[1])
	}
}

// TestWhatWaitsIsNotDistilledAgain: nor is an agent asked about nothing.
func TestWhatWaitsIsNotDistilledAgain(t *testing.T) {
	agent := distiller(consolidate.Rule{Title: "t", Body: "warm it", Sources: []string{"e1"}})
	b := newBench(t, agent)
	if out := b.run(consolidate.Input{}); out.Episodes != 0 || len(agent.Prompts()) != 0 {
		t.Errorf("an empty bank gives %+v", out)
	}
	b.episode("e1", "cold", "scope:main")
	first := b.run(consolidate.Input{})
	again := b.run(consolidate.Input{})
	if len(first.Proposed) != 1 || again.Episodes != 0 || len(agent.Prompts()) != 1 {
		t.Errorf("%+v, then %+v", first, again)
	}
}

// TestRulesOfBranches: one made of main and a branch is the branch's, and hides nothing from others; one made of two can't be,
// because no task is shown both.
func TestRulesOfBranches(t *testing.T) {
	b := newBench(t, distiller(consolidate.Rule{Title: "Deploys", Body: "warm the cache of the secret feature", Sources: []string{"m", "f"}}))
	b.episode("m", "deploy with a cold cache", "scope:main")
	b.episode("f", "deploy of the secret feature", "scope:branch", "branch:feat")
	out := b.run(consolidate.Input{Tags: []string{"branch:feat"}})
	if len(out.Proposed) != 1 {
		t.Fatalf("%+v", out)
	}
	_, err := b.store.SetStatus(t.Context(), ns, out.Proposed[0], memory.Accepted)
	b.must(err)
	if got := fmt.Sprint(b.recalled("branch:feat")); got != "[Deploys: warm the cache of the secret feature]" {
		t.Errorf("the branch sees %s", got)
	}
	for _, tags := range [][]string{nil, {"branch:other"}, {"branch:main"}} {
		if got := fmt.Sprint(b.recalled(tags...)); got != "[deploy with a cold cache]" {
			t.Errorf("%v sees %s", tags, got)
		}
	}
}

func (f *flaky) SaveNote(ctx context.Context, n memory.Note) (memory.Note, bool, error) {
	if err := f.bench.before; err != nil {
		f.bench.before = nil
		return memory.Note{}, false, err
	}
	saved, isNew, err := f.Store.SaveNote(ctx, n)
	if f.bench.after != nil {
		err, f.bench.after = f.bench.after, nil
	}
	return saved, isNew, err
}

// TestRulesAreProposedOnceOverRetries: the disk fails before a save, and after it.
func TestRulesAreProposedOnceOverRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, distiller(consolidate.Rule{Title: "a", Body: "warm it", Sources: []string{"e1"}}, consolidate.Rule{Title: "b", Body: "cool it", Sources: []string{"e1"}}))
		b.episode("e1", "cold", "scope:main")
		b.before, b.after = errors.New("the disk is full"), errors.New("the disk is gone")
		out := b.run(consolidate.Input{})
		notes, err := b.store.Notes(t.Context(), memory.Scope{Bank: bank, Statuses: []memory.Status{memory.Proposed}})
		if err != nil || len(notes) != 2 || len(out.Proposed) != 2 || b.before != nil || b.after != nil {
			t.Errorf("%+v; notes %+v, %v", out, notes, err)
		}
	})
}

// TestForgottenEpisodes: a rule made of one that was forgotten meanwhile is dropped, and one that was saved goes with it.
func TestForgottenEpisodes(t *testing.T) {
	agent := &scripted.Agent{}
	b := newBench(t, agent)
	b.episode("e1", "cold", "scope:main")
	b.episode("e2", "colder", "scope:main")
	agent.Answer = func(task.Request) scripted.Reply {
		_, err := b.store.ForgetItem(t.Context(), memory.Ref{Namespace: ns, Lane: memory.NoteLane, ID: "e1"})
		return scripted.Reply{Err: err, Value: consolidate.Rules{Rules: []consolidate.Rule{{Title: "a", Body: "warm it", Sources: []string{"e1", "e2"}}, {Title: "b", Body: "cool it", Sources: []string{"e2"}}}}}
	}
	out := b.run(consolidate.Input{})
	if len(out.Proposed) != 1 || len(out.Dropped) != 1 || out.Dropped[0].Title != "a" {
		t.Fatalf("%+v", out)
	}
	_, err := b.store.ForgetItem(t.Context(), memory.Ref{Namespace: ns, Lane: memory.NoteLane, ID: "e2"})
	b.must(err)
	if _, err := b.store.GetNote(t.Context(), ns, out.Proposed[0]); !errors.Is(err, memory.NotFound) {
		t.Errorf("the rule outlives what it was made of: %v", err)
	}
}

func TestWithoutAMemory(t *testing.T) {
	runs, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "cairn.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer runs.Close()
	e, err := engine.Open(t.Context(), engine.Config{Store: runs, Workflows: []cairn.Definer{consolidate.Workflow(distiller())}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(t.Context())
	run, err := e.Start(t.Context(), "consolidate", json.RawMessage(`{"bank":"b","namespace":"workflow:w"}`), engine.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := run.Wait(t.Context())
	if err != nil || outcome.Failure == nil || outcome.Failure.Code != consolidate.NoMemory || outcome.Failure.Attempt != 1 {
		t.Errorf("%+v, %v", outcome, err)
	}
}
