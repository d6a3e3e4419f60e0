package arch

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/cairnrun/cairn"

// The parts of the module, by import path below the module: "" is the root package. "x/..." is x and all
// below it. A package that does not exist yet breaks no rule.
var (
	features = []string{"task", "memory", "cache", "aspects", "handoff", "tool"}

	// database may speak SQL: the run store, memory's store, and what opens the file for both.
	database = []string{"engine/sqlite/...", "memory/store/...", "memory/sqlite/...", "internal/dbfile/...", "internal/bench/..."} // bench measures the bare driver
)

// A rule limits what some packages import. Patterns without a dot in the first element are the standard
// library's, "./…" is this module; "x/..." covers x and what is below it.
type rule struct {
	why      string
	packages []string // to whom it applies
	except   []string // of those, to whom not
	only     []string // imports that are allowed, if not nil
	never    []string // imports that are not
	within   bool     // holds for everything reached through packages of this module, too
	file     string   // the one file that may do it nevertheless
}

var rules = []rule{
	{
		why:      "the root is the vocabulary: standard library only",
		packages: []string{""},
		only:     []string{"std"},
	},
	{
		why:      "the root does nothing: no files, no network, no database",
		packages: []string{""},
		never:    []string{"os/...", "net/...", "database/sql/...", "log", "log/slog", "math/rand", "syscall/..."},
	},
	{
		why:      "the core decides from data alone: no clock, goroutine, store or context inside",
		packages: []string{"engine/core/..."},
		never: []string{"os/...", "net/...", "database/sql/...", "log/...", "sync/...", "context", "math/rand",
			"syscall/...", "io/ioutil"},
	},
	{
		why:      "the core knows only the vocabulary and what types promise",
		packages: []string{"engine/core/..."},
		only:     []string{"std", "./", "./internal/schema", "./engine/core/...", "github.com/dominikbraun/graph"},
	},
	{
		why:      "the graph library has one user, so that it can be replaced",
		packages: []string{"..."},
		never:    []string{"github.com/dominikbraun/graph/..."},
		file:     "engine/core/graph.go",
	},
	{
		why:      "ranking decides from data alone: documents come in by an interface, rows go out",
		packages: []string{"memory/rank"},
		only:     []string{"std", "golang.org/x/text/unicode/norm"},
	},
	{
		why:      "ranking does nothing: no files, no network, no database",
		packages: []string{"memory/rank"},
		never:    []string{"os/...", "net/...", "database/sql/...", "log/...", "sync/...", "math/rand/...", "syscall/..."},
	},
	{
		why:      "windows are planned from data alone",
		packages: []string{"task/agent/window"},
		never:    []string{"os/...", "net/...", "database/sql/...", "log/...", "sync/...", "math/rand/...", "syscall/...", "context", "./engine/...", "./tool/...", "./task/agent/loop"},
	},
	{
		why:      "what is said of windows is said from data alone",
		packages: []string{"task/agent/cachereport", "task/agent/contextlint"},
		never: []string{"os/...", "net/...", "database/sql/...", "log/...", "sync/...", "context", "math/rand/...", "syscall/...", "./engine/...", "./aspects/...",
			"./cache/...", "./memory/..."},
	},
	{
		why:      "a play of a workflow runs nothing and stores nothing",
		packages: []string{"engine/rehearsal"},
		only:     []string{"std", "./", "./engine", "./engine/core"},
	},
	{
		why:      "a play of a workflow does nothing",
		packages: []string{"engine/rehearsal"},
		never:    []string{"os/...", "net/...", "database/sql/...", "log/...", "sync/...", "math/rand/...", "syscall/..."},
	},
	{
		why:      "the MCP SDK and what it brings along are for who imports tool/mcp",
		packages: []string{"..."},
		except:   []string{"tool/mcp/..."},
		never:    []string{"github.com/modelcontextprotocol/..."},
	},
	{
		why:      "names of agents bring along the SDKs of all providers: that is for programs",
		packages: []string{"..."},
		except:   []string{"cmd/...", "examples/..."},
		never:    []string{"./task/agent/named/..."},
	},
	{
		why:      "the clouds' libraries are for who asks a model through a cloud: the module that tests it is another",
		packages: []string{"..."},
		never: []string{"github.com/anthropics/anthropic-sdk-go/v2/bedrock", "github.com/anthropics/anthropic-sdk-go/v2/vertex",
			"github.com/aws/...", "google.golang.org/...", "cloud.google.com/..."},
	},
	{
		why:      "features know the vocabulary, not one another and not the engine",
		packages: features,
		never:    []string{"./engine/...", "./task/...", "./memory/...", "./cache/...", "./aspects/...", "./handoff/...", "./tool/...", "./cmd/...", "./examples/..."},
		within:   true,
	},
	{
		why:      "the engine meets stores and providers as interfaces",
		packages: []string{"engine"},
		never: []string{"database/sql/...", "net/http/...", "modernc.org/...", "./engine/sqlite/...", "./engine/cli/...", "./internal/dbfile/...",
			"./task/...", "./memory/..."},
		within: true,
	},
	{
		why:      "SQL is spoken in the stores only",
		packages: []string{"..."},
		except:   database,
		never:    []string{"database/sql/...", "modernc.org/sqlite/..."},
	},
	{
		why:      "programs are wiring: nobody builds on them",
		packages: []string{"..."},
		except:   []string{"cmd/...", "examples/..."},
		never:    []string{"./cmd/...", "./examples/..."},
	},
	{
		why:      "production code does not link the test framework",
		packages: []string{"..."},
		except:   []string{"*test"},
		never:    []string{"testing/...", "pgregory.net/rapid"},
	},
	{
		why:      "test helpers are for tests",
		packages: []string{"..."},
		except:   []string{"*test"},
		never:    []string{"./*test"},
	},
}

// pure packages start no goroutine and read no clock.
var pure = []string{"", "engine/core/...", "memory/rank", "task/agent/cachereport", "task/agent/contextlint"}

var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick"}

// Folders with these names collect what nobody found a place for.
var badNames = []string{"utils", "util", "common", "helpers", "helper", "manager", "misc", "shared"}

func TestImports(t *testing.T) {
	for _, problem := range check(load(t, "../.."), rules) {
		t.Error(problem)
	}
}

func TestPurePackages(t *testing.T) {
	for _, p := range load(t, "../..") {
		if !matchesAny(pure, p.name) {
			continue
		}
		for _, f := range p.files {
			for _, problem := range impure(f) {
				t.Error(problem)
			}
		}
	}
}

func TestFolderNames(t *testing.T) {
	walk(t, "../..", func(dir string) {
		if slices.Contains(badNames, path.Base(dir)) {
			t.Errorf("%s: name the folder by what is in it", dir)
		}
	})
}

// The rules are only as good as their reading: each kind of breach must be seen.
func TestRulesBite(t *testing.T) {
	pkg := func(name string, imports ...string) *goPackage {
		return &goPackage{name: name, files: []*goFile{{name: path.Join(name, "x.go"), imports: imports}}}
	}
	tests := []struct {
		packages []*goPackage
		want     string // empty: allowed
	}{
		{[]*goPackage{pkg("", "time", "encoding/json")}, ""},
		{[]*goPackage{pkg("", "golang.org/x/sync/errgroup")}, "x.go imports golang.org/x/sync/errgroup"},
		{[]*goPackage{pkg("", module+"/internal/schema")}, "internal/schema"},
		{[]*goPackage{pkg("", "os/exec")}, "os/exec"},
		{[]*goPackage{pkg("engine/core", module, module+"/internal/schema", "math/rand/v2")}, ""},
		{[]*goPackage{pkg("engine/core", "sync/atomic")}, "sync/atomic"},
		{[]*goPackage{pkg("engine/core", module+"/engine")}, "/engine"},
		{[]*goPackage{pkg("engine/core", "github.com/dominikbraun/graph")}, "one user"},
		{[]*goPackage{{name: "engine/core", files: []*goFile{{name: "engine/core/graph.go", imports: []string{"github.com/dominikbraun/graph"}}}}}, ""},
		{[]*goPackage{pkg("memory", module+"/task")}, "not one another"},
		{[]*goPackage{pkg("task", module+"/engine/core")}, "not one another"},
		{[]*goPackage{pkg("task", module+"/internal/x"), pkg("internal/x", module+"/engine")}, "task reaches"},
		{[]*goPackage{pkg("tool", module+"/task")}, "not one another"},
		{[]*goPackage{pkg("tool/mcp", module+"/tool", "github.com/modelcontextprotocol/go-sdk/mcp")}, ""},
		{[]*goPackage{pkg("engine/rehearsal", "context", module+"/engine", module+"/engine/core")}, ""},
		{[]*goPackage{pkg("engine/rehearsal", module+"/task")}, "runs nothing"},
		{[]*goPackage{pkg("engine/rehearsal", "os")}, "does nothing"},
		{[]*goPackage{pkg("task/agent/command", "github.com/modelcontextprotocol/go-sdk/mcp")}, "MCP SDK"},
		{[]*goPackage{pkg("task/agent/openai", module+"/task", "net/http")}, ""},
		{[]*goPackage{pkg("engine/cli", module+"/task/agent/named")}, "SDKs of all providers"},
		{[]*goPackage{pkg("examples/review", module+"/task/agent/named")}, ""},
		{[]*goPackage{pkg("engine", module+"/internal/lease"), pkg("internal/lease", module+"/internal/deep"), pkg("internal/deep", "net/http")},
			"engine reaches net/http by internal/lease, internal/deep"},
		{[]*goPackage{pkg("engine", module+"/internal/dbfile"), pkg("internal/dbfile", "database/sql")}, "internal/dbfile"},
		{[]*goPackage{pkg("engine/sqlite", "database/sql", module+"/engine")}, ""},
		{[]*goPackage{pkg("cmd/run", "database/sql")}, "SQL is spoken"},
		{[]*goPackage{pkg("internal/clock", "testing/synctest")}, "test framework"},
		{[]*goPackage{pkg("engine/storetest", "testing", module+"/engine")}, ""},
		{[]*goPackage{pkg("engine/sqlite", module+"/engine/storetest")}, "for tests"},
		{[]*goPackage{pkg("internal/x", module+"/examples/loop")}, "wiring"},
	}
	for _, tt := range tests {
		got := strings.Join(check(tt.packages, rules), "\n")
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%s imports %q: got %q, want %q", tt.packages[0].name, tt.packages[0].files[0].imports, got, tt.want)
		}
	}

	fset := token.NewFileSet()
	syntax, err := parser.ParseFile(fset, "x.go", `package x
import wall "time"
func f() { go f(); _ = wall.Now(); var d wall.Duration; _ = d }`, 0)
	if err != nil {
		t.Fatal(err)
	}
	if got := impure(&goFile{name: "x.go", syntax: syntax, fset: fset}); len(got) != 2 {
		t.Errorf("impure code: %q", got)
	}
}

func check(packages []*goPackage, rules []rule) (problems []string) {
	byName := map[string]*goPackage{}
	for _, p := range packages {
		byName[p.name] = p
	}
	for _, r := range rules {
		for _, p := range packages {
			if !matchesAny(r.packages, p.name) || matchesAny(r.except, p.name) {
				continue
			}
			for _, f := range p.files {
				for _, imported := range f.imports {
					if f.name != r.file && r.refuses(imported) {
						problems = append(problems, fmt.Sprintf("%s imports %s: %s", f.name, imported, r.why))
					}
				}
			}
			if r.within {
				problems = append(problems, r.refusedBelow(p, byName)...)
			}
		}
	}
	return problems
}

func (r rule) refuses(imported string) bool {
	return matchesImport(r.never, imported) || r.only != nil && !matchesImport(r.only, imported)
}

// refusedBelow follows imports through the module. What a library imports in turn is its own affair.
func (r rule) refusedBelow(start *goPackage, byName map[string]*goPackage) (problems []string) {
	seen := map[string]bool{start.name: true}
	var follow func(p *goPackage, trail []string)
	follow = func(p *goPackage, trail []string) {
		for _, imported := range p.imports() {
			if len(trail) > 0 && r.refuses(imported) {
				problems = append(problems, fmt.Sprintf("%s reaches %s by %s: %s", start.name, imported, strings.Join(trail, ", "), r.why))
			}
			name, ours := local(imported)
			if next := byName[name]; ours && next != nil && !seen[name] {
				seen[name] = true
				follow(next, append(slices.Clone(trail), name))
			}
		}
	}
	follow(start, nil)
	return problems
}

// local returns the path below the module of an import of ours.
func local(imported string) (string, bool) {
	if imported == module {
		return "", true
	}
	return strings.CutPrefix(imported, module+"/")
}

func matchesImport(patterns []string, imported string) bool {
	name, ours := local(imported)
	for _, pattern := range patterns {
		below, isOurs := strings.CutPrefix(pattern, "./")
		first, _, _ := strings.Cut(imported, "/")
		switch {
		case isOurs && ours && matches(below, name),
			!isOurs && !ours && matches(pattern, imported),
			pattern == "std" && !ours && !strings.Contains(first, "."):
			return true
		}
	}
	return false
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

func matches(pattern, name string) bool {
	if pattern == "..." {
		return true
	}
	if tail, ok := strings.CutPrefix(pattern, "*"); ok { // *test: any package whose name ends so, and those below
		return slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool {
			return part != tail && strings.HasSuffix(part, tail)
		})
	}
	if above, ok := strings.CutSuffix(pattern, "/..."); ok {
		return name == above || strings.HasPrefix(name, above+"/")
	}
	return pattern == name
}

type goPackage struct {
	name  string // path below the module, "" for the root
	files []*goFile
}

func (p *goPackage) imports() []string {
	all := map[string]bool{}
	for _, f := range p.files {
		for _, i := range f.imports {
			all[i] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

type goFile struct {
	name    string // path below the module
	imports []string
	syntax  *ast.File
	fset    *token.FileSet
}

// load reads every Go file that is no test. It parses them instead of asking `go list`: that sees the files
// of all operating systems, and `go test` notices when one changes, where it would take a list made by
// another process from its cache.
func load(t *testing.T, root string) (packages []*goPackage) {
	t.Helper()
	fset := token.NewFileSet()
	walk(t, root, func(dir string) {
		p := &goPackage{name: dir}
		if dir == "." {
			p.name = ""
		}
		entries, err := os.ReadDir(filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.IsDir() || !strings.HasSuffix(e.Name(), ".go") || strings.HasSuffix(e.Name(), "_test.go") {
				continue
			}
			syntax, err := parser.ParseFile(fset, filepath.Join(root, dir, e.Name()), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			f := &goFile{name: path.Join(dir, e.Name()), syntax: syntax, fset: fset}
			for _, spec := range syntax.Imports {
				imported, err := strconv.Unquote(spec.Path.Value)
				if err != nil {
					t.Fatal(err)
				}
				f.imports = append(f.imports, imported)
			}
			p.files = append(p.files, f)
		}
		if len(p.files) > 0 {
			packages = append(packages, p)
		}
	})
	return packages
}

// walk visits the folders of the module that the go command would, by slash path below root.
func walk(t *testing.T, root string, visit func(dir string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(where string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		dir, err := filepath.Rel(root, where)
		if err != nil {
			return err
		}
		if dir != "." {
			_, nested := os.Stat(filepath.Join(where, "go.mod"))
			name := e.Name()
			if nested == nil || name == "testdata" || name == "vendor" || name[0] == '.' || name[0] == '_' {
				return fs.SkipDir
			}
		}
		visit(filepath.ToSlash(dir))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// impure finds goroutines and clocks.
func impure(f *goFile) (problems []string) {
	clockName := ""
	for _, spec := range f.syntax.Imports {
		if spec.Path.Value == `"time"` {
			clockName = "time"
			if spec.Name != nil {
				clockName = spec.Name.Name
			}
		}
	}
	ast.Inspect(f.syntax, func(n ast.Node) bool {
		what := ""
		switch n := n.(type) {
		case *ast.GoStmt:
			what = "starts a goroutine"
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && clockName != "" && x.Name == clockName && slices.Contains(clock, n.Sel.Name) {
				what = "reads the clock with time." + n.Sel.Name
			}
		}
		if what != "" {
			problems = append(problems, fmt.Sprintf("%s:%d %s: this package is pure, time comes in as data", f.name, f.fset.Position(n.Pos()).Line, what))
		}
		return true
	})
	return problems
}
