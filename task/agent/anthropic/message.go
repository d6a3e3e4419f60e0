package anthropic

import (
	"encoding/json"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/cairnrun/cairn/task/agent/window"
)

// messages are those of the window, with breakpoints where they are wanted.
func messages(conversation []window.Message, at marks) (out []anthropic.MessageParam) {
	for i, message := range conversation {
		var blocks []anthropic.ContentBlockParamUnion
		for j, b := range message.Blocks {
			block, ok := blockParam(b)
			if !ok {
				continue
			}
			if long, marked := at[place{i, j}]; marked {
				block = mark(block, b, long)
			}
			blocks = append(blocks, block)
		}
		switch {
		case len(blocks) == 0: // an empty message is refused
		case message.Role == window.Assistant:
			out = append(out, anthropic.NewAssistantMessage(blocks...))
		default:
			out = append(out, anthropic.NewUserMessage(blocks...))
		}
	}
	return out
}

// blockParam is a block as it is sent. It is false for what the API would not take: a blank text, and blocks that only
// another provider understands.
func blockParam(b window.Block) (anthropic.ContentBlockParamUnion, bool) {
	if b.Provider == provider && b.Raw != nil {
		return rawBlock(b.Raw), true
	}
	switch b.Kind {
	case window.Text:
		return anthropic.NewTextBlock(b.Text), strings.TrimSpace(b.Text) != ""
	case window.ToolUse:
		input := b.Input
		if input == nil { // the model sent something else, and is told so in the result
			input = json.RawMessage(`{}`)
		}
		return anthropic.NewToolUseBlock(b.ID, input, b.Name), true
	case window.ToolResult:
		result := anthropic.ToolResultBlockParam{ToolUseID: b.ID}
		if strings.TrimSpace(b.Text) != "" {
			result.Content = []anthropic.ToolResultBlockParamContentUnion{{OfText: &anthropic.TextBlockParam{Text: b.Text}}}
		}
		if b.Error {
			result.IsError = param.NewOpt(true)
		}
		return anthropic.ContentBlockParamUnion{OfToolResult: &result}, true
	}
	return anthropic.ContentBlockParamUnion{}, false
}
