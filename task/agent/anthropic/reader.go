package anthropic

import (
	"cmp"
	"encoding/json"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// reader puts a turn together from its stream.
type reader struct {
	observe func(loop.Event)
	message anthropic.Message
	// inputs are the arguments of tools as they came, by block: the SDK makes an empty object of what is no JSON.
	inputs  map[int64][]byte
	stopped bool
	request string
}

func (r *reader) read(ev anthropic.MessageStreamEventUnion) error {
	if err := r.message.Accumulate(ev); err != nil {
		return err
	}
	out := loop.Event{Kind: loop.Progress}
	switch ev.Type {
	case "message_stop":
		r.stopped = true
	case "content_block_start":
		if ev.ContentBlock.Type == "tool_use" {
			out = loop.Event{Kind: loop.ToolNamed, Name: ev.ContentBlock.Name, ID: ev.ContentBlock.ID}
		}
	case "content_block_delta":
		switch ev.Delta.Type {
		case "text_delta":
			out = loop.Event{Kind: loop.TextDelta, Text: ev.Delta.Text}
		case "thinking_delta":
			out = loop.Event{Kind: loop.ThinkingDelta, Text: ev.Delta.Thinking}
		case "input_json_delta":
			r.inputs[ev.Index] = append(r.inputs[ev.Index], ev.Delta.PartialJSON...)
		}
	}
	if r.observe != nil {
		r.observe(out)
	}
	return nil
}

// unfinished is what a call that was cut off has used.
func (r *reader) unfinished(model string) loop.Turn {
	return loop.Turn{Usage: r.usage(model), Request: r.request}
}

// usage is one entry, or none if nothing was told. What the provider calls input tokens is the uncached part.
func (r *reader) usage(model string) []cairn.Usage {
	u := r.message.Usage
	out := cairn.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens,
		CacheWrite1h: u.CacheCreation.Ephemeral1hInputTokens}
	if out == (cairn.Usage{}) {
		return nil
	}
	out.Model = cmp.Or(r.message.Model, model)
	return []cairn.Usage{out}
}

func (r *reader) turn(model string) loop.Turn {
	t := loop.Turn{Stop: loop.StopEnd, Usage: r.usage(model), Request: r.request}
	for i, b := range r.message.Content {
		t.Blocks = append(t.Blocks, r.block(int64(i), b))
	}
	switch r.message.StopReason {
	case anthropic.StopReasonMaxTokens:
		t.Stop = loop.StopMaxTokens
	case anthropic.StopReasonModelContextWindowExceeded:
		t.Stop = loop.StopContext
	case anthropic.StopReasonPauseTurn, "compaction":
		t.Stop = loop.StopPause
	case anthropic.StopReasonRefusal:
		t.Stop, t.Why = loop.StopRefusal, cmp.Or(r.message.StopDetails.Explanation, string(r.message.StopDetails.Category))
	}
	return t
}

func (r *reader) block(i int64, b anthropic.ContentBlockUnion) window.Block {
	raw := json.RawMessage(b.RawJSON())
	switch {
	case b.Type == "text" && len(b.Citations) == 0:
		return window.Block{Kind: window.Text, Text: b.Text}
	case b.Type == "tool_use":
		out := window.Block{Kind: window.ToolUse, ID: b.ID, Name: b.Name, Input: b.Input}
		if sent := r.inputs[i]; len(sent) > 0 && !json.Valid(sent) {
			out.Input, out.Text = nil, string(sent)
		} else if len(sent) == 0 && len(b.Input) == 0 {
			out.Input = json.RawMessage(`{}`)
		}
		return out
	case b.Type == "thinking":
		return window.Block{Kind: window.Thinking, Text: b.Thinking, Provider: provider, Raw: raw}
	case b.Type == "text": // its citations are kept; as the text is needed too, it is one of both kinds
		return window.Block{Kind: window.Text, Text: b.Text, Provider: provider, Raw: raw}
	}
	return window.Block{Kind: window.Opaque, Provider: provider, Raw: raw}
}
