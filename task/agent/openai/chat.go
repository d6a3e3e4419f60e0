package openai

import (
	"encoding/json"
	"slices"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/shared"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// chatRequest is the Chat Completions request of a window.
func (m *Model) chatRequest(w loop.Window) openai.ChatCompletionNewParams {
	p := openai.ChatCompletionNewParams{Model: m.cfg.Model}
	p.StreamOptions.IncludeUsage = param.NewOpt(true)
	if n := m.maxTokens(w); n > 0 {
		p.MaxTokens = param.NewOpt(n) // the newer name is unknown to most servers
	}
	if key := m.cacheKey(w); key != "" {
		p.PromptCacheKey = param.NewOpt(key)
	}
	option, retention := m.lifetime(w)
	p.PromptCacheOptions.Ttl = option
	p.PromptCacheRetention = openai.ChatCompletionNewParamsPromptCacheRetention(retention)
	p.ToolChoice = m.chatToolChoice(w)
	p.ReasoningEffort = shared.ReasoningEffort(m.cfg.Effort)
	if converted, ok := strictness.Convert(w.Schema); ok && w.Schema != nil {
		p.ResponseFormat.OfJSONSchema = &shared.ResponseFormatJSONSchemaParam{JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{
			Name: "answer", Strict: param.NewOpt(true), Schema: converted}}
	}
	for _, t := range w.Tools {
		f := struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
		}{t.Name, t.Description, parameters(t)}
		tool := openai.ChatCompletionFunctionToolParam{Function: param.Override[shared.FunctionDefinitionParam](f)}
		p.Tools = append(p.Tools, openai.ChatCompletionToolUnionParam{OfFunction: &tool})
	}
	if w.System != "" {
		p.Messages = append(p.Messages, openai.SystemMessage(w.System))
	}
	for _, message := range w.Messages {
		p.Messages = append(p.Messages, chatMessages(message)...)
	}
	return p
}

// chatMessages are those that a message becomes: one of the assistant, or one for each block of the user.
func chatMessages(message window.Message) (out []openai.ChatCompletionMessageParamUnion) {
	var answer openai.ChatCompletionAssistantMessageParam
	text := ""
	for _, b := range message.Blocks {
		switch {
		case b.Kind == window.ToolResult:
			out = append(out, openai.ToolMessage(result(b), b.ID))
		case b.Kind == window.ToolUse:
			answer.ToolCalls = append(answer.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
				ID: b.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: b.Name, Arguments: arguments(b)}}})
		case b.Kind == window.Text && message.Role == window.Assistant:
			text += b.Text
		case b.Kind == window.Text && b.Text != "":
			out = append(out, openai.UserMessage(b.Text))
		}
	}
	if message.Role != window.Assistant || text == "" && len(answer.ToolCalls) == 0 {
		return out
	}
	if text != "" {
		answer.Content.OfString = param.NewOpt(text)
	}
	return append(out, openai.ChatCompletionMessageParamUnion{OfAssistant: &answer})
}

// chatReader reads the chunks of a completion.
type chatReader struct {
	observe  func(loop.Event)
	provider string
	text     string
	refusal  string
	calls    []call
	reason   string
	used     []cairn.Usage
}

type call struct {
	index               int64
	id, name, arguments string
}

func (r *chatReader) read(chunk openai.ChatCompletionChunk) {
	out := loop.Event{Kind: loop.Progress}
	if u := chunk.Usage; u.TotalTokens > 0 || u.PromptTokens > 0 {
		r.used = usage(chunk.Model, u.PromptTokens, u.CompletionTokens, u.PromptTokensDetails.CachedTokens, u.PromptTokensDetails.CacheWriteTokens, 0)
	}
	for _, choice := range chunk.Choices[:min(len(chunk.Choices), 1)] {
		if d := choice.Delta.Content; d != "" {
			r.text += d
			out = loop.Event{Kind: loop.TextDelta, Text: d}
		}
		r.refusal += choice.Delta.Refusal
		for _, d := range choice.Delta.ToolCalls {
			i := slices.IndexFunc(r.calls, func(c call) bool { return c.index == d.Index })
			if i >= 0 && d.ID != "" && r.calls[i].id != "" && d.ID != r.calls[i].id { // servers that number no calls
				i = slices.IndexFunc(r.calls, func(c call) bool { return c.id == d.ID })
			}
			if i < 0 {
				r.calls, i = append(r.calls, call{index: d.Index, id: d.ID}), len(r.calls)
				out = loop.Event{Kind: loop.ToolNamed, Name: d.Function.Name, ID: d.ID}
			}
			if r.calls[i].name == "" {
				r.calls[i].name = d.Function.Name
			}
			r.calls[i].arguments += d.Function.Arguments
		}
		if choice.FinishReason != "" {
			r.reason = choice.FinishReason
		}
	}
	r.observe(out)
}

func (r *chatReader) turn() (loop.Turn, error) {
	t := loop.Turn{Stop: loop.StopEnd, Usage: r.used}
	if r.text != "" {
		t.Blocks = append(t.Blocks, window.Block{Kind: window.Text, Text: r.text})
	}
	for _, c := range r.calls {
		t.Blocks = append(t.Blocks, spelled(toolUse(c.id, c.name, c.arguments), r.provider, c.arguments))
	}
	switch {
	case r.reason == "":
		return t, errCut
	case r.reason == "length":
		t.Stop = loop.StopMaxTokens
	case r.reason == "content_filter", r.refusal != "":
		t.Stop, t.Why = loop.StopRefusal, r.refusal
	}
	return t, nil
}
