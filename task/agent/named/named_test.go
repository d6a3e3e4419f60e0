package named_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/named"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

const secret = "sk-canary-5f1c0ffee"

var script = &scripted.Model{Auto: true}

// TestNames: which model a name stands for, and what is wrong with one.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		name string
		keys string
		code cairn.Code
		want string // of the model, or in the error
	}{
		{"", "", "", "scripted scripted"},
		{"scripted", "", "", "scripted scripted"},
		{"anthropic:claude-opus-4-8", named.AnthropicKey, "", "anthropic claude-opus-4-8"},
		{"openai:gpt-6-sol", named.OpenAIKey, "", "openai gpt-6-sol"},
		{"chat:qwen3:8b@http://localhost:11434/v1/", "", "", "chat qwen3:8b"},
		{"chat:a@b@https://example.com/v1", "", "", "chat a@b"},
		{"anthropic:claude-opus-4-8", named.OpenAIKey, named.NoKey, "set the environment variable ANTHROPIC_API_KEY"},
		{"openai:gpt-6-sol", named.AnthropicKey, named.NoKey, "set the environment variable OPENAI_API_KEY"},
		{"scripted:x", "", named.BadName, `use "scripted", "anthropic:MODEL"`},
		{"claude-opus-4-8", "", named.BadName, `there is no provider "claude-opus-4-8"`},
		{":m", "", named.BadName, "is no name of an agent"},
		{"openai:", named.OpenAIKey, named.BadName, "names no model"},
		{"anthropic: ", named.AnthropicKey, named.BadName, "names no model"},
		{"chat:m", "", named.BadName, "no address"},
		{"chat:@http://localhost/v1", "", named.BadName, "names no model"},
		{"chat:m@https://", "", named.BadName, "no address that can be read"},
		{"chat:m@https://me:" + secret + "@example.com/v1", "", named.BadName, "CHAT_API_KEY"},
		{"chat:m@https://example.com/v1?key=" + secret, "", named.BadName, "CHAT_API_KEY"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, key := range []string{named.AnthropicKey, named.OpenAIKey, named.ChatKey} {
				t.Setenv(key, map[bool]string{true: secret}[key == c.keys])
			}
			err := named.Check(c.name)
			m := named.Model(c.name, script)
			if c.code == "" {
				info := m.Info()
				if got := info.Provider + " " + strings.Join(info.Models, ","); err != nil || got != c.want || strings.Contains(fmt.Sprint(info), secret) {
					t.Errorf("%s, %v", got, err)
				}
				if m != named.Model(c.name, script) {
					t.Error("each call makes another")
				}
				return
			}
			_, failed := m.Call(t.Context(), loop.Window{})
			for _, err := range []error{err, failed} {
				if !errors.Is(err, c.code) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
					t.Errorf("%v", err)
				}
			}
			if !cairn.FailureOf(failed).Permanent {
				t.Error("another attempt does no better")
			}
		})
	}
	if _, err := named.Model("", nil).Call(t.Context(), loop.Window{}); !errors.Is(err, named.BadName) {
		t.Errorf("without a script: %v", err)
	}
}

// TestChat: the server of the name is asked, with the key that is meant for it and no other.
func TestChat(t *testing.T) {
	t.Setenv(named.OpenAIKey, "sk-another")
	t.Setenv(named.ChatKey, secret)
	var heard string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Model string }
		_ = json.NewDecoder(r.Body).Decode(&body)
		heard = r.URL.Path + " " + r.Header.Get("Authorization") + " " + body.Model
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range []string{`{"choices":[{"index":0,"delta":{"content":"hello"},"finish_reason":"stop"}]}`, "[DONE]"} {
			fmt.Fprintf(w, "data: %s\n\n", data)
		}
	}))
	defer s.Close()
	resp, err := (&loop.Agent{Model: named.Model("chat:m@"+s.URL+"/v1", nil)}).Run(t.Context(), task.Request{Prompt: "hi"})
	if err != nil || resp.Text != "hello" || heard != "/v1/chat/completions Bearer "+secret+" m" {
		t.Errorf("%q, %v; the server heard %q", resp.Text, err, heard)
	}
}
