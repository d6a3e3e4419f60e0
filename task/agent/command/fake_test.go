//go:build unix

package command_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/tool/mcp"
)

// TestMain is a coding agent, by the name it is called with, or an engine that gets killed.
func TestMain(m *testing.M) {
	switch name := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe"); name {
	case "claude", "codex", "simple":
		f := &fake{kind: name, home: os.Getenv("FAKE_HOME")}
		f.run()
		os.Exit(0)
	}
	if path := os.Getenv(enginePath); path != "" {
		drive(path)
	}
	os.Exit(m.Run())
}

// fake is a coding agent that speaks the real formats. What it does is for an act to say; what it has been told and done
// stands in its home.
type fake struct {
	kind, home      string
	prompt, session string
	resumed         bool
	model           string
	url, token      string
	schema          string
	messages        int
	tools           map[string]cairn.Tool
}

// invocation is what a fake notes about each of its processes.
type invocation struct {
	Args    []string `json:"args"`
	Env     []string `json:"env"`
	Dir     string   `json:"dir"`
	Prompt  string   `json:"prompt"`
	Schema  string   `json:"schema,omitempty"`
	Resumed bool     `json:"resumed,omitempty"`
	Session string   `json:"session"`
}

func (f *fake) must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "fake:", err)
		os.Exit(70)
	}
}

// line writes an event.
func (f *fake) line(v any) {
	raw, err := json.Marshal(v)
	f.must(err)
	_, err = os.Stdout.Write(append(raw, '\n'))
	f.must(err)
}

type obj = map[string]any

func (f *fake) note(name, text string) {
	file, err := os.OpenFile(filepath.Join(f.home, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	f.must(err)
	_, err = file.WriteString(text + "\n")
	f.must(err)
	f.must(file.Close())
}

func (f *fake) run() {
	args := os.Args[1:]
	stdin, err := io.ReadAll(os.Stdin)
	f.must(err)
	f.prompt = string(stdin)
	switch f.kind {
	case "claude":
		f.claudeArgs(args)
	case "codex":
		f.codexArgs(args)
	default:
		f.prompt = args[len(args)-1]
	}
	dir, err := os.Getwd()
	f.must(err)
	if _, err := os.Stat(filepath.Join(f.home, "session."+f.session)); f.resumed && err != nil {
		f.noSession()
	}
	if !f.resumed {
		f.session = fmt.Sprintf("%s-%d", f.kind, os.Getpid())
	}
	raw, err := json.Marshal(invocation{args, os.Environ(), dir, f.prompt, f.schema, f.resumed, f.session})
	f.must(err)
	f.note("invocations", string(raw))
	if act := os.Getenv("FAKE_ACT"); !strings.HasSuffix(act, "forgets") {
		f.note("session."+f.session, f.prompt)
	}
	acts[os.Getenv("FAKE_ACT")](f)
}

// flag takes the value of --name=value out of the arguments.
func (f *fake) flag(args *[]string, name string) (value string) {
	*args = slices.DeleteFunc(*args, func(arg string) bool {
		v, ok := strings.CutPrefix(arg, name+"=")
		if ok {
			value = v
		}
		return ok
	})
	return value
}

// claudeArgs reads a command line as claude does, and refuses what it does not know.
func (f *fake) claudeArgs(args []string) {
	args = slices.Clone(args)
	for _, known := range []string{"-p", "--output-format=stream-json", "--verbose", "--strict-mcp-config"} {
		if !slices.Contains(args, known) {
			f.must(fmt.Errorf("error: %s is missing in %q", known, args))
		}
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == known })
	}
	f.model = f.flag(&args, "--model")
	f.flag(&args, "--append-system-prompt")
	f.flag(&args, "--permission-mode")
	f.schema = f.flag(&args, "--json-schema")
	allowed := f.flag(&args, "--allowedTools")
	f.session = f.flag(&args, "--resume")
	f.resumed = f.session != ""
	if path := f.flag(&args, "--mcp-config"); path != "" {
		info, err := os.Stat(path)
		f.must(err)
		if info.Mode().Perm() != 0o600 {
			f.must(fmt.Errorf("others can read %s", path))
		}
		raw, err := os.ReadFile(path)
		f.must(err)
		var config struct {
			Servers map[string]struct {
				Type, URL string
				Headers   map[string]string
			} `json:"mcpServers"`
		}
		f.must(json.Unmarshal(raw, &config))
		f.connect(config.Servers["cairn"].URL, config.Servers["cairn"].Headers["Authorization"], strings.Split(strings.ReplaceAll(allowed, "mcp__cairn__", ""), ","))
	}
	if len(args) > 0 {
		f.must(fmt.Errorf("error: unknown options %q", args))
	}
}

// codexArgs reads a command line as codex does.
func (f *fake) codexArgs(args []string) {
	args = slices.Clone(args)
	f.model = f.flag(&args, "--model")
	f.flag(&args, "--sandbox")
	if path := f.flag(&args, "--output-schema"); path != "" {
		raw, err := os.ReadFile(path)
		f.must(err)
		f.schema = string(raw)
	}
	config := map[string]string{}
	args = slices.DeleteFunc(args, func(arg string) bool {
		pair, ok := strings.CutPrefix(arg, "--config=")
		if key, value, found := strings.Cut(pair, "="); ok && found {
			config[key] = strings.Trim(value, `"`)
		}
		return ok
	})
	if len(args) == 6 && args[3] == "resume" {
		f.session, f.resumed = args[4], true
		args = slices.Delete(args, 3, 5)
	}
	if !slices.Equal(args, []string{"exec", "--json", "--skip-git-repo-check", "-"}) {
		f.must(fmt.Errorf("error: unexpected arguments %q", args))
	}
	if url := config["mcp_servers.cairn.url"]; url != "" {
		if config["mcp_servers.cairn.default_tools_approval_mode"] != "approve" || config["mcp_servers.cairn.tool_timeout_sec"] == "" {
			f.must(fmt.Errorf("the tools can't be used: %q", config))
		}
		names := "add,look" // it is not told them
		if more := os.Getenv("FAKE_TOOLS"); more != "" {
			names = more
		}
		f.connect(url, "Bearer "+os.Getenv(config["mcp_servers.cairn.bearer_token_env_var"]), strings.Split(names, ","))
	}
}

func (f *fake) connect(url, authorization string, names []string) {
	f.url, f.token = url, strings.TrimPrefix(authorization, "Bearer ")
	f.note("tokens", f.token)
	client, err := mcp.Connect(context.Background(), mcp.Server{Name: "c", URL: url, Header: http.Header{"Authorization": {authorization}}, Allow: names})
	f.must(err)
	f.tools = map[string]cairn.Tool{}
	for _, t := range client.Tools() {
		f.tools[strings.TrimPrefix(t.Name, "c_")] = t
	}
}

func (f *fake) noSession() {
	switch f.kind {
	case "claude":
		text := "No conversation found with session ID: " + f.session
		f.line(obj{"type": "result", "subtype": "error_during_execution", "is_error": true, "num_turns": 0, "session_id": f.session, "errors": []string{text}})
		fmt.Fprintln(os.Stderr, text)
	default:
		fmt.Fprintln(os.Stderr, "Error: no rollout found for thread id "+f.session)
	}
	os.Exit(1)
}

const fakeModel = "claude-sonnet-4-6"

// begin opens the session.
func (f *fake) begin() {
	if f.kind == "claude" {
		f.line(obj{"type": "system", "subtype": "init", "session_id": f.session, "model": fakeModel + "[1m]", "tools": []string{"Bash"}})
		return
	}
	f.line(obj{"type": "thread.started", "thread_id": f.session})
	f.line(obj{"type": "turn.started"})
}

// message is one of the model's, with a usage that knows little of the output yet.
func (f *fake) message(blocks ...obj) {
	f.messages++
	id := fmt.Sprintf("msg_%d_%d", os.Getpid(), f.messages)
	for _, b := range blocks { // a line each, with the same usage
		f.line(obj{"type": "assistant", "session_id": f.session, "parent_tool_use_id": nil, "message": obj{"id": id, "type": "message", "role": "assistant", "model": fakeModel,
			"content": []obj{b}, "usage": obj{"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20,
				"cache_creation": obj{"ephemeral_1h_input_tokens": 5, "ephemeral_5m_input_tokens": 15}}}})
	}
}

// call calls a served tool, and tells of it.
func (f *fake) call(name, in string) string {
	id := fmt.Sprintf("toolu_%d", f.messages)
	if f.kind == "claude" {
		f.message(obj{"type": "thinking", "thinking": "hm", "signature": "x"}, obj{"type": "tool_use", "id": id, "name": "mcp__cairn__" + name, "input": json.RawMessage(in)})
	} else {
		f.messages++
		f.line(obj{"type": "item.started", "item": obj{"id": "item_1", "type": "mcp_tool_call", "server": "cairn", "tool": name, "arguments": json.RawMessage(in), "status": "in_progress"}})
	}
	raw, err := f.tools[name].Call(context.Background(), json.RawMessage(in))
	text := string(raw)
	if err != nil {
		text = "error: " + err.Error()
	}
	f.note("results", text)
	if f.kind == "claude" {
		f.line(obj{"type": "user", "session_id": f.session, "message": obj{"role": "user", "content": []obj{{"type": "tool_result", "tool_use_id": id, "content": text, "is_error": err != nil}}}})
	} else {
		f.line(obj{"type": "item.completed", "item": obj{"id": "item_1", "type": "mcp_tool_call", "server": "cairn", "tool": name, "status": "completed"}})
	}
	return text
}

// end answers.
func (f *fake) end(answer string) {
	if f.kind == "codex" {
		f.messages++
		f.line(obj{"type": "item.completed", "item": obj{"id": "item_2", "type": "agent_message", "text": answer}})
		total := f.messages + f.count()
		f.note("total."+f.session, strconv.Itoa(total))
		f.line(obj{"type": "turn.completed", "usage": obj{"input_tokens": 130 * total, "cached_input_tokens": 100 * total, "output_tokens": 7 * total}})
		return
	}
	f.message(obj{"type": "text", "text": answer})
	n := f.messages
	total := n + f.count()
	f.note("total."+f.session, strconv.Itoa(total))
	result := obj{"type": "result", "subtype": "success", "is_error": false, "num_turns": n, "session_id": f.session, "result": answer, "total_cost_usd": 0.01,
		"usage": obj{"input_tokens": 10 * n, "output_tokens": 7 * n, "cache_read_input_tokens": 100 * n, "cache_creation_input_tokens": 20 * n, "cache_creation": obj{"ephemeral_1h_input_tokens": 5 * n}},
		// As newer versions do, with what the session has used before.
		"modelUsage": obj{fakeModel + "[1m]": obj{"inputTokens": 10 * total, "outputTokens": 7 * total, "cacheReadInputTokens": 100 * total, "cacheCreationInputTokens": 20 * total, "costUSD": 0.01},
			"claude-haiku-4-5": obj{"inputTokens": 3 * total, "outputTokens": total}}}
	if f.schema != "" && json.Valid([]byte(answer)) {
		result["structured_output"], result["result"] = json.RawMessage(answer), "Here you are."
	}
	f.line(result)
}

// count is how many messages earlier processes of the session have ended with.
func (f *fake) count() int {
	raw, err := os.ReadFile(filepath.Join(f.home, "total."+f.session))
	if err != nil {
		return 0
	}
	lines := strings.Fields(string(raw))
	n, err := strconv.Atoi(lines[len(lines)-1])
	f.must(err)
	return n
}

// runs is how many processes there were, this one included.
func (f *fake) runs() int {
	raw, err := os.ReadFile(filepath.Join(f.home, "invocations"))
	f.must(err)
	return strings.Count(string(raw), "\n")
}

// planned is a long thing to do, so that a pointer would be shorter than a list with it.
var planned = strings.TrimSpace(strings.Repeat("look around ", 16))

// atOnce is how many things are planned at once.
const atOnce = 16

const good, bad = `{"title":"t","score":3}`, `{"title":"","score":30}`

// acts are what fakes do.
var acts = map[string]func(f *fake){
	"works": func(f *fake) {
		f.begin()
		f.call("add", `{"n": 1}`)
		f.call("look", `{}`)
		f.call("add", `{"n":1}`)
		f.end(good)
	},
	"errs": func(f *fake) {
		f.begin()
		if f.runs() == 1 {
			f.end(bad)
			return
		}
		f.end(good)
	},
	"wrong": func(f *fake) { f.begin(); f.end(bad) },
	"says":  func(f *fake) { f.begin(); f.end("hello") },
	"crashes": func(f *fake) {
		if f.runs() > 1 {
			f.begin()
			f.end("hello")
			return
		}
		f.begin()
		fmt.Println("Warning: this is no JSON")
		fmt.Println(`{"type":"assistant","mess`)
		fmt.Fprintln(os.Stderr, "panic: out of cheese, the key is "+os.Getenv("PROVIDER_KEY"))
		os.Exit(3)
	},
	"talks": func(f *fake) {
		f.begin()
		fmt.Println("Warning: this is no JSON")
		fmt.Println(`[1,2]`)
		fmt.Println(`{"type":"from_the_future","x":{"type":5}}`)
		fmt.Println(strings.Repeat("x", 2<<20))
		f.end("hello")
	},
	"spills": func(f *fake) {
		f.begin()
		for {
			if _, err := fmt.Println(`{"type":"x","text":"` + strings.Repeat("x", 10_000) + `"}`); err != nil {
				os.Exit(1)
			}
		}
	},
	"drones": func(f *fake) {
		f.begin()
		for {
			if _, err := fmt.Print(strings.Repeat("x", 10_000)); err != nil {
				os.Exit(1)
			}
		}
	},
	"floods": func(f *fake) {
		f.begin()
		for {
			fmt.Fprintln(os.Stderr, strings.Repeat("x", 10_000))
		}
	},
	"lingers": func(f *fake) { f.begin(); f.end("hello"); f.hang() },
	// It asks what earlier runs have learnt, and keeps something.
	"remembers": func(f *fake) {
		f.begin()
		f.call("remember", `{"text":"the sky is blue"}`)
		f.call("recall", `{"query":"sky"}`)
		f.end("hello")
	},
	// It plans, looks at something long, and reads on where that was put aside. Then it has to wait, and goes on with its list.
	"plans": func(f *fake) {
		f.begin()
		if f.runs() > 1 {
			f.call("todo", `{"done":[1]}`)
			f.end("hello")
			return
		}
		f.call("todo", `{"add":["look"]}`)
		hash := regexp.MustCompile(`[0-9a-f]{64}`).FindString(f.call("look", `{}`))
		f.call("artifact_read", `{"artifact":"`+hash+`","grep":"needle"}`)
		f.line(obj{"type": "result", "subtype": "success", "is_error": true, "api_error_status": 429, "session_id": f.session, "result": "API Error: 429 slow down"})
		os.Exit(1)
	},
	// It plans, has to wait, answers wrongly, and then rightly.
	"recites": func(f *fake) {
		f.begin()
		switch f.runs() {
		case 1:
			f.call("todo", `{"add":["`+planned+`","write it down"]}`)
			f.call("todo", `{"done":[1]}`)
			f.call("todo", `{}`)
			f.call("todo", `{}`)
			f.limited()
		case 2:
			f.end(bad)
		default:
			f.end(good)
		}
	},
	// It plans many things at once, and has to wait.
	"plans-at-once": func(f *fake) {
		f.begin()
		if f.runs() > 1 {
			f.end("hello")
			return
		}
		var all sync.WaitGroup
		for i := range atOnce {
			all.Go(func() {
				_, err := f.tools["todo"].Call(context.Background(), json.RawMessage(fmt.Sprintf(`{"add":["item %d"]}`, i)))
				f.must(err)
			})
		}
		all.Wait()
		f.limited()
	},
	// It reads on where its prompt was cut.
	"digs": func(f *fake) {
		f.begin()
		if hash := hashes.FindString(f.prompt); hash != "" {
			f.call("artifact_read", `{"artifact":"`+hash+`","grep":"needle"}`)
		}
		f.end("hello")
	},
	// It reads the same again and again, and what it is pointed to twice. Then it sums up what it knows, and reads once more, also in
	// another process.
	"rereads": func(f *fake) {
		f.begin()
		if f.runs() > 1 {
			f.call("look", `{}`)
			f.end(good)
			return
		}
		f.call("look", `{}`)
		said := f.call("look", ` { } `)
		for range 2 {
			if hash := hashes.FindString(said); hash != "" {
				f.call("artifact_read", `{"artifact":"`+hash+`"}`)
			}
		}
		f.call("look", `{"other":1}`)
		for range 2 {
			f.call("add", `{"n":1}`)
		}
		for range 2 {
			f.call("short", `{}`)
		}
		for range 3 {
			f.call("fails", `{}`)
		}
		f.line(obj{"type": "system", "subtype": "compact_boundary", "session_id": f.session, "compact_metadata": obj{"trigger": "auto", "pre_tokens": 150000}})
		f.call("compacted", `{}`) // which waits until that was heard
		f.call("look", `{}`)
		f.end(bad)
	},
	"context-works":   inContext,
	"context-forgets": inContext,
	// It tells all it knows, everywhere.
	"leaks": func(f *fake) {
		f.begin()
		all := f.token + " " + os.Getenv("PROVIDER_KEY")
		fmt.Println("broken " + all)
		fmt.Fprintln(os.Stderr, all)
		f.call("look", `{"with":"`+all+`"}`)
		if f.runs() == 1 {
			os.Exit(1)
		}
		f.end("I know " + all)
	},
	"hangs": func(f *fake) {
		f.begin()
		if f.runs() == 1 {
			f.hang()
		}
		f.end("hello")
	},
	"refused": func(f *fake) {
		f.begin()
		if f.kind == "codex" {
			f.line(obj{"type": "error", "message": "Reconnecting... 1/5"})
			f.line(obj{"type": "turn.failed", "error": obj{"message": "exceeded retry limit, last status: 401 Unauthorized"}})
			os.Exit(1)
		}
		f.line(obj{"type": "assistant", "session_id": f.session, "error": "authentication_failed", "message": obj{"model": "<synthetic>", "content": []obj{{"type": "text", "text": "Not logged in · Please run /login"}}}})
		f.line(obj{"type": "result", "subtype": "success", "is_error": true, "session_id": f.session, "result": "Not logged in · Please run /login"})
		os.Exit(1)
	},
	"limited": func(f *fake) {
		f.begin()
		if f.runs() > 1 {
			f.end("hello")
			return
		}
		f.limited()
	},
	// It works on for ever, with a child that does not hear.
	"stays": func(f *fake) {
		f.begin()
		if f.runs() > 1 {
			f.end("hello")
			return
		}
		f.child()
		f.call("look", `{}`)
		f.hang()
	},
	// It holds the pipe "alive" open itself, and does not care what becomes of its call.
	"holds": func(f *fake) {
		file, err := os.OpenFile(filepath.Join(f.home, "alive"), os.O_WRONLY, 0)
		f.must(err)
		defer file.Close()
		f.begin()
		go func() { _, _ = f.tools["look"].Call(context.Background(), json.RawMessage(`{}`)) }()
		f.hang()
	},
	// As one whose session was not written down when it was killed.
	"forgets": func(f *fake) {
		f.begin()
		if f.runs() == 1 {
			f.call("look", `{}`)
			f.hang()
		}
		f.end("hello")
	},
	// A session in which every process does everything anew, as if it had not seen the answers of earlier calls.
	"repeats": func(f *fake) {
		f.begin()
		f.call("add", `{"n":1}`)
		f.call("look", `{}`)
		f.call("add", `{"n":2}`)
		f.end("hello")
	},
	"many": func(f *fake) {
		f.begin()
		for f.call("look", `{}`); f.runs() == 1; { // would never end
			f.call("look", `{}`)
		}
		f.end("hello")
	},
	"echo": func(f *fake) {
		if f.runs() == 1 {
			fmt.Println("no JSON")
			return
		}
		fmt.Println("Here: " + good)
	},
	"lines": func(f *fake) {
		fmt.Println(`{"id":"s1","usage":{"model":"m","in":5,"out":2}}`)
		fmt.Println(`{"id":"s1","usage":{"model":"m","in":1,"out":1},"reply":{"text":"you said ` + f.prompt + `"}}`)
	},
}

// limited ends because its provider wants it to wait.
func (f *fake) limited() {
	if f.kind == "codex" {
		f.line(obj{"type": "turn.failed", "error": obj{"message": "You've hit your usage limit. Try again later."}})
		os.Exit(1)
	}
	f.line(obj{"type": "result", "subtype": "success", "is_error": true, "api_error_status": 429, "session_id": f.session, "result": "API Error: 429 slow down"})
	os.Exit(1)
}

var hashes = regexp.MustCompile(`[0-9a-f]{64}`)

// inContext plans, reads the same twice, and is killed while it looks. Then it does all of that again, and reads on where its
// first prompt was cut.
func inContext(f *fake) {
	f.begin()
	if f.runs() == 1 {
		f.call("todo", `{"add":["read","look"]}`)
		f.call("todo", `{"done":[1]}`)
	}
	for range 2 {
		f.call("read", `{}`)
	}
	if f.runs() > 1 {
		f.call("artifact_read", `{"artifact":"`+hashes.FindString(f.call("read", `{}`))+`","grep":"needle"}`)
		f.call("artifact_read", `{"artifact":"`+hashes.FindString(f.first())+`","grep":"needle"}`)
	}
	f.call("look", `{}`)
	f.end("hello")
}

// first is what the first process was told.
func (f *fake) first() string {
	raw, err := os.ReadFile(filepath.Join(f.home, "invocations"))
	f.must(err)
	var one invocation
	f.must(json.NewDecoder(strings.NewReader(string(raw))).Decode(&one))
	return one.Prompt
}

// hang waits for ever: for a byte, so that the runtime does not think that all is over.
func (f *fake) hang() {
	r, w, err := os.Pipe()
	f.must(err)
	_, err = r.Read(make([]byte, 1))
	f.must(errors.Join(err, w.Close()))
}

// child starts a process that ignores the signals that can be ignored, and holds the pipe "alive" open.
func (f *fake) child() {
	if _, err := os.Stat(filepath.Join(f.home, "alive")); err != nil {
		return
	}
	script := `exec 3>"$0/alive"; trap "" TERM HUP INT; echo up >&3; cat "$0/never"; cat "$0/never"`
	cmd := exec.Command("/bin/sh", "-c", script, f.home)
	cmd.Stdout = os.Stdout // and keeps our output open
	f.must(cmd.Start())
}

// invocations are those of a fake with this home.
func invocations(t *testing.T, home string) (all []invocation) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(home, "invocations"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var one invocation
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}

func noted(t *testing.T, home, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(home, name))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(raw)), "\n")
}
