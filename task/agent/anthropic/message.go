package anthropic

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/cairnrun/cairn/task/agent/window"
)

// messages are those of the window. The last two of the user end with a breakpoint: the earlier one is where the call before
// has written the cache, the later one where this call does.
func (m *Model) messages(conversation []window.Message) (out []anthropic.MessageParam) {
	marks := 2
	for _, message := range slices.Backward(conversation) {
		var blocks []anthropic.ContentBlockParamUnion
		for _, b := range message.Blocks {
			if block, ok := blockParam(b); ok {
				blocks = append(blocks, block)
			}
		}
		switch {
		case len(blocks) == 0: // an empty message is refused
		case message.Role == window.Assistant:
			out = append(out, anthropic.NewAssistantMessage(blocks...))
		default:
			if control := blocks[len(blocks)-1].GetCacheControl(); control != nil && marks > 0 {
				*control = m.breakpoint()
				marks--
			}
			out = append(out, anthropic.NewUserMessage(blocks...))
		}
	}
	slices.Reverse(out)
	return out
}

// blockParam is a block as it is sent. It is false for what the API would not take: a blank text, and blocks that only
// another provider understands.
func blockParam(b window.Block) (anthropic.ContentBlockParamUnion, bool) {
	if b.Provider == provider && b.Raw != nil {
		// Any struct of the union will do: what is sent is the block as it came.
		raw := param.Override[anthropic.ThinkingBlockParam](b.Raw)
		return anthropic.ContentBlockParamUnion{OfThinking: &raw}, true
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
