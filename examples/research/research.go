// Package research answers a question from a directory of documents: a planner divides it, delegates look into one part each,
// a writer makes a report of what they have found, and a check lets nothing pass that does not rest on a quote.
//
//	run up research
//	run up research --input '{"question":"Who pays for the lamp?","dir":"documents","share":50000}' --agent anthropic:claude-opus-4-8
//	run inspect RUN
//	run cache-report RUN
//
// Bulk goes into artifacts, and references through the prompts. The plan is one artifact; each delegate works in a clean
// window, puts what it finds into another, and answers with a few sentences. The writer reads the findings with artifact_read.
// Each sentence of the report ends with a reference such as [artifact:3f0c9a41b2d7#2], the second finding of that artifact; one
// without, or whose quote is not in the document, is rejected and goes back to the writer. inspect shows what the delegates
// have used over the rest, cache-report what the calls have read from the provider's cache.
//
// By default the agents are scripted models: it runs offline and always in the same way, on a small sample that is written to
// Dir if that is empty. With --agent a real one takes their places, and nothing else changes; then Share should be ten times as
// large.
//
// # What is not safe
//
// The check reads no meaning. It knows that a sentence names a finding and that the finding's quote is in the document, not
// that one follows from the other.
package research

import (
	"context"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/examples/internal/sample"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/named"
)

// Input says what is to be found out.
type Input struct {
	Question string `json:"question" validate:"required"`
	// Dir holds the documents, which nobody changes. A relative one is relative to where the program runs, also when a run is
	// resumed.
	Dir string `json:"dir" validate:"required"`
	// Agent does the work, by a name that package named knows. The default is the script.
	Agent string `json:"agent,omitempty"`
	// Share is how many tokens each delegate may use. The part of one that has used them up stays open.
	Share int64 `json:"share" validate:"gt=0"`
}

// Plan divides the question. A part's name becomes a part of a path, so it is checked while its author can still mend it.
type Plan struct {
	Parts []Part `json:"parts" validate:"min=3,max=5,unique=Name,dive" jsonschema:"minItems=3,maxItems=5" jsonschema_description:"Parts that can be answered apart, by different people at the same time."`
}

// Part is what one delegate looks into.
type Part struct {
	Name     string `json:"name" validate:"required,max=40,printascii,excludesall=/[]#" jsonschema_description:"A word or two, another for each part; without / [ ] #"`
	Question string `json:"question" validate:"required" jsonschema_description:"What is to be found out, complete in itself."`
}

// Found is what comes back of a delegate.
type Found struct {
	Summary string `json:"summary" validate:"required" jsonschema_description:"What you have found, in a few sentences."`
	// Findings are the artifacts that hold it.
	Findings []cairn.Artifact `json:"findings,omitempty" jsonschema_description:"Leave this out: what you have kept is filled in."`
}

// Answer is a part with what was found; Found is nil where the share was not enough.
type Answer struct {
	Part  Part   `json:"part"`
	Found *Found `json:"found,omitempty"`
}

// Draft is a report before it is checked.
type Draft struct {
	Title  string   `json:"title" validate:"required"`
	Claims []string `json:"claims" jsonschema_description:"The report, sentence by sentence. Each ends with its references."`
}

// Report is the result.
type Report struct {
	// File is report.md.
	File cairn.Artifact `json:"file"`
	// Claims are those that have passed the check, in the report's order; Sources the documents that they rest on.
	Claims  []Claim  `json:"claims"`
	Sources []string `json:"sources"`
	// Rounds is how often the report was written, Rejected how many claims the check has sent back, in all of them.
	Rounds   int `json:"rounds"`
	Rejected int `json:"rejected"`
	// Open are the names of the parts that nobody has answered.
	Open []string `json:"open,omitempty"`
}

const (
	ready    cairn.Key[bool]           = "prepare"
	plan     cairn.Key[Plan]           = "plan"
	planFile cairn.Key[cairn.Artifact] = "keep-plan"
	found    cairn.Key[Found]          = "research"
	answers  cairn.Key[[]Answer]       = "gather"
	draft    cairn.Key[Draft]          = "write"
	checked  cairn.Key[Checked]        = "check"
	report   cairn.Key[Report]         = "report"
)

// mostRounds is how often the report is written. What is rejected in the last round is left out of it.
const mostRounds = 3

// Workflow plans, delegates, writes and checks.
var Workflow = cairn.Workflow[Input, Report]{
	Name: "research", About: "delegates look into parts of a question, and a report cites what they have found", Result: report,
	Example: new(Input{Question: "Why was the Merrow lamp put out in 1931, and what would it take to light it again?", Dir: "research-sample", Share: 30_000}),
	Ready:   func(in Input) error { return named.Check(in.Agent) },
	Render: func(v *cairn.View, in Input) cairn.Node {
		begin := cairn.Nodes{
			task.Task[bool]{ID: ready, Do: func(context.Context) (bool, error) { return sample.Fill(in.Dir, lamp()) }},
			task.Task[Plan]{ID: plan, Agent: planner(in), Prompt: func(*cairn.View) string {
				return "The question: " + in.Question + "\nLook at what documents there are, and divide the question."
			}},
		}
		divided, ok := plan.Get(v)
		if !ok {
			return begin
		}
		return append(begin,
			task.Task[cairn.Artifact]{ID: planFile, From: task.From(plan.Must, keepPlan)},
			cairn.Parallel{Children: cairn.ForEach(divided.Parts, func(p Part) string { return p.Name }, func(_ *cairn.View, p Part) cairn.Node {
				return delegate(in, p)
			})},
			// From the loop below nobody sees into the scopes of the parts.
			task.Task[[]Answer]{ID: answers, From: task.From(
				func(v *cairn.View) []Answer { return gather(v, divided) },
				func(_ context.Context, all []Answer) ([]Answer, error) { return all, nil },
			)},
			cairn.Loop{
				ID: "round", Max: mostRounds, OnMax: cairn.ReturnLast,
				Until: func(v *cairn.View) bool { return len(checked.Must(v).Rejected) == 0 },
				Body:  func(v *cairn.View) cairn.Node { return round(v, in) },
			},
			task.Task[Report]{ID: report, From: task.From(collect, publish)},
		)
	},
}

// delegate looks into one part. That its share is used up is no reason for the others to stop.
func delegate(in Input, p Part) cairn.Node {
	return cairn.Try{
		Only: cairn.Codes{aspects.BudgetExceeded},
		Body: task.Delegate[Found]{ID: found, Agent: researcher(in), Share: in.Share, Prompt: func(*cairn.View) string {
			return fmt.Sprintf("The question of all: %s\nYour part of it, %s: %s", in.Question, p.Name, p.Question)
		}},
		Catch: func(*cairn.View, cairn.Failure) cairn.Node { return nil },
	}
}

func gather(v *cairn.View, divided Plan) (all []Answer) {
	for _, p := range divided.Parts {
		a := Answer{Part: p}
		if f, ok := found.Get(v.In(p.Name)); ok {
			a.Found = &f
		}
		all = append(all, a)
	}
	return all
}

// round writes the report and checks it. From the second round on the writer goes on with its conversation, in which it has
// read the findings.
func round(v *cairn.View, in Input) cairn.Node {
	write := task.Task[Draft]{ID: draft, Agent: writer(in), Prompt: func(v *cairn.View) string {
		if last, ok := checked.Prev(v); ok {
			return rejected + "\n" + last.refusals() + "Write the whole report again, without what no finding says."
		}
		return ask(in, planFile.Must(v), answers.Must(v))
	}}
	if v.Iteration() > 0 {
		write.Fork = draft
	}
	return cairn.Nodes{
		write,
		task.Task[Checked]{ID: checked, From: task.From(
			func(v *cairn.View) material { return material{draft.Must(v), answers.Must(v)} },
			func(ctx context.Context, m material) (Checked, error) { return m.check(ctx, in.Dir) },
		)},
	}
}

// rejected stands before the claims that were, in a prompt.
const rejected = "The check of references has rejected:"

// ask refers to the findings and does not repeat them.
func ask(in Input, plan cairn.Artifact, all []Answer) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The question: %s\nIt was divided as the artifact %s says.\n", in.Question, plan.Hash)
	for _, a := range all {
		if a.Found == nil {
			fmt.Fprintf(&b, "Nobody has answered the part %s.\n", a.Part.Name)
			continue
		}
		b.WriteString(task.Dep(a.Part.Name, a.Found) + "\n")
	}
	return b.String() + "Read the findings, and write the report."
}
