package command

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// Claude is Claude Code: claude -p with streamed JSON. What it may do without being asked is for Config.Args to say, such as
// --permission-mode=acceptEdits or --allowedTools=Edit,Bash(go:*); tools that are served to it it may use. It sees no other
// MCP servers than the served one.
func Claude(c Config) *Agent { return New(ClaudeTemplate(), c) }

// ClaudeTemplate is how Claude Code is talked to.
func ClaudeTemplate() Template {
	args := []string{"-p", "--output-format=stream-json", "--verbose", "--model={model}", "--append-system-prompt={system}", "--json-schema={schema}",
		"--strict-mcp-config", "{mcp}", "{args}", "--resume={session}"}
	return Template{
		Name: "claude", Program: "claude", Args: args, Stdin: true, Schema: object,
		Format: func(Config) Format { return ClaudeStream },
		MCP: &MCP{
			Args:   []string{"--mcp-config={mcp_config}", "--allowedTools={mcp_tools}"},
			Config: `{"mcpServers":{"cairn":{"type":"http","url":"{mcp_url}","headers":{"Authorization":"Bearer {mcp_token}"}}}}`,
			Tool:   "mcp__cairn__{tool}",
		},
	}
}

// object takes schemas whose root is an object.
func object(schema json.RawMessage) (json.RawMessage, bool) {
	var root struct {
		Type any `json:"type"`
	}
	return schema, json.Unmarshal(schema, &root) == nil && root.Type == "object"
}

// ClaudeStream is the format of claude --output-format=stream-json. Usage is told with each message. What a message did not
// know yet, and what other models have used, comes with the result.
func ClaudeStream(before Totals) Reader {
	return &claude{before: before, messages: map[string]cairn.Usage{}, told: Totals{}}
}

type claude struct {
	before Totals
	// model is the one of the main conversation.
	model string
	// messages is what was told of each, main what of those of the main conversation in all, told what by model.
	messages map[string]cairn.Usage
	main     cairn.Usage
	told     Totals
	// problem is the kind of the last error that a message told, resets when a limit that was met ends.
	problem string
	resets  time.Time
}

// claudeLine has what is read of all kinds of lines.
type claudeLine struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"session_id"`
	Model   string `json:"model"`
	// Parent is the call of a tool that the message is part of.
	Parent  string          `json:"parent_tool_use_id"`
	Error   json.RawMessage `json:"error"`
	Message struct {
		ID      string          `json:"id"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   claudeUsage     `json:"usage"`
	} `json:"message"`
	IsError   bool                        `json:"is_error"`
	Status    int                         `json:"api_error_status"`
	Result    json.RawMessage             `json:"result"`
	Output    json.RawMessage             `json:"structured_output"`
	Errors    []string                    `json:"errors"`
	Usage     claudeUsage                 `json:"usage"`
	Models    map[string]claudeModelUsage `json:"modelUsage"`
	RateLimit struct {
		Status string  `json:"status"`
		Resets float64 `json:"resetsAt"`
	} `json:"rate_limit_info"`
}

type claudeUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
	Creation   struct {
		Hour int64 `json:"ephemeral_1h_input_tokens"`
	} `json:"cache_creation"`
}

func (u claudeUsage) of(model string) cairn.Usage {
	return cairn.Usage{Model: model, Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, CacheWrite1h: u.Creation.Hour}
}

type claudeModelUsage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadInputTokens"`
	CacheWrite int64 `json:"cacheCreationInputTokens"`
}

type claudeBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Thinking string `json:"thinking"`
	Name     string `json:"name"`
}

var errNoLine = errors.New("it is no JSON object with a type")

// Line reads one event.
func (c *claude) Line(line []byte) (Event, error) {
	var in claudeLine
	if err := json.Unmarshal(line, &in); err != nil {
		return Event{}, err
	}
	if in.Type == "" {
		return Event{}, errNoLine
	}
	ev := Event{Session: in.Session}
	switch in.Type {
	case "system":
		if in.Subtype == "init" && in.Model != "" {
			c.model = plain(in.Model)
		}
		ev.Compacted = in.Subtype == "compact_boundary"
	case "assistant":
		c.message(&in, &ev)
	case "user":
		ev.Calling = bytes.Contains(in.Message.Content, []byte(`"tool_result"`))
	case "rate_limit_event":
		if in.RateLimit.Resets > 0 {
			c.resets = time.Unix(int64(in.RateLimit.Resets), 0)
		}
	case "result":
		c.result(&in, &ev)
	}
	return ev, nil
}

// End has nothing to add.
func (c *claude) End() Event { return Event{} }

// plain is a model's name without how large its window is.
func plain(model string) string {
	name, _, _ := strings.Cut(model, "[")
	return name
}

func (c *claude) message(in *claudeLine, ev *Event) {
	var blocks []claudeBlock
	_ = json.Unmarshal(in.Message.Content, &blocks) // of another form it has nothing for us
	for _, b := range blocks {
		switch b.Type {
		case "text":
			ev.Said += b.Text
		case "thinking":
			ev.Thought += b.Thinking
		case "tool_use":
			ev.Tool = b.Name
		}
	}
	if json.Unmarshal(in.Error, &c.problem) != nil {
		c.problem = ""
	}
	model := plain(in.Message.Model)
	if model == "" || strings.HasPrefix(model, "<") { // a message that no model has made
		return
	}
	if in.Parent == "" {
		c.model = model
	}
	// Each block of a message has a line of its own, with the usage of all of it.
	now, had := in.Message.Usage.of(model), c.messages[in.Message.ID]
	more := less(now, had)
	if more.Tokens() == 0 {
		return
	}
	c.messages[in.Message.ID] = plus(had, more)
	c.told[model] = plus(c.told[model], more)
	if in.Parent == "" {
		c.main = plus(c.main, more)
	}
	ev.Usage = []cairn.Usage{more}
}

func (c *claude) result(in *claudeLine, ev *Event) {
	ev.Totals = Totals{}
	if rest := less(in.Usage.of(c.model), c.main); rest.Tokens() > 0 {
		ev.Usage = append(ev.Usage, rest)
	}
	for _, name := range slices.Sorted(maps.Keys(in.Models)) {
		m := in.Models[name]
		model := plain(name)
		ev.Totals[model] = cairn.Usage{Model: model, Input: m.Input, Output: m.Output, CacheRead: m.CacheRead, CacheWrite: m.CacheWrite}
		if model == c.model {
			continue
		}
		// Versions differ in whether a resumed session goes on counting or begins anew.
		if rest := less(since(ev.Totals[model], c.before[model]), c.told[model]); rest.Tokens() > 0 {
			ev.Usage = append(ev.Usage, rest)
		}
	}
	var text string
	if json.Unmarshal(in.Result, &text) != nil {
		text = ""
	}
	if in.IsError || in.Subtype != "" && in.Subtype != "success" {
		ev.Failure = c.failure(in, cmp.Or(text, strings.Join(in.Errors, "; "), in.Subtype))
		return
	}
	ev.Answer, ev.Done = text, true
	if len(in.Output) > 0 && string(in.Output) != "null" {
		ev.Output = in.Output
	}
}

// failure is what a result means that is none.
func (c *claude) failure(in *claudeLine, message string) *cairn.Failure {
	var after time.Duration
	if wait := time.Until(c.resets); !c.resets.IsZero() && wait > 0 {
		after = wait
	}
	if in.Status != 0 {
		return loop.FromStatus("claude", in.Status, message, after)
	}
	message = "claude: " + message
	code := map[string]cairn.Code{
		"authentication_failed": loop.ModelAuth, "billing_error": loop.ModelAuth, "rate_limit": loop.RateLimited, "overloaded": loop.ModelOverloaded,
		"server_error": loop.ModelUnavailable, "invalid_request": loop.ModelRequest,
	}[c.problem]
	switch {
	case code != "":
	case in.Subtype == "error_max_turns":
		code = loop.TurnsExhausted
	case in.Subtype == "error_max_structured_output_retries":
		code = cairn.InvalidOutput
	default:
		return classify(message, after)
	}
	return failure(code, message, after)
}

// failure makes one that is permanent where it has to be.
func failure(code cairn.Code, message string, after time.Duration) *cairn.Failure {
	f := &cairn.Failure{Code: code, Message: cutMessage(message), Permanent: code == loop.ModelAuth || code == loop.ModelRequest}
	if code == loop.RateLimited || code == loop.ModelOverloaded {
		f.RetryAfter = after
	}
	return f
}

// classes are words by which programs tell what is wrong where they have nothing better, in the order in which they count.
var classes = []struct {
	code  cairn.Code
	words []string
}{
	{loop.ModelAuth, []string{"not logged in", "please run /login", "codex login", "invalid api key", "incorrect api key", "401 unauthorized", "403 forbidden", "authentication_error", "failed to authenticate"}},
	{loop.RateLimited, []string{"rate limit", "rate_limit", "usage limit", "hit your limit", "429 too many", "quota"}},
	{loop.ModelOverloaded, []string{"overloaded", "503 service", "at capacity", "high demand"}},
	{loop.ContextFull, []string{"prompt is too long", "context window"}},
	{loop.ModelUnavailable, []string{"stream disconnected", "connection refused", "connection error", "connection reset", "error sending request", "500 internal", "502 bad", "504 gateway", "internal server error"}},
}

// classify makes a failure of what a program says in words.
func classify(message string, after time.Duration) *cairn.Failure {
	lower := strings.ToLower(message)
	for _, class := range classes {
		if slices.ContainsFunc(class.words, func(word string) bool { return strings.Contains(lower, word) }) {
			return failure(class.code, message, after)
		}
	}
	return failure(Failed, message, 0)
}

// mostMessage is how much of a program's error message is kept, in bytes.
const mostMessage = 1000

func cutMessage(message string) string { return cut(strings.TrimSpace(message), mostMessage) }

func unreadable(line []byte) string { return fmt.Sprintf("%.200q", line) }
