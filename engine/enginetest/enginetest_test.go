package enginetest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/enginetest"
	"github.com/cairnrun/cairn/task"
)

// Verdict is what a review says.
type Verdict struct {
	Approved bool   `json:"approved"`
	Note     string `json:"note,omitempty"`
}

const (
	draft   cairn.Key[string]  = "draft"
	verdict cairn.Key[Verdict] = "verdict"
)

// review drafts until a reviewer approves.
var review = cairn.Workflow[string, Verdict]{
	Name: "review", Result: verdict,
	Render: func(v *cairn.View, topic string) cairn.Node {
		return cairn.Loop{
			ID: "round", Max: 3,
			Until: func(v *cairn.View) bool { return verdict.Must(v).Approved },
			Body: func(v *cairn.View) cairn.Node {
				return cairn.Sequence{Children: cairn.Nodes{
					task.Task[string]{ID: draft, Do: func(context.Context) (string, error) { return "", errors.New("not scripted") }},
					task.Task[Verdict]{ID: verdict, From: task.From(
						func(v *cairn.View) string { return topic + ": " + draft.Must(v) },
						func(context.Context, string) (Verdict, error) { return Verdict{}, errors.New("not scripted") })},
				}}
			},
		}
	},
}

func TestScriptedRun(t *testing.T) {
	run := enginetest.Run(t, review, "cairns", enginetest.Script{
		"draft":            enginetest.After(time.Hour, enginetest.Values("one", "two")),
		"round[0]/verdict": enginetest.Value(Verdict{Note: "again"}),
		"verdict":          enginetest.Value(Verdict{Approved: true}),
	})
	if run.Status != core.Finished {
		t.Fatalf("%s: %v", run.Status, run.Failure)
	}
	if got := enginetest.Decode[Verdict](t, run); !got.Approved {
		t.Errorf("result %+v", got)
	}
	if run.Took < 2*time.Hour || run.Took > 2*time.Hour+time.Minute {
		t.Errorf("two drafts of an hour took %s", run.Took)
	}
	run.Record(t, "testdata/review.jsonl")
	enginetest.Replay(t, review, "testdata/review.jsonl")
}

func TestScriptedAttempts(t *testing.T) {
	broken := errors.New("the printer is out of ink")
	run := enginetest.Run(t, review, "cairns", enginetest.Script{
		"draft":   enginetest.Each(enginetest.Fail(broken), enginetest.Value("second try")),
		"verdict": enginetest.Fail(broken),
	})
	if run.Status != core.Failed || run.Failure.Path != "round[0]/verdict" || run.Failure.Message != broken.Error() {
		t.Errorf("%s: %v", run.Status, run.Failure)
	}
	if d := run.State.Tasks["round[0]/draft"]; string(d.Output) != `"second try"` || d.Attempt != 2 {
		t.Errorf("the draft ended as %+v", d)
	}
}
