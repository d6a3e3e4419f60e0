package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestWhatDocsNameIsThere: links, files, folders, tests and targets of make that the pages name. A page that sends its reader
// nowhere is found when something moves.
func TestWhatDocsNameIsThere(t *testing.T) {
	root := "../.."
	tree := listTree(t, root)
	pages, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range append(pages, filepath.Join(root, "README.md"), filepath.Join(root, "ARCHITECTURE.md")) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		name, err := filepath.Rel(root, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range tree.dangling(filepath.ToSlash(name), string(text)) {
			t.Error(problem)
		}
	}
}

// The reading is only as good as what it finds.
func TestDanglingNamesAreSeen(t *testing.T) {
	tree := &docTree{files: []string{"a/b/c.go", "docs/x.md", "README.md"}, tests: []string{"TestIt"}, targets: []string{"bench"}}
	for text, want := range map[string]string{
		"[x](x.md) and [y](../README.md#there) and [z](https://example.com/y)": "",
		"[x](docs/x.md)":                             "docs/docs/x.md",
		"`a/b`, `a/*`, `b/c.go` and `c.go`":          "",
		"`a/gone`":                                   "a/gone",
		"`a/z*`":                                     "a/z*",
		"`d.go`":                                     "d.go",
		"`testing/synctest`":                         "",
		"`go test ./a/b -run x` and `./...`":         "",
		"```sh\ngo run ./gone --x\n```":              "./gone",
		"```\nmake bench\n```":                       "",
		"`make gone`":                                "make gone",
		"so to make out what `TestIt` says":          "",
		"`TestGone`":                                 "TestGone",
		"so:\n\n    make gone  # it\n    make bench": "make gone",
		"\n    cd a && go run ./b":                   "",
		"\n    cd a && go run ./c":                   "./a/c",
	} {
		got := tree.dangling("docs/p.md", text)
		if want == "" && len(got) > 0 || want != "" && (len(got) != 1 || !strings.Contains(got[0], want)) {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
}

// docTree is what pages can name.
type docTree struct {
	files   []string // slash paths below the module
	tests   []string
	targets []string // of make
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenced   = regexp.MustCompile("(?s)```.*?```")
	indented = regexp.MustCompile("(?m)^    .*$")
	span     = regexp.MustCompile("`([^`]+)`")
	file     = regexp.MustCompile(`^[\w./-]+\.(go|md|sh)$`)
	entry    = regexp.MustCompile(`^(Test|Benchmark|Fuzz)[A-Z]\w*$`)

	// Of a line of shell: a folder, a target, and where it begins.
	folder = regexp.MustCompile(`(?:^|\s)\./([\w/-]+)`)
	made   = regexp.MustCompile(`^\s*make ([a-z-]+)`)
	inside = regexp.MustCompile(`^\s*cd ([\w/-]+) &&`)

	// What Makefile and tests define.
	target = regexp.MustCompile(`(?m)^([a-z-]+):`)
	tested = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w*)\(`)
)

// dangling lists what a page names that is not there.
func (d *docTree) dangling(page, text string) (problems []string) {
	missing := func(what string) {
		problems = append(problems, fmt.Sprintf("%s names %s, which is not there", page, what))
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		to, _, _ := strings.Cut(m[1], "#")
		if to == "" || strings.Contains(to, "://") {
			continue
		}
		if to = path.Join(path.Dir(page), to); !d.has(to) {
			missing(to)
		}
	}
	pieces := append(fenced.FindAllString(text, -1), indented.FindAllString(text, -1)...)
	for _, m := range span.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		pieces = append(pieces, m[1])
		switch first, _, deep := strings.Cut(m[1], "/"); {
		case entry.MatchString(m[1]):
			if !slices.Contains(d.tests, m[1]) {
				missing(m[1])
			}
		case file.MatchString(m[1]): // turn.go and core/turn.go do for engine/core/turn.go
			if !slices.ContainsFunc(d.files, func(f string) bool { return f == m[1] || strings.HasSuffix(f, "/"+m[1]) }) {
				missing(m[1])
			}
		case deep && !strings.ContainsAny(m[1], " []") && d.has(first) && !d.has(m[1]):
			missing(m[1])
		}
	}
	for _, piece := range pieces {
		for line := range strings.Lines(piece) {
			base := ""
			if m := inside.FindStringSubmatch(line); m != nil {
				base = m[1]
			}
			for _, m := range folder.FindAllStringSubmatch(line, -1) {
				if name := path.Join(base, m[1]); !d.has(name) {
					missing("./" + name)
				}
			}
			if m := made.FindStringSubmatch(line); m != nil && !slices.Contains(d.targets, m[1]) {
				missing("make " + m[1])
			}
		}
	}
	return problems
}

// has says whether there is a file or a folder of that name, or one that the pattern matches.
func (d *docTree) has(name string) bool {
	depth := strings.Count(name, "/") + 1
	return slices.ContainsFunc(d.files, func(f string) bool {
		parts := strings.Split(f, "/")
		if len(parts) < depth {
			return false
		}
		ok, err := path.Match(name, strings.Join(parts[:depth], "/"))
		return ok && err == nil
	})
}

func listTree(t *testing.T, root string) *docTree {
	t.Helper()
	d := &docTree{}
	err := filepath.WalkDir(root, func(where string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, where)
		if err != nil {
			return err
		}
		if e.IsDir() {
			if e.Name() == ".git" || e.Name() == ".cairn" {
				return fs.SkipDir
			}
			return nil
		}
		d.files = append(d.files, filepath.ToSlash(name))
		var names *regexp.Regexp
		var into *[]string
		switch {
		case name == "Makefile":
			names, into = target, &d.targets
		case strings.HasSuffix(name, "_test.go"):
			names, into = tested, &d.tests
		default:
			return nil
		}
		text, err := os.ReadFile(where)
		for _, m := range names.FindAllStringSubmatch(string(text), -1) {
			*into = append(*into, m[1])
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return d
}
