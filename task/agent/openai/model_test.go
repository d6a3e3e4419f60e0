package openai_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/internal/wiretest"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/openai"
	"github.com/cairnrun/cairn/task/agent/window"
)

var (
	_ loop.Model      = (*openai.Model)(nil)
	_ loop.Structurer = (*openai.Model)(nil)
)

// both runs a test in both dialects.
func both(t *testing.T, test func(t *testing.T, chat bool)) {
	t.Run("responses", func(t *testing.T) { test(t, false) })
	t.Run("chat", func(t *testing.T) { test(t, true) })
}

// TestAToolLoopOnTheWire: what is sent, with parallel calls, in both dialects.
func TestAToolLoopOnTheWire(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		rome, oslo := part{id: "call_1", name: "weather", arguments: `{"city":"Rome"}`}, part{id: "call_2", name: "weather", arguments: `{"city": "Oslo"}`}
		s := serve(t, chat, message(chat, "", part{text: "Let me see"}, rome, oslo), message(chat, "", says("It is sunny.")...))
		var heard strings.Builder
		a := &loop.Agent{Model: s.model(func(c *openai.Config) { c.Effort = "low" }), System: "Be brief.", MaxTokens: 99,
			Observe: func(ev loop.Event) {
				if ev.Text != "" { // events of tools come side by side
					heard.WriteString(ev.Text)
				}
			}}
		resp, err := a.Run(t.Context(), wiretest.Ask("Weather?"))
		if err != nil || resp.Text != "It is sunny." || heard.String() != "Let me seeIt is sunny." {
			t.Fatalf("%+v, %v, heard %q", resp, err, heard.String())
		}
		if chat {
			head := `"model":"gpt-6-sol","stream":true,"stream_options":{"include_usage":true},"max_tokens":99,"reasoning_effort":"low",
				"tools":[{"type":"function","function":{"name":"weather","description":"tells it","parameters":` + string(wiretest.Weather.Schema) + `}}]`
			wiretest.Same(t, "the first request", s.request(0), `{`+head+`,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Weather?"}]}`)
			wiretest.Same(t, "the second request", s.request(1), `{`+head+`,"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"Weather?"},
				{"role":"assistant","content":"Let me see","tool_calls":[{"id":"call_1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}},
				{"id":"call_2","type":"function","function":{"name":"weather","arguments":"{\"city\": \"Oslo\"}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"sunny in Rome"},{"role":"tool","tool_call_id":"call_2","content":"sunny in Oslo"}]}`)
		} else {
			head := `"model":"gpt-6-sol","stream":true,"store":false,"prompt_cache_key":"cairn-59349975d08652422e221b68","max_output_tokens":99,"reasoning":{"effort":"low"},"instructions":"Be brief.",
				"tools":[{"type":"function","name":"weather","description":"tells it","strict":false,"parameters":` + string(wiretest.Weather.Schema) + `}]`
			wiretest.Same(t, "the first request", s.request(0), `{`+head+`,"input":[{"role":"user","content":"Weather?"}]}`)
			_, items := opening(false, part{text: "Let me see"}, rome, oslo)
			wiretest.Same(t, "the second request", s.request(1), `{`+head+`,"input":[{"role":"user","content":"Weather?"},`+strings.Join(items, ",")+`,
				{"type":"function_call_output","call_id":"call_1","output":"sunny in Rome"},{"type":"function_call_output","call_id":"call_2","output":"sunny in Oslo"}]}`)
		}
		want := cairn.Usage{Model: "gpt-6-sol", Input: 7, Output: 42, CacheRead: 2000, CacheWrite: 300}
		if !chat {
			want.CacheWrite1h = 200
		}
		if len(resp.Usage) != 2 || resp.Usage[0] != want {
			t.Errorf("usage %+v", resp.Usage)
		}
		if s.keys[0] != "Bearer "+secret {
			t.Errorf("the key is %q", s.keys[0])
		}
	})
}

// TestRequestsOnlyGrow: a request begins with the bytes of the one before, and equal conversations have equal requests.
func TestRequestsOnlyGrow(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		build := func() *server {
			call := func(id, args string) answer { return message(chat, "", part{id: id, name: "weather", arguments: args}) }
			s := serve(t, chat, call("a", `{"city":"<Rome>"}`), call("b", `{"city":`), call("c", ``), message(chat, "", says("done")...))
			if _, err := (&loop.Agent{Model: s.model(), System: "s"}).Run(t.Context(), wiretest.Ask("go")); err != nil {
				t.Fatal(err)
			}
			return s
		}
		one, two := build(), build()
		window := func(body string) string {
			var b struct{ Messages, Input json.RawMessage }
			if err := json.Unmarshal([]byte(body), &b); err != nil {
				t.Fatal(err)
			}
			return string(b.Messages) + string(b.Input)
		}
		for i := range 4 {
			if one.request(i) != two.request(i) {
				t.Errorf("request %d differs:\n%s\n%s", i, one.request(i), two.request(i))
			}
			if i > 0 && !strings.HasPrefix(window(one.request(i)), strings.TrimSuffix(window(one.request(i-1)), "]")) {
				t.Errorf("request %d does not begin with the one before:\n%s\n%s", i, window(one.request(i-1)), window(one.request(i)))
			}
		}
	})
}

func TestErrors(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		half, _ := opening(chat, says("half an ans")...)
		midway := `{"type":"error","code":"rate_limit_exceeded","message":"busy","sequence_number":3}`
		if chat {
			midway = `{"error":{"code":"rate_limit_exceeded","message":"busy"}}`
		}
		for name, c := range map[string]struct {
			answer    answer
			code      cairn.Code
			permanent bool
			after     time.Duration
			spent     bool
			message   string
		}{
			"401":       {answer: refuse(401, "invalid_api_key"), code: loop.ModelAuth, permanent: true, message: "openai answered 401: invalid_api_key: no good with [redacted]"},
			"403":       {answer: refuse(403, "denied"), code: loop.ModelAuth, permanent: true},
			"404":       {answer: refuse(404, "model_not_found"), code: loop.ModelRequest, permanent: true},
			"too long":  {answer: refuse(400, "context_length_exceeded"), code: loop.ContextFull, permanent: true},
			"429":       {answer: refuse(429, "rate_limit_exceeded", "Retry-After", "17"), code: loop.RateLimited, after: 17 * time.Second},
			"no money":  {answer: refuse(429, "insufficient_quota"), code: loop.RateLimited, permanent: true},
			"500":       {answer: refuse(500, "server_error"), code: loop.ModelUnavailable},
			"529":       {answer: refuse(529, "overloaded", "Retry-After-Ms", "1500"), code: loop.ModelOverloaded, after: 1500 * time.Millisecond},
			"no JSON":   {answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(502); fmt.Fprint(w, "<html>"+secret) }, code: loop.ModelUnavailable},
			"cut":       {answer: func(w http.ResponseWriter, r *http.Request) { stream(chat, half...)(w, r); panic(http.ErrAbortHandler) }, code: loop.ModelUnavailable},
			"early end": {answer: stream(chat, half...), code: loop.ModelUnavailable, message: "the stream ended"},
			"empty":     {answer: stream(chat), code: loop.ModelUnavailable},
			"malformed": {answer: stream(chat, half[0], `{"type":"response.out`), code: loop.ModelUnavailable},
			"midway":    {answer: stream(chat, half[0], midway), code: loop.RateLimited, message: "busy"},
			"long":      {answer: stream(chat, half[0], strings.Replace(midway, "busy", strings.Repeat("busy ", 1<<16), 1)), code: loop.RateLimited},
			"refusal":   {answer: message(chat, "", part{refusal: "I won't"}), code: loop.ModelRefused, permanent: true, spent: true, message: "I won't"},
			"filter":    {answer: message(chat, "filter", says("x")...), code: loop.ModelRefused, permanent: true, spent: true},
			"length":    {answer: message(chat, "length", says("and then")...), code: loop.MaxTokens, spent: true, message: "after 42 tokens"},
		} {
			t.Run(name, func(t *testing.T) {
				s := serve(t, chat, c.answer)
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
				if len(f.Message) > 1100 {
					t.Errorf("it tells %d bytes", len(f.Message))
				}
				if (len(resp.Usage) > 0) != c.spent || len(s.bodies) != 1 {
					t.Errorf("usage %+v, %d requests", resp.Usage, len(s.bodies))
				}
			})
		}
	})
}

// TestAKeyInOptions is no more told than one in Config.
func TestAKeyInOptions(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		s := serve(t, chat, refuse(401, "invalid_api_key"))
		_, err := s.model(func(c *openai.Config) { c.Key, c.Options = "", append(c.Options, option.WithAPIKey(secret)) }).Call(t.Context(), planned())
		if f := cairn.FailureOf(err); f.Code != loop.ModelAuth || strings.Contains(err.Error(), secret) || !strings.Contains(err.Error(), "[redacted]") {
			t.Errorf("%v", err)
		}
	})
}

func TestFailedResponses(t *testing.T) {
	for code, want := range map[string]cairn.Code{"server_error": loop.ModelUnavailable, "rate_limit_exceeded": loop.RateLimited, "bio_policy": loop.ModelRefused, "invalid_prompt": loop.ModelRequest} {
		s := serve(t, false, stream(false, `{"type":"response.failed","response":{"id":"r","status":"failed","model":"gpt-6-sol","output":[],"error":{"code":"`+code+`","message":"m"},"usage":{"input_tokens":5}}}`))
		resp, err := (&loop.Agent{Model: s.model(), Retries: -1}).Run(t.Context(), wiretest.Ask("go"))
		if !errors.Is(err, want) || len(resp.Usage) != 1 {
			t.Errorf("%s: %v, %+v", code, err, resp.Usage)
		}
	}
}

// TestASlowStream ends with the context.
func TestASlowStream(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		ctx, cancel := context.WithCancel(t.Context())
		half, _ := opening(chat, says("slow")...)
		s := serve(t, chat, func(w http.ResponseWriter, r *http.Request) {
			stream(chat, half...)(w, r)
			<-r.Context().Done()
		})
		a := &loop.Agent{Model: s.model(), Observe: func(ev loop.Event) {
			if ev.Kind == loop.TextDelta {
				cancel()
			}
		}}
		if _, err := a.Run(ctx, wiretest.Ask("go")); !errors.Is(err, loop.ModelUnavailable) || !strings.Contains(err.Error(), "context canceled") || len(s.bodies) != 1 {
			t.Errorf("%v, %d requests", err, len(s.bodies))
		}
		s = serve(t, chat, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		_, err := (&loop.Agent{Model: s.model(func(c *openai.Config) { c.Timeout = time.Millisecond }), Retries: -1}).Run(t.Context(), wiretest.Ask("go"))
		if !errors.Is(err, loop.ModelUnavailable) || !strings.Contains(err.Error(), "deadline exceeded") {
			t.Errorf("timeout: %v", err)
		}
	})
}

// TestToolMistakesOnTheWire: wrong calls are answered, and sent back as the model has written them.
func TestToolMistakesOnTheWire(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		s := serve(t, chat, message(chat, "", part{id: "a", name: "fly", arguments: `{}`}, part{id: "b", name: "weather", arguments: `{"city":`}, part{id: "c", name: "weather"}),
			message(chat, "", says("sorry")...))
		if _, err := (&loop.Agent{Model: s.model()}).Run(t.Context(), wiretest.Ask("go")); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{`Error: There is no tool \"fly\". The tools are: weather.`, `Error: The arguments are no JSON: {\"city\":`, `Error: which city?`, `"arguments":"{\"city\":"`} {
			if !strings.Contains(s.request(1), want) {
				t.Errorf("%s is not in %s", want, s.request(1))
			}
		}
	})
}

// TestReasoningComesBack as it was, encrypted; and goes to nobody else.
func TestReasoningComesBack(t *testing.T) {
	const item = `{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"hm"}],"encrypted_content":"eHg9"}`
	const other = `{"id":"cmp_1","type":"future_item","z":1,"a":[true,null]}`
	call := `{"id":"fc_1","type":"function_call","status":"completed","call_id":"a","name":"weather","arguments":"{\"city\":\"Rome\"}"}`
	var events []string
	for i, it := range []string{item, other, call} {
		events = append(events, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, it))
	}
	first := stream(false, append(events, `{"type":"response.completed","response":{"id":"r","status":"completed","model":"m","output":[],"usage":{"input_tokens":5}}}`)...)
	s := serve(t, false, first, message(false, "", says("ok")...))
	if _, err := (&loop.Agent{Model: s.model()}).Run(t.Context(), wiretest.Ask("go")); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(s.request(1), item+`,`+other+`,`+call) {
		t.Errorf("%s", s.request(1))
	}
	o := serve(t, true, message(true, "", says("ok")...))
	blocks := []window.Block{{Kind: window.Thinking, Text: "private", Provider: "anthropic", Raw: json.RawMessage(`{"private":1}`)}, {Kind: window.Text, Text: "public"}}
	for _, m := range []loop.Model{o.model(), serve(t, false, message(false, "", says("ok")...)).model()} {
		_, err := m.Call(t.Context(), loop.Window{Messages: []window.Message{{Role: window.User, Blocks: blocks[1:]}, {Role: window.Assistant, Blocks: blocks}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if strings.Contains(o.request(0), "private") {
		t.Errorf("%s", o.request(0))
	}
}

type verdict struct {
	Why  string `json:"why" validate:"required"`
	Good bool   `json:"good"`
	Note string `json:"note,omitempty"`
}

// TestNativeStructure: the provider gets the schema, the prompt does not, and null stands for what is left out.
func TestNativeStructure(t *testing.T) {
	both(t, func(t *testing.T, chat bool) {
		s := serve(t, chat, message(chat, "", says(`{"why":"","good":true,"note":null}`)...), message(chat, "", says(`{"why":"clean","good":true,"note":null}`)...))
		node := task.Task[verdict]{ID: "v", Agent: &loop.Agent{Model: s.model()}, Prompt: func(*cairn.View) string { return "judge" }}
		result, err := node.Lower().Task.Run(t.Context(), &cairn.Call{Input: json.RawMessage(`"judge"`)})
		if err != nil || string(result.Output) != `{"why":"clean","good":true}` {
			t.Fatalf("%s, %v", result.Output, err)
		}
		const schema = `"schema":{"type":"object","additionalProperties":false,"properties":{"why":{"type":"string"},"good":{"type":"boolean"},
			"note":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["good","note","why"]}`
		var sent struct {
			Text   struct{ Format json.RawMessage }
			Format json.RawMessage `json:"response_format"`
		}
		if err := json.Unmarshal([]byte(s.request(0)), &sent); err != nil {
			t.Fatal(err)
		}
		if chat {
			wiretest.Same(t, "the format", string(sent.Format), `{"type":"json_schema","json_schema":{"name":"answer","strict":true,`+schema+`}}`)
		} else {
			wiretest.Same(t, "the format", string(sent.Text.Format), `{"type":"json_schema","name":"answer","strict":true,`+schema+`}`)
		}
		if strings.Contains(s.request(0), "output_schema") || !strings.Contains(s.request(1), "why: required") {
			t.Errorf("%s\n%s", s.request(0), s.request(1))
		}
	})
}

// TestKeys: that of the environment goes to OpenAI and nowhere else.
func TestKeys(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", secret)
	t.Setenv("OPENAI_ORG_ID", "org-secret")
	s := serve(t, true, message(true, "", says("ok")...))
	if _, err := s.model(func(c *openai.Config) { c.Key = "" }).Call(t.Context(), loop.Window{Messages: []window.Message{{Role: window.User, Blocks: []window.Block{{Kind: window.Text, Text: "x"}}}}}); err != nil {
		t.Fatal(err)
	}
	if s.keys[0] != "Bearer none" {
		t.Errorf("the key is %q", s.keys[0])
	}
	m := openai.New(openai.Config{Model: "m", Key: secret, BaseURL: "http://u:" + secret + "@h/v1?k=" + secret, Effort: "low"})
	if id := m.Info().Identity; strings.Contains(id, secret) || !strings.Contains(id, "http://h/v1") {
		t.Errorf("identity %q", id)
	}
	t.Setenv("OPENAI_API_KEY", "")
	_, err := openai.New(openai.Config{Model: "m"}).Call(t.Context(), loop.Window{})
	if f := cairn.FailureOf(err); f.Code != loop.ModelAuth || !f.Permanent {
		t.Errorf("%v", err)
	}
}
