package core_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestPanicsBlock: a panic of the workflow's code blocks the run; what arrived with it is kept, and mended code goes on.
func TestPanicsBlock(t *testing.T) {
	var broken bool
	boom := func() {
		if broken {
			panic("boom")
		}
	}
	for name, tree := range map[string]renderFunc{
		"Render": func(v *cairn.View) cairn.Node {
			if _, ok := a.Get(v); ok {
				boom()
			}
			return seq(par(T("a"), T("b")), T("next"), T("out"))
		},
		"Body": mount(par(T("a"), T("b")), cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node {
			if _, ok := a.Get(v); ok {
				boom()
			}
			return nil
		}}, T("next"), T("out")),
		"Until": mount(cairn.Loop{ID: "l", Until: func(v *cairn.View) bool { boom(); return true }, Body: func(*cairn.View) cairn.Node {
			return nil
		}}, par(T("a"), T("b")), cairn.Loop{ID: "m", Until: func(v *cairn.View) bool { boom(); return true }, Body: mount()}, T("next"), T("out")),
		"Catch": mount(par(T("a"), T("b"), cairn.Try{Body: optional(T("c")), Finally: mount()}), cairn.Try{ID: "t", Body: cairn.Loop{ID: "none", Max: 1, Body: mount()},
			Catch: func(*cairn.View, cairn.Failure) cairn.Node { boom(); return T("next") }}, T("out")),
		"Finally": mount(par(T("a"), T("b")), cairn.Try{ID: "t", Finally: func(*cairn.View) cairn.Node { boom(); return T("next") }}, T("out")),
		"Prompt": mount(par(T("a"), T("b")), func() cairn.Node {
			n := T("next")
			n.input = func(*cairn.View) string { boom(); return "" }
			return n
		}(), T("out")),
		"SkipIf": mount(par(T("a"), T("b")), func() cairn.Node {
			n := T("next")
			n.skip = func(*cairn.View) bool { boom(); return false }
			return n
		}(), T("out")),
	} {
		t.Run(name, func(t *testing.T) {
			broken = false
			s := run(t, tree)
			if name == "Catch" {
				s.done("c", 1)
			}
			broken = true
			s.step(s.doneEvent("a", 7), s.doneEvent("b", 1))
			s.blocked(cairn.RenderPanicked, "boom")
			if got := s.m.State(); string(got.Tasks["a"].Output) != "7" || !s.last.Frame.Unrendered || s.last.Frame.Plan.Full {
				t.Fatalf("frame %s", s.last.Body)
			}
			if stack := s.m.State().Block.Stack; !strings.Contains(stack, "block_test.go") || strings.Contains(stack, "core.(*Machine)") {
				t.Fatalf("the stack is not that of the workflow's code:\n%s", stack)
			}
			s.wants()
			s.resume(s.def) // the same code, still broken
			s.blocked(cairn.RenderPanicked, "boom")
			broken = false
			s.resume(s.def)
			s.wants("next")
			if !s.last.Frame.Plan.Full {
				t.Fatal("the first frame after a block has the whole plan")
			}
			s.all("next", "out")
			s.finished(1)
		})
	}
}

func TestBlockedFirstRender(t *testing.T) {
	broken := true
	s := run(t, func(*cairn.View) cairn.Node {
		if broken {
			panic("boom")
		}
		return T("out")
	})
	s.blocked(cairn.RenderPanicked)
	if s.commands[len(s.commands)-1].Kind != core.Block {
		t.Fatalf("commands %v", s.commands)
	}
	broken = false
	s.resume(s.def)
	s.wants("out")
}

// TestBlockedRunTakesResults that still come, failures included, and acts on them when it goes on.
func TestBlockedRunTakesResults(t *testing.T) {
	broken := true
	def := flow(func(v *cairn.View) cairn.Node {
		if _, ok := a.Get(v); ok && broken {
			panic("boom")
		}
		return seq(cairn.Try{Body: par(T("a"), T("b"), T("c"), retry(2, T("d")), T("e")), Catch: catch("catch")}, T("out"))
	})
	s := start(t, def)
	s.done("a", 1)
	s.blocked(cairn.RenderPanicked)
	if len(s.commands) > 0 {
		t.Fatalf("the run rests while attempts run: %v", s.commands)
	}
	s.wants("b", "c", "d", "e")
	s.done("b", 1)
	s.fail("c", "X")
	s.fail("d", "Y")
	s.blocked(cairn.RenderPanicked)
	s.done("e", 1)
	if s.commands[len(s.commands)-1].Kind != core.Block {
		t.Fatalf("commands %v", s.commands)
	}
	broken = false
	s.resume(def)
	s.wants("catch") // c had failed for good while nobody could render
	if f := s.m.State().Tries["#try"].Caught; f.Path != "c" || f.Code != "X" {
		t.Fatalf("Catch was given %v", f)
	}
	if _, ok := s.timers["d"]; ok {
		t.Fatal("d is to be tried again in a Try that is closed")
	}
	s.all("catch", "out")
	s.finished(1)
}

// TestFailuresOfABlockedRun: several are raised one after the other, and the first one counts.
func TestFailuresOfABlockedRun(t *testing.T) {
	broken := true
	def := flow(func(v *cairn.View) cairn.Node {
		if _, ok := a.Get(v); ok && broken {
			panic("boom")
		}
		return par(T("a"), T("b"), seq(T("c"), T("never")), cairn.Try{Body: seq(T("d"), T("never2")), Finally: mount(T("f"))}, T("out"))
	})
	s := start(t, def)
	s.done("a", 1)
	s.fail("c", "C")
	s.fail("b", "B")
	s.fail("d", "D")
	broken = false
	s.resume(def)
	s.wants("f")
	s.done("f", 1)
	s.failed("B", "b")
	if s.starts["never"]+s.starts["never2"] != 0 {
		t.Fatal("something started in what had failed")
	}
}

func TestBlockedRunCanBeCancelled(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		if _, ok := a.Get(v); ok {
			panic("boom")
		}
		return par(T("a"), T("b"), cairn.Try{Body: T("c"), Finally: mount(T("f"))}, T("out"))
	})
	s.done("a", 1)
	s.cancel()
	s.stops("b", "c", "out")
	for _, path := range []string{"b", "c", "out"} {
		s.lose(path, true)
	}
	s.status(core.CancelledRun)
}

func TestCancelThatComesWithTheMend(t *testing.T) {
	broken := true
	def := flow(func(v *cairn.View) cairn.Node {
		if _, ok := a.Get(v); ok && broken {
			panic("boom")
		}
		return par(T("a"), cairn.Try{Body: T("b"), Finally: mount(T("f"))})
	})
	s := start(t, def)
	s.done("a", 1)
	broken = false
	s.m, s.twin = s.load(def), s.load(def)
	s.running = nil
	s.step(core.Event{Kind: core.RunResumed}, core.Event{Kind: core.CancelAsked})
	s.wants("f")
	s.done("f", 1)
	s.status(core.CancelledRun)
}

func TestCancelOfARunThatBlocksOverIt(t *testing.T) {
	s := run(t, mount(cairn.Try{Body: T("a"), Finally: func(*cairn.View) cairn.Node { panic("boom") }}, T("out")))
	s.cancel()
	s.lose("a", true)
	s.blocked(cairn.RenderPanicked)
	s.fire("#cancel")
	s.status(core.CancelledRun)
}

func TestMigration(t *testing.T) {
	type old struct{ N string }
	type today struct{ N int }
	oldKey, key := cairn.Key[old]("m"), cairn.Key[today]("m")
	before := flow(func(v *cairn.View) cairn.Node { oldKey.Get(v); return seq(T("a"), as[old](T("m")), T("b"), T("out")) })
	s := start(t, before)
	s.done("a", 1)
	s.done("m", old{"5"})
	var got int
	after := func(migrate map[string]cairn.Migration) cairn.Definition {
		return cairn.Workflow[string, int]{Name: "sim", Result: out, Migrations: migrate, Render: func(v *cairn.View, _ string) cairn.Node {
			m, _ := key.Get(v)
			got = m.N
			return seq(T("a"), as[today](T("m")), T("b"), T("out"))
		}}.Define()
	}
	s.restart(after(nil), core.Event{Kind: core.RunResumed})
	s.blocked(cairn.KeyType, "m")
	schemas := ""
	s.restart(after(map[string]cairn.Migration{"m": func(raw json.RawMessage, schema string) (json.RawMessage, error) {
		schemas = schema
		return json.RawMessage(`{"N":5}`), nil
	}}), core.Event{Kind: core.CodeAdopted})
	s.status(core.Running)
	if got != 5 || schemas == "" {
		t.Fatalf("the migrated value is %d, of schema %q", got, schemas)
	}
}

func TestOldOutputThatDoesNotDecodeBlocks(t *testing.T) {
	s := start(t, flow(mount(as[map[string]string](T("m")), T("out"))))
	s.done("m", map[string]string{"n": "five"})
	type m struct {
		N int `json:"n"`
	}
	s.restart(flow(func(v *cairn.View) cairn.Node {
		cairn.Key[m]("m").Get(v)
		return seq(as[m](T("m")), T("out"))
	}), core.Event{Kind: core.CodeAdopted})
	s.blocked(cairn.OutputDecode, "m")
}
