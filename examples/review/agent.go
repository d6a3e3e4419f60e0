package review

import (
	"context"
	"os"

	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/named"
	"github.com/cairnrun/cairn/tool"
)

const (
	implementing = "You mend Go code with the tools you are given. Read before you change anything, change as little as is needed, and change " +
		"nothing that you were not asked for. When you are done say what you have changed."
	reviewing = "You review Go code that others have changed. Read the files themselves and believe no summary. Approve only what is right, tested " +
		"and documented. A finding says which file is wrong, and how. What other reviews should know, too, you keep with the tool remember."
)

// worker is an agent with tools on the files of a directory, which is opened for the time of an attempt: a render opens nothing.
type worker struct {
	loop.Agent
	dir string
	// readOnly has no tools that change files.
	readOnly bool
}

func implementer(in Input) *worker {
	return &worker{Agent: loop.Agent{Model: named.Model(in.Agent, implementerScript), System: implementing}, dir: in.Dir}
}

func reviewer(in Input) *worker {
	return &worker{Agent: loop.Agent{Model: named.Model(in.Agent, reviewerScript), System: reviewing}, dir: in.Dir, readOnly: true}
}

// Run works in the directory.
func (w *worker) Run(ctx context.Context, req task.Request) (task.Response, error) {
	root, err := os.OpenRoot(w.dir)
	if err != nil {
		return task.Response{}, err
	}
	defer root.Close()
	agent := w.Agent
	if agent.Tools = tool.Files(root, tool.FileLimits{}); w.readOnly {
		agent.Tools = tool.ReadOnly(agent.Tools)
	}
	return agent.Run(ctx, req)
}

// Identity is not told: what comes of the work depends on the files.
func (w *worker) Identity() string { return "" }
