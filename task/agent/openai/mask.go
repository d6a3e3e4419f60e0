package openai

import (
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/cairnrun/cairn/task/agent/loop"
)

// masked are the tools that may be called in a turn. It is false for all, and where the server knows no masks.
func (m *Model) masked(w loop.Window) (names []string, masks bool) {
	knows := !m.cfg.Chat
	if m.cfg.Mask != nil {
		knows = *m.cfg.Mask
	}
	if w.Allowed == nil || !knows || len(w.Tools) == 0 {
		return nil, false
	}
	for _, t := range w.Tools { // one that isn't there would be refused
		if slices.Contains(w.Allowed, t.Name) {
			names = append(names, t.Name)
		}
	}
	return names, true
}

// toolChoice is the mask of a Responses request.
func (m *Model) toolChoice(w loop.Window) (choice responses.ResponseNewParamsToolChoiceUnion) {
	names, masks := m.masked(w)
	switch {
	case masks && len(names) == 0:
		choice.OfToolChoiceMode = param.NewOpt(responses.ToolChoiceOptionsNone)
	case masks:
		allowed := &responses.ToolChoiceAllowedParam{Mode: responses.ToolChoiceAllowedModeAuto}
		for _, name := range names {
			allowed.Tools = append(allowed.Tools, map[string]any{"type": "function", "name": name})
		}
		choice.OfAllowedTools = allowed
	}
	return choice
}

// chatToolChoice is the mask of a Chat Completions request.
func (m *Model) chatToolChoice(w loop.Window) (choice openai.ChatCompletionToolChoiceOptionUnionParam) {
	names, masks := m.masked(w)
	switch {
	case masks && len(names) == 0:
		choice.OfAuto = param.NewOpt("none")
	case masks:
		allowed := openai.ChatCompletionAllowedToolsParam{Mode: openai.ChatCompletionAllowedToolsModeAuto}
		for _, name := range names {
			allowed.Tools = append(allowed.Tools, map[string]any{"type": "function", "function": map[string]any{"name": name}})
		}
		choice.OfAllowedTools = &openai.ChatCompletionAllowedToolChoiceParam{AllowedTools: allowed}
	}
	return choice
}
