package loop_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2/option"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/internal/wiretest"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/openai"
)

// wire is a provider that answers the n-th request with the n-th list of events; with an overload where that is empty.
func wire(t *testing.T, answers ...[]string) (server *httptest.Server, requests *[]string) {
	requests = new([]string)
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || len(*requests) == len(answers) {
			t.Errorf("%v, or one request too many: %s", err, body)
			w.WriteHeader(http.StatusTeapot)
			return
		}
		events := answers[len(*requests)]
		*requests = append(*requests, string(body))
		if len(events) == 0 {
			w.WriteHeader(529)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range events {
			var head struct{ Type string }
			_ = json.Unmarshal([]byte(data), &head)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", head.Type, data)
		}
	}))
	t.Cleanup(server.Close)
	return server, requests
}

// anthropicTurn and openaiTurn are whole answers: blocks or items as they are in the end.
func anthropicTurn(stop string, blocks ...string) []string {
	events := []string{`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"usage":{"input_tokens":10,"output_tokens":1}}}`}
	for i, b := range blocks {
		events = append(events, fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, i, b), fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, i))
	}
	return append(events, `{"type":"message_delta","delta":{"stop_reason":"`+stop+`"},"usage":{"output_tokens":2}}`, `{"type":"message_stop"}`)
}

func openaiTurn(items ...string) []string {
	return []string{`{"type":"response.completed","response":{"id":"r","status":"completed","model":"gpt-6-sol","output":[` + strings.Join(items, ",") + `],"usage":{"input_tokens":20,"output_tokens":4}}}`}
}

// TestAFallbackOverTwoProviders: the conversation goes on at the other provider, in its words, and back. What only one of them
// understands goes to that one alone, as it came; marks are for the one that takes them; each is paid at its own price.
func TestAFallbackOverTwoProviders(t *testing.T) {
	const (
		thinking  = `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
		compacted = `{"type":"future_block","secret":1}`
		reasoning = `{"id":"rs_1","type":"reasoning","summary":[],"encrypted_content":"eHg9"}`
		call      = `{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"weather","arguments":"{\"city\": \"Oslo\"}"}`
	)
	one, toOne := wire(t, anthropicTurn("tool_use", thinking, compacted, `{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Rome"}}`),
		nil, anthropicTurn("tool_use", `{"type":"tool_use","id":"toolu_2","name":"weather","input":{"city":"Bonn"}}`), nil)
	two, toTwo := wire(t, openaiTurn(reasoning, call),
		openaiTurn(`{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"sunny","annotations":[]}]}`))
	f := &loop.Fallback{Models: []loop.Model{
		anthropic.New(anthropic.Config{Model: "claude-opus-4-8", Key: "k", BaseURL: one.URL, Options: []option.RequestOption{option.WithHTTPClient(one.Client())}}),
		openai.New(openai.Config{Model: "gpt-6-sol", Key: "k", BaseURL: two.URL + "/v1", Options: []openaioption.RequestOption{openaioption.WithHTTPClient(two.Client())}}),
	}}
	a := &loop.Agent{Model: f, System: "Be brief."}
	var d desk
	d.tools = wiretest.Ask("").Tools
	out, err := d.try(t.Context(), t, textTask(a))
	if err != nil || out != `"sunny"` || len(*toOne) != 4 || len(*toTwo) != 2 {
		t.Fatalf("%s, %v, %d and %d requests", out, err, len(*toOne), len(*toTwo))
	}
	var first, last struct{ Input, Messages json.RawMessage }
	for i, raw := range []string{(*toTwo)[0], (*toTwo)[1]} {
		if err := json.Unmarshal([]byte(raw), []any{&first, &last}[i]); err != nil {
			t.Fatal(err)
		}
	}
	const begun = `[{"role":"user","content":"do it"},{"type":"function_call","call_id":"toolu_1","name":"weather","arguments":"{\"city\":\"Rome\"}"},
		{"type":"function_call_output","call_id":"toolu_1","output":"sunny in Rome"}`
	wiretest.Same(t, "what the second provider is told first", string(first.Input), begun+`]`)
	wiretest.Same(t, "what it is told at last", string(last.Input), begun+`,`+reasoning+`,`+call+`,{"type":"function_call_output","call_id":"call_1","output":"sunny in Oslo"},
		{"type":"function_call","call_id":"toolu_2","name":"weather","arguments":"{\"city\":\"Bonn\"}"},{"type":"function_call_output","call_id":"toolu_2","output":"sunny in Bonn"}]`)
	if err := json.Unmarshal([]byte((*toOne)[2]), &first); err != nil {
		t.Fatal(err)
	}
	const mark = `,"cache_control":{"type":"ephemeral"}`
	wiretest.Same(t, "what the first is told again", string(first.Messages), `[{"role":"user","content":[{"type":"text","text":"do it"}]},
		{"role":"assistant","content":[`+thinking+`,`+compacted+`,{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Rome"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"sunny in Rome"}]`+mark+`}]},
		{"role":"assistant","content":[{"type":"tool_use","id":"call_1","name":"weather","input":{"city":"Oslo"}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_1","content":[{"type":"text","text":"sunny in Oslo"}]`+mark+`}]}]`)
	for _, body := range *toTwo {
		if strings.Contains(body, "cache_control") {
			t.Errorf("marks for a provider that has none: %s", body)
		}
	}
	used := map[string]int64{}
	for _, u := range d.purse.spent {
		used[u.Model] += u.Output
	}
	if used["claude-opus-4-8"] != 4 || used["gpt-6-sol"] != 8 || len(used) != 2 {
		t.Errorf("used %v", used)
	}
}
