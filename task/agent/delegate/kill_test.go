package delegate_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/delegate"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// TestMain is the program that gets killed, where the environment says so.
func TestMain(m *testing.M) {
	if path := os.Getenv("CAIRN_DELEGATE_DB"); path != "" {
		out, err := drive(context.Background(), path, os.Getenv("CAIRN_DELEGATE_URL"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(out)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func drive(ctx context.Context, path, url string) (string, error) {
	store, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return "", err
	}
	defer store.Close()
	e, err := engine.Open(ctx, engine.Config{Store: store, Workflows: []cairn.Definer{leading(url)}})
	if err != nil {
		return "", err
	}
	defer e.Close(ctx)
	run, err := e.Start(ctx, "lead", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	if errors.Is(err, engine.RunExists) {
		run, err = e.Resume(ctx, "r", engine.ResumeOptions{})
	}
	if errors.Is(err, engine.RunEnded) {
		info, err := store.Run(ctx, "r")
		return string(info.Status) + " " + string(info.Result), err
	}
	if err != nil {
		return "", err
	}
	out, err := run.Wait(ctx)
	return string(out.Status) + " " + string(out.Result), err
}

// remote is a model that is asked over the network, where all calls are counted.
type remote struct{ url, name string }

func (r remote) Info() loop.Info {
	return loop.Info{Provider: "remote", Models: []string{r.name}, Identity: r.name}
}

func (r remote) Call(ctx context.Context, w loop.Window) (turn loop.Turn, err error) {
	err = ask(ctx, r.url+"/model/"+r.name, w.Key, w.Messages, &turn)
	return turn, err
}

func ask(ctx context.Context, url, key string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(out)
}

// leading is a lead with two sub-agents at once, a fork of it and a fork of that.
func leading(url string) cairn.Workflow[struct{}, string] {
	look := cairn.Tool{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object"}`), Call: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		var out string
		if err := ask(ctx, url+"/tool", task.IdempotencyKey(ctx), in, &out); err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}}
	sub := &loop.Agent{Model: remote{url, "sub"}, Tools: []cairn.Tool{look}}
	a := &loop.Agent{Model: remote{url, "lead"}, Tools: []cairn.Tool{delegate.New(delegate.Config{Agent: sub, Share: 1000})}}
	asks := func(id cairn.Key[string], fork cairn.AnyKey) cairn.Node {
		return task.Task[string]{ID: id, Agent: a, Fork: fork, Prompt: func(*cairn.View) string { return "prompt of " + string(id) }}
	}
	return cairn.Workflow[struct{}, string]{Name: "lead", Result: "second", Render: func(*cairn.View, struct{}) cairn.Node {
		return cairn.Nodes{asks("lead", nil), asks("first", cairn.Key[string]("lead")), asks("second", cairn.Key[string]("first"))}
	}}
}

// outside is all that the program talks to.
type outside struct {
	mu     sync.Mutex // guards the rest
	calls  map[string]int
	events int
	at     int
	before bool
	kill   func()
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	o.events++
	hit := o.events == o.at
	o.calls[r.URL.Path+" "+r.Header.Get("Idempotency-Key")]++
	o.mu.Unlock()
	if hit && o.before {
		o.kill()
		return
	}
	var messages []window.Message
	_ = json.Unmarshal(body, &messages)
	switch r.URL.Path {
	case "/tool":
		fmt.Fprintf(w, "%q", "SEEN-BY-SUB "+string(body))
	default:
		last := messages[len(messages)-1].Blocks[0]
		var turn loop.Turn
		switch {
		case r.URL.Path == "/model/lead" && last.Text == "prompt of lead":
			turn = wants(use("a", "delegate", asked("one")), use("b", "delegate", asked("two")))
		case r.URL.Path == "/model/sub" && last.Kind == window.Text:
			turn = wants(use("s", "look", map[string]string{"for": last.Text[:3]}))
		case r.URL.Path == "/model/sub":
			turn = says("found")
		default:
			turn = says(fmt.Sprintf("%d messages", len(messages)))
		}
		_ = json.NewEncoder(w).Encode(turn)
	}
	w.(http.Flusher).Flush()
	if hit {
		o.kill()
	}
}

func (o *outside) live(t *testing.T, url, path string) (string, error) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CAIRN_DELEGATE_DB="+path, "CAIRN_DELEGATE_URL="+url)
	var out, wrong bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &wrong
	o.mu.Lock()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	o.kill = func() { _ = cmd.Process.Kill() }
	o.mu.Unlock()
	err := cmd.Wait()
	if wrong.Len() > 0 {
		t.Errorf("%s", wrong.String())
	}
	return strings.TrimSpace(out.String()), err
}

// left is what the run has left: the final conversations by task, and the tokens in frames, delegated and not.
func left(t *testing.T, path string) (conversations map[string]string, own, delegated int64) {
	t.Helper()
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	entries, err := store.Entries(t.Context(), "r", "")
	if err != nil {
		t.Fatal(err)
	}
	conversations = map[string]string{}
	for _, e := range entries {
		if e.Name == loop.Conversation {
			conversations[e.Path] = string(e.Value)
		}
	}
	state, _, err := engine.Load(t.Context(), store, "r")
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range state.Tasks {
		own, delegated = own+one.Spent.Tokens-one.Spent.Delegated, delegated+one.Spent.Delegated
	}
	if got := []string{state.Tasks["first"].Fork, state.Tasks["second"].Fork}; fmt.Sprint(got) != "[lead first]" || state.Status != core.Finished {
		t.Errorf("forks %v, %s", got, state.Status)
	}
	return conversations, own, delegated
}

// TestKillWhileSubAgentsWork kills a real process at every event that the world outside sees, before or after it has been
// answered: in the lead's turns, in two sub-agents at once, in their tools, in forks. Whoever resumes makes no finished call
// again, has all usage in frames, and ends with the same conversations.
func TestKillWhileSubAgentsWork(t *testing.T) {
	const events = 10 // two of the lead, two and a tool of each sub-agent, one of each fork
	rounds, step := 5, 4
	if n, err := strconv.Atoi(os.Getenv("CAIRN_KILL_ROUNDS")); err == nil {
		rounds, step = n, 1
	}
	var undisturbed map[string]string
	for round := range rounds + 1 {
		at, before := 0, false
		if round > 0 {
			point := (round*step + round/5) % (2 * events)
			at, before = point/2+1, point%2 == 0
		}
		t.Run(fmt.Sprintf("%d/%d/before=%t", round, at, before), func(t *testing.T) {
			o := &outside{calls: map[string]int{}, at: at, before: before}
			s := httptest.NewServer(o)
			defer s.Close()
			path := filepath.Join(t.TempDir(), "cairn.db")
			out, err := o.live(t, s.URL, path)
			if at > 0 && err != nil {
				out, err = o.live(t, s.URL, path)
			}
			// The second fork sees five messages of the lead's, the prompt and answer of the first, and its own prompt.
			if err != nil || out != `finished "7 messages"` {
				t.Fatalf("%s, %v", out, err)
			}
			conversations, own, delegated := left(t, path)
			if at == 0 {
				undisturbed = conversations
			}
			for _, path := range []string{"lead", "first", "second"} {
				if conversations[path] != undisturbed[path] || conversations[path] == "" || strings.Contains(conversations[path], "SEEN-BY-SUB") {
					t.Errorf("%s: the conversation is\n%s, undisturbed\n%s", path, conversations[path], undisturbed[path])
				}
			}
			// A kill between the last record of an attempt and its frame loses the usage of that attempt.
			if last := at >= 8 && !before; !last && (own != 40 || delegated != 40) {
				t.Errorf("%d and %d tokens in frames, want 40 and 40", own, delegated)
			}
			// Two sub-agents work side by side: as many calls are in flight at most.
			sum := 0
			for call, n := range o.calls {
				if sum += n; n > 2 {
					t.Errorf("%s was made %d times", call, n)
				}
			}
			if len(o.calls) != events || sum > events+2 || at == 0 && sum != events {
				t.Errorf("%d calls, %d keys: %v", sum, len(o.calls), o.calls)
			}
		})
	}
}
