package loop_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
	"github.com/cairnrun/cairn/task/agent/loop"
	tools "github.com/cairnrun/cairn/tool"
)

// TestIdentityHasWhatToolsWorkOn: the same tools over two directories are two identities, over one they are one. Whatever is not
// bound to anything has the identity that stored results are found by since the first release.
func TestIdentityHasWhatToolsWorkOn(t *testing.T) {
	with := func(own ...cairn.Tool) string {
		return (&loop.Agent{Model: replies(), System: "s", Tools: own}).Identity()
	}
	if got := with(echo("a")); got != "loop/1 script m 0556317a68e459ee" {
		t.Errorf("an agent with free tools is %s", got)
	}
	files := func(dir string) string { return with(tools.FilesIn(dir, tools.FileLimits{})...) }
	shell := func(dir string, network bool) string {
		return with(tools.ShellIn(dir, tools.ShellPolicy{Network: network}))
	}
	one, two := t.TempDir(), t.TempDir()
	for name, of := range map[string]func(dir string) string{"files": files, "shell": func(dir string) string { return shell(dir, false) }} {
		first, again, other := of(one), of(one), of(two)
		if first != again {
			t.Errorf("%s of one directory are two identities", name)
		}
		if first == other {
			t.Errorf("%s of two directories are one identity", name)
		}
	}
	if shell(one, false) == shell(one, true) {
		t.Error("a shell with a network is as one without")
	}
	if files(one) != files(filepath.Join(one, "a", "..")) {
		t.Error("two names of one directory are two identities")
	}
}

// TestAnAnswerOfAnotherDirectoryIsNoHit: an agent with files is asked again where they are others, and only there.
func TestAnAnswerOfAnotherDirectoryIsNoHit(t *testing.T) {
	m := replies(says("read"))
	const answer cairn.Key[string] = "answer"
	wf := cairn.Workflow[string, string]{Name: "w", Result: answer, Render: func(_ *cairn.View, dir string) cairn.Node {
		return task.Task[string]{ID: answer, Prompt: func(*cairn.View) string { return "what is in the files?" },
			Agent: &loop.Agent{Model: m, Tools: tools.ReadOnly(tools.FilesIn(dir, tools.FileLimits{}))},
			With:  cairn.With{cache.Policy{Scope: cache.Workflow}}}
	}}
	store, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "cairn.db"), Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	e, err := engine.Open(t.Context(), engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close(context.Background())
	one, two := t.TempDir(), t.TempDir()
	for i, step := range []struct {
		dir   string
		calls int
	}{{one, 1}, {one, 1}, {two, 2}, {one, 2}} {
		raw, err := json.Marshal(step.dir)
		if err != nil {
			t.Fatal(err)
		}
		run, err := e.Start(t.Context(), "w", raw, engine.StartOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := run.Wait(t.Context()); err != nil || out.Failure != nil {
			t.Fatal(out.Failure, err)
		}
		if m.calls() != step.calls {
			t.Errorf("run %d: the model was asked %d times, want %d", i, m.calls(), step.calls)
		}
	}
}
