package research

import (
	"context"
	"encoding/json"
	"errors"
	"os"

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

func planner(in Input) *reader {
	return &reader{Agent: loop.Agent{Model: named.Model(in.Agent, plannerScript), System: planning}, dir: in.Dir}
}

func researcher(in Input) *reader {
	return &reader{Agent: loop.Agent{Model: named.Model(in.Agent, researcherScript), System: researching}, dir: in.Dir, keeps: true}
}

func writer(in Input) *loop.Agent {
	return &loop.Agent{Model: named.Model(in.Agent, writerScript), System: writing, Tools: []cairn.Tool{tool.ReadArtifact()}}
}

// reader is an agent that reads the documents of a directory, which is opened for the time of an attempt: a render opens
// nothing.
type reader struct {
	loop.Agent
	dir string
	// keeps has the tool keep_findings, and answers with a Found.
	keeps bool
}

// ReadOnly is the same reader: it has no tool that changes anything.
func (r *reader) ReadOnly() task.Agent { return r }

// Identity is not told: what comes of the work depends on the documents.
func (r *reader) Identity() string { return "" }

// Run reads in the directory.
func (r *reader) Run(ctx context.Context, req task.Request) (task.Response, error) {
	root, err := os.OpenRoot(r.dir)
	if err != nil {
		return task.Response{}, err
	}
	defer root.Close()
	agent := r.Agent
	agent.Tools = tool.ReadOnly(tool.Files(root, tool.FileLimits{}))
	if !r.keeps {
		return agent.Run(ctx, req)
	}
	agent.Tools = append(agent.Tools, keepFindings(root))
	fits := req.Check
	req.Check = func(output json.RawMessage) error {
		if kept, err := keptFindings(ctx); err != nil || len(kept) == 0 {
			return errors.Join(err, errors.New("nothing is kept: call keep_findings first, with an empty list if there is nothing to find"))
		}
		return fits(output)
	}
	resp, err := agent.Run(ctx, req)
	if err != nil {
		return resp, err
	}
	var out Found
	if err := json.Unmarshal(resp.Output, &out); err != nil {
		return resp, err
	}
	// Which artifacts these are nobody has to believe the model.
	if out.Findings, err = keptFindings(ctx); err != nil {
		return resp, err
	}
	resp.Output, err = json.Marshal(out)
	return resp, err
}
