package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/task"
)

func TestUp(t *testing.T) {
	p := newPlace(t)
	r := p.must(0, "up", "zoo", "--run-id", "r1")
	if r.out != "\"bye ape\"\n" {
		t.Errorf("stdout: %q", r.out)
	}
	golden(t, "up.golden", p.canon(r.err))
	if strings.ContainsAny(r.err, "\x1b\r") {
		t.Error("control characters where no terminal is")
	}
	for _, view := range []string{"events", "frames", "inspect", "graph"} {
		golden(t, view+".golden", p.canon(p.must(0, view, "r1").out))
		for range lines[map[string]any](t, p.must(0, view, "r1", "--json").out) {
		}
	}
	if n := len(lines[map[string]any](t, p.must(0, "frames", "r1", "--json", "--from", "3").out)); n < 5 {
		t.Errorf("%d frames from the third on", n)
	}
	has(t, p.must(0, "frames", "r1", "--from", "3").out, "3  2")
}

func TestUpJSON(t *testing.T) {
	p := newPlace(t)
	r := p.must(0, "up", "zoo", "--json", "--run-id", "r1")
	if r.out != `{"run":"r1","status":"finished","result":"bye ape"}`+"\n" {
		t.Errorf("stdout: %s", r.out)
	}
	types := map[string]bool{}
	for _, h := range lines[struct{ Run, Type string }](t, r.err) {
		types[h.Type] = true
		if h.Run != "r1" {
			t.Errorf("a line of run %q", h.Run)
		}
	}
	for _, want := range []string{"run-started", "started", "finished", "retry", "failed", "skipped", "iteration", "loop-done", "try-finally", "run-finished"} {
		if !types[want] {
			t.Errorf("no line of type %s", want)
		}
	}
}

func TestFailed(t *testing.T) {
	p := newPlace(t)
	r := p.must(1, "up", "zoo", "--run-id", "r1", "--input", `{"name":"ape","fail":true}`, "-q")
	if r.out != "" {
		t.Errorf("stdout of a failed run: %q", r.out)
	}
	has(t, r.err, "cairn: RISKY run r1 at risky; see run inspect r1")
	golden(t, "inspect-failed.golden", p.canon(p.must(0, "inspect", "r1").out))
	r = p.must(1, "up", "zoo", "--run-id", "r2", "--input", `{"name":"ape","fail":true}`, "--json")
	o := lines[engine.Outcome](t, r.out)[0]
	if o.Status != "failed" || o.Failure.Code != "RISKY" {
		t.Errorf("outcome %+v", o)
	}
	has(t, p.must(0, "why", "r1", "last").out, "last did not get its turn: the run is failed, because of RISKY at risky.")
	has(t, p.must(0, "why", "r1", "risky").out, "risky has failed for good in frame")
	has(t, p.must(0, "why", "r1", "#careful").out, "its failure went outward: RISKY")
}

func TestInput(t *testing.T) {
	p := newPlace(t)
	file := filepath.Join(p.dir, "in.json")
	if err := os.WriteFile(file, []byte(`{"name":"bee"}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	has(t, p.must(0, "up", "zoo", "--input", "@"+file).out, "bye bee")
	r := p.runWith(`{"name":"cow"}`, "up", "zoo", "--input", "-")
	has(t, r.out, "bye cow")
}

// Refused commands say in one line what is wrong and what to do, and write nothing.
func TestRefused(t *testing.T) {
	p := newPlace(t)
	tests := []struct {
		args []string
		want string
	}{
		{[]string{"up"}, "BAD_USAGE: up needs a WORKFLOW; see run --help"},
		{[]string{"up", "zoo", "hold"}, `up takes 1 argument, and "hold" is too many`},
		{[]string{"upp"}, "did you mean"},
		{[]string{"up", "zoo", "--nope"}, "BAD_USAGE: unknown flag: --nope"},
		{[]string{"up", "nope"}, `UNKNOWN_WORKFLOW: there is no workflow "nope" here; use one of ["asker" "broken" "hold" "plain" "relay" "zoo"]`},
		{[]string{"up", "plain"}, `INVALID_INPUT: workflow "plain" has no example input; give it an input`},
		{[]string{"up", "zoo", "--input", "{"}, "INVALID_INPUT"},
		{[]string{"up", "zoo", "--input", `{"name":""}`}, `name: required; give it something like {"name":"ape"}`},
		{[]string{"up", "zoo", "--input", `{"nme":""}`}, `unknown field "nme"`},
		{[]string{"up", "zoo", "--input", "@nope.json"}, `NO_SUCH_FILE: the file "nope.json" can't be read`},
		{[]string{"up", "zoo", "--run-id", "a/b"}, "BAD_RUN_ID"},
		{[]string{"up", "broken"}, "INVALID_TREE"},
		{[]string{"resume", "r1"}, "NO_DATABASE: there is no database at"},
		{[]string{"cancel", "r1"}, "NO_DATABASE"},
		{[]string{"pause", "r1"}, "NO_DATABASE"},
		{[]string{"inspect", "r1"}, "NO_DATABASE"},
		{[]string{"frames", "r1"}, "NO_DATABASE"},
		{[]string{"events", "r1"}, "NO_DATABASE"},
		{[]string{"why", "r1", "x"}, "NO_DATABASE"},
		{[]string{"why", "r1"}, "why needs a PATH"},
		{[]string{"memory", "notes", "accept"}, "accept needs a NAMESPACE and an ID"},
		{[]string{"export", "r1"}, "NO_DATABASE"},
		{[]string{"graph", "r1"}, `RUN_NOT_FOUND: there is no workflow and no run "r1" here`},
		{[]string{"graph", "zoo", "--format", "png"}, "use text, dot or mermaid"},
		{[]string{"graph", "broken"}, "INVALID_TREE"},
		{[]string{"import", "nope.jsonl"}, "NO_SUCH_FILE"},
		{[]string{"import", "harness_test.go"}, "BAD_EXPORT"},
		{[]string{"replay", "zoo", "harness_test.go"}, "BAD_EXPORT"},
		{[]string{"replay", "nope", "harness_test.go"}, "UNKNOWN_WORKFLOW"},
		{[]string{"ps", "--status", "happy"}, `there is no status "happy"`},
		{[]string{"ps", "--limit", "0"}, "list at least one"},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			p.t = t
			r := p.must(2, tt.args...)
			if r.out != "" || strings.Count(r.err, "\n") != 1 || !strings.HasPrefix(r.err, "cairn: ") {
				t.Errorf("want one line on stderr; stdout %q, stderr %q", r.out, r.err)
			}
			has(t, r.err, tt.want)
			r = p.must(2, append(tt.args, "--json")...)
			var e struct{ Type, Code, Message, Next string }
			if err := json.Unmarshal([]byte(r.err), &e); err != nil || e.Type != "error" || e.Code == "" || e.Message == "" {
				t.Errorf("stderr with --json: %q, %v", r.err, err)
			}
			if files := p.files(); len(files) > 0 {
				t.Errorf("it wrote %v", files)
			}
		})
	}
}

// Commands that only look write nothing, whether or not there is something to see.
func TestLooking(t *testing.T) {
	p := newPlace(t)
	has(t, p.must(0).out, "Available Commands", "resume")
	has(t, p.must(0, "up", "--help").out, "Examples:", "run up audit --input")
	golden(t, "workflows.golden", strings.ReplaceAll(p.must(0, "workflows").out, p.db(), "DB"))
	if w := lines[struct{ Name string }](t, p.must(0, "workflows", "--json").out); len(w) != 6 {
		t.Errorf("%d workflows", len(w))
	}
	for _, format := range []string{"text", "dot", "mermaid"} {
		golden(t, "graph-workflow."+format+".golden", p.must(0, "graph", "zoo", "--format", format).out)
	}
	if out := p.must(0, "ps").out; out != "RUN  WORKFLOW  STATUS  FRAMES  AGE  UPDATED\n" {
		t.Errorf("ps of nothing: %q", out)
	}
	if out := p.must(0, "ps", "--json").out; out != "" {
		t.Errorf("ps --json of nothing: %q", out)
	}
	if files := p.files(); len(files) > 0 {
		t.Errorf("it wrote %v", files)
	}
}

// A run that is there is told apart from one that is to be made.
func TestRunExists(t *testing.T) {
	p := newPlace(t)
	p.must(0, "up", "zoo", "--run-id", "r1")
	for _, args := range [][]string{
		{"up", "zoo", "--run-id", "r1"}, {"resume", "r1"}, {"cancel", "r1"}, {"pause", "r1"},
	} {
		has(t, p.must(2, args...).err, "RUN_ENDED run r1: the run is finished, which is final")
	}
	has(t, p.must(2, "up", "hold", "--run-id", "r1").err, `RUN_EXISTS run r1: it is a run of workflow "zoo", not of "hold"`)
	for _, args := range [][]string{
		{"resume", "r2"}, {"cancel", "r2"}, {"inspect", "r2"}, {"frames", "r2"}, {"events", "r2"}, {"why", "r2", "x"}, {"export", "r2"},
	} {
		r := p.must(2, args...)
		has(t, r.err, "RUN_NOT_FOUND run r2: there is no such run in")
		if r.out != "" {
			t.Errorf("%q wrote %q", args, r.out)
		}
	}
}

func TestPs(t *testing.T) {
	p := newPlace(t)
	p.must(0, "up", "zoo", "--run-id", "r1")
	p.must(1, "up", "zoo", "--run-id", "r2", "--input", `{"name":"ape","fail":true}`)
	p.must(0, "up", "hold", "--run-id", "r3")
	ids := func(args ...string) (out []string) {
		for _, r := range lines[struct{ ID, Status string }](t, p.must(0, append([]string{"ps", "--json"}, args...)...).out) {
			out = append(out, r.ID+" "+r.Status)
		}
		return out
	}
	for _, tt := range []struct{ args, want string }{
		{"", "r3 finished, r2 failed, r1 finished"},
		{"--status failed", "r2 failed"},
		{"--status interrupted", ""},
		{"--status running", ""},
		{"--workflow zoo --limit 1", "r2 failed"},
	} {
		if got := strings.Join(ids(strings.Fields(tt.args)...), ", "); got != tt.want {
			t.Errorf("ps %s: %s, want %s", tt.args, got, tt.want)
		}
	}
	has(t, p.must(0, "ps").out, "r1   zoo       finished", "ago")
}

func TestExportImportReplay(t *testing.T) {
	p, q := newPlace(t), newPlace(t)
	p.must(0, "up", "zoo", "--run-id", "r1")
	exported := p.must(0, "export", "r1").out
	file := filepath.Join(p.dir, "r1.jsonl")
	if err := os.WriteFile(file, []byte(exported), 0o644); err != nil {
		t.Fatal(err)
	}
	has(t, p.must(0, "replay", "zoo", file).out, "frames replayed alike")
	if r := lines[struct{ Frames int }](t, p.must(0, "replay", "zoo", file, "--json").out); r[0].Frames < 5 {
		t.Errorf("%d frames replayed", r[0].Frames)
	}
	has(t, p.must(2, "replay", "hold", file).err, "BAD_EXPORT")
	has(t, p.must(2, "import", file).err, "RUN_EXISTS run r1")
	has(t, q.must(0, "import", file).out, "imported run r1; look at it with run inspect r1")
	body := func(export string) string { _, rest, _ := strings.Cut(export, "\n"); return rest }
	if again := q.must(0, "export", "r1").out; body(again) != body(exported) {
		t.Error("what was imported exports otherwise")
	}
	damaged := strings.Replace(exported, `"content":"`, `"content":"AAAA`, 1)
	if r := newPlace(t).runWith(damaged, "import", "-"); r.code != 2 || !strings.Contains(r.err, "BAD_EXPORT") {
		t.Errorf("a damaged artifact: %+v", r)
	}
	was, is := p.must(0, "inspect", "r1").out, q.must(0, "inspect", "r1").out
	if p.canon(was) != q.canon(is) {
		t.Errorf("inspect differs:\n%s\n%s", was, is)
	}
	if r := q.runWith(exported, "import", "-", "--json"); r.code != 2 {
		t.Errorf("importing twice: %+v", r)
	}
}

func TestWhy(t *testing.T) {
	p := newPlace(t)
	p.must(0, "up", "zoo", "--run-id", "r1")
	for path, want := range map[string]string{
		"greet":           "greet has finished: its value is that of attempt 1, committed in frame 2.",
		"flaky":           "flaky has finished: its value is that of attempt 2",
		"doomed":          "It is optional, so nothing around it fails.",
		"skipped":         "skipped was skipped in frame",
		"rounds":          "Loop rounds has ended: Until was true for iteration 1.",
		"rounds[1]/count": "rounds[1]/count has finished",
		"rounds[7]/count": "rounds[7]/count is not mounted: loop rounds is in iteration 1.",
		"#careful":        "Try #careful has ended without a failure.",
		"gret":            "Nothing is mounted at gret, as of frame",
		"somewhere/flaky": "Did you mean flaky?",
	} {
		has(t, p.must(0, "why", "r1", path).out, want)
	}
	var a struct{ Run, Path, Status, Why string }
	if err := json.Unmarshal([]byte(p.must(0, "why", "r1", "greet", "--json").out), &a); err != nil || a.Path != "greet" || a.Why == "" {
		t.Errorf("%+v, %v", a, err)
	}
}

// Names that clash are refused before anything is opened.
func TestTwoOfOneName(t *testing.T) {
	was := workflows
	defer func() { workflows = was }()
	workflows = []cairn.Definer{plain, plain}
	has(t, newPlace(t).must(2, "workflows").err, `two workflows are named "plain"`)
}

// bulky has a task that leaves many artifacts.
var bulky = cairn.Workflow[struct{}, string]{Name: "bulky", Result: last, Example: new(struct{}{}), Render: func(*cairn.View, struct{}) cairn.Node {
	return task.Task[string]{ID: last, Do: func(ctx context.Context) (string, error) {
		for i := range 50 {
			if _, err := task.WriteArtifact(ctx, fmt.Sprintf("cleared-%d", i), "text/plain", strings.NewReader(fmt.Sprint(i))); err != nil {
				return "", err
			}
		}
		return "done", nil
	}}
}}

// Of very many artifacts the first and the last are shown, with who has made them.
func TestManyArtifacts(t *testing.T) {
	p := newPlace(t)
	p.with(0, bulky, "up", "bulky", "--run-id", "r1", "-q")
	text := p.must(0, "inspect", "r1").out
	has(t, text, string(last)+": cleared-0, 1 B, ", "cleared-9, ", "… 30 more: see --json", "cleared-40, ", "cleared-49, ")
	if n := strings.Count(text, "artifact  "); n != 21 || strings.Contains(text, "cleared-10,") || strings.Contains(text, "cleared-39,") {
		t.Errorf("%d lines of artifacts:\n%s", n, text)
	}
	if r := lines[struct{ Artifacts []any }](t, p.must(0, "inspect", "r1", "--json").out)[0]; len(r.Artifacts) != 50 {
		t.Errorf("%d artifacts in JSON", len(r.Artifacts))
	}
}
