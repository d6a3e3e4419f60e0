package review

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/enginetest"
	"github.com/cairnrun/cairn/examples/internal/chattest"
	"github.com/cairnrun/cairn/examples/internal/runtest"
	"github.com/cairnrun/cairn/examples/internal/sample"
	"github.com/cairnrun/cairn/internal/calltest"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
)

// TestTheCodeIsRight: what the agents leave passes its test, which now notices the mistake that the sample has.
func TestTheCodeIsRight(t *testing.T) {
	dir := t.TempDir()
	run := enginetest.Run(t, Workflow, Input{Goal: "mend Clamp", Dir: dir, Budget: 1 << 30}, nil)
	if out := enginetest.Decode[Report](t, run); !out.Approved || out.Runs != 1 || len(out.Log) != 6 {
		t.Fatalf("%+v", out)
	}
	passes := func() (string, bool) {
		cmd := exec.Command("go", "test", ".")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
		out, err := cmd.CombinedOutput()
		return string(out), err == nil
	}
	if out, ok := passes(); !ok {
		t.Errorf("%s", out)
	}
	if err := os.WriteFile(filepath.Join(dir, codeFile), []byte(clamp[codeFile]), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, ok := passes(); ok || !strings.Contains(out, "Clamp(12, 0, 9) is 0, want 9") {
		t.Errorf("the test does not notice: %s", out)
	}
}

// TestOtherFiles: a directory that is no sample is left as it is, and the scripts refuse to work on it.
func TestOtherFiles(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte("package main\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := enginetest.Run(t, Workflow, Input{Goal: "mend it", Dir: dir, Budget: 50_000}, nil)
	if run.Status != core.Failed || run.Failure.Code != loop.ModelRefused || !strings.Contains(run.Failure.Message, "know the sample only") {
		t.Errorf("%+v", run.Outcome)
	}
	if files, err := os.ReadDir(dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestAnUnknownEdit: an edit that was in flight when a process died is looked after, and neither made twice nor forgotten.
func TestAnUnknownEdit(t *testing.T) {
	for name, happened := range map[string]bool{"it happened": true, "it did not": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if _, err := sample.Fill(dir, clamp); err != nil {
				t.Fatal(err)
			}
			w := implementer(Input{Dir: dir})
			dead := &calltest.Journal{}
			spec := task.Task[Change]{ID: change, Agent: w, Prompt: func(*cairn.View) string { return "mend Clamp" }}.Lower().Task
			try := func(attempt int) (cairn.Result, error) {
				call := &cairn.Call{Path: "implement", Attempt: attempt, IdempotencyKey: "k", Input: json.RawMessage(`"mend Clamp"`), Journal: dead}
				return spec.Run(cairn.WithCall(t.Context(), call), call)
			}
			if _, err := try(1); err != nil {
				t.Fatal(err)
			}
			for name := range dead.Records { // as if the process had died in the first edit
				if !strings.HasSuffix(name, ".start") && !strings.Contains(name, ".turn.1") && !strings.HasSuffix(name, ".turn.2") && !strings.HasSuffix(name, ".turn.2.tool.1.intent") {
					delete(dead.Records, name)
				}
			}
			if !happened {
				if err := os.WriteFile(filepath.Join(dir, codeFile), []byte(clamp[codeFile]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			result, err := try(2)
			if err != nil || string(result.Output) != `{"summary":"Clamp returns high for a v above it."}` {
				t.Errorf("%s, %v", result.Output, err)
			}
			if unknown, ok := dead.Records["loop."+conversation(dead)+".turn.2.tool.1"]; !ok || !strings.Contains(string(unknown), "unknown") {
				t.Errorf("it was not told: %s", unknown)
			}
			if code, err := os.ReadFile(filepath.Join(dir, codeFile)); err != nil || strings.Count(string(code), "return high\n") != 1 || strings.Count(string(code), "return low\n") != 1 {
				t.Errorf("%s, %v", code, err)
			}
		})
	}
}

// conversation is the name of the one in a journal.
func conversation(d *calltest.Journal) string {
	for name := range d.Records {
		if rest, ok := strings.CutPrefix(name, "loop."); ok {
			if id, ok := strings.CutSuffix(rest, ".start"); ok {
				return id
			}
		}
	}
	return ""
}

// TestARealAgent: the same workflow with agents behind a provider's protocol, both of them, by the name in the input.
func TestARealAgent(t *testing.T) {
	var asked sync.Map
	server := chattest.Serve(t, func(model string, w loop.Window) scripted.Turn {
		asked.Store(model+" "+w.System[:9], true)
		if w.System == reviewing {
			return review(w)
		}
		return implement(w)
	})
	home, err := runtest.Open(t.Context(), t.TempDir(), engine.Config{Workflows: []cairn.Definer{Workflow}})
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	report, err := runtest.Perform(t.Context(), home, Workflow, "", Input{Goal: "mend Clamp", Dir: t.TempDir(), Agent: "chat:some-model@" + server + "/v1", Budget: 1 << 30})
	if err != nil || !report.Approved || len(report.Log) != 6 {
		t.Errorf("%+v, %v", report, err)
	}
	for _, who := range []string{"some-model You mend ", "some-model You revie"} {
		if _, ok := asked.Load(who); !ok {
			t.Errorf("nobody asked %q", who)
		}
	}
}
