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
	known := []window.Kind{window.Text, window.Thinking, window.ToolUse, window.ToolResult, window.Compaction, window.Opaque}
	for _, b := range out.Blocks {
		if !slices.Contains(known, b.Kind) {
			return window.Message{}, false
		}
	}
	return out, string(out.Role) == m.Role && (out.Role == window.User || out.Role == window.Assistant)
}

// goOn begins the first message with the last one before it, where the user has spoken last: two in a row are not taken by
// every provider.
func goOn(o *window.Opening) {
	n := len(o.Before)
	if n == 0 || o.Before[n-1].Role != window.User {
		return
	}
	o.First.Blocks = slices.Clone(o.Before[n-1].Blocks)
	for range o.First.Blocks {
		o.Parts = append(o.Parts, window.PartHistory)
	}
	o.Before = o.Before[:n-1]
}
