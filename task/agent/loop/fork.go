package loop

import (
	"encoding/json"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/window"
)

// forked is a message of a conversation that is copied, with all of its blocks; false for one that is of another form.
func forked(m cairn.Message) (out window.Message, ok bool) {
	if len(m.Data) == 0 || json.Unmarshal(m.Data, &out) != nil || len(out.Blocks) == 0 {
		return window.Message{}, false
	}
	known := []window.Kind{window.Text, window.Thinking, window.ToolUse, window.ToolResult, window.Opaque}
	for _, b := range out.Blocks {
		if !slices.Contains(known, b.Kind) {
			return window.Message{}, false
		}
	}
	return out, string(out.Role) == m.Role && (out.Role == window.User || out.Role == window.Assistant)
}

// join puts the first message of a task after what was said before. Where the user has spoken last it goes on in the same
// message: two in a row are not taken by every provider.
func join(before []window.Message, first window.Message) []window.Message {
	if n := len(before); n > 0 && before[n-1].Role == window.User {
		last := before[n-1]
		before[n-1] = window.Message{Role: last.Role, Blocks: slices.Concat(last.Blocks, first.Blocks)}
		return before
	}
	return append(before, first)
}
