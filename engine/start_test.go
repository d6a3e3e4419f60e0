package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
)

// order is an input with rules.
type order struct {
	Item string `json:"item" validate:"required"`
	N    int    `json:"n" validate:"min=1"`
}

func TestBadStartsAreRefusedAndNothingIsWritten(t *testing.T) {
	good := cairn.Workflow[order, int]{Name: "good", Result: second, Render: func(v *cairn.View, in order) cairn.Node {
		return task.Task[int]{ID: second, Do: do(in.N)}
	}}
	render := func(name string, node cairn.Node) cairn.Definer {
		return cairn.Workflow[order, int]{Name: name, Result: second, Render: func(*cairn.View, order) cairn.Node { return node }}
	}
	panics := cairn.Workflow[order, int]{Name: "panics", Result: second, Render: func(*cairn.View, order) cairn.Node { panic("ouch") }}
	twice := render("twice", cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}, task.Task[int]{ID: first, Do: do(2)}, cairn.Loop{ID: "l", Max: -7, Body: func(*cairn.View) cairn.Node { return nil }}})
	lost := render("lost", task.Task[int]{ID: second, Do: do(1), After: cairn.Keys{first}})
	store := openStore(t, t.TempDir()+"/cairn.db")
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{good, panics, twice, lost}})
	for name, c := range map[string]struct {
		workflow, input, id string
		code                cairn.Code
		says                []string
	}{
		"unknown workflow":       {workflow: "none", input: `{}`, code: engine.UnknownWorkflow, says: []string{"none", "good"}},
		"not JSON":               {workflow: "good", input: `{"item":`, code: engine.InvalidInput},
		"unknown field":          {workflow: "good", input: `{"item":"x","n":1,"colour":1}`, code: engine.InvalidInput, says: []string{"colour"}},
		"a rule is broken":       {workflow: "good", input: `{"n":0}`, code: engine.InvalidInput, says: []string{"item", "n"}},
		"an id that is no name":  {workflow: "good", input: `{"item":"x","n":1}`, id: "a/b", code: engine.BadRunID},
		"a render that panics":   {workflow: "panics", input: `{"item":"x","n":1}`, code: cairn.RenderPanicked, says: []string{"ouch"}},
		"mistakes, all together": {workflow: "twice", input: `{"item":"x","n":1}`, code: cairn.InvalidTree, says: []string{"first", "-7"}},
		"what can't come":        {workflow: "lost", input: `{"item":"x","n":1}`, code: cairn.InvalidTree, says: []string{"second", "first"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := e.Start(t.Context(), c.workflow, json.RawMessage(c.input), engine.StartOptions{ID: c.id})
			if !errors.Is(err, c.code) {
				t.Fatalf("error %v, want %s", err, c.code)
			}
			for _, part := range c.says {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("error %q does not name %q", err, part)
				}
			}
			runs, err := store.Runs(t.Context(), engine.Query{})
			if err != nil || len(runs) != 0 {
				t.Errorf("%d runs were written, %v", len(runs), err)
			}
		})
	}
	if _, err := e.Start(t.Context(), "good", json.RawMessage(`{"item":"x","n":1}`), engine.StartOptions{ID: "once"}); err != nil {
		t.Fatal(err)
	}
	if _, err := e.Start(t.Context(), "good", json.RawMessage(`{"item":"x","n":1}`), engine.StartOptions{ID: "once"}); !errors.Is(err, engine.RunExists) {
		t.Errorf("a second start with one id: %v", err)
	}
}

func TestBadWorkflowsAreNotRegistered(t *testing.T) {
	store := openStore(t, t.TempDir()+"/cairn.db")
	ok := func(*cairn.View, int) cairn.Node { return nil }
	for name, c := range map[string]struct {
		workflows []cairn.Definer
		says      string
	}{
		"a name with a slash":       {[]cairn.Definer{cairn.Workflow[int, int]{Name: "a/b", Result: "r", Render: ok}}, "a/b"},
		"a result with a bracket":   {[]cairn.Definer{cairn.Workflow[int, int]{Name: "a", Result: "r[0]", Render: ok}}, "r[0]"},
		"no render":                 {[]cairn.Definer{cairn.Workflow[int, int]{Name: "a", Result: "r"}}, "Render"},
		"one name twice":            {[]cairn.Definer{cairn.Workflow[int, int]{Name: "a", Result: "r", Render: ok}, cairn.Workflow[int, int]{Name: "a", Result: "r", Render: ok}}, "two workflows"},
		"a result JSON can't carry": {[]cairn.Definer{cairn.Workflow[int, chan int]{Name: "a", Result: "r", Render: ok}}, "result"},
		"an example that is no input": {[]cairn.Definer{cairn.Workflow[order, int]{Name: "a", Result: "r", Example: new(order),
			Render: func(*cairn.View, order) cairn.Node { return nil }}}, "Example"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := engine.Open(t.Context(), engine.Config{Store: store, Workflows: c.workflows})
			if !errors.Is(err, engine.BadWorkflow) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("error %v, want %s that names %q", err, engine.BadWorkflow, c.says)
			}
		})
	}
	if _, err := engine.Open(context.Background(), engine.Config{LeaseTTL: -1}); !errors.Is(err, engine.BadConfig) {
		t.Errorf("a configuration without a store: %v", err)
	}
}

func TestInputIsImmutable(t *testing.T) {
	type basket struct {
		Items []string `json:"items"`
	}
	wf := cairn.Workflow[basket, int]{Name: "w", Result: second, Render: func(v *cairn.View, in basket) cairn.Node {
		n := len(in.Items[0])
		in.Items[0] += "!" // of this render's own copy
		return cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}, task.Task[int]{ID: second, Do: do(n + first0(v))}}
	}}
	e := open(t, engine.Config{Workflows: []cairn.Definer{wf}})
	run, err := e.Start(t.Context(), "w", json.RawMessage(`{"items":["abc"]}`), engine.StartOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if out := wait(t, run, core.Finished); string(out.Result) != "4" {
		t.Errorf("result %s: a render has changed the input of another", out.Result)
	}
}

func first0(v *cairn.View) int { n, _ := first.Get(v); return n }
