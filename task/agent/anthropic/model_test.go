package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/internal/wiretest"
	"github.com/cairnrun/cairn/task/agent/loop"
)

var (
	_ loop.Model      = (*anthropic.Model)(nil)
	_ loop.Structurer = (*anthropic.Model)(nil)
)

// TestAToolLoopOnTheWire: what is sent, with parallel calls, thinking sent back as it came, and the cache's breakpoints.
func TestAToolLoopOnTheWire(t *testing.T) {
	s := serve(t,
		message("tool_use", thinkingBlock(0), textBlock(1, "Let me ", "see"), toolBlock(2, "toolu_1", "weather", `{"ci`, `ty":"Rome"}`), toolBlock(3, "toolu_2", "weather", `{"city":"Oslo"}`)),
		message("tool_use", toolBlock(0, "toolu_3", "weather", `{"city":"Bonn"}`)),
		says("It is ", "sunny."))
	var heard strings.Builder
	a := &loop.Agent{Model: s.model(func(c *anthropic.Config) { c.Thinking, c.Effort = true, "high" }), System: "Be brief.",
		Observe: func(ev loop.Event) {
			if ev.Text != "" { // events of tools come side by side
				heard.WriteString(ev.Text)
			}
		}}
	resp, err := a.Run(t.Context(), wiretest.Ask("Weather?"))
	if err != nil || resp.Text != "It is sunny." {
		t.Fatalf("%+v, %v", resp, err)
	}
	const mark = `"cache_control":{"type":"ephemeral"}`
	head := `"model":"claude-opus-4-8","max_tokens":32000,"stream":true,"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},
		"system":[{"type":"text","text":"Be brief.",` + mark + `}],
		"tools":[{"name":"weather","description":"tells it","input_schema":` + string(wiretest.Weather.Schema) + `,` + mark + `}]`
	wiretest.Same(t, "the first request", s.request(0), `{`+head+`,"messages":[{"role":"user","content":[{"type":"text","text":"Weather?",`+mark+`}]}]}`)
	const assistant = `{"role":"assistant","content":[{"type":"thinking","thinking":"hm <","signature":"c2ln+/=="},{"type":"text","text":"Let me see"},
		{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Rome"}},{"type":"tool_use","id":"toolu_2","name":"weather","input":{"city":"Oslo"}}]}`
	result := func(id, city, more string) string {
		return `{"type":"tool_result","tool_use_id":"` + id + `","content":[{"type":"text","text":"sunny in ` + city + `"}]` + more + `}`
	}
	wiretest.Same(t, "the second request", s.request(1), `{`+head+`,"messages":[{"role":"user","content":[{"type":"text","text":"Weather?",`+mark+`}]},`+assistant+
		`,{"role":"user","content":[`+result("toolu_1", "Rome", "")+`,`+result("toolu_2", "Oslo", ","+mark)+`]}]}`)
	wiretest.Same(t, "the third request", s.request(2), `{`+head+`,"messages":[{"role":"user","content":[{"type":"text","text":"Weather?"}]},`+assistant+
		`,{"role":"user","content":[`+result("toolu_1", "Rome", "")+`,`+result("toolu_2", "Oslo", ","+mark)+`]},
		{"role":"assistant","content":[{"type":"tool_use","id":"toolu_3","name":"weather","input":{"city":"Bonn"}}]},
		{"role":"user","content":[`+result("toolu_3", "Bonn", ","+mark)+`]}]}`)
	want := cairn.Usage{Model: "claude-opus-4-8", Input: 7, Output: 42, CacheRead: 2000, CacheWrite: 300, CacheWrite1h: 200}
	if len(resp.Usage) != 3 || resp.Usage[0] != want {
		t.Errorf("usage %+v", resp.Usage)
	}
	if heard.String() != "hm <Let me seeIt is sunny." {
		t.Errorf("heard %q", heard.String())
	}
	if s.keys[0] != "Bearer "+secret {
		t.Errorf("the key is %q", s.keys[0])
	}
}

var marks = regexp.MustCompile(`,?"cache_control":\{[^}]*\}`)

// TestRequestsOnlyGrow: but for the breakpoints, which are no part of the prefix, a request begins with the bytes of the one
// before; and there are four breakpoints at the most.
func TestRequestsOnlyGrow(t *testing.T) {
	build := func() *server {
		s := serve(t, message("tool_use", thinkingBlock(0), toolBlock(1, "a", "weather", `{"city":"<Rome>"}`)), message("tool_use", toolBlock(0, "b", "nothing")),
			message("tool_use", toolBlock(0, "c", "weather", `{"city":1}`)), says("done"))
		a := &loop.Agent{Model: s.model(func(c *anthropic.Config) { c.CacheHour = true }), System: "s"}
		if _, err := a.Run(t.Context(), wiretest.Ask("go")); err != nil {
			t.Fatal(err)
		}
		return s
	}
	one, two := build(), build()
	messages := func(body string) string {
		var b struct{ Messages json.RawMessage }
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			t.Fatal(err)
		}
		return string(marks.ReplaceAll(b.Messages, nil))
	}
	for i := range 4 {
		if one.request(i) != two.request(i) {
			t.Errorf("request %d differs:\n%s\n%s", i, one.request(i), two.request(i))
		}
		if n := strings.Count(one.request(i), "cache_control"); n == 0 || n > 4 || n != strings.Count(one.request(i), `"ttl":"1h"`) {
			t.Errorf("request %d has %d breakpoints", i, n)
		}
		if i > 0 && !strings.HasPrefix(messages(one.request(i)), strings.TrimSuffix(messages(one.request(i-1)), "]")) {
			t.Errorf("request %d does not begin with the one before:\n%s\n%s", i, messages(one.request(i-1)), messages(one.request(i)))
		}
	}
}

func TestErrors(t *testing.T) {
	cut := func(w http.ResponseWriter, r *http.Request) {
		stream(append([]string{start}, textBlock(0, "half an ans")...)...)(w, r)
		panic(http.ErrAbortHandler)
	}
	for name, c := range map[string]struct {
		answer    answer
		code      cairn.Code
		permanent bool
		after     time.Duration
		spent     bool
		message   string
	}{
		"401":          {answer: refuse(401, "authentication_error"), code: loop.ModelAuth, permanent: true, message: "anthropic answered 401: authentication_error: no good with [redacted]"},
		"403":          {answer: refuse(403, "permission_error"), code: loop.ModelAuth, permanent: true},
		"400":          {answer: refuse(400, "invalid_request_error"), code: loop.ModelRequest, permanent: true},
		"too long":     {answer: refuse(400, "invalid_request_error: prompt is too long"), code: loop.ContextFull, permanent: true, message: "prompt is too long with [redacted]"},
		"429":          {answer: refuse(429, "rate_limit_error", "Retry-After", "17"), code: loop.RateLimited, after: 17 * time.Second},
		"500":          {answer: refuse(500, "api_error"), code: loop.ModelUnavailable},
		"529":          {answer: refuse(529, "overloaded_error", "Retry-After-Ms", "1500"), code: loop.ModelOverloaded, after: 1500 * time.Millisecond},
		"no JSON":      {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502); fmt.Fprint(w, "<html>"+secret) }, code: loop.ModelUnavailable},
		"cut":          {answer: cut, code: loop.ModelUnavailable, spent: true},
		"ended early":  {answer: stream(start), code: loop.ModelUnavailable, spent: true, message: "the stream ended"},
		"empty":        {answer: stream(), code: loop.ModelUnavailable},
		"malformed":    {answer: stream(start, `{"type":"content_block_start","index":0,`), code: loop.ModelUnavailable, spent: true},
		"out of order": {answer: stream(start, textBlock(3, "x")[0]), code: loop.ModelUnavailable, spent: true},
		"error midway": {answer: func(w http.ResponseWriter, r *http.Request) {
			stream(start)(w, r)
			fmt.Fprint(w, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"busy\"}}\n\n")
		}, code: loop.ModelOverloaded, spent: true},
		"refusal":    {answer: message("refusal", textBlock(0, "I won't")), code: loop.ModelRefused, permanent: true, spent: true, message: "I won't"},
		"max tokens": {answer: message("max_tokens", textBlock(0, "and then")), code: loop.MaxTokens, spent: true, message: "after 42 tokens"},
		"context":    {answer: message("model_context_window_exceeded", textBlock(0, "x")), code: loop.ContextFull, spent: true},
	} {
		t.Run(name, func(t *testing.T) {
			s := serve(t, c.answer)
			resp, err := (&loop.Agent{Model: s.model(), Retries: -1}).Run(t.Context(), wiretest.Ask("go"))
			if err == nil {
				t.Fatalf("no error, but %+v", resp)
			}
			f := cairn.FailureOf(err)
			if f.Code != c.code || f.Permanent != c.permanent || f.RetryAfter != c.after || !strings.Contains(f.Message, c.message) {
				t.Errorf("%+v", f)
			}
			if strings.Contains(fmt.Sprintf("%+v %#v", err, f), secret) || strings.Contains(err.Error(), s.URL) {
				t.Errorf("it tells too much: %v", err)
			}
			if (len(resp.Usage) > 0) != c.spent {
				t.Errorf("usage %+v", resp.Usage)
			}
			if len(s.bodies) != 1 {
				t.Errorf("%d requests: the SDK retries", len(s.bodies))
			}
		})
	}
}

// TestAKeyInOptions is no more told than one in Config.
func TestAKeyInOptions(t *testing.T) {
	s := serve(t, refuse(401, "authentication_error"))
	_, err := s.model(func(c *anthropic.Config) { c.Key, c.Options = "", append(c.Options, option.WithAPIKey(secret)) }).Call(t.Context(), planned())
	if f := cairn.FailureOf(err); f.Code != loop.ModelAuth || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "[redacted]") {
		t.Errorf("%v", err)
	}
}

// TestASlowStream ends with the context, and what it has used is known.
func TestASlowStream(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	s := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stream(append([]string{start}, textBlock(0, "slow")...)...)(w, r)
		<-r.Context().Done()
	})
	a := &loop.Agent{Model: s.model(), Observe: func(ev loop.Event) {
		if ev.Kind == loop.TextDelta {
			cancel(&cairn.Failure{Code: cairn.TaskTimeout})
		}
	}}
	resp, err := a.Run(ctx, wiretest.Ask("go"))
	if !errors.Is(err, loop.ModelUnavailable) || !strings.Contains(err.Error(), "context canceled") || len(resp.Usage) != 1 || len(s.bodies) != 1 {
		t.Errorf("%v, %+v, %d requests", err, resp.Usage, len(s.bodies))
	}
	s = serve(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	_, err = (&loop.Agent{Model: s.model(func(c *anthropic.Config) { c.Timeout = time.Millisecond }), Retries: -1}).Run(t.Context(), wiretest.Ask("go"))
	if !errors.Is(err, loop.ModelUnavailable) || !strings.Contains(err.Error(), "deadline exceeded") {
		t.Errorf("timeout: %v", err)
	}
}

func TestNobodyThere(t *testing.T) {
	s := serve(t, says("x"))
	m := s.model()
	s.Close()
	_, err := (&loop.Agent{Model: m, Retries: -1}).Run(t.Context(), wiretest.Ask("go"))
	if !errors.Is(err, loop.ModelUnavailable) || strings.Contains(err.Error(), "http://") {
		t.Errorf("%v", err)
	}
	t.Setenv("ANTHROPIC_API_KEY", "")
	_, err = anthropic.New(anthropic.Config{Model: "m", BaseURL: s.URL}).Call(t.Context(), loop.Window{})
	if f := cairn.FailureOf(err); f.Code != loop.ModelAuth || !f.Permanent {
		t.Errorf("%v", err)
	}
}

// TestToolMistakesOnTheWire are told to the model in the shape that the API wants.
func TestToolMistakesOnTheWire(t *testing.T) {
	s := serve(t, message("tool_use", toolBlock(0, "a", "fly", `{}`), toolBlock(1, "b", "weather", `{"city":`), toolBlock(2, "c", "weather")), says("sorry"))
	if _, err := (&loop.Agent{Model: s.model()}).Run(t.Context(), wiretest.Ask("go")); err != nil {
		t.Fatal(err)
	}
	var sent struct{ Messages []json.RawMessage }
	if err := json.Unmarshal([]byte(s.request(1)), &sent); err != nil {
		t.Fatal(err)
	}
	wiretest.Same(t, "the turn", string(sent.Messages[1]), `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"fly","input":{}},
		{"type":"tool_use","id":"b","name":"weather","input":{}},{"type":"tool_use","id":"c","name":"weather","input":{}}]}`)
	wiretest.Same(t, "the results", string(sent.Messages[2]), `{"role":"user","content":[
		{"type":"tool_result","tool_use_id":"a","is_error":true,"content":[{"type":"text","text":"There is no tool \"fly\". The tools are: weather."}]},
		{"type":"tool_result","tool_use_id":"b","is_error":true,"content":[{"type":"text","text":"The arguments are no JSON: {\"city\":"}]},
		{"type":"tool_result","tool_use_id":"c","is_error":true,"content":[{"type":"text","text":"which city?"}],"cache_control":{"type":"ephemeral"}}]}`)
}

type verdict struct {
	Why  string `json:"why" validate:"required"`
	Good bool   `json:"good"`
	Note string `json:"note,omitempty"`
}

// TestNativeStructure: the provider gets the schema, the prompt does not.
func TestNativeStructure(t *testing.T) {
	s := serve(t, says(`{"why":"","good":true}`), says(`{"why":"clean","good":true}`))
	node := task.Task[verdict]{ID: "v", Agent: &loop.Agent{Model: s.model()}, Prompt: func(*cairn.View) string { return "judge" }}
	result, err := node.Lower().Task.Run(t.Context(), &cairn.Call{Input: json.RawMessage(`"judge"`)})
	if err != nil || string(result.Output) != `{"why":"clean","good":true}` {
		t.Fatalf("%s, %v", result.Output, err)
	}
	var sent struct {
		OutputConfig json.RawMessage `json:"output_config"`
		Messages     []struct{ Content []json.RawMessage }
	}
	if err := json.Unmarshal([]byte(s.request(0)), &sent); err != nil {
		t.Fatal(err)
	}
	wiretest.Same(t, "the format", string(sent.OutputConfig), `{"format":{"type":"json_schema","schema":{"type":"object","additionalProperties":false,
		"properties":{"why":{"type":"string"},"good":{"type":"boolean"},"note":{"type":"string"}},"required":["why","good"]}}}`)
	if len(sent.Messages[0].Content) != 1 || !strings.Contains(s.request(1), "why: required") {
		t.Errorf("%s\n%s", s.request(0), s.request(1))
	}
}

// TestOpaqueBlocks come back as they were: compaction, redacted thinking, whatever there will be.
func TestOpaqueBlocks(t *testing.T) {
	const block = `{"type":"redacted_thinking","data":"eHg="}`
	other := `{"type":"future_block","z":1,"a":[true,null],"text":"s"}`
	s := serve(t, message("pause_turn",
		[]string{`{"type":"content_block_start","index":0,"content_block":` + block + `}`, `{"type":"content_block_stop","index":0}`},
		[]string{`{"type":"content_block_start","index":1,"content_block":` + other + `}`, `{"type":"content_block_stop","index":1}`}), says("on"))
	if resp, err := (&loop.Agent{Model: s.model()}).Run(t.Context(), wiretest.Ask("go")); err != nil || resp.Text != "on" {
		t.Fatalf("%+v, %v", resp, err)
	}
	if !strings.Contains(s.request(1), `{"role":"assistant","content":[`+block+`,`+other+`]}`) && !strings.Contains(s.request(1), block+`,`+other) {
		t.Errorf("%s", s.request(1))
	}
}

func TestIdentityHasNoSecret(t *testing.T) {
	m := anthropic.New(anthropic.Config{Model: "m", Key: secret, BaseURL: "http://u:" + secret + "@h", Effort: "low"})
	if id := m.Info().Identity; strings.Contains(id, secret) || !strings.Contains(id, "low") || id != anthropic.New(anthropic.Config{Model: "m", Key: "other", Effort: "low"}).Info().Identity {
		t.Errorf("identity %q", id)
	}
}
