// Package runbook is an on-call agent that gets better: what incidents have taught is banked as notes, distilled into a
// rule that a person accepts, and from then on the agent is told the rule and not the single lessons.
//
//	run up runbook --input '{"service":"checkout","alert":"answers 503 since the deploy"}'
//	run up runbook --input '{"service":"search","alert":"times out since the deploy"}'
//	run up runbook-rules
//	run memory notes accept workflow:runbook ID
//	run up runbook --input '{"service":"cart","alert":"answers 500 since the deploy"}'
//
// ID is what runbook-rules says that it has proposed.
//
// The agents are scripted, so that it runs offline and always in the same way. With real ones nothing else changes.
package runbook

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/consolidate"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

// Bank is what all incidents of the shop are recalled from. Incidents are no matter of a branch, so it is not named project-….
const Bank = "incidents"

// Namespace is where the lessons are: the workflow's that has learnt them.
var Namespace = memory.Namespace{Kind: memory.WorkflowKind, ID: "runbook"}

// Incident is an alert.
type Incident struct {
	Service string `json:"service" validate:"required"`
	Alert   string `json:"alert" validate:"required"`
}

// Resolution is how an incident ended.
type Resolution struct {
	Service string `json:"service"`
	Mended  string `json:"mended"`
	Minutes int    `json:"minutes"`
	// Knew is what the agent had to go by.
	Knew string `json:"knew"`
}

const resolution cairn.Key[Resolution] = "resolve"

// Workflow resolves an incident.
var Workflow = cairn.Workflow[Incident, Resolution]{
	Name: "runbook", About: "an on-call agent that learns: lessons, then a rule", Result: resolution,
	Example: new(Incident{Service: "checkout", Alert: "answers 503 since the deploy"}),
	Render: func(v *cairn.View, in Incident) cairn.Node {
		return memory.Memory{
			Bank: Bank, Tools: memory.On,
			Children: cairn.Nodes{task.Task[Resolution]{ID: resolution, Agent: oncall{}, Prompt: func(*cairn.View) string {
				return fmt.Sprintf("The service %s %s. Find out why, and mend it.", in.Service, in.Alert)
			}}},
		}
	},
}

// Rules is the workflow that distils the lessons.
var Rules = rules()

func rules() cairn.Workflow[consolidate.Input, consolidate.Output] {
	w := consolidate.Workflow(distiller)
	w.Name, w.About = "runbook-rules", "distils the lessons of runbook into rules, for a person to accept"
	w.Example = new(consolidate.Input{Bank: Bank, Namespace: Namespace})
	return w
}

// oncall is the agent. It looks for long if it knows nothing, and keeps what it has found out while that is news.
type oncall struct{}

// Run resolves an incident, guided by what is recalled.
func (oncall) Run(ctx context.Context, req task.Request) (task.Response, error) {
	words := strings.Fields(req.Prompt)
	service := words[2]
	r := Resolution{Service: service, Mended: "cache warm " + service, Minutes: 40, Knew: "nothing"}
	lesson := fmt.Sprintf("After a deploy %s failed for 40 minutes, until it was found that its cache was cold. `cache warm %s` mended it.", service, service)
	switch lessons := strings.Count(req.Memory, "`cache warm "); {
	case strings.Contains(req.Memory, "Warm its cache first"):
		r.Minutes, r.Knew, lesson = 2, "the rule", ""
	case lessons > 1:
		r.Minutes, r.Knew, lesson = 10, fmt.Sprint(lessons, " lessons"), ""
	case lessons == 1:
		r.Minutes, r.Knew = 10, "a lesson"
		lesson = fmt.Sprintf("After a deploy %s failed as another service had before: its cache was cold. `cache warm %s` mended it.", service, service)
	}
	if lesson != "" {
		if err := remember(ctx, req.Tools, lesson); err != nil {
			return task.Response{}, err
		}
	}
	out, err := json.Marshal(r)
	return task.Response{Output: out}, err
}

// remember calls the tool of that name, as a model would.
func remember(ctx context.Context, tools []cairn.Tool, text string) error {
	in, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if tool.Name == "remember" {
			_, err = tool.Call(ctx, in)
		}
	}
	return err // where there is no memory, nothing is remembered
}

// distiller makes one rule of two lessons or more that say the same.
var distiller = &scripted.Agent{Answer: func(req task.Request) scripted.Reply {
	out := consolidate.Rules{Rules: []consolidate.Rule{}}
	var sources []string
	for line := range strings.Lines(req.Prompt) {
		var e consolidate.Episode
		if json.Unmarshal([]byte(line), &e) == nil && strings.Contains(e.Text, "cache was cold") {
			sources = append(sources, e.ID)
		}
	}
	if len(sources) > 1 {
		out.Rules = append(out.Rules, consolidate.Rule{Title: "A service fails right after a deploy",
			Body: "Warm its cache first, by `cache warm SERVICE`. A deploy leaves it cold.", Sources: sources})
	}
	return scripted.Reply{Value: out}
}}
