package anthropic

import (
	"cmp"
	"encoding/json"
	"maps"

	"github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// reader puts a turn together from its stream.
type reader struct {
	observe func(loop.Event)
	message anthropic.Message
	// inputs are the arguments of tools as they came, by block: the SDK makes an empty object of what is no JSON.
	inputs map[int64][]byte
	// summaries are the events that tell what compactions came to, by block: the SDK knows them in its betas only.
	summaries map[int64]json.RawMessage
	// iterations are the parts of the call, some of which the usage of the whole leaves out.
	iterations []anthropic.BetaIterationsUsageItemUnion
	// edits are what the provider says that it has left out of the window.
	edits   []anthropic.BetaContextManagementResponseAppliedEditUnion
	stopped bool
	request string
}

func (r *reader) read(ev anthropic.MessageStreamEventUnion) error {
	if err := r.message.Accumulate(ev); err != nil {
		return err
	}
	out := loop.Event{Kind: loop.Progress}
	switch ev.Type {
	case "message_start":
		r.iterate(ev.Message.Usage.RawJSON())
	case "message_delta":
		r.iterate(ev.Usage.RawJSON())
		r.manage(ev.RawJSON())
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
		case "compaction_delta": // there is one, and it has all
			r.summaries[ev.Index] = json.RawMessage(ev.RawJSON())
		}
	}
	if r.observe != nil {
		r.observe(out)
	}
	return nil
}

// iterate takes the iterations of a usage, if there are some: each list is of all that were until then.
func (r *reader) iterate(usage string) {
	var u struct {
		Iterations []anthropic.BetaIterationsUsageItemUnion `json:"iterations"`
	}
	if json.Unmarshal([]byte(usage), &u) == nil && len(u.Iterations) > 0 {
		r.iterations = u.Iterations
	}
}

// manage takes what was done to the window, if the event says so. The SDK knows that in its betas only.
func (r *reader) manage(event string) {
	var ev struct {
		ContextManagement anthropic.BetaContextManagementResponse `json:"context_management"`
	}
	if json.Unmarshal([]byte(event), &ev) == nil && ev.ContextManagement.JSON.AppliedEdits.Valid() {
		r.edits = ev.ContextManagement.AppliedEdits
	}
}

// unfinished is what a call that was cut off has used.
func (r *reader) unfinished(model string) loop.Turn {
	return loop.Turn{Usage: r.usage(model), Request: r.request}
}

// usage is one entry for the answer, behind one for each compaction, or none if nothing was told. What the provider calls
// input tokens is the uncached part.
func (r *reader) usage(model string) (out []cairn.Usage) {
	model = cmp.Or(r.message.Model, model)
	for _, i := range r.iterations {
		if i.Type == "compaction" { // the other kinds are in the whole
			out = append(out, cairn.Usage{Model: model, Input: i.InputTokens, Output: i.OutputTokens, CacheRead: i.CacheReadInputTokens,
				CacheWrite: i.CacheCreationInputTokens, CacheWrite1h: i.CacheCreation.Ephemeral1hInputTokens})
		}
	}
	u := r.message.Usage
	answer := cairn.Usage{Input: u.InputTokens, Output: u.OutputTokens, CacheRead: u.CacheReadInputTokens, CacheWrite: u.CacheCreationInputTokens,
		CacheWrite1h: u.CacheCreation.Ephemeral1hInputTokens}
	if answer != (cairn.Usage{}) {
		answer.Model = model
		out = append(out, answer)
	}
	return out
}

func (r *reader) turn(model string) loop.Turn {
	t := loop.Turn{Stop: loop.StopEnd, Usage: r.usage(model), Request: r.request}
	for i, b := range r.message.Content {
		t.Blocks = append(t.Blocks, r.block(int64(i), b))
	}
	for _, e := range r.edits {
		t.Edits = append(t.Edits, loop.Edit{Type: e.Type, Results: int(e.ClearedToolUses), Tokens: e.ClearedInputTokens})
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
	if summary := r.summaries[i]; summary != nil {
		raw = summed(raw, summary)
	}
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
	kind := window.Opaque
	if b.Type == "compaction" && !failed(raw) {
		kind = window.Compaction
	}
	return window.Block{Kind: kind, Provider: provider, Raw: raw}
}

// failed says that a compaction has come to nothing: the provider ignores it, and all that was said is read as before.
func failed(compaction json.RawMessage) bool {
	var b struct{ Content any }
	return json.Unmarshal(compaction, &b) != nil || b.Content == nil
}

// summed is a compaction as it has to be sent back: the block as it began, with all that the delta of its event has.
func summed(block, event json.RawMessage) json.RawMessage {
	var whole map[string]json.RawMessage
	var ev struct{ Delta map[string]json.RawMessage }
	if json.Unmarshal(block, &whole) != nil || json.Unmarshal(event, &ev) != nil || whole == nil {
		return block // the SDK has read both before: they are objects
	}
	delete(ev.Delta, "type")
	maps.Copy(whole, ev.Delta)
	raw, err := schema.Encode(whole)
	if err != nil { // of valid JSON: it can't fail
		panic(err)
	}
	return raw
}
