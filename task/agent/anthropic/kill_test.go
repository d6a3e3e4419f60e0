package anthropic_test

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
	"github.com/cairnrun/cairn/task/agent/anthropic"
	"github.com/cairnrun/cairn/task/agent/loop"
)

const answerKey cairn.Key[string] = "step"

// TestMain is the program that gets killed, where the environment says so.
func TestMain(m *testing.M) {
	if path := os.Getenv("CAIRN_LOOP_DB"); path != "" {
		out, err := drive(context.Background(), path, os.Getenv("CAIRN_LOOP_URL"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Println(out)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// drive runs the workflow, or goes on with it.
func drive(ctx context.Context, path, url string) (string, error) {
	store, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return "", err
	}
	defer store.Close()
	e, err := engine.Open(ctx, engine.Config{Store: store, Workflows: []cairn.Definer{asking(url, nil)}})
	if err != nil {
		return "", err
	}
	defer e.Close(ctx)
	run, err := e.Start(ctx, "ask", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	if errors.Is(err, engine.RunExists) {
		run, err = e.Resume(ctx, "r", engine.ResumeOptions{})
	}
	if err != nil {
		return "", err
	}
	out, err := run.Wait(ctx)
	return string(out.Status) + " " + string(out.Result), err
}

// asking is a workflow of one agent whose tools do their work at the server.
func asking(url string, observe func(loop.Event)) cairn.Workflow[struct{}, string] {
	post := cairn.Tool{Name: "post", SideEffect: true, Idempotent: true, Call: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/post", bytes.NewReader(in))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Idempotency-Key", task.IdempotencyKey(ctx))
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return nil, err
		}
		defer resp.Body.Close()
		out, err := io.ReadAll(resp.Body)
		if err != nil {
			return nil, err
		}
		return json.Marshal(string(out))
	}}
	agent := &loop.Agent{Model: anthropic.New(anthropic.Config{Model: "claude-opus-4-8", Key: secret, BaseURL: url}), Tools: []cairn.Tool{post}, Observe: observe}
	return cairn.Workflow[struct{}, string]{Name: "ask", Result: answerKey, Render: func(v *cairn.View, _ struct{}) cairn.Node {
		return task.Task[string]{ID: answerKey, Agent: agent, Prompt: func(*cairn.View) string { return "go" }}
	}}
}

// outside is all that the program talks to: the model, and what its tools do.
type outside struct {
	mu     sync.Mutex // guards the rest
	events int
	// asked counts requests by their number of messages, posted calls by their key.
	asked, posted map[string]int
	at            int
	before        bool
	kill          func()
}

func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	o.mu.Lock()
	o.events++
	hit := o.events == o.at
	turn := strings.Count(string(body), `"role":"assistant"`) + 1
	if r.URL.Path == "/post" {
		o.posted[r.Header.Get("Idempotency-Key")]++
	} else {
		o.asked[fmt.Sprint(turn)]++
	}
	o.mu.Unlock()
	if hit && o.before {
		o.kill()
		return
	}
	switch {
	case r.URL.Path == "/post":
		fmt.Fprintf(w, "posted %s", body)
		w.(http.Flusher).Flush()
	case turn == 1:
		message("tool_use", thinkingBlock(0), toolBlock(1, "toolu_1", "post", `{"n":1}`), toolBlock(2, "toolu_2", "post", `{"n":2}`))(w, r)
	case turn == 2:
		message("tool_use", toolBlock(0, "toolu_3", "post", `{"n":3}`))(w, r)
	default:
		says("done")(w, r)
	}
	if hit {
		o.kill()
	}
}

// live runs the program once, against the world outside.
func (o *outside) live(t *testing.T, url, path string) (string, error) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "CAIRN_LOOP_DB="+path, "CAIRN_LOOP_URL="+url)
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

// journaled is what the run has left: its conversation and the tokens in its frames. The key must be nowhere.
func journaled(t *testing.T, path string) (conversation string, tokens int64) {
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
	for _, e := range entries {
		if e.Name == loop.Conversation {
			conversation = string(e.Value)
		}
		if strings.Contains(string(e.Value), secret) {
			t.Errorf("the key is in the journal's %s", e.Name)
		}
	}
	err = store.Frames(t.Context(), "r", 1, func(_ int64, body []byte) error {
		if bytes.Contains(body, []byte(secret)) {
			t.Errorf("the key is in a frame: %s", body)
		}
		f, err := core.Decode(body)
		if err != nil {
			return err
		}
		for _, ev := range f.Events {
			for _, u := range ev.Usage {
				tokens += u.Output
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if raw, err := os.ReadFile(file); err != nil || bytes.Contains(raw, []byte(secret)) {
			t.Errorf("the key is in %s, or %v", file, err)
		}
	}
	return conversation, tokens
}

// TestKillInAToolLoop kills a real process, with the real SDK, engine and store, at every event that the world outside sees
// of it, before or after it has been answered. Whoever resumes the run makes no finished call again, ends with the same
// conversation, and has all usage in frames.
func TestKillInAToolLoop(t *testing.T) {
	const events, all = 6, 3 * 42
	rounds, step := 4, 3 // some of the twelve points; with the variable all, and as often as it says
	if n, err := strconv.Atoi(os.Getenv("CAIRN_KILL_ROUNDS")); err == nil {
		rounds, step = n, 1
	}
	undisturbed := ""
	for round := range rounds + 1 {
		at, before := 0, false // the first is not disturbed
		if round > 0 {
			point := (round - 1) * step % (2 * events)
			at, before = point/2+1, point%2 == 0
		}
		t.Run(fmt.Sprintf("%d/%d/before=%t", round, at, before), func(t *testing.T) {
			o := &outside{asked: map[string]int{}, posted: map[string]int{}, at: at, before: before}
			s := httptest.NewServer(o)
			defer s.Close()
			path := filepath.Join(t.TempDir(), "cairn.db")
			out, err := o.live(t, s.URL, path)
			if at > 0 {
				if err == nil && !(at == events && !before) {
					t.Fatalf("it was not killed: %s", out)
				}
				out, err = o.live(t, s.URL, path)
			}
			if err != nil || out != `finished "done"` {
				t.Fatalf("%s, %v", out, err)
			}
			conversation, tokens := journaled(t, path)
			if at == 0 {
				undisturbed = conversation
			}
			if conversation != undisturbed || conversation == "" {
				t.Errorf("the conversation is\n%s, undisturbed\n%s", conversation, undisturbed)
			}
			if tokens != all && (at < events || before) { // a kill between the last record and the frame loses its usage
				t.Errorf("%d tokens in frames, want %d", tokens, all)
			}
			// In flight are one call of the model, or two tools side by side.
			sum := 0
			for _, n := range o.asked {
				sum += n
			}
			tools := 0
			for _, n := range o.posted {
				tools += n
			}
			if len(o.asked) != 3 || sum > 4 || len(o.posted) != 3 || tools > 5 || sum+tools > events+2 {
				t.Errorf("asked %v, posted %v", o.asked, o.posted)
			}
		})
	}
}

// TestCloseAndResume: an engine that is closed in the middle of a turn goes on with the conversation when it is opened again.
func TestCloseAndResume(t *testing.T) {
	o := &outside{asked: map[string]int{}, posted: map[string]int{}}
	s := httptest.NewServer(o)
	defer s.Close()
	path := filepath.Join(t.TempDir(), "cairn.db")
	begun := make(chan struct{}, 1)
	life := func(observe func(loop.Event), do func(*engine.Engine)) {
		store, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close()
		e, err := engine.Open(t.Context(), engine.Config{Store: store, Workflows: []cairn.Definer{asking(s.URL, observe)}})
		if err != nil {
			t.Fatal(err)
		}
		do(e)
		if err := e.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	life(func(ev loop.Event) {
		if ev.Kind == loop.TurnBegun && ev.Turn == 2 {
			begun <- struct{}{}
		}
	}, func(e *engine.Engine) {
		if _, err := e.Start(t.Context(), "ask", json.RawMessage(`{}`), engine.StartOptions{ID: "r"}); err != nil {
			t.Fatal(err)
		}
		<-begun
	})
	life(nil, func(e *engine.Engine) {
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := run.Wait(t.Context()); err != nil || string(out.Result) != `"done"` {
			t.Fatalf("%+v, %v", out, err)
		}
	})
	if _, tokens := journaled(t, path); tokens != 3*42 && tokens != 3*42+1 { // the call that was cut off may have told of its beginning
		t.Errorf("%d tokens in frames", tokens)
	}
	if o.asked["1"] != 1 || len(o.posted) != 3 {
		t.Errorf("asked %v, posted %v", o.asked, o.posted)
	}
	for key, n := range o.posted {
		if n != 1 {
			t.Errorf("%s was posted %d times", key, n)
		}
	}
}
