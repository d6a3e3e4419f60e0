package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/examples/research"
	"github.com/cairnrun/cairn/examples/review"
	"github.com/cairnrun/cairn/task/agent/contextlint"
	"github.com/cairnrun/cairn/task/agent/window"
)

const asProgram = "CAIRN_TEST_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// The program runs its examples in an empty directory, with nothing but its name and theirs.
func TestExamples(t *testing.T) {
	dir := t.TempDir()
	command := func(args ...string) string { t.Helper(); return succeeds(t, dir, args...) }
	if out := command("workflows"); !strings.Contains(out, "audit: ") || !strings.Contains(out, `up hello --input '{"name":"world"}'`) {
		t.Errorf("workflows: %s", out)
	}
	if out := command("up", "hello"); out != "\"HELLO, WORLD!\"\n" {
		t.Errorf("hello: %s", out)
	}
	for _, knew := range []string{"nothing", "a lesson"} { // the second run has the memory of the first
		if out := command("up", "runbook"); !strings.Contains(out, `"knew":"`+knew+`"`) {
			t.Errorf("runbook, to know %s: %s", knew, out)
		}
	}
	if out := command("up", "runbook-rules"); !strings.Contains(out, `"proposed":["rule-`) {
		t.Errorf("runbook-rules: %s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n\nfunc F() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out := command("up", "audit"); !strings.Contains(out, `"packages":1,"files":1,"lines":3,"undocumented":1`) {
		t.Errorf("audit: %s", out)
	}
	var reviewed struct {
		Approved bool
		Runs     int
	}
	for runs := 2; runs > 0; runs-- { // the second one has learnt
		out := command("up", "review", "--input", fmt.Sprintf(`{"goal":"Clamp returns the wrong bound for a v above high.","dir":"review-%d","budget":50000}`, runs))
		if err := json.Unmarshal([]byte(out), &reviewed); err != nil || !reviewed.Approved || reviewed.Runs != runs {
			t.Errorf("review: %s, %v", out, err)
		}
	}
	if out := command("up", "research", "--run-id", "lamp"); !strings.Contains(out, `"rounds":2,"rejected":2`) {
		t.Errorf("research: %s", out)
	}
	// Its models have a prompt cache: what one call writes the next one reads.
	if out := command("cache-report", "lamp", "--json"); !strings.Contains(out, `"total":{"calls":18,"read":13699,"written":9368,"uncached":1721,`) {
		t.Errorf("research has read from the cache: %s", out)
	}
	for _, name := range []string{"cairn.db", "artifacts"} {
		if _, err := os.Stat(filepath.Join(dir, ".cairn", name)); err != nil {
			t.Error(err)
		}
	}
}

// started runs the program in a directory of its own. It is killed when a line of its progress begins so, unless that is "".
func started(t *testing.T, dir, kill string, env []string, args ...string) (out, errOut string, code int) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), asProgram+"=1", "CAIRN_DB="), env...)
	var stdout bytes.Buffer
	cmd.Stdout = &stdout
	progress, err := cmd.StderrPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		errOut += lines.Text() + "\n"
		if kill != "" && strings.HasPrefix(lines.Text(), kill) {
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait()
	return stdout.String(), errOut, cmd.ProcessState.ExitCode()
}

// succeeds runs the program to its end and returns what it puts out.
func succeeds(t *testing.T, dir string, args ...string) string {
	t.Helper()
	out, errOut, code := started(t, dir, "", nil, args...)
	if code != 0 {
		t.Fatalf("%q: exit code %d: %s%s", args, code, out, errOut)
	}
	return out
}

// killed runs the program until a line of its progress begins so, and kills it then. On a busy machine it may be over before the
// kill comes, and is run again. It returns the directory that the program has left.
func killed(t *testing.T, at string, args ...string) (dir string) {
	t.Helper()
	var out, errOut string
	for range 20 {
		dir = t.TempDir()
		var code int
		out, errOut, code = started(t, dir, at, nil, args...)
		if !strings.Contains(errOut, at) {
			break
		}
		if code != 0 {
			return dir
		}
	}
	t.Fatalf("it was never killed: %s%s", out, errOut)
	return ""
}

// goesOn wants a run of the workflow to come to the same end as an undisturbed one, which it returns, whose process is killed
// when its progress begins with one of these, wherever that is. look adds to the result what else has to be the same.
func goesOn(t *testing.T, workflow string, look func(t *testing.T, dir string) string, kills ...string) string {
	t.Helper()
	up := []string{"up", workflow, "--run-id", "r"}
	ended := func(t *testing.T, dir string) string { return succeeds(t, dir, up...) + look(t, dir) }
	undisturbed := ended(t, t.TempDir())
	for _, kill := range kills {
		t.Run(strings.Join(strings.Fields(kill), " "), func(t *testing.T) {
			if got := ended(t, killed(t, kill, up...)); got != undisturbed {
				t.Errorf("%s\nundisturbed\n%s", got, undisturbed)
			}
		})
	}
	return undisturbed
}

// TestReviewGoesOn: a review whose process is killed, wherever, comes to the same end in the next one, and the files too.
func TestReviewGoesOn(t *testing.T) {
	goesOn(t, "review", func(t *testing.T, dir string) (code string) {
		for _, name := range []string{"clamp.go", "clamp_test.go"} {
			raw, err := os.ReadFile(filepath.Join(dir, "review-sample", name))
			if err != nil {
				t.Fatal(err)
			}
			code += string(raw)
		}
		return code
	}, "finished     prepare", "started      round[0]/review", "started      round[1]/implement", "breach", "successor")
}

// TestResearchGoesOn: a run whose process is killed, wherever, comes to the same report in the next one, and whatever was in
// flight, what it has used is counted once.
func TestResearchGoesOn(t *testing.T) {
	undisturbed := goesOn(t, "research", func(t *testing.T, dir string) (fanOut string) {
		for line := range strings.Lines(succeeds(t, dir, "inspect", "r")) {
			if strings.HasPrefix(line, "fan-out") {
				fanOut = line
			}
		}
		return fanOut
	}, "finished     prepare", "started      plan", "started      lens/research", "finished     money/research", "started      gather",
		"started      round[0]/write", "finished     round[0]/check", "started      round[1]/write")
	if !strings.Contains(undisturbed, "4 delegates in the run") {
		t.Errorf("inspect tells no fan-out: %s", undisturbed)
	}
}

// TestAgentThatCannotBe is refused before anything is written.
func TestAgentThatCannotBe(t *testing.T) {
	for agent, want := range map[string]string{
		"anthropic:claude-opus-4-8": "NO_API_KEY: the agent anthropic:claude-opus-4-8 needs a key; set the environment variable ANTHROPIC_API_KEY",
		"openai:gpt-6-sol":          "NO_API_KEY",
		"oracle:delphi":             `BAD_AGENT: there is no provider "oracle"`,
	} {
		dir := t.TempDir()
		_, errOut, code := started(t, dir, "", []string{"ANTHROPIC_API_KEY=", "OPENAI_API_KEY="}, "up", "review", "--agent", agent)
		if code != 2 || !strings.Contains(errOut, "NOT_READY") || !strings.Contains(errOut, want) {
			t.Errorf("%s: exit code %d: %s", agent, code, errOut)
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Errorf("%s: %v, %v", agent, files, err)
		}
	}
}

// TestExamplesLintClean: the windows of the examples are as the program itself asks them to be, those of the first trees and those
// that come later. Nothing is written.
func TestExamplesLintClean(t *testing.T) {
	dir := t.TempDir()
	agents := 0
	var tasks []string
	for line := range strings.Lines(succeeds(t, dir, "workflows", "--json")) {
		var w struct{ Name string }
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			t.Fatal(err)
		}
		var l struct {
			Agents  int
			Tasks   []string
			Skipped []struct{ Path, Why string }
		}
		if err := json.Unmarshal([]byte(succeeds(t, dir, "lint-context", w.Name, "--strict", "--json")), &l); err != nil {
			t.Fatal(err)
		}
		agents += l.Agents
		tasks = append(tasks, l.Tasks...)
		for _, s := range l.Skipped {
			if strings.Contains(s.Why, "does not tell how it begins") { // a script, which has no window
				agents--
			}
		}
	}
	if agents < 3 { // the planner, the implementer, the reviewer
		t.Errorf("the windows of %d agents were looked at", agents)
	}
	for _, path := range []string{"plan", "name-3/research", "round[1]/write", "round[1]/implement", "round[1]/review"} {
		if !slices.Contains(tasks, path) {
			t.Errorf("nobody has looked at %s: %q", path, tasks)
		}
	}
	plan := research.Plan{Parts: []research.Part{{Name: "a", Question: "Who?"}, {Name: "b", Question: "When?"}, {Name: "c", Question: "Why?"}}}
	later := windows(t, research.Workflow, done(t, "prepare", true), done(t, "plan", plan))
	later = append(later, windows(t, review.Workflow, done(t, "prepare", true), done(t, "round[0]/implement", review.Change{Summary: "Done."}))...)
	var seen []string
	for _, one := range later {
		var tools []string
		for _, t := range one.Renders[0].Opening.Setup.Tools {
			tools = append(tools, strings.TrimPrefix(t.Name, "fs_"))
		}
		seen = append(seen, one.Path+": "+strings.Join(tools, " "))
	}
	want := []string{"plan: read list glob grep artifact_read", "a/research: read list glob grep keep_findings artifact_read",
		"b/research: read list glob grep keep_findings artifact_read", "c/research: read list glob grep keep_findings artifact_read", "round[0]/write: artifact_read",
		"round[0]/implement: read list glob grep write edit artifact_read", "round[0]/review: read list glob grep artifact_read"}
	if !slices.Equal(seen, want) {
		t.Errorf("the windows are of\n%s\nwant\n%s", strings.Join(seen, "\n"), strings.Join(want, "\n"))
	}
	for _, f := range contextlint.Check(later) {
		t.Errorf("%s %v: %s", f.Code, f.Paths, f.What)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("%v was written, %v", entries, err)
	}
}

// done is the end of a task's first attempt.
func done(t *testing.T, path string, output any) core.Event {
	t.Helper()
	raw, err := json.Marshal(output)
	if err != nil {
		t.Fatal(err)
	}
	return core.Event{Kind: core.TaskDone, Path: path, Attempt: 1, Output: raw}
}

// windows are how the agents of a workflow begin that are mounted after some events, as runs of two days render it.
func windows[In, Out any](t *testing.T, wf cairn.Workflow[In, Out], events ...core.Event) (tasks []contextlint.Task) {
	t.Helper()
	input, err := json.Marshal(wf.Example)
	if err != nil {
		t.Fatal(err)
	}
	for day := range 2 {
		run, now := fmt.Sprint("lint-", day), time.Date(2026, 3, 1+day, 10, day, day, 0, time.UTC)
		m, err := engine.RehearseAs(wf.Define(), input, run, now)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			m.Step(now, []core.Event{e}, true)
			if block := m.State().Block; block != nil {
				t.Fatal(block)
			}
		}
		i := 0
		for _, one := range m.Mounted() {
			if one.Task.Describe == nil {
				continue
			}
			if one.Failure != nil { // its prompt has to wait for others
				one.Input = json.RawMessage(`""`)
			}
			opening, err := one.Task.Describe(one.Input, nil)
			if err != nil {
				t.Fatal(err)
			}
			if day == 0 {
				tasks = append(tasks, contextlint.Task{Path: one.Path, Input: input})
			}
			tasks[i].Renders = append(tasks[i].Renders, contextlint.Render{Opening: opening.(window.Opening), Run: run, Now: now})
			i++
		}
	}
	return tasks
}
