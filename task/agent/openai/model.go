package openai

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/internal/credential"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Config says which model is asked, and how. Only Model is required.
type Config struct {
	// Model is the model's name.
	Model string
	// Key is the API key. Defaults to the environment variable OPENAI_API_KEY where no BaseURL is set.
	Key string
	// BaseURL is where the API is, up to and with its version: "http://localhost:8000/v1/". Defaults to OpenAI's own.
	BaseURL string
	// Chat speaks Chat Completions rather than Responses.
	Chat bool
	// Provider names who runs the server, for limits and circuit breakers. Defaults to "openai".
	Provider string
	// MaxTokens bounds an answer, reasoning included, where the agent doesn't. 0 leaves it to the server.
	MaxTokens int
	// Effort is how much the model reasons: minimal, low, medium, high and so on. Empty leaves it to the model.
	Effort string
	// NoStructure spells a schema out in the prompt instead of having the server hold the answer to it.
	NoStructure bool
	// Window is how many tokens a call may have. Defaults to what the model is known for; 0 is unknown.
	Window int
	// Mask says whether the server knows tool_choice's allowed_tools. Defaults to true for Responses, where it is part of the
	// API, and to false with Chat, where few servers have it.
	Mask *bool
	// Compact is at how many tokens the server sums up the conversation (context_management). 0 is never; Chat has none.
	Compact int
	// CacheKey groups calls with a common prefix for the prompt cache. Defaults to a digest of model, instructions and tools,
	// which all conversations of an agent have in common; other servers than OpenAI's are sent none.
	CacheKey string
	// CacheApart makes the default of CacheKey another for each conversation: for agents with many at a time, as a key with more
	// than some 15 calls a minute is spread over several caches.
	CacheApart bool
	// CacheLong keeps every cached prefix for longer, 12 or 24 hours, where the model can have that. Without it a mark of the
	// window that is Long does.
	CacheLong bool
	// Timeout is the longest a call may take. 0 is no limit beyond that of the attempt.
	Timeout time.Duration
	// Options are the SDK's. They come last. What they depend on is no part of the identity: name it in Variant, if answers
	// depend on it.
	Options []option.RequestOption
	// Variant is a further part of the identity, and no secret.
	Variant string
}

// provider is the default of Config.Provider.
const provider = "openai"

// Model asks one model. It is safe for concurrent use.
type Model struct {
	cfg       Config
	responses responses.ResponseService
	chat      openai.ChatService
}

// New makes a Model. It asks nobody: what is wrong with the configuration is an error of the first call.
func New(cfg Config) *Model {
	opts := []option.RequestOption{option.WithEnvironmentProduction(), option.WithMaxRetries(0)} // the loop and the engine retry
	switch {
	case cfg.BaseURL != "":
		opts = append(opts, option.WithBaseURL(cfg.BaseURL))
	case cfg.Key == "":
		cfg.Key = os.Getenv("OPENAI_API_KEY")
	}
	switch {
	case cfg.Key != "":
		opts = append(opts, option.WithAPIKey(cfg.Key))
	case cfg.BaseURL != "":
		opts = append(opts, option.WithAPIKey("none")) // a server of one's own, which asks for none
	}
	if cfg.Provider == "" {
		cfg.Provider = provider
	}
	opts = append(opts, cfg.Options...)
	return &Model{cfg, responses.NewResponseService(opts...), openai.NewChatService(opts...)}
}

// Info describes the model.
func (m *Model) Info() loop.Info {
	raw, err := schema.Encode(struct {
		BaseURL     string
		Chat        bool
		MaxTokens   int
		Effort      string
		NoStructure bool
		Variant     string
		Compact     int `json:",omitempty"`
	}{place(m.cfg.BaseURL), m.cfg.Chat, m.cfg.MaxTokens, m.cfg.Effort, m.cfg.NoStructure, m.cfg.Variant, m.cfg.Compact})
	if err != nil { // of text and numbers: it can't fail
		panic(err)
	}
	return loop.Info{Provider: m.cfg.Provider, Models: []string{m.cfg.Model}, Identity: m.cfg.Provider + " " + m.cfg.Model + " " + string(raw),
		Window: cmp.Or(m.cfg.Window, traitOf(m.cfg.Model).window), Cache: m.rules(), Reduces: m.cfg.Compact > 0}
}

// strictness is what structured outputs take.
var strictness = loop.Strictness{AllRequired: true, Keywords: []string{"pattern", "format", "minimum", "maximum", "exclusiveMinimum",
	"exclusiveMaximum", "multipleOf", "minItems", "maxItems"}}

// Structures says whether the schema can be expressed as a strict one.
func (m *Model) Structures(schema json.RawMessage) bool {
	_, ok := strictness.Convert(schema)
	return ok && !m.cfg.NoStructure
}

// reader puts a turn together from a stream.
type reader interface {
	// turn is what has come. It is an error if that is not all.
	turn() (loop.Turn, error)
}

// Call makes one streamed request.
func (m *Model) Call(ctx context.Context, w loop.Window) (loop.Turn, error) {
	if m.cfg.Model == "" || m.cfg.Key == "" && m.cfg.BaseURL == "" && len(m.cfg.Options) == 0 {
		return loop.Turn{}, &cairn.Failure{Code: loop.ModelAuth, Permanent: true, Message: "openai: Model and Key are needed; the key may be in OPENAI_API_KEY"}
	}
	if m.cfg.Chat && m.cfg.Compact > 0 {
		return loop.Turn{}, &cairn.Failure{Code: loop.ModelRequest, Permanent: true,
			Message: m.cfg.Provider + ": Chat Completions has no compaction: leave Config.Compact out, and have the agent reduce its windows by itself"}
	}
	if m.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.cfg.Timeout)
		defer cancel()
	}
	if w.Observe == nil {
		w.Observe = func(loop.Event) {}
	}
	var response *http.Response
	r, err := m.stream(ctx, w, option.WithResponseInto(&response))
	turn, unfinished := r.turn()
	for i := range turn.Usage {
		if turn.Usage[i].Model == "" {
			turn.Usage[i].Model = m.cfg.Model
		}
	}
	secrets := append(credential.Of(response), m.cfg.Key)
	if response != nil {
		turn.Request = loop.Redact(response.Header.Get("X-Request-Id"), secrets...)
	}
	switch {
	case err != nil:
		return loop.Turn{Usage: turn.Usage, Request: turn.Request}, m.failure(ctx, err, secrets)
	case unfinished != nil:
		return loop.Turn{Usage: turn.Usage, Request: turn.Request}, m.failure(ctx, unfinished, secrets)
	}
	return turn, nil
}

func (m *Model) stream(ctx context.Context, w loop.Window, opt option.RequestOption) (reader, error) {
	if m.cfg.Chat {
		r := &chatReader{observe: w.Observe, provider: m.cfg.Provider}
		stream := m.chat.Completions.NewStreaming(ctx, m.chatRequest(w), opt)
		defer stream.Close()
		for stream.Next() {
			r.read(stream.Current())
		}
		return r, stream.Err()
	}
	r := &responseReader{observe: w.Observe, provider: m.cfg.Provider}
	stream := m.responses.NewStreaming(ctx, m.request(w), opt)
	defer stream.Close()
	for stream.Next() {
		r.read(stream.Current())
	}
	return r, stream.Err()
}

// maxTokens is the bound on an answer, 0 if there is none.
func (m *Model) maxTokens(w loop.Window) int64 {
	if w.MaxTokens > 0 {
		return int64(w.MaxTokens)
	}
	return int64(m.cfg.MaxTokens)
}

// parameters are those of a tool; one without a schema takes an object.
func parameters(t cairn.Tool) json.RawMessage {
	if len(t.Schema) == 0 {
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// toolUse is a call as the model has written it.
func toolUse(id, name, arguments string) window.Block {
	b := window.Block{Kind: window.ToolUse, ID: id, Name: name}
	switch {
	case arguments == "":
		b.Input = json.RawMessage(`{}`)
	case json.Valid([]byte(arguments)):
		b.Input = json.RawMessage(arguments)
	default:
		b.Text = arguments
	}
	return b
}

// spelled keeps the arguments of a call as the model has written them, where JSON would not: a server with a prefix cache
// compares bytes.
func spelled(b window.Block, provider, arguments string) window.Block {
	var plain bytes.Buffer
	if b.Input == nil || json.Compact(&plain, b.Input) != nil || plain.String() == arguments {
		return b
	}
	if raw, err := schema.Encode(arguments); err == nil {
		b.Provider, b.Raw = provider, raw
	}
	return b
}

// arguments are those of a call as they are sent back.
func arguments(b window.Block) string {
	var text string
	switch {
	case b.Input == nil:
		return b.Text
	case json.Unmarshal(b.Raw, &text) == nil:
		return text
	}
	return string(b.Input)
}

// result is that of a tool. There is no mark for an error, so the text says so.
func result(b window.Block) string {
	if b.Error {
		return "Error: " + b.Text
	}
	return b.Text
}

// usage takes the cached tokens off the input, of which OpenAI reports all.
func usage(model string, input, output, read, written, long int64) []cairn.Usage {
	if input == 0 && output == 0 {
		return nil
	}
	return []cairn.Usage{{Model: model, Input: max(input-read-written, 0), Output: output, CacheRead: read, CacheWrite: written, CacheWrite1h: long}}
}

var errCut = fmt.Errorf("the stream ended in the middle of an answer")
