//go:build unix

package command_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/command"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/toolcall"
)

// enginePath makes the test binary a process that drives the run in this database. engineKind, engineAct and engineHome say
// which fake works for it, engineTrap at which call of a tool it says so and waits to be killed.
const (
	enginePath = "CAIRN_COMMAND_DB"
	engineKind = "CAIRN_COMMAND_KIND"
	engineAct  = "CAIRN_COMMAND_ACT"
	engineHome = "CAIRN_COMMAND_HOME"
	engineTrap = "CAIRN_COMMAND_TRAP"
)

// drive runs the workflow, or goes on with it, with tools that note in the fake's home what they have done.
func drive(path string) {
	ctx := context.Background()
	home := os.Getenv(engineHome)
	f := &fake{home: home}
	calls := 0
	told := make(chan struct{}) // the program has said what its session is, before it called anything
	var once sync.Once
	trap := func(when string) {
		if os.Getenv(engineTrap) == fmt.Sprint(when, calls) {
			fmt.Println("trapped")
			select {}
		}
	}
	does := func(name string, effect bool) cairn.Tool {
		return cairn.Tool{Name: name, Description: "Does " + name, Schema: json.RawMessage(`{"type":"object"}`), SideEffect: effect,
			Call: func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
				<-told
				calls++
				trap("before ")
				f.note("done", name+" "+string(in))
				trap("after ")
				err := task.Emit(ctx, "did", name)
				return json.RawMessage(`"` + name + ` done"`), err
			}}
	}
	p := &place{dir: filepath.Join(filepath.Dir(home), "work"), home: home, bin: filepath.Join(filepath.Dir(home), "bin")}
	inContext := strings.HasPrefix(os.Getenv(engineAct), "context-")
	var around []func(cairn.Node) cairn.Node
	if inContext {
		around = append(around, about[string](long))
	}
	def := asking(textKey, p.agent(os.Getenv(engineKind), os.Getenv(engineAct), func(c *command.Config) {
		c.Tools = []cairn.Tool{does("add", true), does("look", false)}
		if inContext {
			c.Todo = true
			c.Tools = append(c.Tools, reading(does("read", false)))
			c.Env = append(c.Env, "FAKE_TOOLS=add,look,read,todo,artifact_read")
		}
		c.Observe = func(ev loop.Event) {
			if ev.Kind == loop.Progress {
				once.Do(func() { close(told) })
			}
		}
	}), around...)
	store, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	f.must(err)
	config := engine.Config{Store: store, Workflows: []cairn.Definer{def}}
	if inContext {
		config.Artifacts, err = artifact.Open(filepath.Join(filepath.Dir(home), "artifacts"))
		f.must(err)
	}
	e, err := engine.Open(ctx, config)
	f.must(err)
	run, err := e.Start(ctx, "ask", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
	if errors.Is(err, engine.RunExists) {
		run, err = e.Resume(ctx, "r", engine.ResumeOptions{})
	}
	f.must(err)
	out, err := run.Wait(ctx)
	f.must(err)
	fmt.Println(out.Status, string(out.Result))
	f.must(e.Close(ctx))
	f.must(store.Close())
	os.Exit(0)
}

// live runs an engine's process, and kills it when it has come to the trap.
func (p *place) live(kind, act, trap string) string {
	p.t.Helper()
	self, err := os.Executable()
	must(p.t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), enginePath+"="+p.db, engineKind+"="+kind, engineAct+"="+act, engineHome+"="+p.home, engineTrap+"="+trap)
	var wrong bytes.Buffer
	cmd.Stderr = &wrong
	out, err := cmd.StdoutPipe()
	must(p.t, err)
	must(p.t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if line == "trapped\n" {
		must(p.t, cmd.Process.Kill())
	}
	ended := cmd.Wait()
	if err != nil || line != "trapped\n" && ended != nil {
		p.t.Fatalf("%v, %v: %s", err, ended, wrong.String())
	}
	return strings.TrimSpace(line)
}

// TestKill kills the engine's process while a tool runs that the program has called. The next attempt goes on with the
// session; a program that calls everything again makes nothing happen twice, and what is not known it is told.
func TestKill(t *testing.T) {
	for _, tt := range []struct {
		trap string
		// done are the executions, results what the second process is told.
		done, results []string
	}{
		{"before 1", []string{`add {"n":2}`, "look {}"}, []string{"unknown", "look", "add"}},
		{"after 1", []string{`add {"n":1}`, `add {"n":2}`, "look {}"}, []string{"unknown", "look", "add"}},
		{"after 2", []string{`add {"n":1}`, `add {"n":2}`, "look {}", "look {}"}, []string{"[again] add", "look", "add"}},
		{"after 3", []string{`add {"n":1}`, `add {"n":2}`, "look {}"}, []string{"[again] add", "[again] look", "unknown"}},
	} {
		for _, kind := range kinds {
			t.Run(kind+" "+tt.trap, func(t *testing.T) {
				p := newPlace(t)
				if got := p.live(kind, "repeats", tt.trap); got != "trapped" {
					t.Fatalf("it was not killed: %s", got)
				}
				before, err := os.ReadFile(filepath.Join(p.home, "results"))
				if err != nil && !errors.Is(err, os.ErrNotExist) {
					t.Fatal(err)
				}
				if got := p.live(kind, "repeats", ""); got != `finished "hello"` {
					t.Fatal(got)
				}
				calls := invocations(t, p.home)
				if len(calls) != 2 || !calls[1].Resumed || calls[1].Session != calls[0].Session || !strings.HasPrefix(calls[1].Prompt, "You were interrupted.") {
					t.Errorf("%+v", calls)
				}
				done := noted(t, p.home, "done")
				if got, want := sorted(done), tt.done; !equal(got, want) {
					t.Errorf("done %q, want %q", got, want)
				}
				all, err := os.ReadFile(filepath.Join(p.home, "results"))
				must(t, err)
				var told []string
				for line := range strings.Lines(strings.TrimPrefix(string(all), string(before))) {
					told = append(told, brief(line))
				}
				if !equal(told, tt.results) {
					t.Errorf("the second process was told %q, want %q", told, tt.results)
				}
				p.effects(tt.results)
				p.unwritten()
			})
		}
	}
}

// brief is a result of a tool in a word or two.
func brief(result string) string {
	again := ""
	if strings.Contains(result, "You made this call before") {
		again = "[again] "
	}
	for _, word := range []string{"It is unknown whether", "look done", "add done"} {
		if strings.Contains(result, word) {
			return again + strings.NewReplacer("It is unknown whether", "unknown", " done", "").Replace(word)
		}
	}
	return result
}

// effects checks that what the tools emitted is committed once for each call that is known to have happened.
func (p *place) effects(told []string) {
	p.t.Helper()
	known := 0
	for _, one := range told {
		if one != "unknown" {
			known++
		}
	}
	store, err := sqlite.Open(p.t.Context(), sqlite.Config{Path: p.db})
	must(p.t, err)
	defer store.Close()
	effects, err := store.Due(p.t.Context(), time.Hour, 100)
	must(p.t, err)
	if len(effects) != known {
		p.t.Errorf("%d effects of %d calls", len(effects), known)
	}
	entries, err := store.Entries(p.t.Context(), "r", "step")
	must(p.t, err)
	journal := map[string]json.RawMessage{}
	for _, e := range entries {
		journal[e.Name] = e.Value
	}
	made, err := toolcall.Read(journal)
	must(p.t, err)
	for _, r := range made {
		if r.State == toolcall.Begun {
			p.t.Errorf("%+v", r)
		}
	}
}

func sorted(list []string) []string {
	out := append([]string(nil), list...)
	for i := range out {
		for j := i; j > 0 && out[j] < out[j-1]; j-- {
			out[j], out[j-1] = out[j-1], out[j]
		}
	}
	return out
}

func equal(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// TestKillInContext kills the engine's process after the program has planned and read. The list of things to do, the prompt that was cut
// and what pointers lead to are there again, in the session and in one that has to begin anew.
func TestKillInContext(t *testing.T) {
	for _, kind := range kinds {
		for _, act := range []string{"context-works", "context-forgets"} {
			t.Run(kind+" "+act, func(t *testing.T) {
				p := newPlace(t)
				if got := p.live(kind, act, "after 3"); got != "trapped" {
					t.Fatalf("it was not killed: %s", got)
				}
				if got := p.live(kind, act, ""); got != `finished "hello"` {
					t.Fatal(got)
				}
				calls := invocations(t, p.home)
				// The first may have had the time to note that it could not be answered any more.
				told := slices.DeleteFunc(noted(t, p.home, "results"), func(one string) bool { return strings.HasPrefix(one, "error: ") })
				if len(calls) != 2 || len(told) != 10 {
					t.Fatalf("%d processes, told %.300q", len(calls), told)
				}
				before, results := told[:4], told[4:]
				first, list := calls[0].Prompt, "\n\n<todo>\n[x] 1. read\n[ ] 2. look\n</todo>"
				if len(first) > 4<<10 || !strings.Contains(first, "artifact_read") || strings.Contains(first, "<todo>") {
					t.Errorf("the first was told %d bytes: %q", len(first), first)
				}
				again := first
				if resumed := act == "context-works"; resumed != calls[1].Resumed {
					t.Errorf("resumed %t", calls[1].Resumed)
				} else if resumed {
					again = interrupted
				}
				if calls[1].Prompt != again+list {
					t.Errorf("the second was told %q, want %q", calls[1].Prompt, again+list)
				}
				// What the killed attempt has answered is told in whole, whatever it was told as; what comes after may be a pointer.
				whole := []bool{true, false, true, true, false}
				for i, one := range append(before[2:4:4], results[:3]...) {
					if (len(one) > 1<<10) != whole[i] || strings.Contains(one, "Same as") == whole[i] || strings.Contains(one, "You made this call before") != (i == 2 || i == 3) {
						t.Errorf("reading %d has given %.200q", i+1, one)
					}
				}
				if !strings.Contains(results[3], "the needle") || !strings.Contains(results[4], "the needle") {
					t.Errorf("what was put aside is %.200q and %.200q", results[3], results[4])
				}
				starts := 2
				if !calls[1].Resumed { // it was asked for its session, and did not know it
					starts = 3
				}
				p.told(calls, starts, 2)
				if got := p.written(); !equal(sorted(got), []string{"dep-1", "repeated-read"}) {
					t.Errorf("the task has written %q", got)
				}
			})
		}
	}
}

// interrupted is what a session is told that was.
const interrupted = "You were interrupted. Go on with your task where you were. What you had under way may have happened or not; look before you do it again. " +
	"Your last message must be the answer that was asked for, in the form that was asked for."

// written are the names of the artifacts in the frames: those of the attempt that was killed are the next one's.
func (p *place) written() (names []string) {
	p.t.Helper()
	store, err := sqlite.Open(p.t.Context(), sqlite.Config{Path: p.db})
	must(p.t, err)
	defer store.Close()
	must(p.t, store.Frames(p.t.Context(), "r", 1, func(_ int64, body []byte) error {
		f, err := core.Decode(body)
		if err != nil {
			return err
		}
		for _, ev := range f.Events {
			for _, a := range ev.Artifacts {
				names = append(names, a.Name)
			}
		}
		return nil
	}))
	return names
}

// told checks that the journal alone gives back what each process was told that had a session, byte for byte, and how often it was pointed
// to what it had.
func (p *place) told(calls []invocation, starts, pointers int) {
	p.t.Helper()
	store, err := sqlite.Open(p.t.Context(), sqlite.Config{Path: p.db})
	must(p.t, err)
	defer store.Close()
	entries, err := store.Entries(p.t.Context(), "r", "step")
	must(p.t, err)
	journal := map[string]json.RawMessage{}
	for _, e := range entries {
		journal[e.Name] = e.Value
	}
	held, err := transcript.Read(journal)
	must(p.t, err)
	n := 0
	for _, h := range held {
		for i := range h.Starts {
			view, same, err := h.Window(i + 1)
			if err != nil || !same {
				p.t.Errorf("start %d of %s can't be made again: %v", i+1, h.Name, err)
			}
			if n < len(calls) && transcript.Text(view.Messages[0]) == calls[n].Prompt {
				n++
			}
		}
		starts -= len(h.Starts)
		pointers -= h.Pointers
	}
	if n != len(calls) || starts != 0 || pointers != 0 {
		p.t.Errorf("the journal has told %d of %d processes; %d starts and %d pointers are missing", n, len(calls), starts, pointers)
	}
}

// TestALostSession: one that the program has not written down in time is begun anew, with all that was asked.
func TestALostSession(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			p := newPlace(t)
			if got := p.live(kind, "forgets", "after 1"); got != "trapped" {
				t.Fatal(got)
			}
			if got := p.live(kind, "forgets", ""); got != `finished "hello"` {
				t.Fatal(got)
			}
			raw, err := os.ReadFile(filepath.Join(p.home, "invocations"))
			must(t, err)
			calls := invocations(t, p.home)
			if len(calls) != 2 || calls[1].Resumed || calls[1].Prompt != calls[0].Prompt || calls[1].Session == calls[0].Session {
				t.Errorf("%s", raw)
			}
		})
	}
}

// TestCancelEndsAllOfIt: what the program has started ends with it, whatever it thinks of signals.
func TestCancelEndsAllOfIt(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			p := newPlace(t)
			for _, name := range []string{"alive", "never"} {
				must(t, syscall.Mkfifo(filepath.Join(p.home, name), 0o600))
			}
			up, gone := make(chan error, 1), make(chan error, 1)
			go func() {
				f, err := os.Open(filepath.Join(p.home, "alive")) // waits for the child
				if err == nil {
					defer f.Close()
					_, err = io.ReadFull(f, make([]byte, 3))
				}
				up <- err
				_, err = io.Copy(io.Discard, f)
				gone <- err
			}()
			h := p.open(asking(textKey, p.agent(kind, "stays", p.withTools)))
			r, err := h.Start(t.Context(), "ask", json.RawMessage(`{}`), engine.StartOptions{ID: "r"})
			must(t, err)
			must(t, <-up)
			must(t, h.Cancel(t.Context(), "r", "enough"))
			if out := p.wait(h, r); out.Status != core.CancelledRun {
				t.Errorf("%s %v", out.Status, out.Failure)
			}
			must(t, <-gone)
			p.clean()
		})
	}
}
