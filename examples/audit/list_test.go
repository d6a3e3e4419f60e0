package audit

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"testing"
)

func TestListFindsPackages(t *testing.T) {
	tests := []struct {
		name  string
		files tree
		want  []Package
	}{
		{"nothing", tree{}, []Package{}},
		{"no Go", tree{"README.md": "hello", "a/b.txt": "x"}, []Package{}},
		{
			"sorted by path",
			tree{"b/b.go": "", "a/z.go": "", "a/c/c.go": "", "a/a.go": "", "x.go": ""},
			[]Package{
				{".", []string{"x.go"}},
				{"a", []string{"a.go", "z.go"}},
				{"a/c", []string{"c.go"}},
				{"b", []string{"b.go"}},
			},
		},
		{
			"one package per directory, whatever the clauses and constraints",
			tree{
				"p/p.go":         "package p",
				"p/gen.go":       "//go:build ignore\n\npackage main",
				"p/p_plan9.go":   "package p",
				"p/p_x_test.go":  "package p_test",
				"p/doc/none.txt": "",
			},
			[]Package{{"p", []string{"gen.go", "p.go", "p_plan9.go", "p_x_test.go"}}},
		},
		{
			"what is passed over",
			tree{
				"a.go":                  "",
				"_off.go":               "",
				".hidden.go":            "",
				".git/hooks/x.go":       "",
				"vendor/v/v.go":         "",
				"deep/vendor/v/v.go":    "",
				"node_modules/n/n.go":   "",
				"testdata/t.go":         "",
				"deep/testdata/t.go":    "",
				"_examples/e.go":        "",
				"dir.go/inner.go":       "",
				"vendored/v.go":         "",
				"deep/nested/go.mod":    "module other",
				"deep/nested/nested.go": "",
			},
			[]Package{
				{".", []string{"a.go"}},
				{"deep/nested", []string{"nested.go"}},
				{"dir.go", []string{"inner.go"}},
				{"vendored", []string{"v.go"}},
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			listing, err := List(t.Context(), test.files.write(t))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(listing.Packages, test.want) {
				t.Errorf("got  %v\nwant %v", listing.Packages, test.want)
			}
		})
	}
}

func TestListTakesAnyNameForTheRoot(t *testing.T) {
	for _, name := range []string{"testdata", ".hidden", "_off", "vendor"} {
		dir := tree{name + "/a.go": "package a"}.write(t)
		listing, err := List(t.Context(), filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if len(listing.Packages) != 1 {
			t.Errorf("%s: got %d packages, want 1", name, len(listing.Packages))
		}
	}
}

func TestListReadsTheModule(t *testing.T) {
	tests := []struct {
		name, mod, module, goVersion string
	}{
		{"plain", "module example.com/a\n\ngo 1.26.0\n", "example.com/a", "1.26.0"},
		{"comments", "// module no\nmodule example.com/a // yes\r\ngo 1.26 // now\n", "example.com/a", "1.26"},
		{"quotes", "module \"example.com/a\"\ngo `1.26`\n", "example.com/a", "1.26"},
		{"requirements", "module m\nrequire (\n\tgo.example/x v1.0.0\n)\ntoolchain go1.27\n", "m", ""},
		{"nonsense", "\x00\xff module\nmodule\n", "", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			listing, err := List(t.Context(), tree{"go.mod": test.mod}.write(t))
			if err != nil {
				t.Fatal(err)
			}
			if listing.Module != test.module || listing.GoVersion != test.goVersion {
				t.Errorf("got %q %q, want %q %q", listing.Module, listing.GoVersion, test.module, test.goVersion)
			}
		})
	}
}

func TestListFollowsNoLoop(t *testing.T) {
	dir := tree{"a/a.go": "package a"}.write(t)
	outside := tree{"secret.go": "package secret"}.write(t)
	link(t, dir, filepath.Join(dir, "a", "loop"))
	link(t, "self.go", filepath.Join(dir, "a", "self.go"))
	link(t, "gone.go", filepath.Join(dir, "a", "dangling.go"))
	link(t, "a.go", filepath.Join(dir, "a", "linked.go"))
	link(t, filepath.Join(outside, "secret.go"), filepath.Join(dir, "a", "outside.go"))

	listing, err := List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	want := []Package{{"a", []string{"a.go", "linked.go"}}}
	if !reflect.DeepEqual(listing.Packages, want) {
		t.Errorf("got  %v\nwant %v", listing.Packages, want)
	}
}

func TestListGoesThroughALinkToTheRoot(t *testing.T) {
	dir := tree{"a.go": "package a"}.write(t)
	name := filepath.Join(t.TempDir(), "link")
	link(t, dir, name)
	listing, err := List(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	if len(listing.Packages) != 1 || listing.Dir != name {
		t.Errorf("got %d packages in %s", len(listing.Packages), listing.Dir)
	}
}

func TestListNamesWhatItMayNotRead(t *testing.T) {
	if os.Getuid() == 0 || runtime.GOOS == "windows" {
		t.Skip("needs a user whom permissions stop")
	}
	dir := tree{"a.go": "package a", "closed/b.go": "package b"}.write(t)
	closed := filepath.Join(dir, "closed")
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(closed, 0o755) })
	listing, err := List(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(listing.Unreadable, []string{"closed"}) {
		t.Errorf("got %v", listing.Unreadable)
	}
}

func TestListRefusesWhatIsNoDirectory(t *testing.T) {
	dir := tree{"a.go": "package a"}.write(t)
	for _, name := range []string{"", filepath.Join(dir, "none"), filepath.Join(dir, "a.go")} {
		if _, err := List(t.Context(), name); err == nil {
			t.Errorf("%q: got no error", name)
		}
	}
}

func TestListStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := List(ctx, tree{"a.go": ""}.write(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestLimit(t *testing.T) {
	all := Listing{Packages: []Package{{Path: "a"}, {Path: "b"}, {Path: "c"}}}
	tests := []struct{ n, kept, omitted int }{
		{0, 3, 0}, {-1, 3, 0}, {1, 1, 2}, {3, 3, 0}, {4, 3, 0},
	}
	for _, test := range tests {
		got := all.Limit(test.n)
		if len(got.Packages) != test.kept || got.Omitted != test.omitted {
			t.Errorf("Limit(%d): got %d kept, %d omitted", test.n, len(got.Packages), got.Omitted)
		}
	}
	if got := all.Limit(2).Limit(1); got.Omitted != 2 {
		t.Errorf("limited twice: got %d omitted, want 2", got.Omitted)
	}
}

func TestName(t *testing.T) {
	tests := []struct{ module, path, want string }{
		{"", ".", "."},
		{"", "a/b", "a/b"},
		{"example.com/m", ".", "example.com/m"},
		{"example.com/m", "a/b", "example.com/m/a/b"},
		{"std", "net/http", "net/http"},
		{"cmd", "go", "cmd/go"},
	}
	for _, test := range tests {
		if got := (Listing{Module: test.module}).Name(test.path); got != test.want {
			t.Errorf("%s in %q: got %s, want %s", test.path, test.module, got, test.want)
		}
	}
}

func TestListIsNeverNullInJSON(t *testing.T) {
	listing, err := List(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	listing.Dir = "d"
	got, err := json.Marshal(listing)
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"dir":"d","packages":[],"omitted":0,"unreadable":[]}`; string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
