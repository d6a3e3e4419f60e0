package rehearsal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/engine/rehearsal"
	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

var now = time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)

// play plays a tree with samples.
func play(t *testing.T, render func(v *cairn.View) cairn.Node) rehearsal.Rehearsal {
	t.Helper()
	out, err := attempt(t.Context(), render)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func attempt(ctx context.Context, render func(v *cairn.View) cairn.Node) (rehearsal.Rehearsal, error) {
	wf := cairn.Workflow[string, string]{Name: "wf", Result: "end", Render: func(v *cairn.View, _ string) cairn.Node { return render(v) }}
	return rehearsal.Play(ctx, wf.Define(), rehearsal.Config{Run: "play", Now: now, Input: json.RawMessage(`"in"`),
		Output: func(t *cairn.TaskSpec) (json.RawMessage, error) { return scripted.Sample(t.Schema, nil) }})
}

// does is a task whose body may not run.
func does[T any](t *testing.T, id cairn.Key[T]) cairn.Node {
	return task.Task[T]{ID: id, Do: func(context.Context) (out T, err error) {
		t.Errorf("the body of %s has run", id)
		return out, nil
	}}
}

// asks is a task of an agent whom nobody may ask.
func asks(t *testing.T, id string, prompt func(v *cairn.View) string) task.Task[string] {
	return task.Task[string]{ID: cairn.Key[string](id), Agent: &scripted.Agent{Answer: func(task.Request) scripted.Reply {
		t.Errorf("the agent of %s was asked", id)
		return scripted.Reply{}
	}}, Prompt: prompt}
}

// limited is a node with a budget that can break.
func limited(n cairn.Node) cairn.Node {
	return aspects.Aspects{Tokens: aspects.Budget{Max: 10}, Children: cairn.Nodes{n}}
}

func says(text string) func(*cairn.View) string { return func(*cairn.View) string { return text } }

// prompts are what the agents' tasks begin with, by when they are mounted.
func prompts(out rehearsal.Rehearsal) (list []string) {
	for _, one := range out.Tasks {
		if !one.Task.Prompted {
			continue
		}
		text := string(one.Input)
		if one.Failure != nil {
			text = string(one.Failure.Code)
		}
		list = append(list, one.Path+" "+text)
	}
	return list
}

// TestPlayGoesOn: tasks are seen that stand behind others, on both sides of branches, in scopes made of outputs, in second iterations, in
// catches, behind a SkipIf, and in a successor; and nothing of the user's has run.
func TestPlayGoesOn(t *testing.T) {
	value := "a value"
	for name, c := range map[string]struct {
		tree func(v *cairn.View) cairn.Node
		want string
	}{
		"behind another": {func(v *cairn.View) cairn.Node {
			return cairn.Nodes{does[string](t, "a"), asks(t, "b", func(v *cairn.View) string { return "of " + cairn.Key[string]("a").Must(v) })}
		}, `b "of text"`},
		"a plain if": {func(v *cairn.View) cairn.Node {
			if _, ok := cairn.Key[bool]("a").Get(v); ok {
				return cairn.Nodes{does[bool](t, "a"), asks(t, "b", says("go"))}
			}
			return does[bool](t, "a")
		}, `b "go"`},
		"a value": {func(v *cairn.View) cairn.Node {
			return cairn.Nodes{task.Task[string]{ID: "a", Value: &value}, asks(t, "b", func(v *cairn.View) string { return cairn.Key[string]("a").Must(v) })}
		}, `b "a value"`},
		"a function": {func(v *cairn.View) cairn.Node {
			from := task.From(func(*cairn.View) string { return "not this" }, func(context.Context, string) (int, error) { t.Error("a body has run"); return 0, nil })
			return cairn.Nodes{task.Task[int]{ID: "a", From: from}, asks(t, "b", func(v *cairn.View) string { return fmt.Sprint(cairn.Key[int]("a").Must(v)) })}
		}, `b "1"`},
		"both sides": {func(v *cairn.View) cairn.Node {
			in := func(id string) cairn.Node {
				return cairn.Scope{ID: id, Body: func(*cairn.View) cairn.Node { return asks(t, "ask", says(id)) }}
			}
			return cairn.Branch{If: false, Then: in("then"), Else: in("else")}
		}, `else/ask "else"; then/ask "then"`},
		"each": {func(v *cairn.View) cairn.Node {
			names, _ := cairn.Key[[]string]("a").Get(v)
			return cairn.Nodes{does[[]string](t, "a"), cairn.Parallel{Children: cairn.ForEach(names, func(s string) string { return s },
				func(_ *cairn.View, s string) cairn.Node { return asks(t, "b", says("on "+s)) })}}
		}, `text/b "on text"`},
		"iterations": {func(v *cairn.View) cairn.Node {
			return cairn.Loop{ID: "l", Until: func(*cairn.View) bool { return true }, Body: func(v *cairn.View) cairn.Node {
				return asks(t, "a", func(v *cairn.View) string { was, _ := cairn.Key[string]("a").Prev(v); return "after " + was })
			}}
		}, `l[0]/a "after "; l[1]/a "after text"`},
		"one iteration": {func(v *cairn.View) cairn.Node {
			return cairn.Loop{ID: "l", Max: 1, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node { return asks(t, "a", says("go")) }}
		}, `l[0]/a "go"`},
		"catch": {func(v *cairn.View) cairn.Node {
			return cairn.Try{Body: does[string](t, "a"), Only: cairn.Codes{"SORE"}, Catch: func(_ *cairn.View, f cairn.Failure) cairn.Node { return asks(t, "b", says("for "+string(f.Code))) },
				Finally: func(*cairn.View) cairn.Node { return asks(t, "c", says("go")) }}
		}, `b "for SORE"; c "go"`},
		"skipped": {func(v *cairn.View) cairn.Node {
			b := asks(t, "b", says("go"))
			b.SkipIf = func(*cairn.View) bool { return true }
			return b
		}, `b "go"`},
		"a share": {func(v *cairn.View) cairn.Node {
			return cairn.Nodes{does[string](t, "a"), task.Delegate[string]{ID: "b", Share: 10, Agent: &scripted.Agent{}, Prompt: says("go")}}
		}, `b "go"`},
		"a successor": {func(v *cairn.View) cairn.Node {
			if was := handoff.Carried(v, ""); was != "" {
				return asks(t, "later", says(fmt.Sprint("after ", was, ", ", v.Generation(), " ", v.Run())))
			}
			state := func() string { s, _ := cairn.Key[string]("a").Get(v); return "state " + s }()
			return cairn.Nodes{does[string](t, "a"), cairn.Branch{If: false, Then: handoff.ContinueAsNew{State: state}}, asks(t, "b", says("go"))}
		}, `b "go"; later "after state text, 2 play-2"`},
		"a budget": {func(v *cairn.View) cairn.Node {
			if was := handoff.Carried(v, ""); was != "" {
				return asks(t, "later", says("after "+was))
			}
			return handoff.OnBudget{Body: limited(asks(t, "a", says("go"))), Distil: func(*cairn.View, cairn.Failure) cairn.Node { return asks(t, "distil", says("go")) },
				State: func(v *cairn.View, f cairn.Failure) any {
					return cairn.Key[string]("distil").Must(v) + " " + string(f.Code)
				}}
		}, `a "go"; distil "go"; later "after text BUDGET_EXCEEDED"`},
	} {
		t.Run(name, func(t *testing.T) {
			out := play(t, c.tree)
			if got := strings.Join(prompts(out), "; "); got != c.want || len(out.Missed) > 0 {
				t.Errorf("seen: %s\nwant: %s\nmissed: %v", got, c.want, out.Missed)
			}
			for _, one := range out.Tasks {
				if !one.Started {
					t.Errorf("%s has not started", one.Path)
				}
				if _, err := one.Task.Run(t.Context(), &cairn.Call{}); err == nil {
					t.Errorf("%s can be run", one.Path)
				}
			}
		})
	}
}

// TestWhatDoesNotTakeWhatIsMadeUpIsTold: a prompt, a render, a state or an output that can't be made stops nobody else.
func TestWhatDoesNotTakeWhatIsMadeUpIsTold(t *testing.T) {
	end := asks(t, "z", says("go"))
	chosen := func(v *cairn.View) string { return map[string]string{"red": "r"}[cairn.Key[string]("a").Must(v)][:1] }
	for name, c := range map[string]struct {
		tree         func(v *cairn.View) cairn.Node
		want, missed string
	}{
		"prompt": {func(v *cairn.View) cairn.Node {
			return cairn.Nodes{does[string](t, "a"), asks(t, "b", chosen), end}
		}, `b RENDER_PANICKED; z "go"`, ""},
		"empty prompt": {func(v *cairn.View) cairn.Node {
			return cairn.Nodes{does[string](t, "a"), asks(t, "b", says(" ")), end}
		}, `b PROMPT_FAILED; z "go"`, ""},
		"scope": {func(v *cairn.View) cairn.Node {
			inside := func(v *cairn.View) cairn.Node { return asks(t, "b", says(chosen(v))) }
			tree := cairn.Nodes{does[string](t, "a"), nil, end}
			if _, ok := cairn.Key[string]("a").Get(v); ok {
				tree[1] = cairn.Scope{ID: "s", Body: inside}
			}
			return tree
		}, `z "go"`, "s: what is mounted here, which can't be rendered with outputs that are made up: RENDER_PANICKED: runtime error: slice bounds out of range [:1] with length 0"},
		"all": {func(v *cairn.View) cairn.Node {
			if _, ok := cairn.Key[string]("a").Get(v); ok {
				panic(errors.New("no"))
			}
			return cairn.Nodes{does[string](t, "a"), end}
		}, `z "go"`, ": what is mounted here, which can't be rendered with outputs that are made up: RENDER_PANICKED: no"},
		"state": {func(v *cairn.View) cairn.Node {
			state := func(v *cairn.View, _ cairn.Failure) any { return chosen(v) }
			return cairn.Nodes{does[string](t, "a"), handoff.OnBudget{Body: limited(cairn.Nodes{}), State: state}, end}
		}, `z "go"`, ": what a successor mounts, whose state can't be made of outputs that are made up: RENDER_PANICKED: runtime error: slice bounds out of range [:1] with length 0"},
		"input": {func(v *cairn.View) cairn.Node {
			return cairn.Nodes{handoff.ContinueAsNew{Input: 7}, end}
		}, `z "go"`, "continue-as-new: what a successor mounts, whose input is refused: "},
		"tree": { // what comes of two equal names blocks a run
			func(v *cairn.View) cairn.Node {
				tree := cairn.Nodes{does[string](t, "a"), end}
				if _, ok := cairn.Key[string]("a").Get(v); ok {
					tree = append(tree, end)
				}
				return tree
			}, `z "go"`, "what comes after this, which stops the play: INVALID_TREE: 1 mistake(s) in the tree"},
		"together": { // each of the catches alone is fine
			func(v *cairn.View) cairn.Node {
				try := func(id string) cairn.Node {
					return cairn.Try{ID: id, Body: does[string](t, cairn.Key[string]("in-"+id)), Catch: func(*cairn.View, cairn.Failure) cairn.Node { return asks(t, "tell", says("go")) }}
				}
				return cairn.Nodes{try("one"), try("two"), cairn.Branch{If: true, Then: end}, cairn.Loop{ID: "l", Until: func(*cairn.View) bool { return true },
					Body: func(*cairn.View) cairn.Node { return asks(t, "b", says("go")) }}}
			}, `z "go"; l[0]/b "go"; tell "go"`, "what both sides of branches, catches and second iterations mount together: INVALID_TREE"},
	} {
		t.Run(name, func(t *testing.T) {
			out := play(t, c.tree)
			if got := strings.Join(prompts(out), "; "); got != c.want {
				t.Errorf("seen: %s\nwant: %s\nmissed: %v", got, c.want, out.Missed)
			}
			for _, one := range out.Tasks { // what was mounted stays
				if !one.Started && !strings.Contains(c.missed, "stops the play") {
					t.Errorf("%s has not started", one.Path)
				}
			}
			switch {
			case c.missed == "" && len(out.Missed) > 0, c.missed != "" && len(out.Missed) != 1:
				t.Errorf("missed %+v, want %q", out.Missed, c.missed)
			case c.missed != "" && !strings.Contains(out.Missed[0].Path+": "+out.Missed[0].Why, c.missed):
				t.Errorf("missed %+v, want %q", out.Missed[0], c.missed)
			}
		})
	}
}

// TestPlayEnds: after so many steps, or with its context, and says so.
func TestPlayEnds(t *testing.T) {
	endless := func(v *cairn.View) cairn.Node {
		tree := cairn.Nodes{}
		for i := 0; ; i++ {
			key := cairn.Key[string](fmt.Sprint("t", i))
			tree = append(tree, does(t, key))
			if _, ok := key.Get(v); !ok {
				return tree
			}
		}
	}
	out := play(t, endless)
	if want := []rehearsal.Missed{{Why: "what comes after 300 steps, where the play has stopped"}}; !slices.Equal(out.Missed, want) || len(out.Tasks) != rehearsal.MaxSteps {
		t.Errorf("%d tasks, missed %v", len(out.Tasks), out.Missed)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := attempt(ctx, endless)
	if err != nil || len(out.Tasks) != 1 || len(out.Missed) != 1 {
		t.Errorf("%d tasks, missed %v, %v", len(out.Tasks), out.Missed, err)
	}
}

// TestPlayOfWhatCannotBegin is an error, as a start would be.
func TestPlayOfWhatCannotBegin(t *testing.T) {
	_, err := attempt(t.Context(), func(v *cairn.View) cairn.Node { panic("never") })
	if cairn.CodeOf(err, "") != cairn.RenderPanicked {
		t.Errorf("%v", err)
	}
}

// TestOutputThatCannotBeMadeUp is told, and null stands for it.
func TestOutputThatCannotBeMadeUp(t *testing.T) {
	wf := cairn.Workflow[string, string]{Name: "wf", Result: "end", Render: func(v *cairn.View, _ string) cairn.Node {
		return cairn.Nodes{does[*int](t, "a"), asks(t, "b", func(v *cairn.View) string { return fmt.Sprint(cairn.Key[*int]("a").Must(v)) })}
	}}
	out, err := rehearsal.Play(t.Context(), wf.Define(), rehearsal.Config{Run: "play", Now: now, Input: json.RawMessage(`"in"`),
		Output: func(*cairn.TaskSpec) (json.RawMessage, error) { return nil, errors.New("no idea") }})
	if got := strings.Join(prompts(out), "; "); err != nil || got != `b "<nil>"` {
		t.Errorf("%s, %v", got, err)
	}
	if want := "what follows from its output, which can't be made up: no idea"; len(out.Missed) == 0 || out.Missed[0] != (rehearsal.Missed{Path: "a", Why: want}) {
		t.Errorf("%v", out.Missed)
	}
}
