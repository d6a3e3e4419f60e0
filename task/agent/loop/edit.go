package loop

import "github.com/cairnrun/cairn"

// Edit is something that a provider has left out of the window of a call by itself. The conversation keeps it, so it is left out
// of each of the next calls anew, and each of them reports it.
type Edit struct {
	// Type is the provider's name for it, such as clear_tool_uses_20250919.
	Type string `json:"type,omitempty"`
	// Results is how many results of tools are gone, the oldest first; 0 where it is something else. Tokens is how many that has freed.
	Results int   `json:"results,omitempty"`
	Tokens  int64 `json:"tokens,omitempty"`
}

// edited sums up all that was left out of a window.
func edited(edits []Edit) (all Edit) {
	for _, e := range edits {
		all.Results += max(e.Results, 0)
		all.Tokens += max(e.Tokens, 0)
	}
	return all
}

// edits follows what was left out of the windows of a conversation, by model: none knows of what another has seen.
type edits map[string]Edit

// next is what was left out for the first time before a turn.
func (seen edits) next(t Turn) Edit {
	now, model := edited(t.Edits), billed(t.Usage)
	was := seen[model]
	seen[model] = now
	if now.Results <= was.Results && now.Tokens <= was.Tokens {
		return Edit{}
	}
	return Edit{Results: max(0, now.Results-was.Results), Tokens: max(0, now.Tokens-was.Tokens)}
}

// billed is the model that has answered.
func billed(usage []cairn.Usage) string {
	if len(usage) == 0 {
		return ""
	}
	return usage[len(usage)-1].Model
}
