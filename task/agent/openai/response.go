package openai

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// request is the Responses request of a window.
func (m *Model) request(w loop.Window) responses.ResponseNewParams {
	p := responses.ResponseNewParams{Model: m.cfg.Model, Store: param.NewOpt(false)}
	if w.System != "" {
		p.Instructions = param.NewOpt(w.System)
	}
	if n := m.maxTokens(w); n > 0 {
		p.MaxOutputTokens = param.NewOpt(n)
	}
	if key := m.cacheKey(w); key != "" {
		p.PromptCacheKey = param.NewOpt(key)
	}
	option, retention := m.lifetime(w)
	p.PromptCacheOptions.Ttl = option
	p.PromptCacheRetention = responses.ResponseNewParamsPromptCacheRetention(retention)
	if m.cfg.Compact > 0 {
		p.ContextManagement = []responses.ResponseNewParamsContextManagement{{Type: "compaction", CompactThreshold: param.NewOpt(int64(m.cfg.Compact))}}
	}
	p.ToolChoice = m.toolChoice(w)
	p.Reasoning.Effort = shared.ReasoningEffort(m.cfg.Effort)
	if converted, ok := strictness.Convert(w.Schema); ok && w.Schema != nil {
		format := param.Override[responses.ResponseFormatTextJSONSchemaConfigParam](json.RawMessage(
			`{"type":"json_schema","name":"answer","strict":true,"schema":` + string(converted) + `}`))
		p.Text.Format.OfJSONSchema = &format
	}
	for _, t := range w.Tools {
		// Arguments are held to the schema by the tool; strict ones would need another schema.
		raw, err := schema.Encode(struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Parameters  json.RawMessage `json:"parameters"`
			Strict      bool            `json:"strict"`
		}{"function", t.Name, t.Description, parameters(t), false})
		if err != nil { // the schema is no JSON: the server will say so
			raw = parameters(t)
		}
		tool := param.Override[responses.FunctionToolParam](json.RawMessage(raw))
		p.Tools = append(p.Tools, responses.ToolUnionParam{OfFunction: &tool})
	}
	var items responses.ResponseInputParam
	for _, message := range w.Messages {
		for _, b := range message.Blocks {
			if item, ok := m.item(message.Role, b); ok {
				items = append(items, item)
			}
		}
	}
	p.Input.OfInputItemList = items
	return p
}

// item is a block as it is sent: one of the provider's own as it came. It is false for what only another can understand.
func (m *Model) item(role window.Role, b window.Block) (item responses.ResponseInputItemUnionParam, ok bool) {
	switch {
	case bytes.HasPrefix(b.Raw, []byte("{")) && b.Provider == m.cfg.Provider:
		// Any struct of the union will do.
		raw := param.Override[responses.ResponseReasoningItemParam](b.Raw)
		return responses.ResponseInputItemUnionParam{OfReasoning: &raw}, true
	case b.Kind == window.Text:
		return responses.ResponseInputItemParamOfMessage(b.Text, responses.EasyInputMessageRole(role)), b.Text != ""
	case b.Kind == window.ToolUse:
		return responses.ResponseInputItemParamOfFunctionCall(arguments(b), b.ID, b.Name), true
	case b.Kind == window.ToolResult:
		item = responses.ResponseInputItemParamOfFunctionCallOutput(result(b))
		item.OfFunctionCallOutput.CallID = param.NewOpt(b.ID)
		return item, true
	}
	return item, false
}

// responseReader reads the events of a response.
type responseReader struct {
	observe  func(loop.Event)
	provider string
	// items are the finished ones, by their place.
	items map[int64]responses.ResponseOutputItemUnion
	final *responses.Response
	err   error
}

func (r *responseReader) read(ev responses.ResponseStreamEventUnion) {
	out := loop.Event{Kind: loop.Progress}
	switch ev.Type {
	case "response.output_text.delta":
		out = loop.Event{Kind: loop.TextDelta, Text: ev.Delta}
	case "response.reasoning_summary_text.delta", "response.reasoning_text.delta":
		out = loop.Event{Kind: loop.ThinkingDelta, Text: ev.Delta}
	case "response.output_item.added":
		if ev.Item.Type == "function_call" {
			out = loop.Event{Kind: loop.ToolNamed, Name: ev.Item.Name, ID: ev.Item.CallID}
		}
	case "response.output_item.done":
		if r.items == nil {
			r.items = map[int64]responses.ResponseOutputItemUnion{}
		}
		r.items[ev.OutputIndex] = ev.Item
	case "response.completed", "response.incomplete", "response.failed":
		r.final = &ev.Response
	case "error":
		r.err = &streamError{ev.Code, ev.Message}
	}
	r.observe(out)
}

func (r *responseReader) turn() (loop.Turn, error) {
	t := loop.Turn{Stop: loop.StopEnd}
	switch {
	case r.err != nil:
		return t, r.err
	case r.final == nil:
		return t, errCut
	}
	u := r.final.Usage
	t.Usage = usage(r.final.Model, u.InputTokens, u.OutputTokens, u.InputTokensDetails.CachedTokens, u.InputTokensDetails.CacheWriteTokens,
		u.InputTokensDetails.CacheWriteTokensDetails.Ttl12hTokens)
	items := r.final.Output
	if len(items) == 0 { // some servers send them once
		for _, i := range slices.Sorted(maps.Keys(r.items)) {
			items = append(items, r.items[i])
		}
	}
	for _, item := range items {
		b, refusal := r.block(item)
		t.Blocks = append(t.Blocks, b)
		if refusal != "" {
			t.Stop, t.Why = loop.StopRefusal, refusal
		}
	}
	switch r.final.Status {
	case "failed":
		return t, &streamError{string(r.final.Error.Code), r.final.Error.Message}
	case "incomplete":
		switch reason := r.final.IncompleteDetails.Reason; reason {
		case "max_output_tokens":
			t.Stop = loop.StopMaxTokens
		case "content_filter":
			t.Stop, t.Why = loop.StopRefusal, "content_filter"
		default:
			return t, fmt.Errorf("the response is incomplete: %s", reason)
		}
	}
	return t, nil
}

// block is an item of the output. A refusal comes as text.
func (r *responseReader) block(item responses.ResponseOutputItemUnion) (b window.Block, refusal string) {
	switch item.Type {
	case "message":
		b.Kind = window.Text
		for _, c := range item.Content {
			b.Text += c.Text
			refusal += c.Refusal
		}
	case "function_call":
		b = toolUse(item.CallID, item.Name, item.Arguments.OfString)
	case "reasoning":
		b.Kind = window.Thinking
		var parts []string
		for _, s := range item.Summary {
			parts = append(parts, s.Text)
		}
		b.Text = strings.Join(parts, "\n")
	case "compaction":
		b.Kind = window.Compaction
	default:
		b.Kind = window.Opaque
	}
	b.Provider, b.Raw = r.provider, json.RawMessage(item.RawJSON())
	return b, refusal
}
