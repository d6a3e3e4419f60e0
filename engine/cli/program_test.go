package cli_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/command"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
	"github.com/cairnrun/cairn/tool/mcp"
)

// asAgent makes the test binary a coding agent.
const asAgent = "CAIRN_TEST_AGENT"

// beAgent plans, reads twice and answers wrongly; in the same session it then answers rightly.
func beAgent() {
	said, err := io.ReadAll(os.Stdin)
	answer := "3"
	if err == nil && strings.Contains(string(said), "Look at this.") {
		answer = `"three"`
		err = useTools(os.Args[1])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	reply, _ := json.Marshal(map[string]string{"id": "s1", "reply": answer})
	fmt.Println(string(reply))
}

func useTools(url string) error {
	ctx := context.Background()
	client, err := mcp.Connect(ctx, mcp.Server{Name: "c", URL: url, Header: http.Header{"Authorization": {"Bearer " + os.Getenv("TOKEN")}}, Allow: []string{"todo", "read"}})
	if err != nil {
		return err
	}
	tools := map[string]cairn.Tool{}
	for _, t := range client.Tools() {
		tools[t.Name] = t
	}
	for _, one := range [][2]string{{"c_todo", `{"add":["look","report"]}`}, {"c_todo", `{"done":[1]}`}, {"c_read", `{"file":"a.go"}`}, {"c_read", `{"file":"a.go"}`}} {
		_, wrong := tools[one[0]].Call(ctx, json.RawMessage(one[1]))
		err = errors.Join(err, wrong)
	}
	return err
}

const scoring cairn.Key[int] = "ask"

// scorer has a program for an agent.
var scorer = cairn.Workflow[struct{}, int]{Name: "scorer", Result: scoring, Example: new(struct{}{}), Render: func(*cairn.View, struct{}) cairn.Node {
	self, _ := os.Executable()
	read := tool.New("read", "Reads a file.", func(context.Context, struct {
		File string `json:"file"`
	}) (string, error) {
		return strings.Repeat("package a\n", 100), nil
	})
	agent := command.New(command.Template{Name: "fake", Program: self, Args: []string{"{mcp_url}", "{session}", "{system}"}, Stdin: true,
		Format: command.JSONLines{Session: "id", Answer: "reply"}.Format, MCP: &command.MCP{TokenEnv: "TOKEN"}},
		command.Config{Dir: os.TempDir(), System: "Be brief.", Tools: []cairn.Tool{read}, Todo: true, Env: []string{asAgent + "=1"}})
	return task.Task[int]{ID: scoring, Agent: agent, Prompt: func(*cairn.View) string {
		return "Look at this.\n" + task.Dep("plan", strings.Repeat("a step\n", 4000)) + "\nGive it a score."
	}}
}}

// TestPromptOfAProgram: what an agent that is a program was told is shown as what a model has seen is, in parts and byte for byte.
func TestPromptOfAProgram(t *testing.T) {
	p := newPlace(t)
	p.with(0, scorer, "up", "scorer", "--run-id", "r1", "-q")
	hash := regexp.MustCompile(`\b[0-9a-f]{64}\b`)
	golden(t, "prompt-program.golden", hash.ReplaceAllString(p.canon(p.must(0, "prompt", "r1", "ask").out), "HASH"))
	type shown struct {
		Call, Calls, Attempt int
		Answered, Exact      bool
		Program              string
		Spans                []window.Span
	}
	one := lines[shown](t, p.must(0, "prompt", "r1", "ask", "--call", "1", "--json").out)[0]
	if one.Call != 1 || one.Calls != 2 || one.Attempt != 1 || !one.Answered || !one.Exact || one.Program != "fake" {
		t.Errorf("%+v", one)
	}
	parts := map[window.Part]string{}
	for _, s := range one.Spans {
		parts[s.Part] += s.Text
	}
	if dep := parts[window.PartDeps]; !strings.Contains(dep, "artifact_read") || len(dep) > 4<<10 || !strings.Contains(parts[window.PartPrompt], "Give it a score.") ||
		!strings.Contains(parts[window.PartSchema], "integer") || parts[window.PartSystem] != "Be brief." || parts[window.PartRecitation] != "" {
		t.Errorf("it is shown as %q", parts)
	}
	original := p.must(0, "prompt", "r1", "ask", "--original").out
	has(t, original, "Look at this.", `{"name":"read","input":{"file":"a.go"}}`, "package a\npackage a\n", `"three"`, "Your answer is refused", "[x] 1. look\n[ ] 2. report")
	if strings.Index(original, "package a\n") > strings.Index(original, `"three"`) || !strings.HasSuffix(strings.TrimSpace(original), "\n3") {
		t.Errorf("it is in another order: %s", original)
	}
	has(t, p.must(0, "node", "r1", "ask", "--json").out, `"windows":{"pointers":1,"cleared":0,"compactions":0}`)
	has(t, p.must(cli.ExitRefused, "prompt", "r1", "ask", "--call", "3").err, "there is no call 3 in conversation 1, which has 2 calls")
}
