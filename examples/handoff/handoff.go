// Package handoff is a long migration by an agent whose context must not rot: when a run has used up its tokens, what was
// learned is distilled, and a fresh run goes on with that and nothing else.
//
// The agents are scripted, so that it runs offline and always in the same way. With real ones nothing else changes.
package handoff

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

// Input is a migration.
type Input struct {
	Goal   string   `json:"goal" validate:"required"`
	Tables []string `json:"tables" validate:"required,dive,required"`
	// Budget is how many tokens a run may use before it hands over.
	Budget int64 `json:"budget" validate:"gt=0"`
}

// Step is one table moved.
type Step struct {
	Table     string   `json:"table" validate:"required"`
	Summary   string   `json:"summary" validate:"required"`
	Learnings []string `json:"learnings,omitempty"`
}

// Lessons is what an agent makes of a run that is over.
type Lessons struct {
	Keep []string `json:"keep" validate:"required"`
}

// Carried is all that a run knows of those before it.
type Carried struct {
	Goal    string   `json:"goal"`
	Done    []string `json:"done,omitempty"`
	Lessons []string `json:"lessons,omitempty"`
}

// Report is the result.
type Report struct {
	Runs    int      `json:"runs"`
	Moved   []string `json:"moved"`
	Lessons []string `json:"lessons"`
}

const (
	step    cairn.Key[Step]    = "step"
	lessons cairn.Key[Lessons] = "lessons"
	report  cairn.Key[Report]  = "report"
)

// stateBytes bounds what is handed over.
const stateBytes = 512

// Workflow moves tables one by one, in as many runs as it takes.
var Workflow = cairn.Workflow[Input, Report]{
	Name: "handoff", About: "a migration that hands over to fresh runs when its tokens are used up", Result: report,
	Example: new(Input{Goal: "Move the shop to the new schema", Budget: 100_000, Tables: strings.Fields(
		"users addresses carts orders invoices payments refunds coupons reviews stock suppliers shipments returns audit")}),
	Render: func(v *cairn.View, in Input) cairn.Node {
		carried := handoff.Carried(v, Carried{Goal: in.Goal})
		left := in.Tables[len(carried.Done):]
		return cairn.Nodes{
			handoff.OnBudget{
				Body: aspects.Aspects{
					Tokens:   aspects.Budget{Max: in.Budget},
					Children: cairn.Nodes{moveAll(left, carried)},
				},
				// The breach is behind us: distilling has a budget of its own.
				Distil: func(v *cairn.View, _ cairn.Failure) cairn.Node {
					return aspects.Aspects{ID: "distilling", Tokens: aspects.Budget{Max: 20_000}, Children: cairn.Nodes{task.Task[Lessons]{
						ID: lessons, Agent: distiller,
						Prompt: func(v *cairn.View) string {
							return "What is worth keeping of this?\n" + strings.Join(learned(v, carried), "\n")
						},
					}}}
				},
				State: func(v *cairn.View, _ cairn.Failure) any {
					next := Carried{Goal: carried.Goal, Done: append(carried.Done, moved(v)...), Lessons: lessons.Must(v).Keep}
					if _, err := handoff.Distil(&next, stateBytes, handoff.Newest(&next.Lessons)); err != nil {
						panic(err) // even without a lesson it is too large: that blocks the run until somebody raises stateBytes
					}
					return next
				},
			},
			task.Task[Report]{ID: report, From: task.From(
				func(v *cairn.View) Report {
					return Report{Runs: handoff.Generation(v), Moved: append(carried.Done, moved(v)...), Lessons: learned(v, carried)}
				},
				func(_ context.Context, r Report) (Report, error) { return r, nil },
			)},
		}
	},
}

// moveAll is a loop over the tables that are left.
func moveAll(left []string, carried Carried) cairn.Node {
	if len(left) == 0 {
		return nil
	}
	return cairn.Loop{
		ID: "work", Max: len(left), Until: func(v *cairn.View) bool { return v.Iteration() == len(left)-1 },
		Body: func(v *cairn.View) cairn.Node {
			return task.Task[Step]{ID: step, Agent: worker, Prompt: func(v *cairn.View) string {
				return ask(carried, left[v.Iteration()], v)
			}}
		},
	}
}

// ask is a prompt: what was carried, what this run has done, and the next table.
func ask(carried Carried, table string, v *cairn.View) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Goal: %s\nMoved by earlier runs: %d\n", carried.Goal, len(carried.Done))
	for _, lesson := range carried.Lessons {
		fmt.Fprintf(&b, "Lesson: %s\n", lesson)
	}
	if last, ok := step.Prev(v); ok {
		fmt.Fprintf(&b, "Just now: %s\n", last.Summary)
	}
	fmt.Fprintf(&b, "Move table %s.", table)
	return b.String()
}

// moved lists the tables that this run has moved.
func moved(v *cairn.View) (tables []string) {
	for _, s := range step.All(v) {
		tables = append(tables, s.Table)
	}
	return tables
}

// learned is what is known so far: the lessons carried over, and those of this run.
func learned(v *cairn.View, carried Carried) []string {
	all := slices.Clone(carried.Lessons)
	for _, s := range step.All(v) {
		all = append(all, s.Learnings...)
	}
	return all
}

// worker moves a table. Each call reads more than the one before: its context grows with the run.
var worker = &scripted.Agent{Answer: func(req task.Request) scripted.Reply {
	_, table, _ := strings.Cut(req.Prompt, "Move table ")
	table = strings.TrimSuffix(table, ".")
	s := Step{Table: table, Summary: "moved " + table + ", row counts agree"}
	context := int64(20_000)
	if strings.Contains(req.Prompt, "Just now:") {
		context = 30_000
	}
	if len(table)%2 == 1 {
		s.Learnings = []string{table + " needs its triggers off while it is copied"}
	}
	return scripted.Reply{Value: s, Delay: 50 * time.Millisecond, Usage: []cairn.Usage{{Model: "claude-sonnet-4-5", Input: context, Output: 1000}}}
}}

// distiller keeps the newest three lessons.
var distiller = &scripted.Agent{Answer: func(req task.Request) scripted.Reply {
	lines := strings.Split(strings.TrimSpace(req.Prompt), "\n")[1:]
	return scripted.Reply{Value: Lessons{Keep: handoff.Last(lines, 3)}, Usage: []cairn.Usage{{Model: "claude-haiku-4-5", Input: 2000, Output: 200}}}
}}
