// Package review has one agent change code and another review it, round after round, until it is approved.
//
//	run up review
//	run up review --input '{"goal":"Clamp is wrong above its range","dir":"other","budget":50000}'
//	run up review --agent anthropic:claude-opus-4-8
//
// The agents read and edit real files: those of Dir, which is filled with a small sample if it is empty. What a review has
// taught is remembered, so that the second run, in another directory, needs one round where the first needed several. When a
// run has used up its tokens a fresh one goes on, which knows the open findings and nothing else.
//
// By default the agents are scripted models: it runs offline and always in the same way. With --agent a real one takes their
// places, and nothing else changes: the tools, the loop and the budget are the same. An anthropic: or openai: agent wants a key in
// the environment, and its Budget should be ten times as large.
package review

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/examples/internal/sample"
	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/named"
)

// Bank is where the lessons of reviews are. They are no matter of a branch, so it is not named project-….
const Bank = "reviews"

// Input says what is to be done.
type Input struct {
	Goal string `json:"goal" validate:"required"`
	// Dir holds the files. A relative one is relative to where the program runs, also when a run is resumed.
	Dir string `json:"dir" validate:"required"`
	// Agent does the work, by a name that package named knows. The default is the script.
	Agent string `json:"agent,omitempty"`
	// Budget is how many tokens a run may use before it hands over. It has to be enough for a round and some more.
	Budget int64 `json:"budget" validate:"gt=0"`
}

// Change is what the implementer has done.
type Change struct {
	Summary string `json:"summary" validate:"required" jsonschema_description:"What you have changed, in a sentence."`
}

// Verdict is what the reviewer finds.
type Verdict struct {
	Approved bool     `json:"approved" jsonschema_description:"Whether it can stay as it is."`
	Findings []string `json:"findings" jsonschema_description:"What has to be changed, a sentence each; none if it is approved."`
}

// Carried is all that a run knows of those before it.
type Carried struct {
	Findings []string `json:"findings,omitempty"`
	Log      []string `json:"log,omitempty"`
}

// Report is the result.
type Report struct {
	Approved bool `json:"approved"`
	Runs     int  `json:"runs"`
	// Log has all changes and findings, the oldest first.
	Log []string `json:"log"`
}

const (
	ready   cairn.Key[bool]    = "prepare"
	change  cairn.Key[Change]  = "implement"
	verdict cairn.Key[Verdict] = "review"
	report  cairn.Key[Report]  = "report"
)

// mostRounds is how many rounds a run tries.
const mostRounds = 8

// Workflow changes and reviews until it is approved.
var Workflow = cairn.Workflow[Input, Report]{
	Name: "review", About: "one agent changes code, another reviews it, until it is approved", Result: report,
	Example: new(Input{Goal: "Clamp returns the wrong bound for a v above high.", Dir: "review-sample", Budget: 50_000}),
	Ready:   func(in Input) error { return named.Check(in.Agent) },
	Render: func(v *cairn.View, in Input) cairn.Node {
		carried := handoff.Carried(v, Carried{})
		var first cairn.Node
		if handoff.Generation(v) == 1 {
			first = task.Task[bool]{ID: ready, Do: func(context.Context) (bool, error) { return sample.Fill(in.Dir, clamp) }}
		}
		return cairn.Nodes{
			first,
			cairn.Try{
				Only: cairn.Codes{aspects.BudgetExceeded},
				Body: aspects.Aspects{
					Tokens: aspects.Budget{Max: in.Budget},
					Children: cairn.Nodes{memory.Memory{
						Bank: Bank, Tools: memory.On,
						Children: cairn.Nodes{cairn.Loop{
							ID: "round", Max: mostRounds, OnMax: cairn.ReturnLast,
							Until: func(v *cairn.View) bool { last, ok := verdict.Get(v); return ok && last.Approved },
							Body:  func(*cairn.View) cairn.Node { return round(in, carried) },
						}},
					}},
				},
				// What is in the files need not be handed over, only what is known about them.
				Catch: func(v *cairn.View, _ cairn.Failure) cairn.Node {
					return handoff.ContinueAsNew{State: Carried{Findings: open(v, carried), Log: history(v, carried)}}
				},
			},
			task.Task[Report]{ID: report, From: task.From(
				func(v *cairn.View) Report {
					last, _ := verdict.Latest(v)
					return Report{Approved: last.Approved, Runs: handoff.Generation(v), Log: history(v, carried)}
				},
				func(_ context.Context, r Report) (Report, error) { return r, nil },
			)},
		}
	},
}

// round is one change and its review.
func round(in Input, carried Carried) cairn.Node {
	return cairn.Nodes{
		task.Task[Change]{ID: change, Agent: implementer(in), Prompt: func(v *cairn.View) string {
			findings := carried.Findings
			if last, ok := verdict.Prev(v); ok {
				findings = last.Findings
			}
			return "Goal: " + in.Goal + "\n" + list(found, findings) + "Do what is still to be done."
		}},
		task.Task[Verdict]{ID: verdict, Agent: reviewer(in), Prompt: func(v *cairn.View) string {
			return fmt.Sprintf("Goal: %s\nThe implementer says: %s\nReview the code and its test.", in.Goal, change.Must(v).Summary)
		}},
	}
}

// found stands before the findings in a prompt.
const found = "The last review has found:"

func list(title string, items []string) string {
	if len(items) == 0 {
		return ""
	}
	return title + "\n- " + strings.Join(items, "\n- ") + "\n"
}

// open are the findings that nobody has yet seen mended.
func open(v *cairn.View, carried Carried) []string {
	if last, ok := verdict.Latest(v); ok {
		return last.Findings
	}
	return carried.Findings
}

// history lists what has happened, in all runs.
func history(v *cairn.View, carried Carried) []string {
	log := slices.Clone(carried.Log)
	for i, c := range change.All(v) {
		log = append(log, "changed: "+c.Summary)
		if last, ok := verdict.At(v, i); ok {
			for _, f := range last.Findings {
				log = append(log, "found: "+f)
			}
			if last.Approved {
				log = append(log, "approved")
			}
		}
	}
	return log
}
