package review

import (
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

func implementer(in Input) *loop.Agent {
	return &loop.Agent{Model: named.Model(in.Agent, implementerScript), System: implementing, Tools: tool.FilesIn(in.Dir, tool.FileLimits{})}
}

// reviewer can't change what it reviews.
func reviewer(in Input) *loop.Agent {
	return &loop.Agent{Model: named.Model(in.Agent, reviewerScript), System: reviewing, Tools: tool.ReadOnly(tool.FilesIn(in.Dir, tool.FileLimits{}))}
}
