package command

import (
	"encoding/json"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task/agent/loop"
)

// Codex is codex exec with JSON events. Its sandbox is for Config.Args to say, such as --sandbox=workspace-write; by default it
// can read only. Its events do not name the model: without Config.Model usage is booked under "codex", which has no price.
func Codex(c Config) *Agent { return New(CodexTemplate(), c) }

// CodexTemplate is how codex is talked to.
func CodexTemplate() Template {
	args := []string{"exec", "--json", "--skip-git-repo-check", "--model={model}", "--config=developer_instructions={system_json}", "--output-schema={schema_file}", "{mcp}", "{args}"}
	return Template{
		Name: "codex", Program: "codex", Stdin: true, Schema: strictness.Convert,
		Args:   slices.Concat(args, []string{"-"}),
		Resume: slices.Concat(args, []string{"resume", "{session}", "-"}),
		Format: func(c Config) Format { return CodexEvents(c.Model) },
		MCP: &MCP{
			Args: []string{`--config=mcp_servers.cairn.url="{mcp_url}"`, `--config=mcp_servers.cairn.bearer_token_env_var="` + codexToken + `"`,
				"--config=mcp_servers.cairn.required=true", `--config=mcp_servers.cairn.default_tools_approval_mode="approve"`,
				"--config=mcp_servers.cairn.tool_timeout_sec={mcp_timeout}"},
			TokenEnv: codexToken,
		},
	}
}

const codexToken = "CAIRN_MCP_TOKEN"

// strictness is what --output-schema demands.
var strictness = loop.Strictness{AllRequired: true, Keywords: []string{"pattern", "format", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum",
	"multipleOf", "minItems", "maxItems"}}

// CodexEvents is the format of codex exec --json. Usage comes with the end of a turn, as that of the whole session.
func CodexEvents(model string) Format {
	if model == "" {
		model = "codex"
	}
	return func(before Totals) Reader { return &codex{model: model, before: before[model]} }
}

type codex struct {
	model  string
	before cairn.Usage
	// problem is the last error that was told. Some pass.
	problem string
}

type codexLine struct {
	Type   string `json:"type"`
	Thread string `json:"thread_id"`
	Item   struct {
		Type string `json:"type"`
		Text string `json:"text"`
		Tool string `json:"tool"`
	} `json:"item"`
	Usage struct {
		Input      int64 `json:"input_tokens"`
		Cached     int64 `json:"cached_input_tokens"`
		CacheWrite int64 `json:"cache_write_input_tokens"`
		Output     int64 `json:"output_tokens"`
	} `json:"usage"`
	Error struct {
		Message string `json:"message"`
	} `json:"error"`
	Message string `json:"message"`
}

// Line reads one event.
func (c *codex) Line(line []byte) (Event, error) {
	var in codexLine
	if err := json.Unmarshal(line, &in); err != nil {
		return Event{}, err
	}
	if in.Type == "" {
		return Event{}, errNoLine
	}
	var ev Event
	switch in.Type {
	case "thread.started":
		ev.Session = in.Thread
	case "item.started":
		if ev.Tool = in.Item.Tool; ev.Tool == "" {
			ev.Tool = in.Item.Type
		}
	case "item.completed":
		switch in.Item.Type {
		case "agent_message":
			ev.Answer, ev.Said = in.Item.Text, in.Item.Text
		case "reasoning":
			ev.Thought = in.Item.Text
		case "command_execution", "mcp_tool_call", "file_change", "web_search":
			ev.Calling = true
		}
	case "turn.completed":
		u := in.Usage
		now := cairn.Usage{Model: c.model, Input: max(0, u.Input-u.Cached-u.CacheWrite), CacheRead: u.Cached, CacheWrite: u.CacheWrite, Output: u.Output}
		ev.Totals = Totals{c.model: now}
		if more := since(now, c.before); more.Tokens() > 0 {
			ev.Usage = []cairn.Usage{more}
		}
		c.before = now
		ev.Done = true
	case "turn.failed":
		ev.Failure = classify("codex: "+in.Error.Message, 0)
	case "error":
		c.problem = in.Message
	}
	return ev, nil
}

// End tells of an error that nothing has come after.
func (c *codex) End() Event {
	if c.problem == "" {
		return Event{}
	}
	return Event{Failure: classify("codex: "+c.problem, 0)}
}
