package scripted

import (
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/window"
)

// tokens is what so many bytes are counted for.
func tokens(bytes int) int64 { return int64(window.Tokens(bytes)) }

// requested counts all that an agent is asked with.
func requested(req task.Request) int64 {
	n := len(req.Message()) + len(req.Schema)
	for _, m := range req.History {
		n += len(m.Content)
	}
	for _, t := range req.Tools {
		n += len(t.Name) + len(t.Description) + len(t.Schema)
	}
	return tokens(n)
}
