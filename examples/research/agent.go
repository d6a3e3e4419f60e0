package research

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/named"
	"github.com/cairnrun/cairn/tool"
)

const (
	planning = "You plan research. Look at what documents there are, and divide the question into three to five parts that people who don't " +
		"know of one another can answer from them."
	researching = "You answer one part of a question from documents, and from nothing else. Whatever you find you keep with keep_findings: " +
		"a sentence that says it, the document, and the words there that show it. Then say in a few sentences what you have found, and what not."
	writing = "You write a report from findings that others have kept as artifacts. Read them with artifact_read: each line has a number n, " +
		"a claim, its source and a quote. Each sentence of the report ends with references to what it rests on, each in brackets of its own: " +
		"[artifact:HASH#n], where HASH is the first 12 digits of the artifact's hash. Say nothing that no finding says."
)

func planner(in Input) *loop.Agent {
	return &loop.Agent{Model: named.Model(in.Agent, plannerScript), System: planning, Tools: reading(in)}
}

func researcher(in Input) keeper {
	return keeper{&loop.Agent{Model: named.Model(in.Agent, researcherScript), System: researching, Tools: append(reading(in), keepFindings(in.Dir))}}
}

func writer(in Input) *loop.Agent {
	return &loop.Agent{Model: named.Model(in.Agent, writerScript), System: writing, Tools: []cairn.Tool{tool.ReadArtifact()}}
}

// reading are the tools on the documents, which nobody changes.
func reading(in Input) []cairn.Tool { return tool.ReadOnly(tool.FilesIn(in.Dir, tool.FileLimits{})) }

// keeper is an agent that answers with a Found and has to have kept what it has found.
type keeper struct{ *loop.Agent }

// ReadOnly is the same keeper: it has no tool that changes anything.
func (k keeper) ReadOnly() task.Agent { return k }

// Run has the answer mended if nothing was kept, and fills in what was: which artifacts these are nobody has to believe the model.
func (k keeper) Run(ctx context.Context, req task.Request) (task.Response, error) {
	fits := req.Check
	req.Check = func(output json.RawMessage) error {
		if kept, err := keptFindings(ctx); err != nil || len(kept) == 0 {
			return errors.Join(err, errors.New("nothing is kept: call keep_findings first, with an empty list if there is nothing to find"))
		}
		return fits(output)
	}
	resp, err := k.Agent.Run(ctx, req)
	if err != nil {
		return resp, err
	}
	var out Found
	if err := json.Unmarshal(resp.Output, &out); err != nil {
		return resp, err
	}
	if out.Findings, err = keptFindings(ctx); err != nil {
		return resp, err
	}
	resp.Output, err = json.Marshal(out)
	return resp, err
}
