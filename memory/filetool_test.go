package memory_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/window"
)

// script is a model that makes one call of the tool memory a turn, and keeps what it was told.
type script struct {
	commands []string
	tools    []cairn.Tool
	told     []string
	first    string
}

func (s *script) Info() loop.Info {
	return loop.Info{Provider: "script", Models: []string{"m"}, Identity: "script"}
}

func (s *script) Call(_ context.Context, w loop.Window) (loop.Turn, error) {
	s.tools, s.told, s.first = w.Tools, nil, w.Messages[0].Blocks[0].Text
	for _, m := range w.Messages {
		for _, b := range m.Blocks {
			if b.Kind == window.ToolResult {
				text := b.Text
				if b.Error {
					text = "! " + text
				}
				s.told = append(s.told, text)
			}
		}
	}
	if n := len(s.told); n < len(s.commands) {
		return loop.Turn{Blocks: []window.Block{{Kind: window.ToolUse, ID: fmt.Sprint("toolu_", n), Name: "memory", Input: json.RawMessage(s.commands[n])}}, Stop: loop.StopEnd}, nil
	}
	return loop.Turn{Blocks: []window.Block{{Kind: window.Text, Text: "done"}}, Stop: loop.StopEnd}, nil
}

// stamped is a time as listings have it.
var stamped = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`)

// TestAnAgentKeepsFiles: each command, as a model sends it and is told about it, by a run on a real engine. The next run's
// agent is given the primer as it is now.
func TestAnAgentKeepsFiles(t *testing.T) {
	f := openFile(t)
	person := memory.Place{Namespace: memory.Namespace{Kind: memory.WorkflowKind, ID: "runbook"}, Bank: shop, Tags: []string{"scope:main"}}
	_, _, err := f.store.SaveNote(t.Context(), memory.Note{Place: person, ID: "conventions", Body: "Use tabs.\nTest first.", Pinned: true})
	f.must(err)
	for _, odd := range []memory.Note{{Place: person, ID: `C:\odd`, Body: "Its id is no path.", Pinned: true}, {Place: person, ID: "loose", Body: "It is not pinned."}} {
		_, _, err = f.store.SaveNote(t.Context(), odd)
		f.must(err)
	}
	steps := []struct{ command, told string }{
		{`{"command":"view","path":"/memories"}`, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n" +
			"21B\t/memories\n21B\t/memories/conventions\tTIME\tby a person\n(Not shown, as their ids are no paths: 1 of the pinned notes of bank project-shop.)\n"},
		{`{"command":"create","path":"/memories/build/go.md","file_text":"one\ntwo\nthree\n"}`, "File created successfully at: /memories/build/go.md"},
		{`{"command":"create","path":"/memories/build/go.md","file_text":"x"}`, "! Error: File /memories/build/go.md already exists"},
		{`{"command":"create","path":"/memories/build/go.md/x","file_text":"x"}`, "! Error: /memories/build/go.md is a file, and no directory"},
		{`{"command":"create","path":"/memories/build","file_text":"x"}`, "! Error: File /memories/build already exists"},
		{`{"command":"create","path":"/memories/empty","file_text":" \n"}`, "! Error: /memories/empty would have no text, and a file can't be empty. Write something, or delete it."},
		{`{"command":"view","path":"/memories/build/go.md"}`, "Here's the content of /memories/build/go.md with line numbers:\n     1\tone\n     2\ttwo\n     3\tthree\n"},
		{`{"command":"view","path":"/memories/build/go.md","view_range":[2,-1]}`, "Here's the content of /memories/build/go.md with line numbers:\n     2\ttwo\n     3\tthree\n"},
		{`{"command":"view","path":"/memories/build/go.md","view_range":[4,5]}`, "! Error: Invalid `view_range` parameter: [4 5]. It should be two lines of the file, [1, 3] at most, or -1 for its end."},
		{`{"command":"view","path":"/memories/none"}`, "! The path /memories/none does not exist. Please provide a valid path."},
		{`{"command":"str_replace","path":"/memories/conventions","old_str":"tabs","new_str":"gofmt"}`, "The memory file has been edited.\n     1\tUse gofmt.\n     2\tTest first.\n"},
		{`{"command":"str_replace","path":"/memories/conventions","old_str":"spaces","new_str":"x"}`, "! No replacement was performed, old_str `spaces` did not appear verbatim in /memories/conventions."},
		{`{"command":"str_replace","path":"/memories/conventions","old_str":"st","new_str":"x"}`, "! No replacement was performed. Multiple occurrences of old_str `st` in lines: 2, 2. Please ensure it is unique"},
		{`{"command":"str_replace","path":"/memories/build","old_str":"st","new_str":"x"}`, "! Error: The path /memories/build does not exist. Please provide a valid path."},
		{`{"command":"insert","path":"/memories/conventions","insert_line":2,"insert_text":"Wrap errors."}`, "The file /memories/conventions has been edited."},
		{`{"command":"insert","path":"/memories/conventions","insert_line":0,"insert_text":"Rules:"}`, "The file /memories/conventions has been edited."},
		{`{"command":"insert","path":"/memories/conventions","insert_line":9,"insert_text":"x"}`, "! Error: Invalid `insert_line` parameter: 9. It should be within the range of lines of the file: [0, 4]"},
		{`{"command":"insert","path":"/memories/conventions","insert_text":"x"}`, "! Error: `insert_line` is missing. It should be within the range of lines of the file: [0, 4]"},
		{`{"command":"view","path":"/memories/conventions"}`, "Here's the content of /memories/conventions with line numbers:\n     1\tRules:\n     2\tUse gofmt.\n     3\tTest first.\n     4\tWrap errors.\n"},
		{`{"command":"create","path":"/memories/build/deep/er.md","file_text":"x"}`, "File created successfully at: /memories/build/deep/er.md"},
		{`{"command":"rename","old_path":"/memories/build/go.md","new_path":"/memories/conventions"}`, "! Error: The destination /memories/conventions already exists"},
		{`{"command":"rename","old_path":"/memories/build/go.md","new_path":"/memories/build/rust.md"}`, "Successfully renamed /memories/build/go.md to /memories/build/rust.md"},
		{`{"command":"rename","old_path":"/memories/build","new_path":"/memories/build/sub"}`, "! Error: /memories/build/sub is below /memories/build, which is to be renamed"},
		{`{"command":"rename","old_path":"/memories/build","new_path":"/memories/how"}`, "Successfully renamed /memories/build to /memories/how"},
		{`{"command":"rename","old_path":"/memories/build","new_path":"/memories/x"}`, "! Error: The path /memories/build does not exist"},
		{`{"command":"create","path":"/memories/how/c/d/e.md","file_text":"abc"}`, "File created successfully at: /memories/how/c/d/e.md"},
		{`{"command":"view","path":"/memories/"}`, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n" +
			"60B\t/memories\n42B\t/memories/conventions\tTIME\tby r, answer\n18B\t/memories/how/\n3B\t/memories/how/c/\n1B\t/memories/how/deep/\n14B\t/memories/how/rust.md\tTIME\tby r, answer\n(Not shown, as their ids are no paths: 1 of the pinned notes of bank project-shop.)\n"},
		{`{"command":"view","path":"/memories/how/c"}`, "Here're the files and directories up to 2 levels deep in /memories/how/c, excluding hidden items and node_modules:\n" +
			"3B\t/memories/how/c\n3B\t/memories/how/c/d/\n3B\t/memories/how/c/d/e.md\tTIME\tby r, answer\n"},
		{`{"command":"delete","path":"/memories/how"}`, "Successfully deleted /memories/how"},
		{`{"command":"delete","path":"/memories/how"}`, "! Error: The path /memories/how does not exist"},
		{`{"command":"delete","path":"/memories"}`, "! Error: The directory /memories itself can't be deleted. Name what is in it."},
		{`{"command":"create","path":"/memories/how","file_text":"again"}`, "File created successfully at: /memories/how"},
		{`{"command":"delete","path":"/memories/../etc"}`, "! Error: The path /memories/../etc has a part that leads elsewhere. Use a path such as /memories/notes/build.md."},
		{`{"command":"chmod","path":"/memories"}`, "! Error: There is no command chmod. Use view, create, str_replace, insert, delete or rename."},
	}
	model := &script{}
	for _, s := range steps {
		model.commands = append(model.commands, s.command)
	}
	wf := under(memory.Memory{Bank: shop, Recall: memory.RecallOff, Primers: []string{"conventions"}, Tools: memory.Files}, &loop.Agent{Model: model, MaxTurns: 100})
	f.perform(wf, "r", "go")
	if len(model.told) != len(steps) {
		t.Fatalf("told %q", model.told)
	}
	for i, s := range steps {
		if got := stamped.ReplaceAllString(model.told[i], "TIME"); got != s.told {
			t.Errorf("%s\n got %q\nwant %q", s.command, got, s.told)
		}
	}
	if names := fmt.Sprint(len(model.tools), model.tools[2].Name, model.tools[2].Native); names != "3memorymap[anthropic:memory_20250818]" || !model.tools[2].SideEffect || !model.tools[2].Idempotent {
		t.Errorf("tools %s", names)
	}
	if !strings.Contains(model.first, "Use tabs.") {
		t.Errorf("the first run was given %q", model.first)
	}
	model.commands = nil
	f.perform(wf, "next", "go")
	if want := "### [project-shop] conventions\n\nRules:\nUse gofmt.\nTest first.\nWrap errors.\n"; !strings.Contains(model.first, want) {
		t.Errorf("the next run was given %q", model.first)
	}
	// Nothing was destroyed: each version is there, with who wrote it.
	for id, want := range map[string]string{"conventions": "Use tabs.\nTest first.", "conventions@2": "Use gofmt.\nTest first.", "conventions@4": "Rules:\nUse gofmt.\nTest first.\nWrap errors."} {
		n, err := f.store.GetNote(t.Context(), person.Namespace, id)
		if err != nil || n.Body != want || n.Superseded != (id != "conventions@4") || (id != "conventions") != (n.Origin == memory.Origin{Run: "r", Path: "answer", Attempt: 1}) {
			t.Errorf("%s is %+v, %v", id, n, err)
		}
	}
	work := memory.Namespace{Kind: memory.WorkflowKind, ID: "work"}
	for id, want := range map[string]string{"build/go.md": "one\ntwo\nthree\n", "build/go.md@2": "Renamed to build/rust.md.", "how/rust.md": "one\ntwo\nthree\n", "how/rust.md@2": "Deleted."} {
		if n, err := f.store.GetNote(t.Context(), work, id); err != nil || n.Body != want || n.Origin.Run != "r" || !slices.Equal(n.Tags, []string{"scope:main", "source:run"}) {
			t.Errorf("%s is %+v, %v", id, n, err)
		}
	}
	// A primer of a person is shown by the command line as well.
	if p, err := f.store.Primer(t.Context(), shop, "conventions"); err != nil || !strings.HasPrefix(p.Text, "Rules:") {
		t.Error(p, err)
	}
}

// desk gives attempts the tool memory, each with an idempotency key of its own.
type desk struct {
	testing.TB
	store memory.Store
	mu    sync.Mutex
	n     int
}

// tool is that of a new task.
func (d *desk) tool(m memory.Memory, workflow string) func(command any) (string, error) {
	d.mu.Lock()
	d.n++
	key := fmt.Sprint("run", d.n, "/step")
	d.mu.Unlock()
	return d.keyed(m, workflow, key)
}

func (d *desk) keyed(m memory.Memory, workflow, key string) func(command any) (string, error) {
	d.Helper()
	m.Recall = memory.RecallOff
	if m.Tools == "" {
		m.Tools = memory.Files
	}
	spec := m.Lower()
	if len(spec.Mistakes) > 0 {
		d.Fatal(spec.Mistakes)
	}
	resolved := spec.Memory.Under(cairn.RootMemory)
	call := &cairn.Call{Run: key[:strings.Index(key, "/")], Workflow: workflow, Path: "step", Attempt: 1, IdempotencyKey: key, Policy: cairn.Policy{Memory: &resolved}, Journal: journal{}}
	var tool cairn.Tool
	_, err := (&memory.Runtime{Store: d.store}).Middleware(func(_ context.Context, call *cairn.Call) (cairn.Result, error) {
		for _, t := range call.Tools {
			if t.Name == "memory" {
				tool = t
			}
		}
		return cairn.Result{}, nil
	})(context.Background(), call)
	if err != nil || tool.Call == nil {
		d.Fatal("no tool", err)
	}
	return func(command any) (text string, err error) {
		raw, ok := command.(string)
		if !ok {
			b, err := json.Marshal(command)
			if err != nil {
				return "", err
			}
			raw = string(b)
		}
		out, err := tool.Call(context.Background(), json.RawMessage(raw))
		if err != nil {
			return "", err
		}
		return text, json.Unmarshal(out, &text)
	}
}

func create(path, text string) any {
	return map[string]any{"command": "create", "path": path, "file_text": text}
}
func view(path string) any { return map[string]any{"command": "view", "path": path} }
func swap(path, from, to string) any {
	return map[string]any{"command": "str_replace", "path": path, "old_str": from, "new_str": to}
}
func add(path string, line int, text string) any {
	return map[string]any{"command": "insert", "path": path, "insert_line": line, "insert_text": text}
}
func drop(path string) any { return map[string]any{"command": "delete", "path": path} }

func openDesk(t *testing.T, keys ...lanes.Key) (*desk, *lanes.Store, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "memory.db")
	store, err := lanes.Open(t.Context(), lanes.Config{Path: path, Synchronous: lanes.Normal, Keys: keys})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return &desk{TB: t, store: store}, store, path
}

// says makes a call that has to work.
func says(t *testing.T, tool func(any) (string, error), command any) string {
	t.Helper()
	text, err := tool(command)
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return text
}

// TestWritersDoNotOverwriteEachOther: many tasks change one file at once. What was acknowledged is in it, what was not is
// refused with the advice to view it again, and of those that create one path, in whatever namespace, one succeeds.
func TestWritersDoNotOverwriteEachOther(t *testing.T) {
	d, store, _ := openDesk(t)
	m := memory.Memory{Bank: "notes"}
	const writers, rounds = 6, 4
	var mu sync.Mutex
	created, refused, done := 0, 0, []string{}
	var group sync.WaitGroup
	for w := range writers {
		group.Go(func() {
			tool := d.tool(m, fmt.Sprint("w", w))
			switch _, err := tool(create("/memories/log", "begin\n")); {
			case err == nil:
				mu.Lock()
				created++
				mu.Unlock()
			case !errors.Is(err, memory.Exists):
				t.Error(err)
			}
			for r := range rounds {
				line := fmt.Sprint("line ", w, ".", r)
				_, err := tool(swap("/memories/log", "begin\n", "begin\n"+line+"\n"))
				mu.Lock()
				switch {
				case err == nil:
					done = append(done, line)
				case errors.Is(err, memory.VersionConflict) && strings.Contains(err.Error(), "View it again"):
					refused++
				default:
					t.Error(err)
				}
				mu.Unlock()
				_, _ = tool(view("/memories/log"))
			}
		})
	}
	group.Wait()
	if created != 1 {
		t.Errorf("%d have created the file", created)
	}
	text := says(t, d.tool(m, "reader"), view("/memories/log"))
	for _, line := range done {
		if strings.Count(text, line) != 1 {
			t.Errorf("%s is not there once in\n%s", line, text)
		}
	}
	all, err := store.Notes(t.Context(), memory.Scope{Bank: "notes", Statuses: []memory.Status{memory.Accepted}})
	if err != nil || len(all) != 1+len(done) || len(done)+refused != writers*rounds || len(done) < rounds {
		t.Errorf("%d versions of %d changes, %d were refused: %v", len(all), len(done), refused, err)
	}
}

// TestAStaleViewIsRefused: who has seen another version is told to look again, whatever it wants to do.
func TestAStaleViewIsRefused(t *testing.T) {
	d, _, _ := openDesk(t)
	m := memory.Memory{Bank: "notes"}
	a, b := d.tool(m, "w"), d.tool(m, "w")
	says(t, a, create("/memories/d/plan", "one\ntwo\n"))
	says(t, b, view("/memories/d/plan"))
	says(t, a, add("/memories/d/plan", 0, "zero"))
	for _, command := range []any{add("/memories/d/plan", 1, "x"), swap("/memories/d/plan", "two", "x"), drop("/memories/d/plan"), drop("/memories/d"),
		map[string]any{"command": "rename", "old_path": "/memories/d", "new_path": "/memories/e"}} {
		if _, err := b(command); !errors.Is(err, memory.VersionConflict) || err.Error() != "Error: /memories/d/plan has been changed by run1, step since you have seen it, and nothing was done. View it again." {
			t.Errorf("%v: %v", command, err)
		}
	}
	says(t, b, view("/memories/d/plan"))
	says(t, b, add("/memories/d/plan", 3, "three"))
	if got := says(t, b, view("/memories/d/plan")); !strings.HasSuffix(got, "     1\tzero\n     2\tone\n     3\ttwo\n     4\tthree\n") {
		t.Error(got)
	}
}

// slain is a store whose process dies right after it has applied an operation.
type slain struct {
	memory.Store
	applied chan struct{}
}

func (s *slain) Apply(ctx context.Context, id string, op memory.Operation) (bool, error) {
	applied, err := s.Store.Apply(ctx, id, op)
	if err != nil {
		return applied, err
	}
	close(s.applied)
	<-ctx.Done()
	return false, context.Cause(ctx)
}

// TestAKillInTheMiddleOfAnEdit: the edit is in the file and its result in no journal. The attempt that goes on makes the call
// again, under its key, and there is one version.
func TestAKillInTheMiddleOfAnEdit(t *testing.T) {
	for name, command := range map[string]string{
		"create":      `{"command":"create","path":"/memories/new","file_text":"ab"}`,
		"str_replace": `{"command":"str_replace","path":"/memories/old","old_str":"ab","new_str":"abab"}`,
		"insert":      `{"command":"insert","path":"/memories/old","insert_line":1,"insert_text":"ab"}`,
		"delete":      `{"command":"delete","path":"/memories/old"}`,
		"rename":      `{"command":"rename","old_path":"/memories/old","new_path":"/memories/new"}`,
	} {
		t.Run(name, func(t *testing.T) {
			f := openFile(t)
			_, _, err := f.store.SaveNote(t.Context(), memory.Note{Place: memory.Place{Namespace: memory.Namespace{Kind: memory.GlobalKind, ID: "g"}, Bank: "notes"}, ID: "old", Body: "ab", Pinned: true})
			f.must(err)
			model := &script{commands: []string{command}}
			wf := under(memory.Memory{Bank: "notes", Recall: memory.RecallOff, Tools: memory.Files}, &loop.Agent{Model: model})
			dying := &slain{f.store, make(chan struct{})}
			whole := f.rt
			f.rt = &memory.Runtime{Store: dying}
			e := f.open(engine.Config{}, wf)
			_, err = e.Start(t.Context(), "work", json.RawMessage(`"go"`), engine.StartOptions{ID: "r"})
			f.must(err)
			<-dying.applied
			f.close(e)
			history := func() (list []string) {
				notes, err := f.store.Notes(t.Context(), memory.Scope{Bank: "notes", Statuses: []memory.Status{memory.Accepted}})
				f.must(err)
				for _, n := range notes {
					list = append(list, n.ID+" "+n.Body)
				}
				return list
			}
			before := history()
			f.rt = whole
			e = f.open(engine.Config{}, wf)
			run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
			f.must(err)
			outcome, err := run.Wait(t.Context())
			f.must(err)
			if outcome.Status != core.Finished || len(model.told) != 1 || strings.HasPrefix(model.told[0], "!") {
				t.Errorf("%s, told %q", outcome.Status, model.told)
			}
			if got := history(); !slices.Equal(got, before) || len(got) < 2 {
				t.Errorf("was %q, is %q", before, got)
			}
		})
	}
}

// TestEqualCallsOfAnotherAttempt: an agent that gives its calls no keys of their own does the same again after a failure.
func TestEqualCallsOfAnotherAttempt(t *testing.T) {
	d, store, _ := openDesk(t)
	m := memory.Memory{Bank: "notes"}
	for range 2 {
		tool := d.keyed(m, "w", "r/step")
		says(t, tool, create("/memories/a", "x"))
		says(t, tool, swap("/memories/a", "x", "xx"))
	}
	all, err := store.Notes(t.Context(), memory.Scope{Bank: "notes", Statuses: []memory.Status{memory.Accepted}})
	if err != nil || len(all) != 2 {
		t.Errorf("%d versions, %v", len(all), err)
	}
}

// TestABranchEditsForItself: a file of main that a branch has edited, deleted or renamed is for the others what it was, in
// the tool and as a primer. What main does, branches see.
func TestABranchEditsForItself(t *testing.T) {
	d, store, _ := openDesk(t)
	on := func(branch string) memory.Memory {
		return memory.Memory{Bank: shop, Tags: []string{"branch:" + branch}}
	}
	primer := func(branch, id string) string {
		texts, err := store.Primers(t.Context(), shop, []string{id}, memory.RecallFilter(shop, []string{"branch:" + branch}, nil))
		if err != nil {
			t.Fatal(err)
		}
		return texts[id].Text
	}
	reads := func(branch, id, want string) {
		t.Helper()
		text, err := d.tool(on(branch), "w")(view("/memories/" + id))
		if want == "" {
			if !errors.Is(err, memory.NotFound) {
				t.Errorf("%s sees %s: %q", branch, id, text)
			}
		} else if !strings.HasSuffix(text, "     1\t"+want+"\n") {
			t.Errorf("%s sees %q, %v in %s, want %q", branch, text, err, id, want)
		}
		if got := primer(branch, id); got != want {
			t.Errorf("%s is given %q for %s, want %q", branch, got, id, want)
		}
	}
	says(t, d.tool(on("main"), "w"), create("/memories/rules", "of main"))
	says(t, d.tool(on("feat"), "w"), swap("/memories/rules", "main", "feat"))
	says(t, d.tool(on("feat"), "w"), create("/memories/plan", "feat's"))
	for _, tt := range [][3]string{{"feat", "of feat", "feat's"}, {"main", "of main", ""}, {"other", "of main", ""}} {
		reads(tt[0], "rules", tt[1])
		reads(tt[0], "plan", tt[2])
	}
	says(t, d.tool(on("main"), "w"), swap("/memories/rules", "of", "all of"))
	says(t, d.tool(on("main"), "w"), create("/memories/plan", "main's")) // it knows nothing of the branch's
	for _, tt := range [][3]string{{"feat", "of feat", "feat's"}, {"main", "all of main", "main's"}, {"other", "all of main", "main's"}} {
		reads(tt[0], "rules", tt[1])
		reads(tt[0], "plan", tt[2])
	}
	says(t, d.tool(on("feat"), "w"), drop("/memories/rules"))
	says(t, d.tool(on("feat"), "w"), map[string]any{"command": "rename", "old_path": "/memories/plan", "new_path": "/memories/old"})
	for _, tt := range [][4]string{{"feat", "", "", "feat's"}, {"main", "all of main", "main's", ""}, {"other", "all of main", "main's", ""}} {
		reads(tt[0], "rules", tt[1])
		reads(tt[0], "plan", tt[2])
		reads(tt[0], "old", tt[3])
	}
}

// TestWhatAPersonRejectedStaysRejected: the tool says so instead of pretending.
func TestWhatAPersonRejectedStaysRejected(t *testing.T) {
	d, store, _ := openDesk(t)
	m := memory.Memory{Bank: "notes"}
	says(t, d.tool(m, "w"), create("/memories/a", "x"))
	says(t, d.tool(m, "w"), swap("/memories/a", "x", "y"))
	if _, err := store.SetStatus(t.Context(), memory.Namespace{Kind: memory.WorkflowKind, ID: "w"}, "a@2", memory.Rejected); err != nil {
		t.Fatal(err)
	}
	tool := d.tool(m, "w")
	if got := says(t, tool, view("/memories/a")); !strings.HasSuffix(got, "\tx\n") {
		t.Error(got)
	}
	if got, err := tool(swap("/memories/a", "x", "y")); err == nil || !strings.Contains(err.Error(), "rejected before by a person") {
		t.Error(got, err)
	}
	says(t, tool, swap("/memories/a", "x", "z"))
}

// TestFilesOfSeveralBanks: the first part of a path is the bank, what is written gets its tags, and a bank that may only be read is
// not there.
func TestFilesOfSeveralBanks(t *testing.T) {
	d, store, _ := openDesk(t)
	m := memory.Memory{Banks: []string{"user-1", shop, "read-only"}, WriteBanks: []string{"user-1", shop}, Tags: []string{"branch:x", "team:a"}}
	tool := d.tool(m, "w")
	says(t, tool, create("/memories/user-1/likes", "tabs"))
	says(t, tool, create("/memories/project-shop/d/rules", "none"))
	for bank, want := range map[string]string{"user-1": "[source:run team:a]", shop: "[branch:x scope:branch source:run team:a]"} {
		list, err := store.Notes(t.Context(), memory.Scope{Bank: bank})
		if err != nil || len(list) != 1 || fmt.Sprint(list[0].Tags) != want || !list[0].Pinned {
			t.Errorf("%s has %+v, %v", bank, list, err)
		}
	}
	want := "8B\t/memories\n4B\t/memories/project-shop/\n4B\t/memories/project-shop/d/\n4B\t/memories/user-1/\n4B\t/memories/user-1/likes\tTIME\tby run1, step\n"
	if got := stamped.ReplaceAllString(says(t, tool, view("/memories")), "TIME"); !strings.HasSuffix(got, ":\n"+want) {
		t.Errorf("%q", got)
	}
	for _, command := range []any{create("/memories/x", "x"), create("/memories/read-only/x", "x"), view("/memories/other"), create("/memories/user-1", "x"), drop("/memories/user-1"),
		map[string]any{"command": "rename", "old_path": "/memories/user-1/likes", "new_path": "/memories/project-shop/likes"}} {
		if got, err := tool(command); err == nil {
			t.Errorf("%v: %s", command, got)
		}
	}
}

// TestBoundsOfFiles: of a file, of their number, of what a view shows, and of tags.
func TestBoundsOfFiles(t *testing.T) {
	d, _, _ := openDesk(t)
	m := memory.Memory{Bank: "notes"}
	tool := d.tool(m, "w")
	if _, err := tool(create("/memories/large", strings.Repeat("x", memory.MaxFile+1))); !errors.Is(err, memory.TooLarge) {
		t.Error(err)
	}
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "line %d of the file\n", i+1)
	}
	says(t, tool, create("/memories/long", text.String()))
	seen, from := 0, 1
	for page := 0; from <= 2000; page++ {
		got := says(t, tool, map[string]any{"command": "view", "path": "/memories/long", "view_range": []int{from, -1}})
		if len(got) > memory.MaxView || page > 10 {
			t.Fatalf("page %d has %d bytes", page, len(got))
		}
		n := strings.Count(got, " of the file\n")
		seen, from = seen+n, from+n
	}
	if seen != 2000 {
		t.Errorf("%d lines were shown", seen)
	}
	says(t, tool, create("/memories/wide", strings.Repeat("ü", memory.MaxFile/2)))
	if got := says(t, tool, view("/memories/wide")); len(got) > memory.MaxView || !strings.HasSuffix(got, "… (this line is cut)\n") {
		t.Errorf("a line of 64 KiB is shown as %d bytes", len(got))
	}
	for i := range memory.MaxFiles - 2 {
		says(t, tool, create(fmt.Sprintf("/memories/%s/%03d", strings.Repeat("d", 180), i), "x"))
	}
	if _, err := tool(create("/memories/more", "x")); !errors.Is(err, memory.TooLarge) {
		t.Error(err)
	}
	if got := says(t, tool, view("/memories")); len(got) > memory.MaxView || !strings.Contains(got, " more: view a directory") {
		t.Errorf("a listing of %d bytes", len(got))
	}
	says(t, tool, drop("/memories/"+strings.Repeat("d", 180)))
	many := memory.Memory{Bank: shop}
	for i := range memory.MaxTagged {
		many.Tags = append(many.Tags, fmt.Sprint("team:", i))
	}
	if _, err := d.tool(many, "w")(create("/memories/x", "x")); !errors.Is(err, memory.BadTag) {
		t.Error(err)
	}
	for _, in := range []string{`{}`, `{"command":"create","path":"/memories/x","file_text":1}`, `{"command":"view","path":"/memories","sql":"drop"}`, `{"command":"create","path":"/memories/x","file_text":"a\u0000b"}`, `[]`} {
		if got, err := tool(in); err == nil {
			t.Errorf("%s: %s", in, got)
		}
	}
}

// TestFilesAtRest: in an encrypted file no text is in clear, an export has all versions and comes back byte for byte, and what
// is forgotten leaves nothing, a file by the id of its primer.
func TestFilesAtRest(t *testing.T) {
	for name, keys := range map[string][]lanes.Key{"clear": nil, "encrypted": {{ID: "k", Secret: bytes.Repeat([]byte{7}, 32)}}} {
		t.Run(name, func(t *testing.T) {
			d, store, path := openDesk(t, keys...)
			m := memory.Memory{Bank: "notes"}
			tool := d.tool(m, "w")
			for _, command := range []any{
				create("/memories/quokka-plan", "first quokkasecret"), swap("/memories/quokka-plan", "first", "second"),
				create("/memories/other", "wombatword"), map[string]any{"command": "rename", "old_path": "/memories/quokka-plan", "new_path": "/memories/numbat-plan"},
				swap("/memories/numbat-plan", "second", "third"), drop("/memories/numbat-plan"), create("/memories/numbat-plan", "anew ibexword"),
			} {
				says(t, tool, command)
			}
			if got := bytes.Contains(stored(t, path), []byte("quokkasecret")); got != (keys == nil) {
				t.Errorf("the text is in clear: %v", got)
			}
			export := func(s *lanes.Store) string {
				var b bytes.Buffer
				if err := s.Export(t.Context(), &b); err != nil {
					t.Fatal(err)
				}
				return b.String()
			}
			before := export(store)
			_, copied, _ := openDesk(t)
			if _, err := copied.Import(t.Context(), strings.NewReader(before)); err != nil {
				t.Fatal(err)
			}
			if got := export(copied); got != before || strings.Count(got, "quokkasecret") != 4 {
				t.Errorf("came back as\n%s\nwas\n%s", got, before)
			}
			in := &desk{TB: t, store: copied}
			if got, want := says(t, in.tool(m, "w"), view("/memories")), says(t, tool, view("/memories")); got != want {
				t.Errorf("the copy lists\n%s\nand the original\n%s", got, want)
			}
			ns := memory.Namespace{Kind: memory.WorkflowKind, ID: "w"}
			gone, err := store.ForgetItem(t.Context(), memory.Ref{Namespace: ns, Lane: memory.NoteLane, ID: "quokka-plan"})
			if err == nil {
				err = store.VerifyForgotten(t.Context(), gone)
			}
			if err != nil {
				t.Fatal(err)
			}
			if left := export(store); strings.Contains(left, "quokka") || strings.Contains(left, "third") || !strings.Contains(left, "wombatword") {
				t.Errorf("left\n%s", left)
			}
			if gone, err = store.Forget(t.Context(), ns); err == nil {
				err = store.VerifyForgotten(t.Context(), gone)
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := export(store); got != lanes.EmptyExport {
				t.Errorf("left\n%s", got)
			}
			for _, word := range []string{"quokkasecret", "wombatword", "ibexword", "quokka-plan", "numbat-plan"} {
				if bytes.Contains(stored(t, path), []byte(word)) {
					t.Errorf("the file still has %s", word)
				}
			}
		})
	}
}

// stored are the bytes of a database with its log.
func stored(t *testing.T, path string) (all []byte) {
	t.Helper()
	for _, name := range []string{path, path + "-wal"} {
		raw, err := os.ReadFile(name)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		all = append(all, raw...)
	}
	return all
}
