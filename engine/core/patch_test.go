package core_test

import (
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// versions is a workflow before and after a change: the new one does more, where Patched says so.
func versions(render func(v *cairn.View, extra func(v *cairn.View) cairn.Node) cairn.Node) (old, patched cairn.Definition) {
	old = flow(func(v *cairn.View) cairn.Node { return render(v, func(*cairn.View) cairn.Node { return nil }) })
	patched = flow(func(v *cairn.View) cairn.Node {
		return render(v, func(v *cairn.View) cairn.Node {
			if v.Patched("extra") {
				return T("extra")
			}
			return nil
		})
	})
	return old, patched
}

func TestPatchedIsTrueForNewRunsAndFalseForOld(t *testing.T) {
	old, patched := versions(func(v *cairn.View, extra func(v *cairn.View) cairn.Node) cairn.Node {
		return seq(T("a"), extra(v), T("out"))
	})
	s := start(t, patched)
	s.done("a", 1)
	s.wants("extra")

	s = start(t, old)
	s.resume(patched)
	s.status(core.Running)
	if len(s.last.Frame.Decisions) == 0 || s.last.Frame.Decisions[0].Kind != core.Patched || s.last.Frame.Decisions[0].Yes {
		t.Fatalf("the decision is not in the frame: %s", s.last.Body)
	}
	s.done("a", 1)
	s.wants("out")
	s.resume(patched)
	s.wants("out")
}

func TestPatchedIsDecidedPerIteration(t *testing.T) {
	old, patched := versions(func(v *cairn.View, extra func(v *cairn.View) cairn.Node) cairn.Node {
		return cairn.Loop{ID: "l", Max: 3, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node { return seq(T("out"), extra(v)) }}
	})
	s := start(t, old)
	s.done("l[0]/out", 1)
	s.resume(patched)
	s.done("l[1]/out", 1) // was rendered without
	s.wants("l[2]/out")
	s.done("l[2]/out", 1)
	s.wants("l[2]/extra")
	s.resume(patched)
	s.done("l[2]/extra", 1)
	s.finished(1)
}

// TestPatchedAfterABlock: code that never came to render an iteration cannot have rendered it without the patch.
func TestPatchedSurvivesAPanic(t *testing.T) {
	broken := true
	s := run(t, func(v *cairn.View) cairn.Node {
		yes := v.Patched("p")
		if broken {
			panic("boom")
		}
		if yes {
			return seq(T("new"), T("out"))
		}
		return T("out")
	})
	s.blocked(cairn.RenderPanicked)
	broken = false
	s.resume(s.def)
	s.wants("new")
}

// withMore is a changed workflow without a patch.
func withMore(more ...cairn.Node) cairn.Definition {
	return flow(mount(append([]cairn.Node{T("a")}, append(more, T("out"))...)...))
}

func TestChangedCodeBlocks(t *testing.T) {
	s := start(t, withMore())
	s.done("a", 1)
	changed := withMore(T("b"))
	m := s.load(changed)
	d := m.Verify()
	if d == nil || d.Frame != 2 || d.Want != s.m.State().Structure || d.Got == d.Want {
		t.Fatalf("divergence %+v", d)
	}
	var today []string
	for _, l := range d.Today {
		today = append(today, l.Path)
	}
	if strings.Join(today, " ") != "a b out" {
		t.Fatalf("today's plan is %v", today)
	}
	s.resume(changed)
	s.blocked(cairn.CodeChanged, "frame 2")
	s.wants()
	// What arrives meanwhile is kept, and code that renders what was goes on.
	s.resume(withMore())
	s.wants("out")
	s.done("out", 1)
	s.finished(1)
}

func TestChangedCodeBlocksWithoutVerify(t *testing.T) {
	s := start(t, withMore())
	s.def, s.m, s.twin = withMore(T("b")), s.load(withMore(T("b"))), nil
	s.done("a", 1)
	s.blocked(cairn.CodeChanged)
	if s.m.State().Tasks["a"].Status != core.TaskFinished {
		t.Fatal("the result that arrived was not kept")
	}
}

// TestVerifyLeavesNoTrace: asking a machine whether it agrees must not change its state.
func TestVerifyLeavesNoTrace(t *testing.T) {
	s := start(t, withMore())
	m := s.load(flow(func(v *cairn.View) cairn.Node { v.Patched("p"); return seq(T("other"), T("out")) }))
	if m.Verify() == nil {
		t.Fatal("no divergence")
	}
	s.m = m
	s.check()
}

func TestWhatIsNoDivergence(t *testing.T) {
	s := start(t, withMore())
	n := T("a")
	n.policy.Priority, n.policy.Retry.Max = 3, 9
	n.skip = func(*cairn.View) bool { return false }
	drifted := flow(mount(n, T("out")))
	s.resume(drifted)
	s.status(core.Running)
	if s.last.Frame.Policy == "" || s.last.Frame.Structure != "" {
		t.Fatalf("a changed policy is told by its hash alone: %s", s.last.Body)
	}
}

func TestWhatIsADivergence(t *testing.T) {
	base := func() cairn.Definition { return flow(mount(par(T("a"), T("b")), T("out"))) }
	for name, def := range map[string]cairn.Definition{
		"another type":    flow(mount(par(as[string](T("a")), T("b")), T("out"))),
		"another order":   flow(mount(seq(T("a"), T("b")), T("out"))),
		"another edge":    flow(mount(par(T("a"), T("b", "a")), T("out"))),
		"a node less":     flow(mount(T("a"), T("out"))),
		"another kind":    flow(mount(par(cairn.Scope{ID: "a", Body: mount()}, T("b")), T("out"))),
		"a Try more":      flow(mount(cairn.Try{Body: par(T("a"), T("b"))}, T("out"))),
		"not taken":       flow(mount(par(T("a"), cairn.Branch{Else: nil, Then: T("b")}), T("out"))),
		"it panics":       flow(func(*cairn.View) cairn.Node { panic("boom") }),
		"it has mistakes": flow(mount(par(T("a"), T("b"), T("b")), T("out"))),
	} {
		s := start(t, base())
		if s.load(base()).Verify() != nil {
			t.Fatal("the code agrees with itself")
		}
		if s.load(def).Verify() == nil {
			t.Errorf("%s is no divergence", name)
		}
	}
	s := start(t, base())
	if d := s.load(flow(func(*cairn.View) cairn.Node { panic("boom") })).Verify(); d.Failure == nil || d.Failure.Code != cairn.RenderPanicked {
		t.Fatalf("%+v", d)
	}
	if d := s.load(flow(mount(seq(par(T("a"), seq(T("b")))), T("out")))).Verify(); d != nil {
		t.Fatal("groups that change nothing are no divergence")
	}
}

func TestAdopt(t *testing.T) {
	s := start(t, withMore(T("x")))
	s.done("a", 1)
	s.wants("x")
	changed := withMore(T("b"))
	s.restart(changed, core.Event{Kind: core.CodeAdopted})
	s.status(core.Running)
	if !s.last.Frame.Plan.Full {
		t.Fatalf("the frame has not the whole plan: %s", s.last.Body)
	}
	s.wants("b")
	lines := core.Lines{}
	for _, body := range s.bodies {
		f, _ := core.Decode(body)
		lines.Fold(f.Plan)
	}
	if lines.Digest() != s.m.State().Structure || len(lines) != 3 {
		t.Fatalf("lines %v", lines)
	}
	s.resume(changed)
	s.status(core.Running)
	s.all("b", "out")
	s.finished(1)
}

func TestAdoptLosesAndUnmountsWhatRuns(t *testing.T) {
	s := start(t, withMore(T("x")))
	s.done("a", 1)
	s.twin = nil
	s.step(core.Event{Kind: core.PauseAsked})
	s.restart(withMore(T("b")), core.Event{Kind: core.CodeAdopted})
	if x := s.m.State().Tasks["x"]; x.Status != core.TaskCancelled {
		t.Fatalf("a task of the old code is %s", x.Status)
	}
}

func TestAdoptedOutputsMayHaveAnotherSchema(t *testing.T) {
	s := start(t, flow(mount(as[map[string]int](T("m")), T("out"))))
	s.done("m", map[string]int{"n": 3})
	var got int
	changed := func() cairn.Definition {
		return flow(func(v *cairn.View) cairn.Node {
			type m struct {
				N int `json:"n"`
			}
			x, _ := cairn.Key[m]("m").Get(v)
			got = x.N
			return seq(as[m](T("m")), T("out"))
		})
	}
	s.resume(changed())
	s.blocked(cairn.KeyType, "m")
	s.restart(changed(), core.Event{Kind: core.CodeAdopted})
	s.wants("out")
	if got != 3 {
		t.Fatalf("read %d", got)
	}
}
