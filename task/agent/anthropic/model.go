package anthropic

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
	"github.com/anthropics/anthropic-sdk-go/v2/packages/param"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// provider is who made opaque blocks, and for whom limits count.
const provider = "anthropic"

// DefaultMaxTokens bounds an answer where neither the agent nor Config says how long it may be.
const DefaultMaxTokens = 32_000

// Config says which model is asked, and how. Only Model is required.
type Config struct {
	// Model is the model's name.
	Model string
	// Key is the API key. Defaults to the environment variable ANTHROPIC_API_KEY where no BaseURL is set; with Options it may
	// be missing.
	Key string
	// BaseURL is where the API is. Defaults to Anthropic's own.
	BaseURL string
	// MaxTokens bounds an answer, thinking included, where the agent doesn't. Defaults to DefaultMaxTokens.
	MaxTokens int
	// Effort is how much the model thinks: low, medium, high, xhigh or max. Empty leaves it to the model.
	Effort string
	// Thinking turns on thinking as the model sees fit (adaptive).
	Thinking bool
	// CacheHour keeps the cached prefix for an hour rather than for 5 minutes: for conversations whose tools take long.
	CacheHour bool
	// NoStructure spells a schema out in the prompt instead of having the provider hold the answer to it.
	NoStructure bool
	// Timeout is the longest a call may take. 0 is no limit beyond that of the attempt.
	Timeout time.Duration
	// Options are the SDK's, for other ways to the model. They come last. What they depend on is no part of the identity:
	// name it in Variant, if answers depend on it.
	Options []option.RequestOption
	// Variant is a further part of the identity, and no secret.
	Variant string
}

// Model asks one of Anthropic's models. It is safe for concurrent use.
type Model struct {
	cfg    Config
	client anthropic.Client
}

// New makes a Model. It asks nobody: what is wrong with the configuration is an error of the first call.
func New(cfg Config) *Model {
	if cfg.Key == "" && cfg.BaseURL == "" {
		cfg.Key = os.Getenv("ANTHROPIC_API_KEY")
	}
	opts := []option.RequestOption{option.WithoutEnvironmentDefaults(), option.WithMaxRetries(0)} // the loop and the engine retry
	if cfg.Key != "" {
		opts = append(opts, option.WithAPIKey(cfg.Key))
	}
	if cfg.BaseURL != "" {
		opts = append(opts, option.WithBaseURL(cfg.BaseURL))
	}
	return &Model{cfg, anthropic.NewClient(append(opts, cfg.Options...)...)}
}

// Info describes the model.
func (m *Model) Info() loop.Info {
	raw, err := schema.Encode(struct {
		MaxTokens   int
		Effort      string
		Thinking    bool
		NoStructure bool
		Variant     string
	}{m.cfg.MaxTokens, m.cfg.Effort, m.cfg.Thinking, m.cfg.NoStructure, m.cfg.Variant})
	if err != nil { // of text and numbers: it can't fail
		panic(err)
	}
	return loop.Info{Provider: provider, Models: []string{m.cfg.Model}, Identity: provider + " " + m.cfg.Model + " " + string(raw)}
}

// strictness is what structured outputs take.
var strictness = loop.Strictness{}

// Structures says whether the schema can be expressed as the provider wants it.
func (m *Model) Structures(schema json.RawMessage) bool {
	_, ok := strictness.Convert(schema)
	return ok && !m.cfg.NoStructure
}

// Call makes one streamed request.
func (m *Model) Call(ctx context.Context, w loop.Window) (loop.Turn, error) {
	if m.cfg.Model == "" || m.cfg.Key == "" && len(m.cfg.Options) == 0 {
		return loop.Turn{}, &cairn.Failure{Code: loop.ModelAuth, Permanent: true, Message: "anthropic: Model and Key are needed; the key may be in ANTHROPIC_API_KEY"}
	}
	if m.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.cfg.Timeout)
		defer cancel()
	}
	var response *http.Response
	stream := m.client.Messages.NewStreaming(ctx, m.request(w), option.WithResponseInto(&response))
	defer stream.Close()
	r := reader{observe: w.Observe, inputs: map[int64][]byte{}}
	for stream.Next() {
		if err := r.read(stream.Current()); err != nil {
			return r.unfinished(m.cfg.Model), loop.Broken(provider, err, m.cfg.Key)
		}
	}
	if response != nil {
		r.request = response.Header.Get("Request-Id")
	}
	if err := stream.Err(); err != nil {
		return r.unfinished(m.cfg.Model), m.failure(ctx, err)
	}
	if !r.stopped {
		return r.unfinished(m.cfg.Model), loop.Broken(provider, fmt.Errorf("the stream ended in the middle of an answer"))
	}
	return r.turn(m.cfg.Model), nil
}

// request is the Messages request of a window.
func (m *Model) request(w loop.Window) anthropic.MessageNewParams {
	p := anthropic.MessageNewParams{Model: m.cfg.Model, MaxTokens: DefaultMaxTokens}
	for _, n := range []int{m.cfg.MaxTokens, w.MaxTokens} {
		if n > 0 {
			p.MaxTokens = int64(n)
		}
	}
	if m.cfg.Thinking {
		p.Thinking = anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{}}
	}
	p.OutputConfig.Effort = anthropic.OutputConfigEffort(m.cfg.Effort)
	if converted, ok := strictness.Convert(w.Schema); ok && w.Schema != nil {
		p.OutputConfig.Format = param.Override[anthropic.JSONOutputFormatParam](json.RawMessage(`{"type":"json_schema","schema":` + string(converted) + `}`))
	}
	for i, t := range w.Tools {
		tool := anthropic.ToolParam{Name: t.Name, InputSchema: param.Override[anthropic.ToolInputSchemaParam](inputSchema(t.Schema))}
		if t.Description != "" {
			tool.Description = param.NewOpt(t.Description)
		}
		if i == len(w.Tools)-1 {
			tool.CacheControl = m.breakpoint()
		}
		p.Tools = append(p.Tools, anthropic.ToolUnionParam{OfTool: &tool})
	}
	if w.System != "" {
		p.System = []anthropic.TextBlockParam{{Text: w.System, CacheControl: m.breakpoint()}}
	}
	p.Messages = m.messages(w.Messages)
	return p
}

// inputSchema is that of a tool; one without takes an object.
func inputSchema(s json.RawMessage) json.RawMessage {
	if len(s) == 0 {
		return json.RawMessage(`{"type":"object"}`)
	}
	return s
}

func (m *Model) breakpoint() anthropic.CacheControlEphemeralParam {
	c := anthropic.NewCacheControlEphemeralParam()
	if m.cfg.CacheHour {
		c.TTL = anthropic.CacheControlEphemeralTTLTTL1h
	}
	return c
}
