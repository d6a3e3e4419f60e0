package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	anthropicoption "github.com/anthropics/anthropic-sdk-go/v2/option"
	openaioption "github.com/openai/openai-go/v3/option"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/openai"
)

// What must be seen nowhere: the key of a provider, a token that a proxy wants in a header of its own, the token of an MCP server, and
// a variable of the environment.
const (
	apiKey     = "sk-canary-KbV7xQ2mWd9LrT4pZs8Hy3Nc6Jf1Ga5E"
	proxyToken = "px-canary-Uq8Rw3Ze7Tn2Yb6Mk1Vc9Xd4Ls5Pj0Ah"
	mcpToken   = "mc-canary-Gt5Hu9Jk2Lo7Mi4Np8Qr1Sv6Wx3Yz0Bc"
	variable   = "ev-canary-Dz4Fy8Gx2Hw6Jv1Ku5Lt9Ms3Nr7Pq0Ro"
)

// told finds a piece of a secret that is long enough to be of use: one that was cut is still told in part.
func told(where string, content []byte) (leaks []string) {
	const piece = 10
	for _, secret := range []string{apiKey, proxyToken, mcpToken, variable} {
		for i := len("xx-canary-"); i+piece <= len(secret); i++ {
			if at := bytes.Index(content, []byte(secret[i:i+piece])); at >= 0 {
				leaks = append(leaks, fmt.Sprintf("%s: …%q…", where, content[max(0, at-120):min(len(content), at+60)]))
				break
			}
		}
	}
	return leaks
}

// A provider is an adapter, and how its server begins an answer and ends it.
type provider struct {
	name  string
	model func(url string) loop.Model
	// begun and ended are events of a stream.
	begun, ended []string
	// failed is an error in the middle of a stream.
	failed string
	// wrong is the body of an error.
	wrong string
}

var providers = []provider{
	{
		name: "anthropic",
		model: func(url string) loop.Model {
			return anthropic.New(anthropic.Config{Model: "claude-opus-4-8", Key: apiKey, BaseURL: url, Options: []anthropicoption.RequestOption{anthropicoption.WithHeader("X-Proxy-Token", proxyToken)}})
		},
		begun: []string{
			`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-opus-4-8","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"so far"}}`,
		},
		ended:  []string{`{"type":"content_block_stop","index":0}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":42}}`, `{"type":"message_stop"}`},
		failed: `{"type":"error","error":{"type":"api_error","message":"%s"}}`,
		wrong:  `{"type":"error","error":{"type":"authentication_error","message":"%s"},"request_id":"req_9"}`,
	},
	{
		name: "openai",
		model: func(url string) loop.Model {
			return openai.New(openai.Config{Model: "gpt-6-sol", Key: apiKey, BaseURL: url + "/v1", Options: []openaioption.RequestOption{openaioption.WithHeader("X-Proxy-Token", proxyToken)}})
		},
		begun: []string{`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","output":[]}}`,
			`{"type":"response.output_text.delta","output_index":0,"content_index":0,"item_id":"msg_0","delta":"so far"}`},
		ended:  []string{`{"type":"response.completed","sequence_number":9,"response":{"id":"resp_1","object":"response","created_at":1,"model":"gpt-6-sol","status":"completed","output":[{"id":"msg_0","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","annotations":[],"text":"so far"}]}],"usage":{"input_tokens":7,"output_tokens":2,"total_tokens":9}}}`},
		failed: `{"type":"error","code":"server_error","message":"%s","param":null,"sequence_number":2}`,
		wrong:  `{"error":{"code":"bad","type":"some_error","param":null,"message":"%s"}}`,
	},
	{
		name: "chat",
		model: func(url string) loop.Model {
			return openai.New(openai.Config{Model: "local", Key: apiKey, BaseURL: url + "/v1", Chat: true, Options: []openaioption.RequestOption{openaioption.WithHeader("X-Proxy-Token", proxyToken)}})
		},
		begun:  []string{`{"id":"c","object":"chat.completion.chunk","created":1,"model":"local","choices":[{"index":0,"delta":{"role":"assistant","content":"so far"},"finish_reason":null}]}`},
		ended:  []string{`{"id":"c","object":"chat.completion.chunk","created":1,"model":"local","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]"},
		failed: `{"error":{"code":"server_error","type":"server_error","message":"%s"}}`,
		wrong:  `{"error":{"code":"bad","type":"some_error","param":null,"message":"%s"}}`,
	},
}

// echo is what an unkind server says about a request: all of its credentials.
func echo(r *http.Request) string {
	return strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-Api-Key"), r.Header.Get("X-Proxy-Token")}, " and ")
}

// unkindness are ways in which a server can answer.
var unkindness = map[string]func(p provider, w http.ResponseWriter, r *http.Request){
	"401": func(p provider, w http.ResponseWriter, r *http.Request) { p.refuse(w, 401, "no good: "+echo(r)) },
	"500": func(p provider, w http.ResponseWriter, r *http.Request) { p.refuse(w, 500, "broken by "+echo(r)) },
	"long": func(p provider, w http.ResponseWriter, r *http.Request) { // so long that it is cut in the middle of the key
		p.refuse(w, 500, strings.Repeat("x", 950)+echo(r))
	},
	"no JSON": func(_ provider, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(502)
		fmt.Fprintf(w, "<html>bad gateway for %s</html>", echo(r))
	},
	"cut": func(p provider, w http.ResponseWriter, r *http.Request) {
		p.stream(w, p.begun...)
		panic(http.ErrAbortHandler)
	},
	"failed": func(p provider, w http.ResponseWriter, r *http.Request) {
		p.stream(w, append(slices.Clone(p.begun), fmt.Sprintf(p.failed, "broken by "+echo(r)))...)
	},
	"no event": func(p provider, w http.ResponseWriter, r *http.Request) {
		p.stream(w, append(slices.Clone(p.begun), "{no JSON "+echo(r))...)
	},
	"header": func(p provider, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", echo(r))
		w.Header().Set("X-Request-Id", echo(r))
		w.Header().Set("Retry-After", echo(r))
		p.refuse(w, 429, "slow down")
	},
	"redirect": func(p provider, w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://127.0.0.1:1/?key="+apiKey, http.StatusTemporaryRedirect)
	},
	"well": func(p provider, w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Request-Id", echo(r))
		w.Header().Set("X-Request-Id", echo(r))
		p.stream(w, append(slices.Clone(p.begun), p.ended...)...)
	},
}

func (p provider) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, p.wrong, message)
}

func (p provider) stream(w http.ResponseWriter, events ...string) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	for _, data := range events {
		var head struct{ Type string }
		_ = json.Unmarshal([]byte(data), &head)
		if head.Type != "" {
			fmt.Fprintf(w, "event: %s\n", head.Type)
		}
		fmt.Fprintf(w, "data: %s\n\n", data)
		w.(http.Flusher).Flush()
	}
}

const answer cairn.Key[string] = "answer"

// asking is a workflow of one task that asks a model, once: nothing is waited for.
func asking(model loop.Model, tools ...cairn.Tool) cairn.Workflow[struct{}, string] {
	agent := &loop.Agent{Model: model, Retries: -1, Tools: tools}
	return cairn.Workflow[struct{}, string]{Name: "ask", Result: answer, Render: func(*cairn.View, struct{}) cairn.Node {
		return task.Task[string]{ID: answer, Agent: agent, Retry: task.Retry{Max: 1}, Prompt: func(*cairn.View) string { return "go" }}
	}}
}

// everything is all that a command line tells of a run, and all that lies in the folder afterwards. The commands that show the same in
// another form are for a few runs.
func everything(t *testing.T, dir, run string, flow cairn.Definer, all bool) (leaks []string) {
	t.Helper()
	command := func(args ...string) {
		var out, errOut bytes.Buffer
		cli.Run(t.Context(), append(args, "--db", filepath.Join(dir, "cairn.db")), strings.NewReader(""), &out, &errOut, flow)
		leaks = append(leaks, told(fmt.Sprint(args, " stdout"), out.Bytes())...)
		leaks = append(leaks, told(fmt.Sprint(args, " stderr"), errOut.Bytes())...)
		if strings.Contains(errOut.String(), "unknown command") || out.Len()+errOut.Len() == 0 {
			t.Errorf("%q tells nothing: %s", args, errOut.String())
		}
	}
	command("up", "ask", "--input", "{}", "--run-id", run)
	commands := [][]string{{"inspect", run, "--json"}, {"events", run}, {"export", run}}
	if all {
		commands = append(commands, [][]string{{"inspect", run}, {"events", run, "--json"}, {"frames", run}, {"why", run}, {"ps"}, {"node", run, string(answer)},
			{"prompt", run, string(answer)}, {"metrics", run}, {"doctor"}}...)
	}
	for _, args := range commands {
		command(args...)
	}
	return append(leaks, scan(t, dir)...)
}

// scan looks into all files of a folder.
func scan(t *testing.T, dir string) (leaks []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		leaks = append(leaks, told(d.Name(), content)...)
		return err
	})
	must(t, err)
	return leaks
}

// TestKeysOfProvidersAreNowhere: whatever a server answers, and however it ends, no piece of a key or token is in the database and its log,
// in events, exports, or on a terminal.
func TestKeysOfProvidersAreNowhere(t *testing.T) {
	t.Setenv("CAIRN_SECRET", variable)
	for _, p := range providers {
		for name, unkind := range unkindness {
			t.Run(p.name+"/"+name, func(t *testing.T) {
				asked := 0
				server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.Copy(io.Discard, r.Body)
					if asked++; !strings.Contains(echo(r), apiKey) || !strings.Contains(echo(r), proxyToken) {
						t.Errorf("asked with %q: this test has no teeth", echo(r))
					}
					unkind(p, w, r)
				}))
				server.Config.ErrorLog = nil
				defer server.Close()
				flow := asking(p.model(server.URL))
				dir := t.TempDir()
				for _, leak := range everything(t, dir, "r1", flow, name == "401" || name == "failed") {
					t.Error(leak)
				}
				for _, leak := range live(t, dir, flow, name == "well") {
					t.Error(leak)
				}
				if asked < 2 {
					t.Errorf("asked %d times", asked)
				}
			})
		}
	}
}

// live runs the workflow in an engine of this process and looks at the files before anything is closed: at the log of the database, too.
func live(t *testing.T, dir string, flow cairn.Definer, finishes bool) []string {
	t.Helper()
	ctx := t.Context()
	store, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(dir, "cairn.db")})
	must(t, err)
	defer store.Close()
	files, err := artifact.Open(filepath.Join(dir, "artifacts"))
	must(t, err)
	e, err := engine.Open(ctx, engine.Config{Store: store, Artifacts: files, Workflows: []cairn.Definer{flow}})
	must(t, err)
	defer e.Close(context.WithoutCancel(ctx))
	run, err := e.Start(ctx, "ask", json.RawMessage(`{}`), engine.StartOptions{ID: "r2"})
	must(t, err)
	out, err := run.Wait(ctx)
	must(t, err)
	if (out.Status == core.Finished) != finishes {
		t.Errorf("the run is %s: %v", out.Status, out.Failure)
	}
	leaks := scan(t, dir)
	if wal, err := os.Stat(filepath.Join(dir, "cairn.db-wal")); err != nil || wal.Size() == 0 {
		t.Errorf("there is no log to look into: %v", err)
	}
	return append(leaks, told("the outcome", []byte(fmt.Sprintf("%+v %v", out, out.Failure)))...)
}
