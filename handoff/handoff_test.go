package handoff_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/enginetest"
	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/task"
)

const (
	work    cairn.Key[int]    = "work"
	distil  cairn.Key[string] = "distil"
	outcome cairn.Key[string] = "outcome"
)

// overspend uses more tokens than the budget around it has.
func overspend(ctx context.Context) (int, error) {
	task.Spend(ctx, cairn.Usage{Model: "m", Output: 150})
	return 1, nil
}

func value[T any](v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return v, nil }
}

// budgeted breaks its budget in the first run and finishes in the second.
func budgeted(o handoff.OnBudget) cairn.Workflow[string, string] {
	return cairn.Workflow[string, string]{Name: "budgeted", Result: outcome, Render: func(v *cairn.View, _ string) cairn.Node {
		if handoff.Generation(v) > 1 {
			carried := handoff.Carried(v, "nothing")
			return task.Task[string]{ID: outcome, Do: value("carried " + carried)}
		}
		o.Body = aspects.Aspects{Tokens: aspects.Budget{Max: 100},
			Children: cairn.Nodes{task.Task[int]{ID: work, Do: overspend}, task.Task[string]{ID: outcome, Do: value("never")}}}
		return o
	}}
}

func TestOnBudget(t *testing.T) {
	tidied := 0
	wf := budgeted(handoff.OnBudget{
		Distil: func(_ *cairn.View, f cairn.Failure) cairn.Node {
			return task.Task[string]{ID: distil, Do: value("distilled after " + string(f.Code))}
		},
		State: func(v *cairn.View, f cairn.Failure) any { return distil.Must(v) },
		Finally: func(*cairn.View) cairn.Node {
			return task.Task[int]{ID: "tidy", Do: func(context.Context) (int, error) { tidied++; return 1, nil }}
		},
	})
	run := enginetest.Run(t, wf, "in", nil)
	if run.Status != core.Finished || run.Run != "test.2" || enginetest.Decode[string](t, run) != "carried distilled after BUDGET_EXCEEDED" || tidied != 1 {
		t.Errorf("%s %s: %s (%v), tidied %d times", run.Run, run.Status, run.Result, run.Failure, tidied)
	}
	if g := run.State.Generation(); g != 2 {
		t.Errorf("the state is that of generation %d", g)
	}
	run.Record(t, "testdata/on-budget.jsonl")
	enginetest.Replay(t, wf, "testdata/on-budget.jsonl")
}

func TestOnBudgetWithoutDistil(t *testing.T) {
	run := enginetest.Run(t, budgeted(handoff.OnBudget{State: func(_ *cairn.View, f cairn.Failure) any { return f.Path }}), "in", nil)
	if run.Status != core.Finished || enginetest.Decode[string](t, run) != "carried #aspects" {
		t.Errorf("%s: %s (%v)", run.Status, run.Result, run.Failure)
	}
	run = enginetest.Run(t, budgeted(handoff.OnBudget{State: func(*cairn.View, cairn.Failure) any { return nil }}), "in", nil)
	if run.Status != core.Finished || enginetest.Decode[string](t, run) != "carried nothing" {
		t.Errorf("%s: %s (%v)", run.Status, run.Result, run.Failure)
	}
}

func TestOnBudgetLetsOtherFailuresPass(t *testing.T) {
	wf := budgeted(handoff.OnBudget{State: func(*cairn.View, cairn.Failure) any { return "" }})
	run := enginetest.Run(t, wf, "in", enginetest.Script{"work": enginetest.Fail(task.Permanent(errors.New("broken")))})
	if run.Status != core.Failed || run.Failure.Message != "broken" {
		t.Errorf("%s: %v", run.Status, run.Failure)
	}
}

func TestOnBudgetWhoseDistilFails(t *testing.T) {
	wf := budgeted(handoff.OnBudget{
		Distil: func(*cairn.View, cairn.Failure) cairn.Node { return task.Task[string]{ID: distil, Do: value("")} },
		State:  func(v *cairn.View, _ cairn.Failure) any { return distil.Must(v) },
	})
	run := enginetest.Run(t, wf, "in", enginetest.Script{"distil": enginetest.Fail(task.Permanent(errors.New("no words")))})
	if run.Status != core.Failed || run.Failure.Message != "no words" || !errors.Is(run.Failure, cairn.BudgetExceeded) {
		t.Errorf("%s: %v", run.Status, run.Failure)
	}
}

func TestMistakes(t *testing.T) {
	for want, node := range map[string]cairn.Node{
		"an OnBudget without a State": handoff.OnBudget{},
		"whose Keep has no key at 1":  handoff.ContinueAsNew{Keep: cairn.Keys{work, nil}},
	} {
		text := errors.Join(node.Lower().Mistakes...)
		if text == nil || !strings.Contains(text.Error(), want) {
			t.Errorf("%T: %v, want %q", node, text, want)
		}
	}
}

// TestStateIsEncodedOnce: lowering is cheap, however large the state.
func TestStateIsEncodedOnce(t *testing.T) {
	spec := handoff.ContinueAsNew{State: counted{t}}.Lower()
	if spec.Kind != cairn.KindContinueAsNew || spec.Handoff.State == nil || spec.Handoff.Input != nil {
		t.Errorf("the spec is %+v", spec)
	}
}

type counted struct{ t *testing.T }

func (c counted) MarshalJSON() ([]byte, error) {
	c.t.Error("lowering has encoded the state")
	return json.Marshal(nil)
}
