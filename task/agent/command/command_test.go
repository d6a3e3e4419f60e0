//go:build unix

package command_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/calltest"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/command"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/toolcall"
	"github.com/cairnrun/cairn/task/agent/window"
	"github.com/cairnrun/cairn/tool"
)

const (
	canary   = "CANARY-do-not-look"
	provider = "sk-provider-secret-0123456789"
	model    = "claude-sonnet-4-6"
)

// place is a host with coding agents: where they are installed, what they keep, and the folder they work in.
type place struct {
	t              *testing.T
	bin, home, dir string
	db             string
	tally          *tally
	files          cairn.Artifacts
}

// tally counts what tools have done.
type tally struct {
	mu sync.Mutex
	// added counts by idempotency key.
	added  map[string]int
	looked int
}

func newPlace(t *testing.T) *place {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	root := t.TempDir()
	p := &place{t, filepath.Join(root, "bin"), filepath.Join(root, "home"), filepath.Join(root, "work"), filepath.Join(root, "cairn.db"), &tally{added: map[string]int{}}, nil}
	self, err := os.Executable()
	must(t, err)
	for _, dir := range []string{p.bin, p.home, p.dir} {
		must(t, os.Mkdir(dir, 0o700))
	}
	for _, name := range []string{"claude", "codex", "simple"} {
		must(t, os.Symlink(self, filepath.Join(p.bin, name)))
	}
	t.Setenv("PROVIDER_KEY", provider)
	t.Setenv("OTHER_SECRET", canary)
	return p
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// config is for a fake with this act.
func (p *place) config(kind, act string) command.Config {
	return command.Config{Dir: p.dir, Program: filepath.Join(p.bin, kind), Model: model, Inherit: []string{"PROVIDER_KEY"},
		Env: []string{"FAKE_HOME=" + p.home, "FAKE_ACT=" + act}, Grace: time.Second}
}

// agent is a fake with this act.
func (p *place) agent(kind, act string, change ...func(c *command.Config)) *command.Agent {
	c := p.config(kind, act)
	for _, one := range change {
		one(&c)
	}
	if kind == "codex" {
		return command.Codex(c)
	}
	return command.Claude(c)
}

func (y *tally) tools() []cairn.Tool {
	add := tool.New("add", "Adds.", func(ctx context.Context, in struct {
		N int `json:"n"`
	}) (string, error) {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.added[task.IdempotencyKey(ctx)]++
		return fmt.Sprint("added ", in.N), task.Emit(ctx, "added", in.N)
	}, tool.SideEffect())
	look := tool.New("look", "Looks.", func(context.Context, struct{}) (string, error) {
		y.mu.Lock()
		defer y.mu.Unlock()
		y.looked++
		return fmt.Sprint("looked ", y.looked), nil
	})
	return []cairn.Tool{add, look}
}

func (p *place) withTools(c *command.Config) { c.Tools = p.tally.tools() }

type report struct {
	Title string `json:"title" validate:"required"`
	Score int    `json:"score" validate:"min=1,max=10"`
}

const (
	reportKey cairn.Key[report] = "step"
	textKey   cairn.Key[string] = "step"
)

// asking is a workflow of one task.
func asking[T any](key cairn.Key[T], agent task.Agent, around ...func(cairn.Node) cairn.Node) cairn.Workflow[struct{}, T] {
	return cairn.Workflow[struct{}, T]{Name: "ask", Result: key, Render: func(*cairn.View, struct{}) cairn.Node {
		var node cairn.Node = task.Task[T]{ID: key, Agent: agent, Prompt: func(*cairn.View) string { return "do it" }, Retry: task.Retry{Max: 2, Initial: time.Millisecond}}
		for _, one := range around {
			node = one(node)
		}
		return node
	}}
}

// host is an engine over the place's database.
type host struct {
	*engine.Engine
	store *sqlite.Store
}

func (p *place) open(def cairn.Definer, around ...engine.Middleware) host {
	p.t.Helper()
	store, err := sqlite.Open(p.t.Context(), sqlite.Config{Path: p.db, Synchronous: sqlite.Normal})
	must(p.t, err)
	e, err := engine.Open(p.t.Context(), engine.Config{Store: store, Workflows: []cairn.Definer{def}, Poll: 5 * time.Millisecond, Middleware: around, Artifacts: p.files})
	must(p.t, err)
	p.t.Cleanup(func() {
		must(p.t, e.Close(context.WithoutCancel(p.t.Context())))
		must(p.t, store.Close())
	})
	return host{e, store}
}

// outcome is what a run has come to.
type outcome struct {
	engine.Outcome
	// usage is all in the frames, effects is what is in the outbox, journal the task's entries.
	usage   []cairn.Usage
	effects []engine.Delivery
	// artifacts are those in the frames.
	artifacts []cairn.Artifact
	journal   map[string]json.RawMessage
}

func (p *place) run(def cairn.Definer) outcome {
	p.t.Helper()
	h := p.open(def)
	r, err := h.Start(p.t.Context(), "ask", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	must(p.t, err)
	return p.wait(h, r)
}

func (p *place) wait(h host, r *engine.Run) (out outcome) {
	p.t.Helper()
	var err error
	out.Outcome, err = r.Wait(p.t.Context())
	must(p.t, err)
	entries, err := h.store.Entries(p.t.Context(), "r", "step")
	must(p.t, err)
	out.journal = map[string]json.RawMessage{}
	for _, e := range entries {
		out.journal[e.Name] = e.Value
	}
	must(p.t, h.store.Frames(p.t.Context(), "r", 1, func(_ int64, body []byte) error {
		f, err := core.Decode(body)
		if err != nil {
			return err
		}
		for _, ev := range f.Events {
			out.usage = append(out.usage, ev.Usage...)
			out.artifacts = append(out.artifacts, ev.Artifacts...)
		}
		return nil
	}))
	out.effects, err = h.store.Due(p.t.Context(), time.Hour, 100)
	must(p.t, err)
	return out
}

func (o outcome) total(model string) (sum cairn.Usage) {
	for _, u := range o.usage {
		if u.Model == model {
			sum.Model = u.Model
			sum.Input += u.Input
			sum.Output += u.Output
			sum.CacheRead += u.CacheRead
			sum.CacheWrite += u.CacheWrite
			sum.CacheWrite1h += u.CacheWrite1h
		}
	}
	return sum
}

// clean fails the test where something secret is in the database, or files of the program are left.
func (p *place) clean(secrets ...string) {
	p.t.Helper()
	p.unwritten(secrets...)
	if left, err := filepath.Glob(filepath.Join(os.TempDir(), "cairn-command-*")); err != nil || len(left) > 0 {
		p.t.Errorf("left behind: %q, %v", left, err)
	}
}

// unwritten fails the test where something secret is in the database.
func (p *place) unwritten(secrets ...string) {
	p.t.Helper()
	files, err := filepath.Glob(p.db + "*")
	must(p.t, err)
	for _, file := range files {
		raw, err := os.ReadFile(file)
		must(p.t, err)
		for _, secret := range append(secrets, canary, provider) {
			if bytes.Contains(raw, []byte(secret)) {
				p.t.Errorf("%s is in %s", secret, filepath.Base(file))
			}
		}
	}
}

var kinds = []string{"claude", "codex"}

func each(t *testing.T, fn func(t *testing.T, p *place, kind string)) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			fn(t, newPlace(t), kind)
		})
	}
}

// TestATask: a program answers with the task's type, having used served tools; all it has used is booked, its calls are in
// the journal, and it sees what it may see.
func TestATask(t *testing.T) {
	each(t, func(t *testing.T, p *place, kind string) {
		var mu sync.Mutex
		kindsSeen := map[loop.EventKind]int{}
		out := p.run(asking(reportKey, p.agent(kind, "works", p.withTools, func(c *command.Config) {
			c.System = "You are \"terse\"."
			c.Observe = func(ev loop.Event) {
				mu.Lock()
				defer mu.Unlock()
				kindsSeen[ev.Kind]++
				if ev.Path != "step" {
					t.Errorf("an event of %q", ev.Path)
				}
			}
		})))
		if out.Status != core.Finished || string(out.Result) != good {
			t.Fatalf("%s %s: %v", out.Status, out.Result, out.Failure)
		}
		calls := invocations(t, p.home)
		if len(calls) != 1 || calls[0].Dir != real(t, p.dir) || !strings.HasPrefix(calls[0].Prompt, "do it") || strings.Contains(calls[0].Prompt, "output_schema") || !strings.Contains(calls[0].Schema, `"title"`) {
			t.Errorf("%+v", calls)
		}
		for _, one := range calls[0].Env {
			if strings.Contains(one, canary) {
				t.Errorf("the program sees %s", one)
			}
		}
		if !slices.Contains(calls[0].Env, "PROVIDER_KEY="+provider) {
			t.Errorf("it does not see what it may: %q", calls[0].Env)
		}
		if want := []string{`"added 1"`, `"looked 1"`, `"added 1"`}; !slices.Equal(noted(t, p.home, "results"), want) {
			t.Errorf("the tools answered %q", noted(t, p.home, "results"))
		}
		// Four messages.
		want := cairn.Usage{Model: model, Input: 40, Output: 28, CacheRead: 400, CacheWrite: 80, CacheWrite1h: 20}
		if kind == "codex" {
			want = cairn.Usage{Model: model, Input: 120, Output: 28, CacheRead: 400}
		}
		if got := out.total(model); got != want {
			t.Errorf("used %+v, want %+v", got, want)
		}
		if got := out.total("claude-haiku-4-5"); kind == "claude" && (got.Input != 12 || got.Output != 4) {
			t.Errorf("another model used %+v", got)
		}
		made, err := toolcall.Read(out.journal)
		must(t, err)
		if len(made) != 3 || made[0].Tool != "add" || string(made[0].Input) != `{"n":1}` || !made[0].SideEffect || made[0].State != toolcall.Done || made[1].Tool != "look" ||
			made[0].Key != "r/step#"+made[0].Name || made[0].Key == made[2].Key || made[0].Attempt != 1 || made[0].Began.IsZero() || made[0].Ended.Before(made[0].Began) {
			t.Errorf("calls %+v", made)
		}
		var said []window.Message
		if err := json.Unmarshal(out.journal[cairn.ConversationRecord], &said); err != nil || len(said) != 2 || window.Said(said[0].Blocks) != calls[0].Prompt || window.Said(said[1].Blocks) != good {
			t.Errorf("the conversation is %+v, %v", said, err)
		}
		if len(p.tally.added) != 2 || p.tally.added[made[0].Key] != 1 || len(out.effects) != 2 {
			t.Errorf("added %v, effects %v", p.tally.added, out.effects)
		}
		if kindsSeen[loop.TurnBegun] != 1 || kindsSeen[loop.TurnEnded] != 1 || kindsSeen[loop.ToolBegun] != 3 || kindsSeen[loop.ToolNamed] != 3 || kindsSeen[loop.TextDelta] == 0 {
			t.Errorf("events %v", kindsSeen)
		}
		p.clean(noted(t, p.home, "tokens")...)
		if kind == "codex" {
			i := slices.IndexFunc(calls[0].Env, func(one string) bool { return strings.HasPrefix(one, "CAIRN_MCP_TOKEN=") })
			token := strings.TrimPrefix(calls[0].Env[i], "CAIRN_MCP_TOKEN=")
			if len(token) < 20 || strings.Contains(strings.Join(calls[0].Args, " "), token) {
				t.Errorf("the token is %q, the arguments %q", token, calls[0].Args)
			}
		}
	})
}

func real(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.EvalSymlinks(path)
	must(t, err)
	return path
}

// TestRepair: an answer that does not fit goes back into the same session, and at last fails the attempt.
func TestRepair(t *testing.T) {
	each(t, func(t *testing.T, p *place, kind string) {
		out := p.run(asking(reportKey, p.agent(kind, "errs")))
		if out.Status != core.Finished || string(out.Result) != good {
			t.Fatalf("%s %s: %v", out.Status, out.Result, out.Failure)
		}
		calls := invocations(t, p.home)
		if len(calls) != 2 || !calls[1].Resumed || calls[1].Session != calls[0].Session || !strings.HasPrefix(calls[1].Prompt, "Your answer is refused: ") || !strings.Contains(calls[1].Prompt, "score") {
			t.Errorf("%+v", calls)
		}
		// What a session counts in all is booked once.
		if got := out.total(model); got.Output != 14 || got.CacheRead != 200 {
			t.Errorf("used %+v", got)
		}
		if got := out.total("claude-haiku-4-5"); kind == "claude" && got.Input != 6 {
			t.Errorf("another model used %+v", got)
		}
	})
	t.Run("never", func(t *testing.T) {
		p := newPlace(t)
		out := p.run(asking(reportKey, p.agent("claude", "wrong", func(c *command.Config) { c.Repairs = 1 })))
		if out.Status != core.Failed || out.Failure.Code != cairn.InvalidOutput {
			t.Fatalf("%s %v", out.Status, out.Failure)
		}
		// The second attempt begins anew, and is told of the first.
		calls := invocations(t, p.home)
		if len(calls) != 4 || calls[2].Resumed || !strings.HasPrefix(calls[2].Prompt, "do it") || !strings.Contains(calls[2].Prompt, "Attempt 1: INVALID_OUTPUT") || !calls[3].Resumed {
			t.Errorf("%+v", calls)
		}
	})
}

// TestRefusedBeforeItStarts: what can't work is known before the run is there.
func TestRefusedBeforeItStarts(t *testing.T) {
	p := newPlace(t)
	plain := command.Template{Name: "simple", Program: filepath.Join(p.bin, "simple"), Args: []string{"{prompt}"}, Format: func(command.Config) command.Format { return command.Text }}
	remembering := func(n cairn.Node) cairn.Node {
		return memory.Memory{Bank: "project-x", Tools: memory.On, Children: cairn.Nodes{n}}
	}
	for name, tt := range map[string]struct {
		agent  *command.Agent
		around []func(cairn.Node) cairn.Node
		want   string
	}{
		"no program":   {command.Claude(command.Config{Dir: p.dir, Program: "no-such-claude"}), nil, "at step: Agent: COMMAND_MISSING: the program \"no-such-claude\" of the agent claude is not there"},
		"no folder":    {command.Codex(command.Config{Dir: filepath.Join(p.dir, "none"), Program: filepath.Join(p.bin, "codex")}), nil, "COMMAND_MISSING"},
		"nowhere":      {command.Codex(command.Config{Program: filepath.Join(p.bin, "codex")}), nil, "there is no Dir to work in"},
		"own tools":    {command.New(plain, command.Config{Dir: p.dir, Tools: p.tally.tools()}), nil, "at step: Agent: COMMAND_NO_TOOLS: simple can't be served tools"},
		"memory tools": {command.New(plain, command.Config{Dir: p.dir}), []func(cairn.Node) cairn.Node{remembering}, "at step: the memory gives the task tools: COMMAND_NO_TOOLS"},
		"a template":   {command.New(command.Template{Name: "x", Args: []string{"{promt}"}}, command.Config{Dir: p.dir, Program: "sh"}), nil, "{promt}, which means nothing"},
	} {
		t.Run(name, func(t *testing.T) {
			p := *p
			p.t, p.db = t, filepath.Join(t.TempDir(), "cairn.db")
			h := p.open(asking(textKey, tt.agent, tt.around...))
			_, err := h.Start(t.Context(), "ask", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
			if !errors.Is(err, cairn.InvalidTree) || !strings.Contains(fmt.Sprint(err), tt.want) {
				t.Errorf("got %v", err)
			}
			runs, err := h.store.Runs(t.Context(), engine.Query{})
			if _, gone := h.store.Run(t.Context(), "r"); err != nil || len(runs) != 0 || !errors.Is(gone, engine.RunNotFound) {
				t.Errorf("runs %v, %v", runs, err)
			}
		})
	}
	if _, err := os.Stat(filepath.Join(p.home, "invocations")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a program was started")
	}
	// Without tools the same agent works.
	p.db = filepath.Join(t.TempDir(), "cairn.db")
	c := p.config("simple", "echo")
	c.Model = ""
	if out := p.run(asking(textKey, command.New(plain, c))); out.Status != core.Finished || string(out.Result) != `"no JSON"` {
		t.Errorf("%s %s %v", out.Status, out.Result, out.Failure)
	}
}

// TestAnyProgram: a template for plain text, without sessions, and one for lines of JSON.
func TestAnyProgram(t *testing.T) {
	p := newPlace(t)
	out := p.run(asking(reportKey, command.New(command.Template{Name: "simple", Args: []string{"--", "{args}", "--s={session}", "{prompt}"},
		Format: func(command.Config) command.Format { return command.Text }}, p.config("simple", "echo"))))
	calls := invocations(t, p.home)
	if string(out.Result) != good || len(calls) != 2 || calls[1].Resumed || !strings.HasPrefix(calls[1].Prompt, "do it") || !strings.Contains(calls[0].Prompt, "<output_schema>") ||
		!strings.Contains(calls[1].Prompt, "Your last answer was:\nno JSON\n\nYour answer is refused") || !slices.Equal(calls[0].Args[:1], []string{"--"}) || len(calls[0].Args) != 2 {
		t.Errorf("%s %v, %+v", out.Result, out.Failure, calls)
	}
	p = newPlace(t)
	lines := command.JSONLines{Session: "id", Answer: "reply.text", Model: "usage.model", Input: "usage.in", Written: "usage.out"}
	out = p.run(asking(textKey, command.New(command.Template{Name: "simple", Args: []string{"{prompt}"}, Format: lines.Format}, p.config("simple", "lines"))))
	if string(out.Result) != `"you said do it"` || out.total("m") != (cairn.Usage{Model: "m", Input: 6, Output: 3}) {
		t.Errorf("%s %v %+v", out.Result, out.Failure, out.usage)
	}
}

// TestWhatGoesWrong: how a program ends without an answer says what becomes of the task.
func TestWhatGoesWrong(t *testing.T) {
	each(t, func(t *testing.T, p *place, kind string) {
		for _, tt := range []struct {
			act      string
			change   func(c *command.Config)
			status   core.Status
			code     cairn.Code
			says     []string
			attempts int
		}{
			// The second attempt begins another session, and is told why.
			{"crashes", nil, core.Finished, "", nil, 2},
			{"talks", func(c *command.Config) { c.MaxLine = 1 << 20 }, core.Finished, "", nil, 1},
			{"spills", func(c *command.Config) { c.MaxOutput = 1 << 20 }, core.Failed, command.TooMuchOutput, []string{"more than 1048576 bytes"}, 2},
			{"drones", func(c *command.Config) { c.MaxOutput, c.MaxLine = 8<<20, 1<<16 }, core.Failed, command.TooMuchOutput, []string{"more than 8388608 bytes"}, 2},
			{"floods", func(c *command.Config) { c.MaxOutput = 1 << 20 }, core.Failed, command.TooMuchOutput, []string{"more than 1048576 bytes"}, 2},
			{"lingers", nil, core.Finished, "", nil, 1},
			{"refused", nil, core.Failed, loop.ModelAuth, nil, 1},
			{"limited", nil, core.Finished, "", nil, 2},
		} {
			t.Run(tt.act, func(t *testing.T) {
				p := newPlace(t)
				change := tt.change
				if change == nil {
					change = func(*command.Config) {}
				}
				out := p.run(asking(textKey, p.agent(kind, tt.act, change)))
				calls := invocations(t, p.home)
				if out.Status != tt.status || len(calls) != tt.attempts {
					t.Fatalf("%s, %d processes: %v", out.Status, len(calls), out.Failure)
				}
				if tt.code != "" && out.Failure.Code != tt.code {
					t.Errorf("%v", out.Failure)
				}
				for _, part := range tt.says {
					if !strings.Contains(out.Failure.Message, part) {
						t.Errorf("%v", out.Failure)
					}
				}
				if second := calls[len(calls)-1]; tt.act == "crashes" {
					want := "COMMAND_FAILED: " + kind + " has ended without an answer: exit status 3; 2 lines of its output could not be read, the last was"
					if second.Resumed || !strings.Contains(second.Prompt, want) || !strings.Contains(second.Prompt, "it says: panic: out of cheese, the key is [redacted]") {
						t.Errorf("%+v", second)
					}
				} else if tt.act == "limited" && (!second.Resumed || !strings.HasPrefix(second.Prompt, "You were interrupted.")) {
					t.Errorf("a limit is not the session's fault: %+v", second)
				}
				p.clean()
			})
		}
	})
}

// TestSecrets: what a program must not tell is nowhere, wherever it tells it.
func TestSecrets(t *testing.T) {
	each(t, func(t *testing.T, p *place, kind string) {
		out := p.run(asking(textKey, p.agent(kind, "leaks", func(c *command.Config) {
			p.withTools(c)
			look := tool.New("look", "Looks.", func(context.Context, map[string]any) (string, error) { return "fine", nil })
			c.Tools[1] = look
			c.Observe = func(ev loop.Event) {
				if strings.Contains(ev.Text, provider) {
					t.Errorf("an event tells %s", ev.Text)
				}
			}
		})))
		if string(out.Result) != `"I know [redacted] [redacted]"` {
			t.Errorf("%s %v", out.Result, out.Failure)
		}
		tokens := noted(t, p.home, "tokens")
		if len(tokens) != 2 || tokens[0] == tokens[1] || len(tokens[0]) < 20 {
			t.Errorf("tokens %q", tokens)
		}
		p.clean(tokens...)
	})
}

// TestBudget: the program is ended when the money is, and goes on when there is more.
func TestBudget(t *testing.T) {
	p := newPlace(t)
	limit := int64(1000)
	def := asking(textKey, p.agent("claude", "many", p.withTools), func(n cairn.Node) cairn.Node {
		return aspects.Aspects{Tokens: aspects.Budget{Max: limit}, Children: cairn.Nodes{n}}
	})
	out := p.run(def)
	if out.Status != core.Failed || out.Failure.Code != cairn.BudgetExceeded {
		t.Fatalf("%s %v", out.Status, out.Failure)
	}
	spent := out.total(model)
	if spent.Tokens() < 1000 || spent.Tokens() > 2000 {
		t.Errorf("spent %+v", spent)
	}
	limit = 10_000
	h := p.open(def)
	r, err := h.Resume(t.Context(), "r", engine.ResumeOptions{})
	must(t, err)
	out = p.wait(h, r)
	calls := invocations(t, p.home)
	if out.Status != core.Finished || len(calls) != 2 || !calls[1].Resumed || calls[1].Session != calls[0].Session {
		t.Errorf("%s %v: %+v", out.Status, out.Failure, calls)
	}
	// And before it starts.
	p = newPlace(t)
	limit = 1
	before := task.Task[string]{ID: "before", Agent: p.agent("claude", "says"), Prompt: func(*cairn.View) string { return "x" }}
	out = p.run(asking(textKey, p.agent("claude", "says"), func(n cairn.Node) cairn.Node {
		return aspects.Aspects{Tokens: aspects.Budget{Max: limit}, Children: cairn.Nodes{before, n}}
	}))
	if out.Failure == nil || out.Failure.Code != cairn.BudgetExceeded || len(invocations(t, p.home)) != 1 {
		t.Errorf("%s %v", out.Status, out.Failure)
	}
}

// TestToolsOfTheTask: what a memory around the task gives it is served to the program like the agent's own.
func TestToolsOfTheTask(t *testing.T) {
	p := newPlace(t)
	notes, err := lanes.Open(t.Context(), lanes.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	must(t, err)
	defer notes.Close()
	h := p.open(asking(textKey, p.agent("claude", "remembers"), func(n cairn.Node) cairn.Node {
		return memory.Memory{Bank: "project-x", Tools: memory.On, Children: cairn.Nodes{n}}
	}), (&memory.Runtime{Store: notes}).Middleware)
	r, err := h.Start(t.Context(), "ask", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	must(t, err)
	out := p.wait(h, r)
	results := noted(t, p.home, "results")
	if out.Status != core.Finished || len(results) != 2 || !strings.Contains(results[0], `remembered`) || !strings.Contains(results[1], "the sky is blue") {
		t.Errorf("%s %v: %q", out.Status, out.Failure, results)
	}
}

// TestToolsThatEveryAgentCanHave: long results are put aside, artifact_read brings parts of them back, and a list of things to do is
// the conversation's, also after it was interrupted, and no other's.
func TestToolsThatEveryAgentCanHave(t *testing.T) {
	p := newPlace(t)
	files, err := artifact.Open(t.TempDir())
	must(t, err)
	p.files = files
	agent := p.agent("claude", "plans", func(c *command.Config) {
		c.Todo = true
		c.Tools = []cairn.Tool{tool.New("look", "Looks.", func(context.Context, struct{}) (string, error) {
			return strings.Repeat("hay\n", 10_000) + "the needle\n" + strings.Repeat("hay\n", 10_000), nil
		})}
	})
	out := p.run(asking(textKey, agent))
	results := noted(t, p.home, "results")
	if out.Status != core.Finished || len(results) != 4 {
		t.Fatalf("%s %v: %.2000q", out.Status, out.Failure, results)
	}
	if len(results[1]) > 4000 || !strings.Contains(results[1], "put aside") || !strings.Contains(results[2], "10001:the needle") {
		t.Errorf("%d bytes: %.500q, then %q", len(results[1]), results[1], results[2])
	}
	if !strings.Contains(results[3], `look`) || !strings.Contains(results[3], `done`) {
		t.Errorf("the list after a pause is %s", results[3])
	}
	if err := command.New(command.Template{Name: "simple", Program: filepath.Join(p.bin, "simple"), Args: []string{"{prompt}"}, Format: func(command.Config) command.Format { return command.Text }},
		command.Config{Dir: p.dir, Todo: true}).Check(false); !errors.Is(err, command.NoTools) {
		t.Errorf("a list for a program without tools: %v", err)
	}
}

// TestUsageBehindTools: what an agent behind a served tool uses is the task's, and that of a killed attempt is not lost.
func TestUsageBehindTools(t *testing.T) {
	p := newPlace(t)
	d := &disk{ends: ".turn.1"}
	try := func(attempt int) error {
		call := &cairn.Call{Run: "r", Path: "step", Attempt: attempt, IdempotencyKey: "r/step", Input: json.RawMessage(`"do it"`), Journal: d, Meter: d}
		agent := p.agent("codex", "repeats", func(c *command.Config) {
			c.Tools = p.tally.tools()
			c.Tools[1].Call = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, error) {
				task.Spend(ctx, cairn.Usage{Model: "small", Output: 1000})
				return json.RawMessage(`"done"`), nil
			}
		})
		_, err := task.Task[string]{ID: textKey, Agent: agent, Prompt: func(*cairn.View) string { return "do it" }}.Lower().Task.Run(cairn.WithCall(t.Context(), call), call)
		return err
	}
	if err := try(1); !errors.Is(err, errKilled) || d.spent < 1000 {
		t.Fatalf("%v, %d", err, d.spent)
	}
	d.ends, d.dead, d.spent = "", false, 0
	if err := try(2); err != nil || d.spent < 1000 || d.spent >= 2000 || p.tally.looked != 0 {
		t.Errorf("%v, booked %d", err, d.spent)
	}
}

// TestAToolThatEndsTheAttempt: a budget that an agent behind a tool has used up ends the program, too.
func TestAToolThatEndsTheAttempt(t *testing.T) {
	p := newPlace(t)
	out := p.run(asking(textKey, p.agent("codex", "stays", func(c *command.Config) {
		c.Tools = p.tally.tools()
		c.Tools[1].Call = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, &cairn.Failure{Code: cairn.BudgetExceeded, Permanent: true, Message: "enough"}
		}
	})))
	if out.Status != core.Failed || out.Failure.Code != cairn.BudgetExceeded || len(invocations(t, p.home)) != 1 {
		t.Errorf("%s %v", out.Status, out.Failure)
	}
}

// TestATimeOut: a conversation that took too long is not gone on with.
func TestATimeOut(t *testing.T) {
	p := newPlace(t)
	agent := p.agent("codex", "hangs")
	out := p.run(cairn.Workflow[struct{}, string]{Name: "ask", Result: textKey, Render: func(*cairn.View, struct{}) cairn.Node {
		return task.Task[string]{ID: textKey, Agent: agent, Prompt: func(*cairn.View) string { return "do it" }, AttemptTimeout: 2 * time.Second, Retry: task.Retry{Initial: 1}}
	}})
	calls := invocations(t, p.home)
	if out.Status != core.Finished || len(calls) != 2 || calls[1].Resumed || !strings.Contains(calls[1].Prompt, "Attempt 1: TASK_TIMEOUT: ") {
		t.Errorf("%s %v: %+v", out.Status, out.Failure, calls)
	}
}

// disk is a journal and a meter. From the record on that ends the process nothing is written any more.
type disk struct {
	calltest.Journal
	mu    sync.Mutex // guards the rest
	ends  string
	dead  bool
	spent int64
}

var errKilled = errors.New("the process is gone")

func (d *disk) Record(ctx context.Context, name string, value json.RawMessage) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead = d.dead || d.ends != "" && strings.HasSuffix(name, d.ends); d.dead {
		return errKilled
	}
	return d.Journal.Record(ctx, name, value)
}

func (d *disk) Admit() error { return nil }

func (d *disk) Spend(u cairn.Usage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.spent += u.Output
}

// TestAFinishedTurnIsNotRepeated: what a process that was killed had finished is taken from the journal, and booked by who
// goes on.
func TestAFinishedTurnIsNotRepeated(t *testing.T) {
	each(t, func(t *testing.T, p *place, kind string) {
		d := &disk{ends: ".turn.2"}
		try := func(attempt int) (cairn.Result, error) {
			call := &cairn.Call{Run: "r", Path: "step", Attempt: attempt, IdempotencyKey: "r/step", Input: json.RawMessage(`"do it"`), Journal: d, Meter: d}
			node := task.Task[report]{ID: reportKey, Agent: p.agent(kind, "errs"), Prompt: func(*cairn.View) string { return "do it" }}
			return node.Lower().Task.Run(cairn.WithCall(t.Context(), call), call)
		}
		if _, err := try(1); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		d.ends, d.dead, d.spent = "", false, 0 // what it had spent went with it
		result, err := try(2)
		calls := invocations(t, p.home)
		if err != nil || string(result.Output) != good || len(calls) != 3 || calls[2].Prompt != calls[1].Prompt || calls[2].Session != calls[0].Session {
			t.Fatalf("%s, %v: %+v", result.Output, err, calls)
		}
		// The first turn's 7, or 8 with the other model, and the last one's. Where a session counts on, what was lost is in it.
		if want := map[string]int64{"claude": 17, "codex": 21}[kind]; d.spent != want {
			t.Errorf("booked %d, want %d", d.spent, want)
		}
		if _, err := try(3); err != nil || len(invocations(t, p.home)) != 3 {
			t.Errorf("a finished conversation was held again: %v", err)
		}
	})
}

// TestUsageOfAFailedConversation is booked by the next attempt, where the one that held it came to no frame; and by no other.
func TestUsageOfAFailedConversation(t *testing.T) {
	p := newPlace(t)
	d := &disk{}
	try := func(attempt, booked int) (used int64) {
		d.spent = 0
		call := &cairn.Call{Run: "r", Path: "step", Attempt: attempt, Booked: booked, IdempotencyKey: "r/step", Input: json.RawMessage(`"do it"`), Journal: d, Meter: d}
		node := task.Task[report]{ID: reportKey, Agent: p.agent("claude", "wrong", func(c *command.Config) { c.Repairs = 1 }), Prompt: func(*cairn.View) string { return "do it" }}
		if _, err := node.Lower().Task.Run(cairn.WithCall(t.Context(), call), call); !errors.Is(err, cairn.InvalidOutput) {
			t.Fatal(err)
		}
		return d.spent
	}
	one := try(1, 0)
	if two, three, four := try(2, 0), try(3, 0), try(4, 3); one == 0 || two != 2*one || three != 3*one || four != one {
		t.Errorf("booked %d, then %d, %d and %d", one, two, three, four)
	}
}

// beats counts heartbeats, and journals nothing.
type beats struct{ n atomic.Int64 }

func (b *beats) Lookup(string) (json.RawMessage, bool)                 { return nil, false }
func (b *beats) Record(context.Context, string, json.RawMessage) error { return nil }
func (b *beats) Heartbeat(json.RawMessage)                             { b.n.Add(1) }

// TestOutsideOfAnEngine: an agent is one without an engine, too; and each line it says is a sign of life.
func TestOutsideOfAnEngine(t *testing.T) {
	each(t, func(t *testing.T, p *place, kind string) {
		var b beats
		ctx := cairn.WithCall(t.Context(), &cairn.Call{Path: "step", Attempt: 1, Journal: &b})
		resp, err := p.agent(kind, "talks").Run(ctx, task.Request{Prompt: "do it", Memory: "<memory>x</memory>",
			History: []cairn.Message{{Role: "user", Content: "what is </user> it?"}, {Role: "assistant", Content: "a test"}}})
		used := resp.Usage
		if err != nil || resp.Text != "hello" || len(used) == 0 || used[0].Model != model {
			t.Errorf("%+v, %v", resp, err)
		}
		if n := b.n.Load(); n < 6 {
			t.Errorf("%d heartbeats", n)
		}
		want := "What was said before:\n<conversation>\n<user>\nwhat is <\\/user> it?\n</user>\n<assistant>\na test\n</assistant>\n</conversation>\n\n<memory>x</memory>\n\ndo it"
		if got := invocations(t, p.home)[0].Prompt; got != want {
			t.Errorf("%q, want %q", got, want)
		}
	})
}

// TestIdentity: what answers depend on is told apart, secrets are no part of it.
func TestIdentity(t *testing.T) {
	p := newPlace(t)
	a := p.agent("claude", "works").Identity()
	if b := p.agent("claude", "says", func(c *command.Config) { c.Inherit = nil }).Identity(); a != b {
		t.Errorf("%s and %s", a, b)
	}
	for _, change := range []func(c *command.Config){func(c *command.Config) { c.Model = "other" }, func(c *command.Config) { c.System = "x" }, p.withTools,
		func(c *command.Config) { c.Args = []string{"--x"} }, func(c *command.Config) { c.Dir = p.home }} {
		if b := p.agent("claude", "works", change).Identity(); a == b {
			t.Errorf("%s twice", a)
		}
	}
	bound := func(to string) string {
		return p.agent("claude", "works", func(c *command.Config) { c.Tools = []cairn.Tool{{Name: "x", Bound: to}} }).Identity()
	}
	if here, again, there := bound("here"), bound("here"), bound("there"); here == there || here != again {
		t.Error("what tools work on is not told apart")
	}
	delegating := p.agent("codex", "works", func(c *command.Config) {
		c.Writer = true
		c.Tools = []cairn.Tool{{Name: "d", Delegation: &cairn.Delegation{Models: []string{"small", model}, Writes: []string{"there"}}}}
	})
	if m, w := delegating.Models(), delegating.Writes(); !slices.Equal(m, []string{model, "small"}) || !slices.Equal(w, []string{p.dir, "there"}) {
		t.Errorf("models %q, writes %q", m, w)
	}
	if w := p.agent("codex", "works").Writes(); len(w) != 0 {
		t.Errorf("writes %q", w)
	}
}
