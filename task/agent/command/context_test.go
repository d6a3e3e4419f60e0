//go:build unix

package command_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/command"
	"github.com/cairnrun/cairn/task/agent/command/transcript"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// hay is 20 KB with a needle in it, long a prompt with that from another task, some a result that is not too long to stand as it is.
var (
	hay  = strings.Repeat("hay\n", 2500) + "the needle\n" + strings.Repeat("hay\n", 2500)
	long = "Look at this.\n" + task.Dep("barn", hay) + "\nThen report."
	some = strings.Repeat("some text\n", 200)
)

// about gives the task another prompt.
func about[T any](prompt string) func(cairn.Node) cairn.Node {
	return func(n cairn.Node) cairn.Node {
		t := n.(task.Task[T])
		t.Prompt = func(*cairn.View) string { return prompt }
		return t
	}
}

// reading is a tool with a longer answer.
func reading(t cairn.Tool) cairn.Tool {
	call := t.Call
	t.Call = func(ctx context.Context, in json.RawMessage) (json.RawMessage, error) {
		if _, err := call(ctx, in); err != nil {
			return nil, err
		}
		return json.Marshal(some + "the needle\n")
	}
	return t
}

func (p *place) withFiles() {
	files, err := artifact.Open(filepath.Join(filepath.Dir(p.home), "artifacts"))
	must(p.t, err)
	p.files = files
}

// TestTheListIsSaidAgain: whenever the program is asked once more, the list of things to do stands at the end, in the tags that a loop
// repeats it in. Its own answers have it too, so it costs no process and no call.
func TestTheListIsSaidAgain(t *testing.T) {
	each(t, func(t *testing.T, p *place, kind string) {
		p.withFiles()
		out := p.run(asking(reportKey, p.agent(kind, "recites", func(c *command.Config) {
			c.Todo = true
			c.Env = append(c.Env, "FAKE_TOOLS=todo")
		})))
		calls, results := invocations(t, p.home), noted(t, p.home, "results")
		if out.Status != core.Finished || len(calls) != 3 || len(results) != 4 {
			t.Fatalf("%s %v: %d processes, told %q", out.Status, out.Failure, len(calls), results)
		}
		list := window.Open(window.Opening{}).Decide(window.Now{Todo: "[x] 1. " + planned + "\n[ ] 2. write it down\n"}).Recite
		if !strings.HasPrefix(list, "<todo>\n") || strings.Contains(calls[0].Prompt, "<todo>") {
			t.Errorf("%q is told, and at first %q", list, calls[0].Prompt)
		}
		if calls[1].Prompt != interrupted+"\n\n"+list || !calls[1].Resumed {
			t.Errorf("after a pause it is told %q", calls[1].Prompt)
		}
		if !strings.HasPrefix(calls[2].Prompt, "Your answer is refused: ") || !strings.HasSuffix(calls[2].Prompt, "\n\n"+list) {
			t.Errorf("to mend its answer it is told %q", calls[2].Prompt)
		}
		for _, one := range results[1:] { // never by a pointer
			if !strings.Contains(one, planned) || !strings.Contains(one, "write it down") || !strings.Contains(one, `\"done\":true`) {
				t.Errorf("the list answers %q", one)
			}
		}
		p.told(calls, 3, 0)
	})
}

// TestAListThatIsMadeAtOnce is found again with all that is on it: its calls take turns.
func TestAListThatIsMadeAtOnce(t *testing.T) {
	p := newPlace(t)
	out := p.run(asking(textKey, p.agent("claude", "plans-at-once", func(c *command.Config) { c.Todo = true })))
	calls := invocations(t, p.home)
	if out.Status != core.Finished || len(calls) != 2 || strings.Count(calls[1].Prompt, "item ") != atOnce {
		t.Errorf("%s %v: %d processes, the last was told %q", out.Status, out.Failure, len(calls), calls[len(calls)-1].Prompt)
	}
}

// TestLongPartsOfThePrompt are put aside where the program can read them, and stand as they are where it can't.
func TestLongPartsOfThePrompt(t *testing.T) {
	plain := func(p *place) *command.Agent {
		c := p.config("simple", "echo")
		c.Model = ""
		return command.New(command.Template{Name: "simple", Args: []string{"{prompt}"}, Format: func(command.Config) command.Format { return command.Text }}, c)
	}
	claude := func(change ...func(*command.Config)) func(p *place) *command.Agent {
		return func(p *place) *command.Agent { return p.agent("claude", "digs", change...) }
	}
	codex := func(p *place) *command.Agent {
		return p.agent("codex", "digs", func(c *command.Config) { c.Env = append(c.Env, "FAKE_TOOLS=artifact_read") })
	}
	for name, tt := range map[string]struct {
		agent func(p *place) *command.Agent
		files bool
		// aside says that the part is.
		aside bool
	}{
		"claude":               {claude(), true, true},
		"codex":                {codex, true, true},
		"no store":             {claude(), false, false},
		"never":                {claude(func(c *command.Config) { c.Offload = -1 }), true, false},
		"longer than that":     {claude(func(c *command.Config) { c.Offload = 1 << 20 }), true, false},
		"no tools can be told": {plain, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			if tt.files {
				p.withFiles()
			}
			out := p.run(asking(textKey, tt.agent(p), about[string](long)))
			calls := invocations(t, p.home)
			if out.Status != core.Finished || len(calls) != 1 {
				t.Fatalf("%s %v, %d processes", out.Status, out.Failure, len(calls))
			}
			said := calls[0].Prompt
			if !tt.aside {
				if said != long {
					t.Errorf("it is told %d bytes of %d", len(said), len(long))
				}
				return
			}
			deps := task.Deps(said)
			if len(said) > 4<<10 || len(deps) != 1 || deps[0].Name != "barn" || !strings.HasPrefix(deps[0].Body, "hay\nhay\n") || !strings.Contains(said, window.Hash(hay)) || !strings.HasSuffix(said, "\nThen report.") {
				t.Errorf("it is told %q", said)
			}
			if results := noted(t, p.home, "results"); len(results) != 1 || !strings.Contains(results[0], "2501:the needle") {
				t.Errorf("it has read %q", results)
			}
			var kept []string
			for _, a := range out.artifacts {
				kept = append(kept, a.Hash)
			}
			if len(kept) != 1 || kept[0] != window.Hash(hay) {
				t.Errorf("the task has written %q", kept)
			}
			p.told(calls, 1, 0)
		})
	}
}

// TestEqualResults are told by a pointer, in one session, and only where what it leads to can be read: a program may have lost what it
// was told. What it is pointed to it can read as often as it wants.
func TestEqualResults(t *testing.T) {
	type told struct{ whole, pointer bool }
	whole, pointer := told{whole: true}, told{pointer: true}
	run := func(t *testing.T, p *place, template command.Template, change ...func(*command.Config)) (results []string, out outcome) {
		heard := make(chan struct{})
		says := func(name, text string, effect bool) cairn.Tool {
			return cairn.Tool{Name: name, Description: name, SideEffect: effect, Schema: json.RawMessage(`{"type":"object"}`), Call: func(context.Context, json.RawMessage) (json.RawMessage, error) {
				return json.Marshal(text)
			}}
		}
		fails := says("fails", "", false)
		fails.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			return nil, &cairn.Error{Code: "BROKEN", Message: strings.ReplaceAll(some, "\n", " ")}
		}
		compacted := says("compacted", "", false)
		compacted.Call = func(context.Context, json.RawMessage) (json.RawMessage, error) {
			<-heard
			return json.RawMessage(`"yes"`), nil
		}
		config := p.config("claude", "rereads")
		for _, one := range append(change, func(c *command.Config) {
			c.Tools = []cairn.Tool{says("look", some+"the needle", false), says("add", some, true), says("short", "short", false), fails, compacted}
			c.Observe = func(ev loop.Event) {
				if ev.Kind == loop.Compacted {
					close(heard)
				}
			}
		}) {
			one(&config)
		}
		out = p.run(asking(reportKey, command.New(template, config)))
		if out.Status != core.Finished {
			t.Fatalf("%s %v", out.Status, out.Failure)
		}
		return noted(t, p.home, "results"), out
	}
	tells := func(result string) told { return told{len(result) > 1<<10, strings.Contains(result, "Same as")} }
	t.Run("pointers", func(t *testing.T) {
		p := newPlace(t)
		p.withFiles()
		results, out := run(t, p, command.ClaudeTemplate())
		short := told{}
		want := []told{whole, pointer, whole, whole, whole, whole, whole, short, short, whole, whole, whole, short, whole, pointer}
		if len(results) != len(want) {
			t.Fatalf("%d results: %.100q", len(results), results)
		}
		for i, one := range results {
			if tells(one) != want[i] {
				t.Errorf("result %d is %.300q", i+1, one)
			}
		}
		if results[2] != results[3] || !strings.Contains(results[2], "the needle") {
			t.Errorf("what it was pointed to is %q, then %q", results[2], results[3])
		}
		held, err := transcript.Read(out.journal)
		if err != nil || len(held) != 1 || held[0].Pointers != 2 {
			t.Errorf("%+v, %v", held, err)
		}
		if want := window.Hash(some + "the needle"); len(out.artifacts) != 1 || out.artifacts[0].Hash != want {
			t.Errorf("the task has written %+v", out.artifacts)
		}
		p.told(invocations(t, p.home), 2, 2)
	})
	t.Run("another session", func(t *testing.T) {
		p := newPlace(t)
		p.withFiles()
		forgetful := command.ClaudeTemplate()
		forgetful.Args = slices.DeleteFunc(slices.Clone(forgetful.Args), func(arg string) bool { return arg == "--resume={session}" })
		results, _ := run(t, p, forgetful)
		if calls := invocations(t, p.home); len(calls) != 2 || calls[1].Resumed || tells(results[1]) != pointer || tells(results[len(results)-1]) != whole {
			t.Errorf("%+v were told %.100q", calls, results)
		}
	})
	t.Run("nothing to point to", func(t *testing.T) {
		p := newPlace(t)
		results, _ := run(t, p, command.ClaudeTemplate())
		if strings.Contains(strings.Join(results, ""), "Same as") {
			t.Errorf("%.100q", results)
		}
	})
	t.Run("never", func(t *testing.T) {
		p := newPlace(t)
		p.withFiles()
		results, _ := run(t, p, command.ClaudeTemplate(), func(c *command.Config) { c.Offload = -1 })
		if strings.Contains(strings.Join(results, ""), "Same as") {
			t.Errorf("%.100q", results)
		}
	})
}
