// Package chattest is a server that speaks Chat Completions with the mind of a script: an example under test talks to it as it
// would to a real one.
package chattest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
)

// Serve answers each request as think does, who is told the model's name and what the wire had of its window: no tools, and of a
// turn of the model only its text. The server's address ends at the host, and it is closed with the test.
func Serve(t *testing.T, think func(model string, w loop.Window) scripted.Turn) string {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked request
		if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
			t.Error(err)
			return
		}
		raw, err := json.Marshal(answer(think(asked.Model, asked.window()), len(asked.Messages)))
		if err != nil {
			t.Error(err)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: {\"model\":%q,\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", asked.Model, raw)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

type request struct {
	Model    string
	Messages []struct {
		Role, Content string
		ToolCallID    string `json:"tool_call_id"`
		ToolCalls     []struct {
			ID       string
			Function struct{ Name string }
		} `json:"tool_calls"`
	}
}

func (r request) window() (w loop.Window) {
	names := map[string]string{}
	for _, m := range r.Messages {
		block := window.Block{Kind: window.Text, Text: m.Content}
		switch m.Role {
		case "system":
			w.System = m.Content
			continue
		case "tool":
			block = window.Block{Kind: window.ToolResult, ID: m.ToolCallID, Name: names[m.ToolCallID], Text: m.Content, Error: strings.HasPrefix(m.Content, "Error: ")}
		}
		for _, c := range m.ToolCalls {
			names[c.ID] = c.Function.Name
		}
		role := window.User
		if m.Role == "assistant" {
			role = window.Assistant
		}
		w.Messages = append(w.Messages, window.Message{Role: role, Blocks: []window.Block{block}})
	}
	return w
}

type delta struct {
	Content   string     `json:"content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	Index    int      `json:"index"`
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// answer is the turn after so many messages.
func answer(turn scripted.Turn, after int) delta {
	d := delta{Content: turn.Text}
	for i, c := range turn.Calls {
		raw, err := json.Marshal(c.Input)
		if err != nil { // of a script's literals: it can't fail
			panic(err)
		}
		d.ToolCalls = append(d.ToolCalls, toolCall{i, fmt.Sprintf("call_%d_%d", after, i), "function", function{c.Name, string(raw)}})
	}
	return d
}
