package cairn_test

import (
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
)

func TestPaths(t *testing.T) {
	for _, c := range []struct{ scope, name, path string }{
		{"", "a", "a"}, {"s", "a", "s/a"}, {"l[3]", "a", "l[3]/a"}, {"l[3]/s", "b[0]", "l[3]/s/b[0]"},
	} {
		if got := cairn.Join(c.scope, c.name); got != c.path {
			t.Errorf("Join(%q, %q) = %q", c.scope, c.name, got)
		}
		if scope, name := cairn.Split(c.path); scope != c.scope || name != c.name {
			t.Errorf("Split(%q) = %q, %q", c.path, scope, name)
		}
		if err := cairn.CheckPath(c.path); err != nil {
			t.Error(err)
		}
	}
}

func TestCutIteration(t *testing.T) {
	for scope, want := range map[string]struct {
		loop string
		i    int
		ok   bool
	}{
		"l[0]": {"l", 0, true}, "l[12]": {"l", 12, true}, "a/l[3]": {"a/l", 3, true}, "a[1]/l[3]": {"a[1]/l", 3, true},
		"": {}, "l": {}, "l[]": {}, "l[-1]": {}, "l[x]": {}, "l[1]/a": {}, "l1]": {}, "l[99999999999999999999]": {},
	} {
		if loop, i, ok := cairn.CutIteration(scope); ok != want.ok || ok && (loop != want.loop || i != want.i) {
			t.Errorf("CutIteration(%q) = %q, %d, %t", scope, loop, i, ok)
		}
	}
}

func TestCheckName(t *testing.T) {
	for _, good := range []string{"a", "step-1", "zwölf", "with space", strings.Repeat("x", cairn.MaxName)} {
		if err := cairn.CheckName(good); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "a/b", "[", "a]", "#", "a\x00", "a\n", "\x7f", "\xff", strings.Repeat("x", cairn.MaxName+1)} {
		if cairn.CheckName(bad) == nil {
			t.Errorf("%q can name a node", bad)
		}
		if bad != "a/b" && cairn.CheckPath("s/"+bad) == nil {
			t.Errorf("%q can end a path", bad)
		}
	}
	for _, bad := range []string{"", "/a", "a/", "a//b", "l[01]", "l[+1]", "l[0][1]", "[0]"} {
		if cairn.CheckPath(bad) == nil {
			t.Errorf("%q is a path", bad)
		}
	}
}

// FuzzPath: taking paths apart and putting them together never panics and loses nothing.
func FuzzPath(f *testing.F) {
	for _, seed := range []string{"", "a", "a/b", "l[0]", "l[3]/s/b[12]/t", "l[01]", "l[-1]", "[0]", "a//b", "/", "a]", "l[", "l[9223372036854775808]", "#try", "a/\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, path string) {
		scope, name := cairn.Split(path)
		if joined := cairn.Join(scope, name); joined != path && path != "/"+name {
			t.Fatalf("Join(Split(%q)) = %q", path, joined)
		}
		loop, i, ok := cairn.CutIteration(path)
		if ok && (i < 0 || len(loop) >= len(path)) {
			t.Fatalf("CutIteration(%q) = %q, %d", path, loop, i)
		}
		if cairn.CheckPath(path) != nil {
			return
		}
		if ok && cairn.Iteration(loop, i) != path {
			t.Fatalf("Iteration(CutIteration(%q)) = %q", path, cairn.Iteration(loop, i))
		}
		if scope != "" && cairn.CheckPath(scope) != nil {
			t.Fatalf("%q is a path and its scope %q is none", path, scope)
		}
		if err := cairn.CheckPath(cairn.Iteration(cairn.Join(path, "l"), 7)); err != nil {
			t.Fatal(err)
		}
		if !ok {
			if err := cairn.CheckName(name); err != nil {
				t.Fatalf("%q is a path and ends in no name: %v", path, err)
			}
		}
	})
}
