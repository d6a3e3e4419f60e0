package core_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// W names a task with sub-agents that may change directories.
func W(id string, dirs ...string) node { n := T(id); n.writes = dirs; return n }

func after(n node, keys ...string) node { n.after = keys; return n }

// TestWritersThatCouldRunAtOnce: two on one directory are refused, with both paths, unless something puts them in order.
func TestWritersThatCouldRunAtOnce(t *testing.T) {
	each := func(dir func(item string) string) cairn.Node {
		return cairn.Parallel{Children: cairn.ForEach([]string{"x", "y"}, func(s string) string { return s },
			func(_ *cairn.View, item string) cairn.Node { return W("w", dir(item)) })}
	}
	in := func(scope string, n cairn.Node) cairn.Node { return cairn.Scope{ID: scope, Body: mount(n)} }
	for _, c := range []struct {
		name string
		tree cairn.Node
		want string // empty: allowed
	}{
		{"side by side", par(W("a", "d"), W("b", "d")), "b: it may change things in d, and so may a,"},
		{"deep", par(seq(T("x"), in("s", W("a", "d"))), in("t", seq(T("y"), W("b", "d")))), "t/b: it may change things in d, and so may s/a,"},
		{"items", each(func(string) string { return "d" }), "y/w: it may change things in d, and so may x/w,"},
		{"items apart", each(func(item string) string { return item }), ""},
		{"one after the other", seq(W("a", "d"), W("b", "d")), ""},
		{"one at a time", max1(W("a", "d"), W("b", "d")), ""},
		{"two at a time", max2(W("a", "d"), W("b", "d")), "so may a"},
		{"ordered by After", par(W("a", "d"), after(W("b", "d"), "a")), ""},
		{"ordered by several", par(W("a", "d"), after(T("x"), "a"), seq(after(T("y"), "x"), W("b", "d"))), ""},
		{"ordered the other way", par(after(W("a", "d"), "b"), W("b", "d")), ""},
		{"ordered by a scope", par(in("s", W("a", "d")), after(W("b", "d"), "s")), ""},
		{"other directories", par(W("a", "d"), W("b", "e"), W("c", "dd"), W("e")), ""},
		{"one in the other", par(W("a", "d"), W("b", "d/sub")), "in d/sub"},
		{"one around the other", par(W("a", "d/sub"), W("b", "d")), "in d/sub"},
		{"the process's", par(W("a", "."), W("b", "x")), "in x"},
		{"absolute", par(W("a", "/"), W("b", "/x/y")), "in /x/y"},
		{"elsewhere", par(W("a", "."), W("b", "/x"), W("c", "../y")), ""},
		{"spelt otherwise", par(W("a", "d/../e/"), W("b", "e")), "in e"},
		{"one of several", par(W("a", "x", "y"), W("b", "z", "y")), "in y"},
		{"two sides", cairn.Branch{If: true, Then: W("a", "d"), Else: W("b", "d")}, ""},
		{"a side not taken", par(W("a", "d"), cairn.Branch{Then: W("b", "d")}), ""},
		{"body and catch", cairn.Try{Body: W("a", "d"), Catch: func(*cairn.View, cairn.Failure) cairn.Node { return W("b", "d") },
			Finally: mount(W("c", "d"))}, ""},
		{"a loop beside", par(W("a", "d"), cairn.Loop{ID: "l", Max: 2, Body: mount(W("b", "d"))}), "l[0]/b: it may change things in d, and so may a,"},
		{"iterations", cairn.Loop{ID: "l", Max: 2, OnMax: cairn.ReturnLast, Body: mount(W("b", "d"))}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := run(t, mount(c.tree, T("out")))
			if c.want != "" {
				s.blocked(cairn.WriterConflict, c.want)
				return
			}
			s.status(core.Running)
			for range 10 {
				for _, path := range s.paths() {
					s.done(path, 1)
				}
			}
			s.finished(1)
		})
	}
}

// TestALateWriterIsRefused: what a render mounts beside a writer that runs, and not beside one that is done.
func TestALateWriterIsRefused(t *testing.T) {
	tree := func(v *cairn.View) cairn.Node {
		var late cairn.Node
		if _, ok := cairn.Key[int]("go").Get(v); ok {
			late = W("late", "d")
		}
		return seq(par(T("go"), W("a", "d"), cairn.Sequence{Children: cairn.Nodes{late}}), T("out"))
	}
	s := run(t, tree)
	s.done("go", 1)
	s.blocked(cairn.WriterConflict, "late", "so may a")
	s = run(t, tree)
	s.all("a", "go", "late", "out")
	s.finished(1)
}

// TestManyWritersAreCheckedFast: the check looks at writers alone, and at each but once. The floor is the same tree without any.
func TestManyWritersAreCheckedFast(t *testing.T) {
	mounted := func(node func(i int) cairn.Node) time.Duration {
		var all cairn.Nodes
		for i := range 1000 {
			all = append(all, node(i), T(fmt.Sprint("t", i)))
		}
		began := time.Now()
		single(t, flow(mount(cairn.Parallel{Children: all}, T("out")))).status(core.Running)
		return time.Since(began)
	}
	for tries := 1; ; tries++ {
		floor := mounted(func(i int) cairn.Node { return T(fmt.Sprint("w", i)) })
		took := mounted(func(i int) cairn.Node { return W(fmt.Sprint("w", i), fmt.Sprint("d", i)) })
		if took < 10*floor {
			return
		}
		if tries == 5 { // of a busy machine
			t.Fatalf("it took %s, and %s without writers", took, floor)
		}
	}
}
