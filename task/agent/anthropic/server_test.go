package anthropic_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2/option"

	"github.com/cairnrun/cairn/task/agent/anthropic"
)

// secret is the key that must not be seen anywhere.
const secret = "sk-ant-canary-5f1c0ffee"

// server speaks the Messages API: the n-th request gets the n-th answer, the last one again.
type server struct {
	*httptest.Server
	mu     sync.Mutex // guards the rest
	bodies []string
	keys   []string
	betas  []string
}

type answer func(w http.ResponseWriter, r *http.Request)

func serve(t *testing.T, answers ...answer) *server {
	s := &server{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client gave up while it sent
		}
		s.mu.Lock()
		s.bodies, s.keys = append(s.bodies, string(body)), append(s.keys, r.Header.Get("Authorization"))
		s.betas = append(s.betas, strings.Join(r.Header.Values("Anthropic-Beta"), ","))
		n := min(len(s.bodies), len(answers))
		s.mu.Unlock()
		if r.URL.Path != "/v1/messages" || !json.Valid(body) {
			t.Errorf("%s with %s", r.URL.Path, body)
		}
		answers[n-1](w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) model(change ...func(*anthropic.Config)) *anthropic.Model {
	cfg := anthropic.Config{Model: "claude-opus-4-8", Key: secret, BaseURL: s.URL, Options: []option.RequestOption{option.WithHTTPClient(s.Client())}}
	for _, c := range change {
		c(&cfg)
	}
	return anthropic.New(cfg)
}

// request is the n-th body.
func (s *server) request(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bodies[n]
}

// stream sends events as the API does, each as type and data.
func stream(events ...string) answer {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		w.Header().Set("Request-Id", "req_1")
		for _, data := range events {
			var head struct{ Type string }
			_ = json.Unmarshal([]byte(data), &head)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", head.Type, data)
			w.(http.Flusher).Flush()
		}
	}
}

// start opens a message that has read so much.
const start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"stop_reason":null,"stop_sequence":null,` +
	`"usage":{"input_tokens":7,"cache_creation_input_tokens":300,"cache_read_input_tokens":2000,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":1}}}`

// end closes it.
func end(reason string) []string {
	return []string{
		`{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":42}}`,
		`{"type":"message_stop"}`,
	}
}

func textBlock(i int, deltas ...string) (events []string) {
	events = append(events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"text","text":""}}`, i))
	for _, d := range deltas {
		raw, _ := json.Marshal(d)
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"text_delta","text":%s}}`, i, raw))
	}
	return append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

func toolBlock(i int, id, name string, parts ...string) (events []string) {
	events = append(events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%q,"name":%q,"input":{}}}`, i, id, name))
	for _, p := range parts {
		raw, _ := json.Marshal(p)
		events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`, i, raw))
	}
	return append(events, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
}

func thinkingBlock(i int) []string {
	return []string{
		fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{"type":"thinking","thinking":"","signature":""}}`, i),
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"thinking_delta","thinking":"hm <"}}`, i),
		fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":"signature_delta","signature":"c2ln+/=="}}`, i),
		fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i),
	}
}

func message(reason string, blocks ...[]string) answer {
	events := []string{start, `{"type":"ping"}`}
	for _, b := range blocks {
		events = append(events, b...)
	}
	return stream(append(events, end(reason)...)...)
}

func says(text ...string) answer { return message("end_turn", textBlock(0, text...)) }

// refuse answers with an error, which names the key as some servers do.
func refuse(status int, kind string, headers ...string) answer {
	return func(w http.ResponseWriter, r *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		kind, message, _ := strings.Cut(kind, ": ")
		fmt.Fprintf(w, `{"type":"error","error":{"type":%q,"message":"%s with %s"},"request_id":"req_9"}`, kind, cmp.Or(message, "no good"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
}
