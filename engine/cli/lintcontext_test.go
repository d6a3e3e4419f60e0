package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
)

// lint is what the tests read of lint-context --json.
type lint struct {
	Workflow string
	Agents   int
	Findings []struct {
		Code, Part, What, Why, Do string
		Paths                     []string
	}
	Skipped []struct{ Path, Why string }
}

func (l lint) lines() (list []string) {
	for _, f := range l.Findings {
		list = append(list, fmt.Sprintf("%s %s", f.Code, strings.Join(f.Paths, ",")))
	}
	return list
}

// never is a model that nobody may ask.
type never struct{ t *testing.T }

func (never) Info() loop.Info {
	return loop.Info{Provider: "none", Models: []string{"none"}, Identity: "none", Window: 10_000}
}

func (n never) Call(context.Context, loop.Window) (loop.Turn, error) {
	n.t.Error("the model was asked")
	return loop.Turn{}, nil
}

// TestLintContext: each warning comes out of a workflow that earns it, and of its tree as it is rendered.
func TestLintContext(t *testing.T) {
	m := never{t}
	tools := map[string]cairn.Tool{}
	for i, name := range []string{"alpha", "beta", "gamma", "delta", "epsilon"} {
		one := reads(name, "", 0)
		one.Description = fmt.Sprintf("Knows all of %s, number %d.", strings.Repeat(name, 2), i)
		tools[name] = one
	}
	many := func(n int, words int) (list []cairn.Tool) {
		for i := range n {
			one := reads(fmt.Sprintf("tool%d", i), "", 0)
			one.Description = fmt.Sprintf("Does thing%d with%d.", i, i) + strings.Repeat(fmt.Sprintf(" so%d", i), words)
			list = append(list, one)
		}
		return list
	}
	twins := []cairn.Tool{reads("find", "", 0), reads("search", "", 0)}
	twins[0].Description, twins[1].Description = "Finds a text in all files of the project.", "Finds the text in files of the project."
	global := func(prompt func(v *cairn.View) string) cairn.Node {
		return task.Task[string]{ID: "a", Agent: &loop.Agent{Model: m}, Prompt: prompt, With: cairn.With{cache.Policy{Scope: cache.Global, Key: "k"}}}
	}
	for name, c := range map[string]struct {
		tree func(v *cairn.View) cairn.Node
		want string
	}{
		"clean": {func(v *cairn.View) cairn.Node {
			return asks("a", &loop.Agent{Model: m, System: "Be good.", Tools: []cairn.Tool{tools["alpha"], tools["beta"]}, Todo: true}, "go")
		}, ""},
		"clock": {func(v *cairn.View) cairn.Node {
			return asks("a", &loop.Agent{Model: m, System: "It is " + v.Now().Format("Monday at three.")}, "go")
		}, "CLOCK_IN_PREFIX a"},
		"walltime": {func(v *cairn.View) cairn.Node {
			return asks("a", &loop.Agent{Model: m, System: "Today is " + time.Now().Format(time.DateOnly)}, "go")
		}, "CLOCK_IN_PREFIX a"},
		"run": {func(v *cairn.View) cairn.Node {
			return asks("a", &loop.Agent{Model: m, System: "You work for " + v.Run()}, "go")
		}, "CLOCK_IN_PREFIX a"},
		"maps": {func(v *cairn.View) cairn.Node {
			return asks("a", &loop.Agent{Model: m, Tools: slices.Collect(maps.Values(tools))}, "go")
		}, "VARYING_TOOLS a"},
		"many": {func(v *cairn.View) cairn.Node {
			return asks("a", &loop.Agent{Model: m, Offload: -1, Tools: many(21, 0)}, "go")
		}, "TOO_MANY_TOOLS a"},
		"long":  {func(v *cairn.View) cairn.Node { return asks("a", &loop.Agent{Model: m, Tools: many(4, 300)}, "go") }, "LONG_TOOLS a"},
		"twins": {func(v *cairn.View) cairn.Node { return asks("a", &loop.Agent{Model: m, Tools: twins}, "go") }, "OVERLAPPING_TOOLS a"},
		"examples": {func(v *cairn.View) cairn.Node {
			e := window.Example{Prompt: "What is the colour of the sea in the morning?", Answer: "It is grey, and later green."}
			again := e
			again.Prompt += " Well?"
			return asks("a", &loop.Agent{Model: m, Examples: []window.Example{e, again}}, "go")
		}, "SIMILAR_EXAMPLES a"},
		"unsorted": {func(v *cairn.View) cairn.Node {
			raw, _ := json.Marshal(struct{ Zoo, Ape int }{1, 2})
			return asks("a", &loop.Agent{Model: m}, "Look at "+string(raw))
		}, "UNSORTED_JSON a"},
		"shared": {func(v *cairn.View) cairn.Node { return global(func(v *cairn.View) string { return "for " + v.Run() }) }, "SHARED_RUN_DATA a"},
		"sharedtime": {func(v *cairn.View) cairn.Node {
			return global(func(v *cairn.View) string { return "as of " + v.Now().Format(time.RFC1123) })
		}, "SHARED_RUN_DATA a"},
		"sharing": {func(v *cairn.View) cairn.Node { return global(func(v *cairn.View) string { return "always the same" }) }, ""},
		"later": { // that the prompt can't be made yet keeps nobody from looking at the agent
			func(v *cairn.View) cairn.Node {
				bad := &loop.Agent{Model: m, Tools: twins}
				return cairn.Nodes{asks("a", bad, "go"), task.Task[string]{ID: "b", Agent: bad, Prompt: func(v *cairn.View) string {
					return cairn.Key[string]("a").Must(v)
				}}, task.Task[string]{ID: "c", Agent: &scripted.Agent{}, Prompt: func(*cairn.View) string { return `{"b":1,"a":2}` }}}
			}, "UNSORTED_JSON c; OVERLAPPING_TOOLS a,b"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			wf := flow(name, func(v *cairn.View) cairn.Nodes { return cairn.Nodes{c.tree(v)} })
			run := func(code int, args ...string) string { return p.with(code, wf, args...) }
			l := lines[lint](t, run(0, "lint-context", name, "--json"))[0]
			if got := strings.Join(l.lines(), "; "); got != c.want || l.Workflow != name || l.Agents == 0 {
				t.Errorf("found %s, want %s: %+v", got, c.want, l)
			}
			code := 0
			if c.want != "" {
				code = 1
			}
			text := run(code, "lint-context", name, "--strict")
			for _, f := range l.Findings {
				if name != "maps" { // another order each time
					has(t, text, f.What)
				}
				has(t, text, f.Code+"  "+strings.Join(f.Paths, ", "), "why: "+f.Why, "do:  "+f.Do)
			}
			if name == "later" {
				golden(t, "lintcontext.golden", text)
				if len(l.Skipped) != 2 || l.Skipped[0].Path != "b" || !strings.Contains(l.Skipped[0].Why, "KEY_MISSING") {
					t.Errorf("skipped %+v", l.Skipped)
				}
			}
			if files := p.files(); len(files) > 0 {
				t.Errorf("%q was written", files)
			}
		})
	}
}

func TestLintContextRefused(t *testing.T) {
	p := newPlace(t)
	has(t, p.must(2, "lint-context", "nobody").err, "UNKNOWN_WORKFLOW")
	has(t, p.must(2, "lint-context", "plain").err, "INVALID_INPUT")
	has(t, p.must(2, "lint-context", "zoo", "--input", `{"nothing":1}`).err, "INVALID_INPUT")
	has(t, p.must(0, "lint-context", "zoo").out, "0 agent tasks in the first tree of zoo\n")
}
