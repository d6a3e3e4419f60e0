package core_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
)

func TestScopeNamesWhatIsBelow(t *testing.T) {
	s := run(t, mount(
		cairn.Scope{ID: "a", Body: mount(T("x"), cairn.Scope{ID: "b", Body: mount(T("y"))})},
		cairn.Try{Body: par(seq(T("z")))}, // wrapping never renames
		T("out")))
	s.all("a/x", "a/b/y", "z", "out")
	s.finished(1)
}

func TestEmptyScope(t *testing.T) {
	s := run(t, mount(cairn.Scope{ID: "a", Body: func(v *cairn.View) cairn.Node { return nil }}, T("out", "a")))
	s.wants("out")
}

func TestScopeThatGrows(t *testing.T) {
	s := run(t, mount(cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node {
		var more cairn.Node
		if n, _ := cairn.Key[int]("x").Get(v); n > 1 {
			more = T("y")
		}
		return seq(T("x"), more)
	}}, T("out")))
	s.done("s/x", 2)
	s.wants("s/y")
	s.done("s/y", 1)
	s.wants("out")
}

// TestScopeGrowsAfterARestart: a finished scope in a plan made anew must start what a render adds to it.
func TestScopeGrowsAfterARestart(t *testing.T) {
	s := run(t, mount(par(T("go"), seq(cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node {
		var more cairn.Node
		if _, ok := cairn.Key[int]("go").Get(v); ok {
			more = T("y")
		}
		return seq(T("x"), more)
	}}, T("b"))), T("out")))
	s.done("s/x", 1)
	s.wants("b", "go")
	s.resume(s.def)
	s.wants("b", "go")
	s.done("go", 1)
	s.wants("b", "s/y")
	s.all("b", "s/y", "out")
	s.finished(1)
}

func TestScopeThatShrinks(t *testing.T) {
	s := run(t, mount(par(T("go"), seq(cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node {
		if _, ok := cairn.Key[int]("go").Get(v); ok {
			return nil
		}
		return T("x")
	}}, T("b"))), T("out")))
	s.wants("go", "s/x")
	s.done("go", 1)
	s.stops("s/x")
	s.wants("b") // the scope has nothing left
}

// forEach is a run over items that a task's value chooses.
func forEach(t *testing.T, items func(n int) []string) *sim {
	return run(t, func(v *cairn.View) cairn.Node {
		n, _ := cairn.Key[int]("n").Get(v)
		list := cairn.ForEach(items(n), func(k string) string { return k }, func(v *cairn.View, k string) cairn.Node {
			x := T("x")
			x.input = func(*cairn.View) string { return k }
			return x
		})
		return par(T("n"), seq(cairn.Parallel{Children: list}, T("out")))
	})
}

func TestForEachIsKeyed(t *testing.T) {
	s := forEach(t, func(n int) []string { return [][]string{{"a", "b"}, {"c", "b", "a"}}[n] })
	s.wants("a/x", "b/x", "n")
	if got := string(s.attempt("b/x").Input); got != `"b"` {
		t.Fatalf("b's input is %s", got)
	}
	s.done("a/x", 1)
	s.done("n", 1) // c is inserted, a and b change places
	s.wants("b/x", "c/x")
	s.all("b/x", "c/x", "out")
	s.finished(1)
	for _, path := range []string{"a/x", "b/x", "c/x"} {
		if s.starts[path] != 1 {
			t.Fatalf("%s was started %d times: an item must keep its results", path, s.starts[path])
		}
	}
}

func TestForEachItemRemoved(t *testing.T) {
	s := forEach(t, func(n int) []string { return [][]string{{"a", "b"}, {"b"}}[n] })
	s.done("n", 1)
	s.stops("a/x")
	s.wants("b/x")
	s.all("b/x")
	s.wants("out")
}

func TestForEachKeysAreNames(t *testing.T) {
	s := forEach(t, func(n int) []string { return []string{"a", "a"} })
	s.blocked(cairn.InvalidTree, "a", "two nodes on one path")
	s = forEach(t, func(n int) []string { return []string{"a/b"} })
	s.blocked(cairn.InvalidTree, `"a/b"`)
}

func TestForEachReadsFromOutside(t *testing.T) {
	var seen []int
	s := run(t, func(v *cairn.View) cairn.Node {
		seen = nil
		for _, k := range []string{"a", "b"} {
			if n, ok := cairn.Key[int]("x").Get(v.In(k)); ok {
				seen = append(seen, n)
			}
		}
		if _, ok := cairn.Key[int]("x").Latest(v); ok {
			panic("Latest looked into an item")
		}
		return seq(cairn.Nodes(cairn.ForEach([]string{"a", "b"}, strings.Clone, func(v *cairn.View, k string) cairn.Node { return T("x") })), T("out"))
	})
	s.done("a/x", 5)
	s.done("b/x", 6)
	if !slices.Equal(seen, []int{5, 6}) {
		t.Fatalf("seen %v", seen)
	}
}
