package openai_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/openai/openai-go/v3/option"

	"github.com/cairnrun/cairn/task/agent/openai"
)

// secret is the key that must not be seen anywhere.
const secret = "sk-proj-canary-5f1c0ffee"

type answer func(w http.ResponseWriter, r *http.Request)

// server speaks one of the APIs: the n-th request gets the n-th answer, the last one again.
type server struct {
	*httptest.Server
	chat   bool
	mu     sync.Mutex // guards the rest
	bodies []string
	keys   []string
}

func serve(t *testing.T, chat bool, answers ...answer) *server {
	s := &server{chat: chat}
	path := map[bool]string{false: "/v1/responses", true: "/v1/chat/completions"}[chat]
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client gave up while it sent
		}
		s.mu.Lock()
		s.bodies, s.keys = append(s.bodies, string(body)), append(s.keys, r.Header.Get("Authorization"))
		n := min(len(s.bodies), len(answers))
		s.mu.Unlock()
		if r.URL.Path != path || !json.Valid(body) {
			t.Errorf("%s with %s", r.URL.Path, body)
		}
		answers[n-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) model(change ...func(*openai.Config)) *openai.Model {
	cfg := openai.Config{Model: "gpt-6-sol", Key: secret, BaseURL: s.URL + "/v1", Chat: s.chat, Options: []option.RequestOption{option.WithHTTPClient(s.Client())}}
	for _, c := range change {
		c(&cfg)
	}
	return openai.New(cfg)
}

func (s *server) request(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[n]
}

// stream sends events as the APIs do.
func stream(chat bool, events ...string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("X-Request-Id", "req_1")
		for _, data := range events {
			var head struct{ Type string }
			_ = json.Unmarshal([]byte(data), &head)
			if !chat {
				fmt.Fprintf(w, "event: %s\n", head.Type)
			}
			fmt.Fprintf(w, "data: %s\n\n", data)
			w.(http.Flusher).Flush()
		}
	}
}

// part is text, or a call of a tool.
type part struct{ text, id, name, arguments, refusal string }

func says(text string) []part { return []part{{text: text}} }

// message is a whole answer in either dialect, in small pieces. stop is "", "length" or "filter".
func message(chat bool, stop string, parts ...part) answer {
	events, last := opening(chat, parts...)
	if chat {
		reason := map[string]string{"": "stop", "length": "length", "filter": "content_filter"}[stop]
		return stream(true, append(events, fmt.Sprintf(`{"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-6-sol","choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason),
			`{"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-6-sol","choices":[],"usage":{"prompt_tokens":2307,"completion_tokens":42,"total_tokens":2349,"prompt_tokens_details":{"cached_tokens":2000,"cache_write_tokens":300}}}`,
			"[DONE]")...)
	}
	status, details := "completed", "null"
	switch stop {
	case "length":
		status, details = "incomplete", `{"reason":"max_output_tokens"}`
	case "filter":
		status, details = "incomplete", `{"reason":"content_filter"}`
	}
	return stream(false, append(events, `{"type":"response.`+status+`","sequence_number":9,"response":{"id":"resp_1","object":"response","created_at":1,"model":"gpt-6-sol","status":"`+status+
		`","incomplete_details":`+details+`,"output":[`+strings.Join(last, ",")+`],"usage":{"input_tokens":2307,"output_tokens":42,"total_tokens":2349,"input_tokens_details":{"cached_tokens":2000,"cache_write_tokens":300,"cache_write_tokens_details":{"ttl_12h_tokens":200,"ttl_30m_tokens":100}},"output_tokens_details":{"reasoning_tokens":5}}}}`)...)
}

// opening is all but the end of an answer, and its items.
func opening(chat bool, parts ...part) (events, items []string) {
	quote := func(s string) string { raw, _ := json.Marshal(s); return string(raw) }
	if chat {
		chunk := func(delta string) string {
			return `{"id":"c","object":"chat.completion.chunk","created":1,"model":"gpt-6-sol","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
		}
		events = append(events, chunk(`{"role":"assistant","content":""}`))
		calls := 0
		for _, p := range parts {
			switch {
			case p.name != "":
				half := len(p.arguments) / 2
				events = append(events, chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":%q,"arguments":""}}]}`, calls, p.id, p.name)),
					chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, calls, quote(p.arguments[:half]))),
					chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"function":{"arguments":%s}}]}`, calls, quote(p.arguments[half:]))))
				calls++
			case p.refusal != "":
				events = append(events, chunk(`{"refusal":`+quote(p.refusal)+`}`))
			default:
				half := len(p.text) / 2
				events = append(events, chunk(`{"content":`+quote(p.text[:half])+`}`), chunk(`{"content":`+quote(p.text[half:])+`}`))
			}
		}
		return events, nil
	}
	events = append(events, `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[]}}`)
	for i, p := range parts {
		var item string
		switch {
		case p.name != "":
			item = fmt.Sprintf(`{"id":"fc_%d","type":"function_call","status":"completed","call_id":%q,"name":%q,"arguments":%s}`, i, p.id, p.name, quote(p.arguments))
			events = append(events, fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":{"id":"fc_%d","type":"function_call","status":"in_progress","call_id":%q,"name":%q,"arguments":""}}`, i, i, p.id, p.name),
				fmt.Sprintf(`{"type":"response.function_call_arguments.delta","output_index":%d,"item_id":"fc_%d","delta":%s}`, i, i, quote(p.arguments)))
		case p.refusal != "":
			item = fmt.Sprintf(`{"id":"msg_%d","type":"message","status":"completed","role":"assistant","content":[{"type":"refusal","refusal":%s}]}`, i, quote(p.refusal))
		default:
			item = fmt.Sprintf(`{"id":"msg_%d","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":%s}]}`, i, quote(p.text))
			half := len(p.text) / 2
			for _, d := range []string{p.text[:half], p.text[half:]} {
				events = append(events, fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"content_index":0,"item_id":"msg_%d","delta":%s}`, i, i, quote(d)))
			}
		}
		items = append(items, item)
		events = append(events, fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, i, item))
	}
	return events, items
}

// refuse answers with an error, which names the key.
func refuse(status int, code string, headers ...string) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%q,"type":"some_error","param":null,"message":"no good with %s"}}`, code, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
}
