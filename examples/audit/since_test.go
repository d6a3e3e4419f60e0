package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/examples/internal/runtest"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// clumsy loses the first file, after all else of the attempt is done.
type clumsy struct {
	*artifact.Dir
	lost bool
}

func (c *clumsy) Put(ctx context.Context, r io.Reader) (string, int64, error) {
	if !c.lost {
		c.lost = true
		return "", 0, errors.New("the file fell off the disk")
	}
	return c.Dir.Put(ctx, r)
}

// remembering opens a memory.
func remembering(t *testing.T) *lanes.Store {
	t.Helper()
	store, err := lanes.Open(t.Context(), lanes.Config{Path: filepath.Join(t.TempDir(), "memory.db"), Synchronous: lanes.Normal})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	return store
}

// section audits a directory with a memory, and with files that fail once, and returns what the report says has changed.
func section(t *testing.T, store memory.Store, in Input) string {
	t.Helper()
	dir := t.TempDir()
	files, err := artifact.Open(filepath.Join(dir, "artifacts"))
	if err != nil {
		t.Fatal(err)
	}
	rt := &memory.Runtime{Store: store}
	home, err := runtest.Open(t.Context(), dir, engine.Config{Artifacts: &clumsy{Dir: files}, Workflows: []cairn.Definer{Workflow},
		Middleware: []engine.Middleware{rt.Middleware}})
	if err != nil {
		t.Fatal(err)
	}
	defer home.Close()
	r, err := runtest.Perform(t.Context(), home, Workflow, "", in)
	if err != nil {
		t.Fatal(err)
	}
	text, err := home.Text(t.Context(), r.File)
	if err != nil {
		t.Fatal(err)
	}
	_, since, ok := strings.Cut(text, "## Since the last audit\n\n")
	if !ok {
		t.Fatalf("the report says nothing of the last one:\n%s", text)
	}
	since, _, _ = strings.Cut(since, "\n## ")
	return strings.TrimSpace(since)
}

// TestSinceTheLastAudit: the task is tried twice each time, and the second attempt compares with the last audit, not with
// what the first attempt has remembered.
func TestSinceTheLastAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := remembering(t)
		first := tree{"go.mod": "module example.com/m\n", "a/a.go": "package a\n\nfunc A() {}\n", "b/b.go": "package b\n\n// B is.\nfunc B() {} // TODO: c\n"}.write(t)
		if got := section(t, store, Input{Dir: first}); !strings.HasPrefix(got, "No earlier audit is remembered.") {
			t.Errorf("the first audit says %q", got)
		}
		if got := section(t, store, Input{Dir: first}); got != "Nothing has changed in these figures." {
			t.Errorf("the same again: %q", got)
		}
		second := tree{"go.mod": "module example.com/m\n", "a/a.go": "package a\n\n// A is.\n//\nfunc A() {}\n", "c/c.go": "package c\n\nfunc C() {}\n"}.write(t)
		want := "| Package | Lines | Undocumented | To do | Broken files |\n| --- | ---: | ---: | ---: | ---: |\n" +
			"| `example.com/m/a` | +2 | -1 | 0 | 0 |\n| `example.com/m/b` (gone) | -4 | 0 | -1 | 0 |\n| `example.com/m/c` (new) | +3 | +1 | 0 | 0 |"
		limited := strings.Join(strings.Split(want, "\n")[:3], "\n")
		if got := section(t, store, Input{Dir: second, Max: 1}); got != limited {
			t.Errorf("an audit of one package says\n%s", got)
		}
		rest := strings.Replace(want, "| `example.com/m/a` | +2 | -1 | 0 | 0 |\n", "", 1)
		if got := section(t, store, Input{Dir: second}); got != rest {
			t.Errorf("the others have changed by\n%s", got)
		}
		fact, err := store.GetFact(t.Context(), Namespace, "example.com/m")
		if err != nil || string(fact.Value) != `{"example.com/m/a":{"lines":5},"example.com/m/c":{"lines":3,"undocumented":1}}` || fact.Version != 4 || fact.Origin.Path != "report" {
			t.Errorf("remembered %s as version %d from %+v, %v", fact.Value, fact.Version, fact.Origin, err)
		}
	})
}

// broken is a memory that fails.
type broken struct {
	memory.Store
	read, write error
}

func (b broken) GetFact(ctx context.Context, ns memory.Namespace, key string) (memory.Fact, error) {
	if b.read != nil {
		return memory.Fact{}, b.read
	}
	return b.Store.GetFact(ctx, ns, key)
}

func (b broken) SwapFact(ctx context.Context, f memory.Fact, expected int64) (memory.Fact, error) {
	if b.write != nil {
		return memory.Fact{}, b.write
	}
	return b.Store.SwapFact(ctx, f, expected)
}

// TestABrokenMemoryFailsNoAudit: it shows in the report, and what was remembered stays.
func TestABrokenMemoryFailsNoAudit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := remembering(t)
		dir := tree{"go.mod": "module m\n", "a/a.go": "package a\n"}.write(t)
		section(t, store, Input{Dir: dir})
		later := tree{"go.mod": "module m\n", "a/a.go": "package a\n\n\n"}.write(t)
		grown := "| Package | Lines | Undocumented | To do | Broken files |\n| --- | ---: | ---: | ---: | ---: |\n| `m/a` | +2 | 0 | 0 | 0 |"
		for name, tt := range map[string]struct {
			store broken
			want  string
		}{
			"read":  {broken{store, errors.New("no such disk"), nil}, "The last audit can't be read: no such disk"},
			"write": {broken{store, nil, errors.New("no such disk")}, "This audit can't be remembered: no such disk\n\n" + grown},
		} {
			if got := section(t, tt.store, Input{Dir: later}); got != tt.want {
				t.Errorf("%s: %q", name, got)
			}
		}
		if got := section(t, store, Input{Dir: dir}); got != "Nothing has changed in these figures." {
			t.Errorf("afterwards: %q", got)
		}
		bad := memory.Fact{Place: memory.Place{Namespace: Namespace}, Key: "m", Value: json.RawMessage(`"a person's"`)}
		if _, err := store.SetFact(t.Context(), bad); err != nil {
			t.Fatal(err)
		}
		if got := section(t, store, Input{Dir: dir}); !strings.HasPrefix(got, "The last audit can't be read: json") {
			t.Errorf("with another's value: %q", got)
		}
		if got := section(t, store, Input{Dir: dir}); got != "Nothing has changed in these figures." {
			t.Errorf("it has not recovered: %q", got)
		}
	})
}

// TestAuditsSideBySide: who compares with a version that is not the last any more leaves what is there.
func TestAuditsSideBySide(t *testing.T) {
	store := remembering(t)
	totals := func(lines int) Totals { return Totals{Dir: "d", Figures: map[string]Figures{"a": {Lines: lines}}} }
	for i, version := range []int64{0, 0, 1, 1} {
		if err := totals(i+1).remember(t.Context(), store, version); err != nil {
			t.Fatal(err)
		}
	}
	all, version, err := remembered(t.Context(), store, "d")
	if err != nil || version != 2 || all["a"].Lines != 3 {
		t.Errorf("remembered %v as version %d, %v", all, version, err)
	}
}

func TestComparisonIsBounded(t *testing.T) {
	now := Totals{Dir: "d", Figures: map[string]Figures{}}
	for i := range maxChanges + 7 {
		now.Figures[fmt.Sprintf("p%03d", i)] = Figures{Lines: 1}
	}
	c := now.against(nil)
	if len(c.Changes) != maxChanges || c.Omitted != 7 || c.Changes[1].Package != "p001" {
		t.Errorf("%d changes, %d more", len(c.Changes), c.Omitted)
	}
	if name := (Totals{Dir: strings.Repeat("x", 300)}).key(); memory.CheckName("a key", name) != nil {
		t.Errorf("a long directory is the key %q", name)
	}
}
