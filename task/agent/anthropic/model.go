package anthropic

import (
	"cmp"
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
	"github.com/cairnrun/cairn/task/agent/internal/credential"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
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
	// Window is how many tokens a call may have. Defaults to what the model is known for, or to 200,000.
	Window int
	// CacheHour keeps every cached prefix for an hour rather than for 5 minutes: for conversations whose tools take long.
	// Without it the marks of a window say so for themselves.
	CacheHour bool
	// Clear and Compact have the provider reduce long windows; nil leaves them as they are.
	Clear   *Clear
	Compact *Compact // see Clear
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
	edits  []anthropic.BetaContextManagementConfigEditUnionParam
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
	return &Model{cfg, anthropic.NewClient(append(opts, cfg.Options...)...), edits(cfg)}
}

// Info describes the model.
func (m *Model) Info() loop.Info {
	raw, err := schema.Encode(struct {
		MaxTokens   int
		Effort      string
		Thinking    bool
		NoStructure bool
		Variant     string
		Edits       []anthropic.BetaContextManagementConfigEditUnionParam `json:",omitempty"`
	}{m.cfg.MaxTokens, m.cfg.Effort, m.cfg.Thinking, m.cfg.NoStructure, m.cfg.Variant, m.edits})
	if err != nil { // of text and numbers: it can't fail
		panic(err)
	}
	return loop.Info{Provider: provider, Models: []string{m.cfg.Model}, Identity: provider + " " + m.cfg.Model + " " + string(raw),
		Window: cmp.Or(m.cfg.Window, traitOf(m.cfg.Model).window), Cache: m.rules(), Reduces: len(m.edits) > 0}
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
	request, err := m.request(w)
	if err != nil {
		return loop.Turn{}, err
	}
	if m.cfg.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, m.cfg.Timeout)
		defer cancel()
	}
	var response *http.Response
	opts := []option.RequestOption{option.WithResponseInto(&response)}
	for _, name := range betas(m.cfg, w.Tools) {
		opts = append(opts, option.WithHeaderAdd("anthropic-beta", name))
	}
	stream := m.client.Messages.NewStreaming(ctx, request, opts...)
	defer stream.Close()
	r := reader{observe: w.Observe, inputs: map[int64][]byte{}, summaries: map[int64]json.RawMessage{}}
	secrets := func() []string { return append(credential.Of(response), m.cfg.Key) }
	for stream.Next() {
		if err := r.read(stream.Current()); err != nil {
			return r.unfinished(m.cfg.Model), loop.Broken(provider, err, secrets()...)
		}
	}
	if response != nil {
		r.request = loop.Redact(response.Header.Get("Request-Id"), secrets()...)
	}
	if err := stream.Err(); err != nil {
		return r.unfinished(m.cfg.Model), m.failure(ctx, err, secrets())
	}
	if !r.stopped {
		return r.unfinished(m.cfg.Model), loop.Broken(provider, fmt.Errorf("the stream ended in the middle of an answer"))
	}
	return r.turn(m.cfg.Model), nil
}

// request is the Messages request of a window. Betas are fields of the same request, which the SDK would have in another type
// with other types of all blocks.
func (m *Model) request(w loop.Window) (anthropic.MessageNewParams, error) {
	p := anthropic.MessageNewParams{Model: m.cfg.Model, MaxTokens: DefaultMaxTokens}
	for _, n := range []int{m.cfg.MaxTokens, w.MaxTokens} {
		if n > 0 {
			p.MaxTokens = int64(n)
		}
	}
	if m.cfg.Compact != nil && !traitOf(m.cfg.Model).compacts {
		return p, wrong("%s has no compaction: leave Config.Compact out, and have the agent reduce its windows by itself", m.cfg.Model)
	}
	if m.cfg.Thinking {
		p.Thinking = anthropic.ThinkingConfigParamUnion{OfAdaptive: &anthropic.ThinkingConfigAdaptiveParam{}}
	}
	p.OutputConfig.Effort = anthropic.OutputConfigEffort(m.cfg.Effort)
	if converted, ok := strictness.Convert(w.Schema); ok && w.Schema != nil {
		p.OutputConfig.Format = param.Override[anthropic.JSONOutputFormatParam](json.RawMessage(`{"type":"json_schema","schema":` + string(converted) + `}`))
	}
	if len(m.edits) > 0 {
		p.SetExtraFields(map[string]any{"context_management": anthropic.BetaContextManagementConfigParam{Edits: m.edits}})
	}
	at, err := m.marks(w)
	if err != nil {
		return p, err
	}
	long, marked := at[place{message: window.OfTools}]
	if p.Tools, err = tools(w.Tools, marked, long); err != nil {
		return p, err
	}
	if w.System != "" {
		text := anthropic.TextBlockParam{Text: w.System}
		if long, marked := at[place{message: window.OfSystem}]; marked {
			text.CacheControl = breakpoint(long)
		}
		p.System = []anthropic.TextBlockParam{text}
	}
	p.Messages = messages(w.Messages, at)
	return p, nil
}
