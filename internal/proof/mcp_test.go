package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool/mcp"
)

const serverEnv = "CAIRN_PROOF_SERVER" // makes the test binary an MCP server on its standard streams

func TestMain(m *testing.M) {
	if os.Getenv(serverEnv) != "" {
		if err := talkative().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// talkative is an MCP server whose one tool tells the environment.
func talkative() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "far", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "say"}, func(context.Context, *sdk.CallToolRequest, struct{}) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "I have " + os.Getenv("SERVER_TOKEN") + " in " + os.Getenv("FOLDER")}}}, nil, nil
	})
	return s
}

// caller is a model that calls one tool, and then tells what it was told.
type caller struct{ tool string }

func (c caller) Info() loop.Info {
	return loop.Info{Provider: "script", Models: []string{"m"}, Identity: "caller"}
}

func (c caller) Call(_ context.Context, w loop.Window) (loop.Turn, error) {
	turn := loop.Turn{Stop: loop.StopEnd}
	last := w.Messages[len(w.Messages)-1].Blocks[0]
	if last.Kind == window.ToolResult {
		turn.Blocks = []window.Block{{Kind: window.Text, Text: "It says: " + last.Text}}
		return turn, nil
	}
	turn.Blocks = []window.Block{{Kind: window.ToolUse, ID: "a", Name: c.tool, Input: json.RawMessage(`{}`)}}
	return turn, nil
}

// TestTokensOfToolServersAreNowhere: those in headers and in the environment of MCP servers, also where the server says them back: in
// an answer, an error of the tool, an error of the protocol, and a refusal.
func TestTokensOfToolServersAreNowhere(t *testing.T) {
	t.Setenv("CAIRN_SECRET", variable)
	const authorization = "Bearer " + mcpToken
	for name, body := range map[string]string{
		"answer":   `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"with ` + authorization + `"}]}}`,
		"error":    `{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[{"type":"text","text":"no good: ` + authorization + `"}]}}`,
		"protocol": `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"no good: ` + authorization + `"}}`,
		"refusal":  "",
	} {
		t.Run(name, func(t *testing.T) {
			handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return talkative() }, nil)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != authorization {
					t.Errorf("asked with %q: this test has no teeth", r.Header)
				}
				sent, _ := io.ReadAll(r.Body)
				var call struct{ ID json.RawMessage }
				switch _ = json.Unmarshal(sent, &call); {
				case !bytes.Contains(sent, []byte("tools/call")):
					r.Body = io.NopCloser(bytes.NewReader(sent))
					handler.ServeHTTP(w, r)
				case body == "":
					http.Error(w, "no good: "+authorization, http.StatusUnauthorized)
				default:
					w.Header().Set("Content-Type", "application/json")
					fmt.Fprintf(w, body, call.ID)
				}
			}))
			defer server.Close()
			check(t, mcp.Server{Name: "far", URL: server.URL, Header: http.Header{"Authorization": {authorization}}, Allow: []string{"say"}}, map[bool]string{false: "[redacted]"}[body == ""])
		})
	}
	t.Run("environment", func(t *testing.T) {
		check(t, mcp.Server{Name: "far", Command: []string{os.Args[0]}, Env: []string{serverEnv + "=1", "SERVER_TOKEN=" + mcpToken, "FOLDER=/tmp/folder"}, Allow: []string{"say"}},
			"I have [redacted] in /tmp/folder")
	})
}

// check has an agent call the server's tool, and looks for secrets everywhere. The agent is told something.
func check(t *testing.T, s mcp.Server, told string) {
	t.Helper()
	link, err := mcp.Connect(t.Context(), s)
	must(t, err)
	defer link.Close()
	var heard string
	tools := link.Tools()
	if len(tools) != 1 {
		t.Fatalf("%d tools", len(tools))
	}
	said := tools[0].Call
	tools[0].Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		out, err := said(ctx, in)
		heard = string(out)
		if err != nil {
			heard = err.Error()
		}
		return out, err
	}
	dir := t.TempDir()
	flow := asking(caller{"far_say"}, tools...)
	for _, leak := range append(everything(t, dir, "r1", flow, true), live(t, dir, flow, true)...) {
		t.Error(leak)
	}
	if !strings.Contains(heard, told) || heard == "" {
		t.Errorf("the agent is told %q", heard)
	}
}
