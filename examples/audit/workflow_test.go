package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// perform runs the workflow in a directory of its own and returns the outcome and how many frames it took.
func perform(ctx context.Context, home string, in Input) (engine.Outcome, []string, error) {
	store, err := sqlite.Open(ctx, sqlite.Config{Path: filepath.Join(home, "cairn.db")})
	if err != nil {
		return engine.Outcome{}, nil, err
	}
	defer store.Close()
	files, err := artifact.Open(filepath.Join(home, "artifacts"))
	if err != nil {
		return engine.Outcome{}, nil, err
	}
	e, err := engine.Open(ctx, engine.Config{Store: store, Artifacts: files, Workflows: []cairn.Definer{Workflow}})
	if err != nil {
		return engine.Outcome{}, nil, err
	}
	defer e.Close(ctx)
	raw, err := json.Marshal(in)
	if err != nil {
		return engine.Outcome{}, nil, err
	}
	run, err := e.Start(ctx, "audit", raw, engine.StartOptions{ID: "a"})
	if err != nil {
		return engine.Outcome{}, nil, err
	}
	outcome, err := run.Wait(ctx)
	if err != nil {
		return outcome, nil, err
	}
	_, lines, err := engine.Load(ctx, store, "a")
	var paths []string
	for path := range lines {
		paths = append(paths, path)
	}
	return outcome, paths, err
}

func Example() {
	home, err := os.MkdirTemp("", "audit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	outcome, _, err := perform(context.Background(), home, Input{Dir: "testdata/shop"})
	if err != nil {
		log.Fatal(err)
	}
	var r Report
	if err := json.Unmarshal(outcome.Result, &r); err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcome.Status, r.Module)
	fmt.Println(r.Packages, "packages,", r.Files, "files,", r.Lines, "lines")
	fmt.Println(r.Undocumented, "undocumented,", r.Todos, "to do,", r.Untested, "untested")
	fmt.Println(r.File.Name, r.File.MediaType)
	// Output:
	// finished example.com/shop
	// 5 packages, 8 files, 107 lines
	// 5 undocumented, 4 to do, 3 untested
	// audit.md text/markdown; charset=utf-8
}

// The artifact is the report that the library alone writes of the same directory.
func TestWorkflowReport(t *testing.T) {
	home := t.TempDir()
	outcome, paths, err := perform(t.Context(), home, Input{Dir: "testdata/shop"})
	if err != nil || outcome.Failure != nil {
		t.Fatal(err, outcome.Failure)
	}
	var r Report
	if err := json.Unmarshal(outcome.Result, &r); err != nil {
		t.Fatal(err)
	}
	files, err := artifact.Open(filepath.Join(home, "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.Get(t.Context(), r.File.Hash)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/shop.md")
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the artifact is\n%s", got)
	}
	if len(paths) != 2+2*r.Packages {
		t.Errorf("nodes of the plan: %q", paths)
	}
}

func TestWorkflowLimit(t *testing.T) {
	outcome, _, err := perform(t.Context(), t.TempDir(), Input{Dir: "testdata/shop", Max: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(outcome.Result), `"packages":2,`) {
		t.Errorf("result %s", outcome.Result)
	}
}

// A directory that is not there will not come by trying again.
func TestWorkflowNoDirectory(t *testing.T) {
	outcome, _, err := perform(t.Context(), t.TempDir(), Input{Dir: "testdata/nowhere"})
	if err != nil {
		t.Fatal(err)
	}
	if f := outcome.Failure; f == nil || f.Path != "list" || f.Attempt != 1 {
		t.Errorf("outcome %+v, failure %v", outcome, outcome.Failure)
	}
}

// Different packages have different scopes, and each is a name.
func TestScope(t *testing.T) {
	long := strings.Repeat("deep/", 60)
	paths := []string{
		".", "engine", "engine/core", "engine:core", "engine%3Acore", "engine%3acore", "engine.core", "a[1]", "a(1)", "a#b", "a~b",
		"a%b", "a\nb", "a/b/c", "a:b/c", "ümläut/π", long + "a", long + "b", strings.Repeat("ü", 150), strings.Repeat("ü", 151),
		strings.Repeat("x", 200), strings.Repeat("x", 201), strings.Repeat("#", 100),
	}
	seen := map[string]string{}
	for _, path := range paths {
		name := scope(Package{Path: path})
		if err := cairn.CheckName(name); err != nil {
			t.Errorf("%q: %v", path, err)
		}
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are both %q", path, other, name)
		}
		seen[name] = path
	}
	// What could be taken for the name of a long path is spelt otherwise.
	if name := scope(Package{Path: long + "a"}); scope(Package{Path: name}) == name {
		t.Errorf("%q is a name of two packages", name)
	}
	if got := scope(Package{Path: "engine/core"}); got != "engine:core" {
		t.Errorf("engine/core is %q", got)
	}
}

func FuzzScope(f *testing.F) {
	f.Add("a/b", "a:b")
	f.Add(strings.Repeat("é/", 90), strings.Repeat("é:", 90))
	f.Fuzz(func(t *testing.T, a, b string) {
		a, b = valid(a), valid(b)
		if a == "" || b == "" {
			return
		}
		x, y := scope(Package{Path: a}), scope(Package{Path: b})
		if err := cairn.CheckName(x); err != nil {
			t.Errorf("%q: %v", a, err)
		}
		if (a == b) != (x == y) {
			t.Errorf("%q is %q, %q is %q", a, x, b, y)
		}
	})
}
