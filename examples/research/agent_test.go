package research

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
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
	"github.com/cairnrun/cairn/internal/schema"
	"github.com/cairnrun/cairn/task/agent/loop"
	"github.com/cairnrun/cairn/task/agent/scripted"
	"github.com/cairnrun/cairn/task/agent/window"
)

// lampInput is the example's, over the documents as they lie here.
func lampInput() Input {
	in := *Workflow.Example
	in.Dir = "sample"
	return in
}

// TestRecordedResearch replays a recorded run against today's code. Write it anew with -record only after a change that live
// runs are meant to be blocked by.
func TestRecordedResearch(t *testing.T) {
	run := enginetest.Run(t, Workflow, lampInput(), nil)
	if out := enginetest.Decode[Report](t, run); len(out.Claims) != 10 || out.Rounds != 2 || out.Rejected != 2 || out.Open != nil {
		t.Fatalf("%+v", out)
	}
	run.Record(t, "testdata/research.jsonl")
	enginetest.Replay(t, Workflow, "testdata/research.jsonl")
}

// TestWindows: what each agent has seen. A delegate knows its own part and nothing of the others; the writer's prompts hold
// references, and the findings come in by artifact_read; the writer of the second round has read nothing twice.
func TestWindows(t *testing.T) {
	before := map[*scripted.Model]int{researcherScript: len(researcherScript.Windows()), writerScript: len(writerScript.Windows())}
	in := lampInput()
	run := enginetest.Run(t, Workflow, in, nil)
	if run.Status != core.Finished {
		t.Fatal(run.Failure)
	}
	bytesOf := func(w loop.Window) string {
		w.Observe = nil
		var b strings.Builder
		b.WriteString(w.System)
		for _, tool := range w.Tools {
			b.WriteString(tool.Name + tool.Description + string(tool.Schema))
		}
		raw, err := schema.Encode(w.Messages)
		if err != nil {
			t.Fatal(err)
		}
		return b.String() + string(raw)
	}
	quoted := func(s string) string { raw, _ := schema.Encode(s); return strings.Trim(string(raw), `"`) }

	seen := map[string]int{}
	for _, w := range researcherScript.Windows()[before[researcherScript]:] {
		text := bytesOf(w)
		mine := slices.IndexFunc(studies, func(s study) bool { return strings.Contains(text, quoted(s.Question)) })
		if mine < 0 {
			t.Fatalf("nobody's: %s", text)
		}
		seen[studies[mine].Name]++
		if !strings.Contains(text, in.Question) || !strings.Contains(text, "<isolation>") || strings.Contains(text, "fs_write") || strings.Contains(text, "fs_edit") {
			t.Errorf("%s", text)
		}
		for i, other := range studies {
			canaries := append([]string{other.Question, other.summary}, other.files...)
			for _, f := range other.findings {
				canaries = append(canaries, f.Claim, f.Quote)
			}
			for _, canary := range canaries {
				if i != mine && strings.Contains(text, quoted(canary)) {
					t.Errorf("%s knows of %s: %s", studies[mine].Name, other.Name, canary)
				}
			}
		}
	}
	if want := map[string]int{"fuel": 3, "lens": 4, "money": 3, "rights": 3}; !reflect.DeepEqual(seen, want) { // the lens was misquoted once
		t.Errorf("%v", seen)
	}

	windows := writerScript.Windows()[before[writerScript]:]
	if len(windows) != 3 { // to read, to write, and to write again
		t.Fatalf("%d windows of the writer", len(windows))
	}
	prompt, read := window.Said(windows[0].Messages[0].Blocks), bytesOf(windows[1])
	for _, s := range studies {
		if !strings.Contains(prompt, s.summary) {
			t.Errorf("%s is not summed up", s.Name)
		}
		for _, f := range s.findings {
			if strings.Contains(prompt, f.Quote) || !strings.Contains(read, quoted(f.Quote)) {
				t.Errorf("%s: in the prompt, or not read", f.Quote)
			}
		}
	}
	if plan := run.State.Tasks["keep-plan"].Artifacts; len(plan) != 1 || plan[0].Name != planName || !strings.Contains(prompt, plan[0].Hash) || !strings.Contains(read, `who paid`) {
		t.Errorf("the plan is not read again: %+v", plan)
	}
	if n := len(results(windows[2], "artifact_read")); n != len(studies)+1 || !strings.Contains(said(windows[2]), rejected) {
		t.Errorf("%d results in the second round", n)
	}
}

// TestAMisquoteIsRefused at the door, and nothing is kept of that call.
func TestAMisquoteIsRefused(t *testing.T) {
	for _, wrong := range []Finding{
		{"It is broken.", "survey-1998.txt", "Every prism is broken"}, {"It is.", "gone.txt", "No prism of the great lens"}, {"It is.", "../doc.go", "No prism of the great lens"},
		{"It is.", "survey-1998.txt", "No prism"}, // too short to show anything
	} {
		raw, err := json.Marshal(findings{[]Finding{{"It is dry.", "survey-1998.txt", "found the  room\ndry"}, wrong}})
		if err != nil {
			t.Fatal(err)
		}
		// There is no attempt to keep anything in: a call that passes says so.
		if _, err := keepFindings("sample").Call(t.Context(), raw); err == nil || strings.Contains(err.Error(), "no attempt") {
			t.Errorf("%+v: %v", wrong, err)
		}
	}
	if _, err := keepFindings("sample").Call(t.Context(), json.RawMessage(`{"findings":[{"claim":"It is dry.","source":"survey-1998.txt","quote":"found the  room\ndry"}]}`)); err == nil || !strings.Contains(err.Error(), "no attempt") {
		t.Errorf("%v", err)
	}
}

// TestAShareIsUsedUp: parts stay open, and the report says so.
func TestAShareIsUsedUp(t *testing.T) {
	in := lampInput()
	in.Share = 4_000 // the lens is misquoted once, which costs more
	run := enginetest.Run(t, Workflow, in, nil)
	if out := enginetest.Decode[Report](t, run); !slices.Equal(out.Open, []string{"lens"}) || len(out.Claims) != 8 || slices.Contains(out.Sources, "survey-1998.txt") {
		t.Errorf("%+v", out)
	}
	in.Share = 1
	run = enginetest.Run(t, Workflow, in, nil)
	if out := enginetest.Decode[Report](t, run); len(out.Open) != len(studies) || len(out.Claims) != 0 || out.Rounds != 1 {
		t.Errorf("%+v", out)
	}
}

// TestADocumentChanges after it was read: what rests on it is rejected, in every round, and left out.
func TestADocumentChanges(t *testing.T) {
	in := lampInput()
	in.Dir = t.TempDir()
	if _, err := sample.Fill(in.Dir, lamp()); err != nil {
		t.Fatal(err)
	}
	run := enginetest.Run(t, Workflow, in, enginetest.Script{
		"gather": func(ctx context.Context, call *cairn.Call) (cairn.Result, error) {
			err := os.WriteFile(filepath.Join(in.Dir, "charter.txt"), []byte("# Charter\n\nNothing is left of it.\n"), 0o644)
			return cairn.Result{Output: call.Input}, err
		},
	})
	out := enginetest.Decode[Report](t, run)
	if out.Rounds != mostRounds || out.Rejected != 4+2+2 || len(out.Claims) != 8 || slices.Contains(out.Sources, "charter.txt") {
		t.Errorf("%+v", out)
	}
}

// TestOtherDocuments: a directory that is no sample is left as it is, and the scripts refuse to work on it.
func TestOtherDocuments(t *testing.T) {
	in := lampInput()
	in.Dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(in.Dir, "a.txt"), []byte("# Another lamp\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	run := enginetest.Run(t, Workflow, in, nil)
	if run.Status != core.Failed || run.Failure.Code != loop.ModelRefused || !strings.Contains(run.Failure.Message, "know the sample only") {
		t.Errorf("%+v", run.Outcome)
	}
	if files, err := os.ReadDir(in.Dir); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

// TestARealAgent: the same workflow with agents behind a provider's protocol, all of them, by the name in the input.
func TestARealAgent(t *testing.T) {
	var asked sync.Map
	server := chattest.Serve(t, func(model string, w loop.Window) scripted.Turn {
		asked.Store(model+" "+w.System[:9], true)
		switch w.System {
		case planning:
			return divide(w)
		case researching:
			return look(w)
		}
		return write(w)
	})
	home, err := runtest.Open(t.Context(), t.TempDir(), engine.Config{Workflows: []cairn.Definer{Workflow}})
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	in := lampInput()
	in.Agent = "chat:some-model@" + server + "/v1"
	report, err := runtest.Perform(t.Context(), home, Workflow, "", in)
	if err != nil || len(report.Claims) != 10 || report.Rejected != 2 {
		t.Errorf("%+v, %v", report, err)
	}
	for _, who := range []string{"some-model You plan ", "some-model You answe", "some-model You write"} {
		if _, ok := asked.Load(who); !ok {
			t.Errorf("nobody asked %q", who)
		}
	}
}
