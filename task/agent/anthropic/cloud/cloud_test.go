package cloud_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2/bedrock"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/vertex"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/internal/wiretest"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// secret is what must not be seen in errors: the key of one cloud, the token of the other.
const secret = "canary-5f1c0ffee"

// foreign is the key of Anthropic itself, which no cloud must see.
const foreign = "sk-ant-canary-c0ffee5f1"

// turns are the events of a call of a tool, and of the answer.
var turns = [][]string{
	turn("tool_use", `{"type":"tool_use","id":"toolu_1","name":"weather","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"city\":\"Rome\"}"}`),
	turn("end_turn", `{"type":"text","text":""}`, `{"type":"text_delta","text":"It is sunny."}`),
}

func turn(stop, block, delta string) []string {
	return []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"usage":{"input_tokens":7,"cache_read_input_tokens":2000,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + stop + `","stop_sequence":null},"usage":{"output_tokens":42}}`,
		`{"type":"message_stop"}`,
	}
}

// cloud answers the n-th request with the n-th turn, and every later one with an error that names the secret.
type cloud struct {
	*httptest.Server
	mu       sync.Mutex // guards the rest
	requests []request
}

type request struct {
	path, auth string
	header     http.Header
	body       []byte
}

func serve(t *testing.T, stream func(w http.ResponseWriter, events []string)) *cloud {
	c := &cloud{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || !json.Valid(body) {
			t.Errorf("%v: %s", err, body)
		}
		c.mu.Lock()
		c.requests = append(c.requests, request{r.URL.EscapedPath(), r.Header.Get("Authorization"), r.Header.Clone(), body})
		n := len(c.requests)
		c.mu.Unlock()
		if n > len(turns) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "17")
			w.WriteHeader(http.StatusTooManyRequests)
			fmt.Fprintf(w, `{"type":"error","error":{"type":"rate_limit_error","message":"slow down with %s"}}`, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
			return
		}
		stream(w, turns[n-1])
	}))
	t.Cleanup(c.Close)
	return c
}

// head is what every request has, as far as all clouds are alike.
const head = `"anthropic_version":"2026-10-21","max_tokens":32000,%s
	"context_management":{"edits":[{"type":"compact_20260112","trigger":{"type":"input_tokens","value":150000}}]},
	"system":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}],
	"tools":[{"name":"weather","description":"tells it","input_schema":{"properties":{"city":{"type":"string"}},"required":["city"],"type":"object"}},
		{"type":"memory_20250818","name":"memory","cache_control":{"type":"ephemeral"}}],
	"messages":[{"role":"user","content":[{"type":"text","text":"Weather?"%s}]}`

const mark = `,"cache_control":{"type":"ephemeral"}`

// converse runs a tool loop, which ends well, and a call, which does not.
func (c *cloud) converse(t *testing.T, model *anthropic.Model) {
	t.Helper()
	memory := cairn.Tool{Name: "memory", Native: map[string]string{"anthropic": "memory_20250818"},
		Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, errors.New("nobody has called")
		}}
	a := &loop.Agent{Model: model, System: "Be brief.", Retries: -1}
	resp, err := a.Run(t.Context(), wiretest.Ask("Weather?", memory))
	if err != nil || resp.Text != "It is sunny." || len(c.requests) != 2 {
		t.Fatalf("%+v, %v", resp, err)
	}
	want := cairn.Usage{Model: "claude-opus-4-8", Input: 7, Output: 42, CacheRead: 2000}
	if len(resp.Usage) != 2 || resp.Usage[0] != want || resp.Usage[1] != want {
		t.Errorf("usage %+v", resp.Usage)
	}
	_, err = a.Run(t.Context(), wiretest.Ask("and?"))
	f := cairn.FailureOf(err)
	if f == nil || f.Code != loop.RateLimited || f.RetryAfter.Seconds() != 17 {
		t.Fatalf("%+v", f)
	}
	if told := fmt.Sprintf("%+v %#v", err, f); strings.Contains(told, secret) || !strings.Contains(told, "[redacted]") || strings.Contains(told, c.URL) {
		t.Errorf("it tells too much: %v", err)
	}
	for _, r := range c.requests {
		if strings.Contains(fmt.Sprint(r.header), foreign) {
			t.Errorf("the cloud gets the key of Anthropic: %v", r.header)
		}
	}
	if id := model.Info().Identity; strings.Contains(id, secret) {
		t.Errorf("identity %s", id)
	}
}

const result = `,{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"weather","input":{"city":"Rome"}}]},
	{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"sunny in Rome"}]` + mark + `}]}`

func TestBedrock(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", foreign)
	t.Setenv("AWS_BEARER_TOKEN_BEDROCK", "")
	c := serve(t, func(w http.ResponseWriter, events []string) {
		w.Header().Set("Content-Type", "application/vnd.amazon.eventstream")
		for _, e := range events {
			w.Write(frame(t, e))
			w.(http.Flusher).Flush()
		}
	})
	keys := aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: secret}
	credentials := aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return keys, nil })
	c.converse(t, anthropic.New(anthropic.Config{Model: "us.anthropic.claude-opus-4-8-v1:0", Compact: &anthropic.Compact{}, Options: []option.RequestOption{
		bedrock.WithConfig(aws.Config{Region: "eu-central-1", Credentials: credentials}), option.WithBaseURL(c.URL), option.WithHTTPClient(c.Client())}}))
	for i, r := range c.requests {
		if r.path != "/model/us.anthropic.claude-opus-4-8-v1:0/invoke-with-response-stream" {
			t.Errorf("path %s", r.path)
		}
		if want := signed(t, c, r, keys); r.auth != want || !strings.Contains(r.auth, "/eu-central-1/bedrock/aws4_request") || r.header.Get("Anthropic-Beta") != "" {
			t.Errorf("headers %v, want the signature %s", r.header, want)
		}
		more, last := mark, "]"
		if i == 1 {
			last = result + "]"
		}
		if i < 2 {
			wiretest.Same(t, "the request", string(r.body), `{`+fmt.Sprintf(head, `"anthropic_beta":["context-management-2025-06-27","compact-2026-01-12"],`, more)+last+`}`)
		}
	}
}

// signed is how AWS would have a request signed: it does what the client has done with what arrived.
func signed(t *testing.T, c *cloud, r request, keys aws.Credentials) string {
	t.Helper()
	at, err := time.Parse("20060102T150405Z", r.header.Get("X-Amz-Date"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := http.NewRequest(http.MethodPost, c.URL+r.path, bytes.NewReader(r.body))
	if err != nil {
		t.Fatal(err)
	}
	_, names, _ := strings.Cut(r.auth, "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	for name := range strings.SplitSeq(names, ";") {
		again.Header[http.CanonicalHeaderKey(name)] = r.header.Values(name)
	}
	hash := sha256.Sum256(r.body)
	if err := v4.NewSigner().SignHTTP(t.Context(), keys, again, hex.EncodeToString(hash[:]), "bedrock", "eu-central-1", at); err != nil {
		t.Fatal(err)
	}
	return again.Header.Get("Authorization")
}

// frame is an event as Bedrock streams it: a message of its binary framing, with the event in base64.
func frame(t *testing.T, event string) []byte {
	t.Helper()
	payload := fmt.Sprintf(`{"bytes":%q,"p":"abcd"}`, base64.StdEncoding.EncodeToString([]byte(event)))
	var m eventstream.Message
	m.Headers.Set(":message-type", eventstream.StringValue("event"))
	m.Headers.Set(":event-type", eventstream.StringValue("chunk"))
	m.Headers.Set(":content-type", eventstream.StringValue("application/json"))
	m.Payload = []byte(payload)
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		t.Error(err)
	}
	return out.Bytes()
}

func TestVertex(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", foreign)
	c := serve(t, func(w http.ResponseWriter, events []string) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			var head struct{ Type string }
			_ = json.Unmarshal([]byte(e), &head)
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", head.Type, e)
			w.(http.Flusher).Flush()
		}
	})
	token := oauth2.StaticTokenSource(&oauth2.Token{AccessToken: secret})
	c.converse(t, anthropic.New(anthropic.Config{Model: "claude-opus-4-8", Compact: &anthropic.Compact{}, Options: []option.RequestOption{
		vertex.WithCredentials(t.Context(), "europe-west1", "project-x", &google.Credentials{TokenSource: token}), option.WithBaseURL(c.URL)}}))
	for i, r := range c.requests {
		if r.path != "/v1/projects/project-x/locations/europe-west1/publishers/anthropic/models/claude-opus-4-8:streamRawPredict" {
			t.Errorf("path %s", r.path)
		}
		if r.auth != "Bearer "+secret {
			t.Errorf("authorization %s", r.auth)
		}
		if i < 2 && strings.Join(r.header.Values("Anthropic-Beta"), ",") != "context-management-2025-06-27,compact-2026-01-12" {
			t.Errorf("betas %v", r.header.Values("Anthropic-Beta"))
		}
		last := "]"
		if i == 1 {
			last = result + "]"
		}
		if i < 2 {
			wiretest.Same(t, "the request", string(r.body), `{`+fmt.Sprintf(head, `"stream":true,`, mark)+last+`}`)
		}
	}
}
