package engine_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
)

const added cairn.Key[int] = "added"

// then is code whose run stops in its second task; now is the same with a task more before it.
func thenAndNow(begun chan<- struct{}) (then, now, patched cairn.Workflow[struct{}, int]) {
	then = workflow(func(*cairn.View) cairn.Node {
		return cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}, task.Task[int]{ID: second, Do: hang(begun)}}
	})
	now = workflow(func(*cairn.View) cairn.Node {
		return cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}, task.Task[int]{ID: added, Do: do(5)}, task.Task[int]{ID: second, Do: do(2)}}
	})
	patched = workflow(func(v *cairn.View) cairn.Node {
		nodes := cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}}
		if v.Patched("add") {
			nodes = append(nodes, task.Task[int]{ID: added, Do: do(5)})
		}
		return append(nodes, task.Task[int]{ID: second, Do: do(2)})
	})
	return then, now, patched
}

// interrupted leaves run "r" of the workflow in its second task.
func interrupted(t *testing.T, store engine.Store, wf cairn.Definer, begun <-chan struct{}) {
	t.Helper()
	e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
	begin(t, e)
	<-begun
	if err := e.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestChangedCodeBlocksUntilAdopted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun := make(chan struct{}, 1)
		then, now, _ := thenAndNow(begun)
		interrupted(t, store, then, begun)
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{now}})
		for range 2 { // a second look must not slip through
			run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
			if err != nil {
				t.Fatal(err)
			}
			out := wait(t, run, core.Blocked)
			if out.Failure.Code != cairn.CodeChanged || !strings.Contains(out.Failure.Message, "+ task added") || !strings.Contains(out.Failure.Message, "- task second") {
				t.Fatalf("failure %v", out.Failure)
			}
		}
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{Adopt: true})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Finished)
		state, _, err := engine.Load(t.Context(), store, "r")
		if err != nil || !state.Tasks["added"].Ended() || state.Tasks["first"].Attempt != 1 {
			t.Errorf("tasks after adoption: %+v, %v", state.Tasks, err)
		}
	})
}

func TestTheOldCodeResumesWhatTheNewOneBlocked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun := make(chan struct{}, 2)
		then, now, _ := thenAndNow(begun)
		interrupted(t, store, then, begun)
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{now}})
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Blocked)
		old := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{then}})
		if _, err := old.Resume(t.Context(), "r", engine.ResumeOptions{}); err != nil {
			t.Fatal(err)
		}
		<-begun
	})
}

func TestPatchedCodeKeepsOldRunsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun := make(chan struct{}, 1)
		then, _, patched := thenAndNow(begun)
		interrupted(t, store, then, begun)
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{patched}})
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Finished)
		fresh, err := e.Start(t.Context(), "w", []byte(`{}`), engine.StartOptions{ID: "new"})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, fresh, core.Finished)
		for id, want := range map[string]bool{"r": false, "new": true} {
			state, _, err := engine.Load(t.Context(), store, id)
			if err != nil {
				t.Fatal(err)
			}
			if got := state.Tasks["added"].Ended(); got != want {
				t.Errorf("run %s: the added task has run: %t, want %t", id, got, want)
			}
		}
	})
}

func TestReplayTellsTheFirstDivergence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun := make(chan struct{}, 1)
		then, now, patched := thenAndNow(begun)
		interrupted(t, store, then, begun)
		var out bytes.Buffer
		if err := engine.Export(t.Context(), store, nil, "r", &out); err != nil {
			t.Fatal(err)
		}
		retried := workflow(func(*cairn.View) cairn.Node {
			return cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}, task.Task[int]{ID: second, Do: do(1), Retry: task.Retry{Max: 9}}}
		})
		flips := 0
		impure := workflow(func(*cairn.View) cairn.Node {
			if flips++; flips%2 == 0 {
				return cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}, task.Task[int]{ID: second, Do: do(1)}, task.Task[int]{ID: added, Do: do(1)}}
			}
			return cairn.Nodes{task.Task[int]{ID: first, Do: do(1)}, task.Task[int]{ID: second, Do: do(1)}}
		})
		for name, c := range map[string]struct {
			wf       cairn.Workflow[struct{}, int]
			diverges string
			drifts   bool
		}{
			"the same code":       {wf: then},
			"a task more":         {wf: now, diverges: "+ task added"},
			"another policy":      {wf: retried, drifts: true},
			"not a function":      {wf: impure, diverges: "not pure"},
			"a patch of new runs": {wf: patched, diverges: "+ task added"}, // replay starts at frame 1, as a new run does
		} {
			report, err := engine.Replay(c.wf.Define(), bytes.NewReader(out.Bytes()))
			if err != nil {
				t.Fatal(name, err)
			}
			switch {
			case c.diverges == "" && report.Divergence != nil:
				t.Errorf("%s: %s", name, report.Divergence)
			case c.diverges != "" && (report.Divergence == nil || !strings.Contains(report.Divergence.String(), c.diverges)):
				t.Errorf("%s: divergence %v, want one that says %q", name, report.Divergence, c.diverges)
			case c.drifts != (len(report.Drift) > 0):
				t.Errorf("%s: drift %v", name, report.Drift)
			}
		}
		if _, err := engine.Replay(workflow(nil).Define(), strings.NewReader("nonsense")); !errors.Is(err, engine.BadExport) {
			t.Errorf("replaying nonsense: %v", err)
		}
	})
}

func TestWhatIsGoneIsToldInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun := make(chan struct{}, 1)
		var many cairn.Nodes
		want := ""
		for _, id := range strings.Split("a b c d e f g h", " ") {
			many = append(many, task.Task[int]{ID: cairn.Key[int](id), Do: do(1)})
			want += "- task " + id + " "
		}
		end := task.Task[int]{ID: second, Do: hang(begun)}
		interrupted(t, store, workflow(func(*cairn.View) cairn.Node { return cairn.Nodes{cairn.Parallel{Children: many}, end} }), begun)
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{workflow(func(*cairn.View) cairn.Node { return end })}})
		run, err := e.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for line := range strings.Lines(wait(t, run, core.Blocked).Failure.Message) {
			if name, gone := strings.CutPrefix(line, "- task "); gone && !strings.HasPrefix(name, "second") {
				got += "- task " + name[:1] + " "
			}
		}
		if got != want {
			t.Errorf("gone: %s, want %s", got, want)
		}
	})
}
