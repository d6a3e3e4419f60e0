package audit

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/examples/internal/runtest"
)

// perform runs the workflow in a directory of its own.
func perform(ctx context.Context, dir string, in Input) (engine.Outcome, error) {
	home, err := runtest.Open(ctx, dir, engine.Config{Workflows: []cairn.Definer{Workflow}})
	if err != nil {
		return engine.Outcome{}, err
	}
	defer home.Close()
	return home.Run(ctx, "audit", "a", in)
}

func Example() {
	home, err := os.MkdirTemp("", "audit")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(home)
	outcome, err := perform(context.Background(), home, Input{Dir: "testdata/shop"})
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
	home, err := runtest.Open(t.Context(), t.TempDir(), engine.Config{Workflows: []cairn.Definer{Workflow}})
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	r, err := runtest.Perform(t.Context(), home, Workflow, "a", Input{Dir: "testdata/shop"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := home.Text(t.Context(), r.File)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/shop.md")
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("the artifact is\n%s", got)
	}
	_, lines, err := engine.Load(t.Context(), home.Runs, "a")
	if err != nil || len(lines) != 2+2*r.Packages {
		t.Errorf("nodes of the plan: %q, %v", slices.Collect(maps.Keys(lines)), err)
	}
}

func TestWorkflowLimit(t *testing.T) {
	outcome, err := perform(t.Context(), t.TempDir(), Input{Dir: "testdata/shop", Max: 2})
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(outcome.Result), `"packages":2,`) {
		t.Errorf("result %s", outcome.Result)
	}
}

// A directory that is not there will not come by trying again.
func TestWorkflowNoDirectory(t *testing.T) {
	outcome, err := perform(t.Context(), t.TempDir(), Input{Dir: "testdata/nowhere"})
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
