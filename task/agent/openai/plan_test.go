package openai_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/internal/wiretest"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/openai"
	"github.com/cairnrun/cairn/task/agent/window"
)

// planned is a window with two tools.
func planned(change ...func(*loop.Window)) loop.Window {
	w := loop.Window{Key: "run/step#turn-1", System: "Be brief.", Tools: []cairn.Tool{{Name: "first"}, wiretest.Weather},
		Messages: []window.Message{{Role: window.User, Blocks: []window.Block{{Kind: window.Text, Text: "Weather?"}}}}}
	for _, c := range change {
		c(&w)
	}
	return w
}

// own makes the test's server one of OpenAI's own: its address is an option, not a BaseURL.
func own(s *server) func(*openai.Config) {
	return func(c *openai.Config) {
		c.Options, c.BaseURL = append(c.Options, option.WithBaseURL(c.BaseURL)), ""
	}
}

// field is a part of the n-th request, "null" if it isn't there.
func field(t *testing.T, s *server, n int, name string) string {
	t.Helper()
	var body map[string]json.RawMessage
	if err := json.Unmarshal([]byte(s.request(n)), &body); err != nil {
		t.Fatal(err)
	}
	if body[name] == nil {
		return "null"
	}
	return string(body[name])
}

// TestMask: tools that may not be called stay where they are.
func TestMask(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		wire := func(tool string) string {
			if chat {
				return `{"type":"allowed_tools","allowed_tools":{"mode":"auto","tools":[{"type":"function","function":{"name":"` + tool + `"}}]}}`
			}
			return `{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"` + tool + `"}]}`
		}
		for name, c := range map[string]struct {
			allowed []string
			mask    *bool
			tools   bool
			want    string
		}{
			"all":         {nil, new(true), true, `null`},
			"one":         {[]string{"weather"}, new(true), true, wire("weather")},
			"one is gone": {[]string{"gone", "first"}, new(true), true, wire("first")},
			"none":        {[]string{}, new(true), true, `"none"`},
			"no tools":    {[]string{}, new(true), false, `null`},
			"unknown":     {[]string{"weather"}, new(false), true, `null`},
			"by default":  {[]string{"weather"}, nil, true, map[bool]string{false: wire("weather"), true: `null`}[chat]},
		} {
			s := serve(t, chat, message(chat, "", says("ok")...))
			m := s.model(func(cfg *openai.Config) { cfg.Mask = c.mask })
			for i, allowed := range [][]string{c.allowed, nil} {
				w := planned(func(w *loop.Window) {
					w.Allowed = allowed
					if !c.tools {
						w.Tools = nil
					}
				})
				if _, err := m.Call(t.Context(), w); err != nil {
					t.Fatal(err)
				}
				want := []string{c.want, `null`}[i]
				wiretest.Same(t, name, field(t, s, i, "tool_choice"), want)
			}
			if field(t, s, 0, "tools") != field(t, s, 1, "tools") {
				t.Errorf("%s: a mask changes the tools: %s", name, s.request(0))
			}
		}
	})
}

// TestCacheKey: what conversations of an agent have in common decides, and nothing that differs.
func TestCacheKey(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		key := func(w loop.Window, change ...func(*openai.Config)) string {
			t.Helper()
			s := serve(t, chat, message(chat, "", says("ok")...))
			if _, err := s.model(append([]func(*openai.Config){own(s)}, change...)...).Call(t.Context(), w); err != nil {
				t.Fatal(err)
			}
			return field(t, s, 0, "prompt_cache_key")
		}
		first := key(planned())
		if len(first) > 2+64 || !strings.HasPrefix(first, `"cairn-`) {
			t.Fatalf("the key is %s", first)
		}
		apart := func(c *openai.Config) { c.CacheApart = true }
		later := func(w *loop.Window) {
			w.Key = "run/step#turn-2"
			w.Messages = append(w.Messages, window.Message{Role: window.User, Blocks: []window.Block{{Kind: window.Text, Text: "and?"}}})
		}
		another := func(w *loop.Window) { w.Key = "run/other#turn-1" }
		for name, same := range map[string]bool{
			"a later turn":                            first == key(planned(later)),
			"another conversation":                    first == key(planned(another)),
			"another key of the account":              first == key(planned(), func(c *openai.Config) { c.Key = "sk-other" }),
			"a later turn, apart":                     key(planned(), apart) == key(planned(later), apart),
			"one that is given":                       key(planned(), func(c *openai.Config) { c.CacheKey = "mine" }) == `"mine"`,
			"another server":                          key(planned(), func(c *openai.Config) { c.Provider = "ollama" }) == `null`,
			"another server, given":                   key(planned(), func(c *openai.Config) { c.Provider, c.CacheKey = "ollama", "mine" }) == `"mine"`,
			"no conversation, apart":                  first == key(planned(func(w *loop.Window) { w.Key = "turn-1" }), apart),
			"not another conversation, apart":         key(planned(), apart) != key(planned(another), apart),
			"not other instructions":                  first != key(planned(func(w *loop.Window) { w.System = "Be long." })),
			"not other tools":                         first != key(planned(func(w *loop.Window) { w.Tools = w.Tools[1:] })),
			"not another model":                       first != key(planned(), func(c *openai.Config) { c.Model = "gpt-5" }),
			"no more than the API takes":              len(key(planned(), apart)) <= 2+64,
			"in chat, not what merely looks like it":  !chat || key(planned(), func(c *openai.Config) { c.BaseURL = "http://unused.invalid" }) == `null`,
			"not the instructions, where one can see": !strings.Contains(first, "brief"),
		} {
			if !same {
				t.Errorf("%s", name)
			}
		}
	})
}

// TestCacheLife: a longer life is asked for where a model can have it, by the field that it has for it.
func TestCacheLife(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		for name, c := range map[string]struct {
			model              string
			long, force        bool
			options, retention string
		}{
			"young":          {"gpt-6-sol", true, false, `{"ttl":"12h"}`, `null`},
			"young, forced":  {"gpt-5.6-luna", false, true, `{"ttl":"12h"}`, `null`},
			"older":          {"gpt-5.1", true, false, `null`, `"24h"`},
			"old":            {"gpt-4o", true, true, `null`, `null`},
			"nobody asks":    {"gpt-6-sol", false, false, `null`, `null`},
			"unknown":        {"mine", true, false, `null`, `null`},
			"other provider": {"gpt-5.1", true, false, `null`, `null`},
		} {
			s := serve(t, chat, message(chat, "", says("ok")...))
			m := s.model(own(s), func(cfg *openai.Config) {
				cfg.Model, cfg.CacheLong = c.model, c.force
				if name == "other provider" {
					cfg.Provider = "vllm"
				}
			})
			if _, err := m.Call(t.Context(), planned(func(w *loop.Window) { w.Marks = []window.Mark{{}, {Message: window.OfSystem, Long: c.long}} })); err != nil {
				t.Fatal(err)
			}
			wiretest.Same(t, name+": the options", field(t, s, 0, "prompt_cache_options"), c.options)
			wiretest.Same(t, name+": the retention", field(t, s, 0, "prompt_cache_retention"), c.retention)
			if strings.Contains(s.request(0), "breakpoint") {
				t.Errorf("%s: %s", name, s.request(0))
			}
		}
	})
}

// TestALongLivedConversation: an agent that asks for it gets the longer life, from its first call on.
func TestALongLivedConversation(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		for _, long := range []bool{false, true} {
			s := serve(t, chat, message(chat, "", says("ok")...))
			agent := &loop.Agent{Model: s.model(own(s), func(c *openai.Config) { c.Model = "gpt-5.1" }), LongCache: long}
			if _, err := agent.Run(t.Context(), wiretest.Ask("go")); err != nil {
				t.Fatal(err)
			}
			wiretest.Same(t, fmt.Sprintf("long: %t", long), field(t, s, 0, "prompt_cache_retention"), map[bool]string{false: `null`, true: `"24h"`}[long])
		}
	})
}

// TestCompaction: the server is told to, and its summary goes back as it came.
func TestCompaction(t *testing.T) {
	const item = `{"id":"cmp_1","type":"compaction","encrypted_content":"eHg9","created_by":"server <1>"}`
	call := `{"id":"fc_1","type":"function_call","status":"completed","call_id":"a","name":"weather","arguments":"{\"city\":\"Rome\"}"}`
	first := stream(false, `{"type":"response.compaction.compacting","item_id":"cmp_1","output_index":0,"delta":"x"}`,
		`{"type":"response.output_item.done","output_index":0,"item":`+item+`}`, `{"type":"response.output_item.done","output_index":1,"item":`+call+`}`,
		`{"type":"response.completed","response":{"id":"r","status":"completed","model":"m","output":[`+item+`,`+call+`],"usage":{"input_tokens":5}}}`)
	s := serve(t, false, first, message(false, "", says("ok")...))
	m := s.model(func(c *openai.Config) { c.Compact = 150_000 })
	var compacted []int
	agent := &loop.Agent{Model: m, Observe: func(ev loop.Event) {
		if ev.Kind == loop.Compacted {
			compacted = append(compacted, ev.Turn)
		}
	}}
	if resp, err := agent.Run(t.Context(), wiretest.Ask("go")); err != nil || resp.Text != "ok" {
		t.Fatalf("%+v, %v", resp, err)
	}
	if !slices.Equal(compacted, []int{1}) {
		t.Errorf("observers are told of summaries in the turns %v", compacted)
	}
	for i := range 2 {
		wiretest.Same(t, "what is asked for", field(t, s, i, "context_management"), `[{"type":"compaction","compact_threshold":150000}]`)
	}
	if !strings.Contains(s.request(1), item+`,`+call) {
		t.Errorf("%s", s.request(1))
	}
	plain := s.model()
	if info := m.Info(); !info.Reduces || info.Identity == plain.Info().Identity || plain.Info().Reduces {
		t.Errorf("%+v", info)
	}
	_, err := s.model(func(c *openai.Config) { c.Compact, c.Chat = 150_000, true }).Call(t.Context(), planned())
	if f := cairn.FailureOf(err); f.Code != loop.ModelRequest || !f.Permanent || !strings.Contains(f.Message, "Config.Compact") || len(s.bodies) != 2 {
		t.Errorf("%v", err)
	}
	_, err = serve(t, false, refuse(400, "invalid_value")).model(func(c *openai.Config) { c.Compact = 1 }).Call(t.Context(), planned())
	if f := cairn.FailureOf(err); f.Code != loop.ModelRequest || strings.Contains(fmt.Sprintf("%+v %#v", err, f), secret) {
		t.Errorf("%v", err)
	}
}

// TestInfo: who plans a window learns from here what the model can.
func TestInfo(t *testing.T) {
	const k = 1000
	for model, want := range map[string]struct {
		window     int
		life, long time.Duration
	}{
		"gpt-6.1-sol":                    {1_050_000, 30 * time.Minute, 12 * time.Hour},
		"gpt-5.5-2026-04-23":             {1_050_000, 5 * time.Minute, 24 * time.Hour},
		"gpt-5.4-mini":                   {400 * k, 5 * time.Minute, 24 * time.Hour},
		"gpt-5-codex":                    {400 * k, 5 * time.Minute, 24 * time.Hour},
		"gpt-5.2-chat-latest":            {128 * k, 5 * time.Minute, 0},
		"ft:gpt-4.1-2025-04-14:me::id":   {1_047_576, 5 * time.Minute, 24 * time.Hour},
		"openai/gpt-4o":                  {128 * k, 5 * time.Minute, 0},
		"o4-mini":                        {200 * k, 5 * time.Minute, 0},
		"something that is not known of": {0, 5 * time.Minute, 0},
	} {
		info := openai.New(openai.Config{Model: model, Key: "k"}).Info()
		if rules := (window.Rules{Minimum: 1024, Life: want.life, Long: want.long}); info.Window != want.window || info.Cache != rules || info.Reduces {
			t.Errorf("%s: %+v", model, info)
		}
	}
	info := openai.New(openai.Config{Model: "gpt-6-sol", Key: "k", CacheLong: true}).Info()
	if info.Cache.Life != 12*time.Hour {
		t.Errorf("%+v", info)
	}
	info = openai.New(openai.Config{Model: "qwen3", Provider: "ollama", Chat: true, BaseURL: "http://localhost/v1", Window: 32 * k}).Info()
	if info.Window != 32*k || info.Cache != (window.Rules{}) {
		t.Errorf("%+v", info)
	}
}
