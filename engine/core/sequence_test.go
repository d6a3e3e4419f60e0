package core_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

func TestSequenceRunsInOrder(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node { return seq(T("a"), seq(), seq(T("b"), nil, T("c")), T("out")) })
	for _, path := range []string{"a", "b", "c", "out"} {
		s.wants(path)
		s.done(path, 3)
	}
	s.finished(3)
}

func TestNodesAreASequence(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node { return cairn.Nodes{T("a"), nil, cairn.Nodes{T("b")}, T("out")} })
	s.wants("a")
	s.done("a", 1)
	s.wants("b")
	s.done("b", 1)
	s.wants("out")
}

// TestNewWorkBeforeWhatRuns: what has begun goes on, what has not waits for all before it.
func TestNewWorkBeforeWhatRuns(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		_, more := cairn.Key[int]("trigger").Get(v)
		return par(T("trigger"), seq(
			cairn.Scope{ID: "first", Body: func(v *cairn.View) cairn.Node {
				if more {
					return seq(T("x"), T("y"))
				}
				return T("x")
			}},
			seq(T("b1"), T("b2")), T("c"), T("out")))
	})
	s.done("first/x", 1)
	s.wants("b1", "trigger")
	s.done("trigger", 1) // y is mounted before b1, which runs
	s.wants("b1", "first/y")
	s.done("b1", 1)
	s.wants("b2", "first/y")
	s.done("b2", 1)
	s.wants("first/y")
	s.done("first/y", 1)
	s.wants("c")
	s.all("c", "out")
	s.finished(1)
}

func TestWorkflowFinishesWhenNothingUnfinishedIsMounted(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		var more cairn.Node
		if n, ok := out.Get(v); ok && n > 1 {
			more = T("more")
		}
		return seq(T("out"), more)
	})
	s.done("out", 2)
	s.status(core.Running)
	s.wants("more")
	s.done("more", 1)
	s.finished(2)
}

func TestWorkflowInputIsDecodedForEachRender(t *testing.T) {
	type in struct{ Names []string }
	var seen [][]string
	def := cairn.Workflow[in, int]{Name: "w", Result: out, Render: func(v *cairn.View, i in) cairn.Node {
		cairn.Key[int]("a").Get(v)
		seen = append(seen, append([]string{}, i.Names...))
		i.Names[0] = "changed"
		return seq(T("a"), T("out"))
	}}.Define()
	s := startWith(t, def, core.Event{Kind: core.RunStarted, Path: "run", Name: "w", Payload: json.RawMessage(`{"Names":["x"]}`)})
	s.done("a", 1)
	for _, names := range seen {
		if names[0] != "x" {
			t.Fatalf("a render has changed another's input: %v", seen)
		}
	}
}

func TestInputThatDoesNotDecodeBlocks(t *testing.T) {
	s := startWith(t, flow(mount(T("out"))), core.Event{Kind: core.RunStarted, Path: "run", Payload: json.RawMessage(`{"no":"string"}`)})
	s.blocked(cairn.OutputDecode, "input")
}

func TestResultIsTheRootsLatest(t *testing.T) {
	s := run(t, mount(cairn.Loop{ID: "l", Max: 2, OnMax: cairn.ReturnLast, Body: mount(T("out"))}))
	s.done("l[0]/out", 1)
	s.done("l[1]/out", 2)
	s.finished(2)
}

func TestMissingResultFails(t *testing.T) {
	for name, tree := range map[string]cairn.Node{
		"in a scope":        cairn.Scope{ID: "s", Body: mount(T("out"))},
		"none":              T("a"),
		"skipped":           skipIf(true, T("out")),
		"failed, tolerated": optional(T("out")),
	} {
		t.Run(name, func(t *testing.T) {
			s := run(t, mount(tree))
			for len(s.running) > 0 {
				if path := s.running[0].Path; strings.Contains(name, "failed") {
					s.fail(path, "X")
				} else {
					s.done(path, 1)
				}
			}
			s.failed(cairn.ResultMissing, "out")
		})
	}
}

func TestPriority(t *testing.T) {
	s := startWith(t, flow(mount(par(T("a"), priority(1, T("b")), priority(2, T("c")), T("out")))), core.Event{Kind: core.RunStarted, Path: "run", Payload: begin.Payload, Limit: 1})
	for _, path := range []string{"c", "b", "a", "out"} {
		s.wants(path)
		s.done(path, 1)
	}
	s.finished(1)
}

func TestRunLimit(t *testing.T) {
	s := startWith(t, flow(mount(par(T("a"), T("b"), T("c"), T("out")))), core.Event{Kind: core.RunStarted, Path: "run", Payload: begin.Payload, Limit: 2})
	s.wants("a", "b")
	s.done("b", 1)
	s.wants("a", "c")
	s.step(s.doneEvent("a", 1), s.doneEvent("c", 1))
	s.wants("out")
}

// TestOrderOfWhatIsReady survives renders that drop and rebuild what waits.
func TestOrderOfWhatIsReady(t *testing.T) {
	limit := begin
	limit.Limit = 1
	s := startWith(t, flow(func(v *cairn.View) cairn.Node {
		var groups cairn.Nodes
		n := 0
		for g := range 4 {
			var kids cairn.Nodes
			for range 5 {
				id := fmt.Sprintf("t%02d", n)
				n++
				if _, ok := cairn.Key[int](id).Get(v); !ok || g%2 == 0 {
					kids = append(kids, T(id))
				}
			}
			groups = append(groups, cairn.Parallel{Children: kids})
		}
		return seq(cairn.Parallel{Children: groups}, T("out"))
	}), limit)
	for n := range 20 {
		s.wants(fmt.Sprintf("t%02d", n))
		s.done(fmt.Sprintf("t%02d", n), 1)
	}
	s.done("out", 1)
	s.finished(1)
}
