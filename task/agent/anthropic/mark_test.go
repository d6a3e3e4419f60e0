package anthropic_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/internal/wiretest"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// planned is a window with a block of every kind.
func planned(marks ...window.Mark) loop.Window {
	native := func(kind window.Kind, raw string) window.Block {
		return window.Block{Kind: kind, Provider: "anthropic", Raw: json.RawMessage(raw)}
	}
	return loop.Window{System: "Be brief.", Tools: []cairn.Tool{{Name: "first"}, wiretest.Weather}, Marks: marks, Messages: []window.Message{
		{Role: window.User, Blocks: []window.Block{{Kind: window.Text, Text: "Weather?"}, {Kind: window.Text, Text: " "}}},
		{Role: window.Assistant, Blocks: []window.Block{
			native(window.Opaque, `{"type":"compaction","content":"so far"}`),
			native(window.Thinking, `{"type":"thinking","thinking":"hm","signature":"s"}`),
			{Kind: window.ToolUse, ID: "a", Name: "weather", Input: json.RawMessage(`{"city":"Rome"}`)}}},
		{Role: window.User, Blocks: []window.Block{{Kind: window.ToolResult, ID: "a", Text: "sunny"}, {Kind: window.Text, Text: "and?"}}},
		{Role: window.Assistant, Blocks: []window.Block{native(window.Thinking, `{"type":"redacted_thinking","data":"eA=="}`)}},
		{Role: window.User, Blocks: []window.Block{{Kind: window.Text, Text: "well?"}}},
	}}
}

// TestMarksOnTheWire: breakpoints are where the window says, and nowhere else.
func TestMarksOnTheWire(t *testing.T) {
	const short, long = `,"cache_control":{"type":"ephemeral"}`, `,"cache_control":{"type":"ephemeral","ttl":"1h"}`
	at := func(message, block int) window.Mark { return window.Mark{Message: message, Block: block} }
	lasting := func(message, block int) window.Mark {
		return window.Mark{Message: message, Block: block, Long: true}
	}
	for name, c := range map[string]struct {
		marks  []window.Mark
		hour   bool
		places map[string]string // what is behind a place
	}{
		"nobody plans":     {nil, false, map[string]string{"tools": short, "system": short, "and?": short, "well?": short}},
		"nobody plans, 1h": {nil, true, map[string]string{"tools": long, "system": long, "and?": long, "well?": long}},
		"none":             {[]window.Mark{}, false, nil},
		"none, 1h":         {[]window.Mark{}, true, nil},
		"head":             {[]window.Mark{lasting(window.OfTools, 0), at(window.OfSystem, 0)}, false, map[string]string{"tools": long, "system": short}},
		"blocks":           {[]window.Mark{at(0, 0), at(1, 2), lasting(2, 0), at(4, 0)}, false, map[string]string{"Weather?": short, "use": short, "result": long, "well?": short}},
		"forced":           {[]window.Mark{at(0, 0), lasting(2, 1)}, true, map[string]string{"Weather?": long, "and?": long}},
		"a compaction":     {[]window.Mark{at(1, 0)}, false, map[string]string{"compaction": short}},
		"thinking":         {[]window.Mark{at(1, 1)}, false, map[string]string{"compaction": short}},
		"a blank":          {[]window.Mark{at(0, 1)}, false, map[string]string{"Weather?": short}},
		"nothing to mark":  {[]window.Mark{at(3, 0)}, false, nil},
		"twice":            {[]window.Mark{at(0, 0), at(0, 1), at(0, 0), at(0, 1), lasting(0, 1)}, false, map[string]string{"Weather?": long}},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, says("ok"))
			w := planned()
			w.Marks = c.marks
			before := fmt.Sprintf("%+v", w)
			if _, err := s.model(func(cfg *anthropic.Config) { cfg.CacheHour = c.hour }).Call(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			if after := fmt.Sprintf("%+v", w); after != before {
				t.Errorf("the window was %s and is %s", before, after)
			}
			is := func(place string) string { return c.places[place] }
			wiretest.Same(t, "the request", s.request(0), `{"model":"claude-opus-4-8","max_tokens":32000,"stream":true,
				"tools":[{"name":"first","input_schema":{"type":"object"}},{"name":"weather","description":"tells it","input_schema":`+string(wiretest.Weather.Schema)+is("tools")+`}],
				"system":[{"type":"text","text":"Be brief."`+is("system")+`}],
				"messages":[{"role":"user","content":[{"type":"text","text":"Weather?"`+is("Weather?")+`}]},
				{"role":"assistant","content":[{"type":"compaction","content":"so far"`+is("compaction")+`},{"type":"thinking","thinking":"hm","signature":"s"},
					{"type":"tool_use","id":"a","name":"weather","input":{"city":"Rome"}`+is("use")+`}]},
				{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"sunny"}]`+is("result")+`},{"type":"text","text":"and?"`+is("and?")+`}]},
				{"role":"assistant","content":[{"type":"redacted_thinking","data":"eA=="}]},
				{"role":"user","content":[{"type":"text","text":"well?"`+is("well?")+`}]}]}`)
		})
	}
}

// TestWrongMarks are told of before anybody is asked.
func TestWrongMarks(t *testing.T) {
	at := func(message, block int) window.Mark { return window.Mark{Message: message, Block: block} }
	for name, marks := range map[string][]window.Mark{
		"too many":   {at(window.OfTools, 0), at(window.OfSystem, 0), at(0, 0), at(2, 0), at(4, 0)},
		"no message": {at(5, 0)},
		"below":      {at(-3, 0)},
		"no block":   {at(4, 1)},
		"minus":      {at(4, -1)},
	} {
		s := serve(t, says("ok"))
		_, err := s.model().Call(t.Context(), planned(marks...))
		if f := cairn.FailureOf(err); f.Code != loop.ModelRequest || !f.Permanent || len(s.bodies) != 0 {
			t.Errorf("%s: %v, %d requests", name, err, len(s.bodies))
		}
	}
}

// TestInfo: who plans a window learns from here what the model can.
func TestInfo(t *testing.T) {
	const k, M = 1000, 1_000_000
	for model, want := range map[string]struct{ window, minimum int }{
		"claude-opus-4-8":                              {M, 4096},
		"claude-opus-4-7":                              {M, 4096},
		"claude-opus-4-6":                              {M, 4096},
		"claude-opus-4-5-20251101":                     {200 * k, 4096},
		"claude-haiku-4-5@20251001":                    {200 * k, 4096},
		"claude-fable-5":                               {M, 2048},
		"us.anthropic.claude-sonnet-4-6":               {M, 2048},
		"claude-3-5-haiku-20241022":                    {200 * k, 2048},
		"claude-sonnet-4-5":                            {200 * k, 1024},
		"anthropic.claude-sonnet-4-20250514-v1:0":      {200 * k, 1024},
		"us.anthropic.claude-3-7-sonnet-20250219-v1:0": {200 * k, 1024},
		"claude-opus-4-20250514":                       {200 * k, 1024},
		"claude-opus-4-1":                              {200 * k, 1024},
		"claude-opus-5-5":                              {M, 512},
		"somebody's":                                   {200 * k, 4096},
	} {
		info := anthropic.New(anthropic.Config{Model: model, Key: "k"}).Info()
		rules := window.Rules{Marks: 4, Minimum: want.minimum, Lookback: 20, Life: 5 * time.Minute, Long: time.Hour}
		if info.Window != want.window || info.Cache != rules || info.Reduces {
			t.Errorf("%s: %+v", model, info)
		}
	}
	info := anthropic.New(anthropic.Config{Model: "claude-sonnet-4-5", Key: "k", Window: M, CacheHour: true}).Info()
	if info.Window != M || info.Cache.Life != time.Hour {
		t.Errorf("%+v", info)
	}
	if !strings.HasSuffix(info.Identity, `"Variant":""}`) {
		t.Errorf("where a prefix is cached is no part of the identity: %s", info.Identity)
	}
}
