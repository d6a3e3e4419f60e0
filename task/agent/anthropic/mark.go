package anthropic

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// place is where a breakpoint can be: a window.Mark without its life.
type place struct{ message, block int }

// marks are the breakpoints of a request. True is one that is kept for an hour.
type marks map[place]bool

// marks are those of the window, each on the block that can carry it. Without any, there are four of the model's own.
func (m *Model) marks(w loop.Window) (marks, error) {
	if w.Marks == nil {
		return m.ownMarks(w.Messages), nil
	}
	at := marks{}
	for _, mark := range w.Marks {
		long := mark.Long || m.cfg.CacheHour
		if mark.Message == window.OfTools || mark.Message == window.OfSystem {
			at[place{message: mark.Message}] = long
			continue
		}
		if mark.Message < 0 || mark.Message >= len(w.Messages) || mark.Block < 0 || mark.Block >= len(w.Messages[mark.Message].Blocks) {
			return nil, wrong("the window has no block %d in message %d to mark: whoever plans the window has to mark blocks that are there", mark.Block, mark.Message)
		}
		if block, ok := carrier(w.Messages[mark.Message].Blocks[:mark.Block+1]); ok {
			at[place{mark.Message, block}] = long
		}
	}
	if len(at) > mostMarks {
		return nil, wrong("the window has %d marks where %d are taken: whoever plans the window has to keep to the model's rules", len(at), mostMarks)
	}
	return at, nil
}

// ownMarks are behind the tools, behind the system text, and behind the last two messages of the user: the earlier one is
// where the call before has written the cache, the later one where this call does.
func (m *Model) ownMarks(conversation []window.Message) marks {
	at := marks{{message: window.OfTools}: m.cfg.CacheHour, {message: window.OfSystem}: m.cfg.CacheHour}
	for i, message := range slices.Backward(conversation) {
		if message.Role != window.User || len(at) == mostMarks {
			continue
		}
		if block, ok := carrier(message.Blocks); ok {
			at[place{i, block}] = m.cfg.CacheHour
		}
	}
	return at
}

// wrong is an error of who has made the window or the configuration.
func wrong(format string, args ...any) error {
	return &cairn.Failure{Code: loop.ModelRequest, Permanent: true, Message: "anthropic: " + fmt.Sprintf(format, args...)}
}

// carrier is the last of the blocks that a breakpoint can be on: one that is sent, and no thinking.
func carrier(blocks []window.Block) (int, bool) {
	for i, b := range slices.Backward(blocks) {
		if _, sent := blockParam(b); sent && (b.Raw == nil || b.Provider != provider || carries(b.Raw)) {
			return i, true
		}
	}
	return 0, false
}

// carries says whether a block of the provider's own is known to take a breakpoint.
func carries(raw json.RawMessage) bool {
	var b struct{ Type string }
	_ = json.Unmarshal(raw, &b) // of no known type, then
	switch b.Type {
	case "text", "compaction", "server_tool_use":
		return true
	}
	return strings.HasSuffix(b.Type, "_tool_result")
}

// breakpoint is what a block is marked with.
func breakpoint(long bool) anthropic.CacheControlEphemeralParam {
	c := anthropic.NewCacheControlEphemeralParam()
	if long {
		c.TTL = anthropic.CacheControlEphemeralTTLTTL1h
	}
	return c
}

// mark puts a breakpoint on what is sent for a block.
func mark(sent anthropic.ContentBlockParamUnion, b window.Block, long bool) anthropic.ContentBlockParamUnion {
	if control := sent.GetCacheControl(); control != nil {
		*control = breakpoint(long)
		return sent
	}
	// A block that goes back as it came: the breakpoint comes behind what is in it, which keeps its bytes.
	control, err := schema.Encode(breakpoint(long))
	if err != nil { // of constants: it can't fail
		panic(err)
	}
	open := strings.TrimSuffix(strings.TrimSpace(string(b.Raw)), "}")
	return rawBlock(json.RawMessage(open + `,"cache_control":` + string(control) + `}`))
}

// rawBlock is a block as the provider has written it. Any struct of the union will do.
func rawBlock(raw json.RawMessage) anthropic.ContentBlockParamUnion {
	block := param.Override[anthropic.ThinkingBlockParam](raw)
	return anthropic.ContentBlockParamUnion{OfThinking: &block}
}
