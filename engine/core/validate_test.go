package core_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
)

func TestDuplicatePathsNameBoth(t *testing.T) {
	run(t, mount(T("x"), cairn.Scope{ID: "x", Body: mount()}, T("out"))).blocked(cairn.InvalidTree, "x", "a task and a scope", "two nodes on one path")
	run(t, mount(cairn.Loop{ID: "l", Body: mount(T("y"), T("y"))}, T("out"))).blocked(cairn.InvalidTree, "l[0]/y", "a task and a task")
	run(t, mount(cairn.Branch{If: true, Then: T("y"), Else: T("y")}, T("out"))).blocked(cairn.InvalidTree, "y")
}

func TestUnnamedTries(t *testing.T) {
	try := cairn.Try{Body: T("a")}
	other := cairn.Try{Body: T("b")}
	run(t, mount(try, other, T("out"))).blocked(cairn.InvalidTree, "#try", "give one of them another ID")
	other.ID = "other"
	run(t, mount(try, other, T("out"))).wants("a")
	run(t, mount(try, cairn.Scope{ID: "s", Body: mount(cairn.Try{Body: T("b")})}, T("out"))).wants("a")
	run(t, mount(cairn.Try{ID: "a", Body: T("a")}, T("out"))).wants("a") // its address is outside of task paths
}

func TestKeyWithTwoTypes(t *testing.T) {
	s := run(t, mount(T("k"), cairn.Scope{ID: "s", Body: mount(as[string](T("k2")))}, cairn.Scope{ID: "t", Body: mount(T("k2"))}, T("out")))
	s.blocked(cairn.KeyType, `"k2"`, "s/k2", "t/k2")
	run(t, mount(as[string](T("out")))).blocked(cairn.KeyType, `"out"`, "result")
	run(t, mount(as[string](T("out")), cairn.Scope{ID: "s", Body: mount(T("out"))})).blocked(cairn.KeyType)
}

// TestKeyMayChangeItsTypeWithTheTree: only what is mounted at once is compared, or a plan made anew would accept what one
// that was kept does not.
func TestKeyMayChangeItsTypeWithTheTree(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		if _, ok := a.Get(v); ok {
			return seq(T("a"), cairn.Scope{ID: "s", Body: mount(as[string](T("k")))}, T("out"))
		}
		return seq(T("a"), cairn.Scope{ID: "s", Body: mount(T("k"))}, T("out"))
	})
	s.done("a", 1)
	s.wants("s/k")
}

func TestShadowedKeys(t *testing.T) {
	run(t, mount(T("x"), cairn.Scope{ID: "s", Body: mount(cairn.Loop{ID: "l", Body: mount(T("x"))})}, T("out"))).blocked(cairn.InvalidTree, "s/l[0]/x", "at x")
	run(t, mount(cairn.Scope{ID: "s", Body: mount(T("x"))}, cairn.Scope{ID: "t", Body: mount(T("x"))}, T("out"))).wants("s/x") // two chains
}

// TestShadowsOfWhatMountsLater: a Catch mounts beside scopes that are not rendered anew.
func TestShadowsOfWhatMountsLater(t *testing.T) {
	s := run(t, mount(cairn.Scope{ID: "s", Body: mount(T("x"))}, cairn.Try{Body: T("a"), Catch: catch("x")}, T("out")))
	s.done("s/x", 1)
	s.fail("a", "X")
	s.blocked(cairn.InvalidTree, "s/x", "at x")
}

func TestNames(t *testing.T) {
	for _, id := range []string{"", "a/b", "a[0]", "a]", "#a", "a\nb", "\xff", strings.Repeat("x", 300)} {
		for kind, n := range map[string]cairn.Node{
			"task":  T(id),
			"scope": cairn.Scope{ID: id, Body: mount()},
			"loop":  cairn.Loop{ID: id, Body: mount()},
			"try":   cairn.Try{ID: id, Body: T("a")},
		} {
			if kind == "try" && id == "" {
				continue
			}
			run(t, mount(n, T("out"))).blocked(cairn.InvalidTree, "a "+kind)
		}
	}
}

func TestAllMistakesAreReportedTogether(t *testing.T) {
	bad := T("bad")
	bad.mistakes = []error{errors.New("first of its own"), errors.New("second of its own")}
	s := run(t, mount(T("a/b"), T("x"), T("x"), T("y", "nope"), bad,
		cairn.Loop{ID: "l", Max: -3, Body: mount(as[string](T("k")))}, cairn.Scope{ID: "s", Body: mount(T("k"), T("x"))},
		cairn.Parallel{Max: -1}, cairn.Scope{ID: "e"}, T("out")))
	s.blocked(cairn.InvalidTree, `"a/b"`, "two nodes on one path", `After "nope"`, "first of its own", "second of its own", "Max -3", `"k"`, "s/x", "Max -1", "without a Body")
	if text := s.m.State().Block.Message; strings.Count(text, "two nodes") != 1 || !strings.Contains(text, "mistake(s)") {
		t.Fatalf("causes only, each once: %s", text)
	}
	s.wants() // nothing of it has started
}

func TestMistakeLaterBlocks(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		var twice cairn.Node
		if _, ok := a.Get(v); ok {
			twice = T("b")
		}
		return seq(par(T("a"), T("c")), T("b"), twice, T("out"))
	})
	e := s.doneEvent("c", 3)
	s.step(s.doneEvent("a", 1), e)
	s.blocked(cairn.InvalidTree, "b")
	if string(s.m.State().Tasks["c"].Output) != "3" {
		t.Fatal("a result that came with the mistake is lost")
	}
}

func TestPolicyThatCannotBeStored(t *testing.T) {
	n := T("out")
	n.policy.Retry.Factor = math.NaN()
	run(t, mount(n)).blocked(cairn.InvalidTree, "out", "NaN")
}

func TestInputThatIsNotJSON(t *testing.T) {
	n := T("out")
	n.input = func(*cairn.View) string { panic("no prompt") }
	run(t, mount(n)).blocked(cairn.RenderPanicked, "no prompt")
	run(t, mount(badInput{T("out")})).blocked(cairn.PromptFailed, "out", "not JSON")
}

// badInput is a task whose input is no JSON.
type badInput struct{ node }

func (n badInput) Lower() cairn.Spec {
	s := n.node.Lower()
	s.Task.Input = func(*cairn.View) (json.RawMessage, error) { return []byte("{"), nil }
	return s
}

// custom is a node from outside of the module.
type custom struct{ spec cairn.Spec }

func (c custom) Lower() cairn.Spec { return c.spec }

func TestNodesFromOutside(t *testing.T) {
	for _, spec := range []cairn.Spec{
		{Kind: "nonsense"}, {}, {Kind: cairn.KindTask, ID: "x"}, {Kind: cairn.KindTask, ID: "x", Task: &cairn.TaskSpec{}},
		{Kind: cairn.KindBranch}, {Kind: cairn.KindLoop, ID: "x"}, {Kind: cairn.KindTry}, {Kind: cairn.KindScope, ID: "x"},
	} {
		run(t, mount(custom{spec}, T("out"))).blocked(cairn.InvalidTree)
	}
	run(t, mount(custom{cairn.Spec{Kind: cairn.KindParallel, Children: cairn.Nodes{T("a")}}}, T("out"))).wants("a")
}

// TestEndlessTree: a component that mounts itself is told so.
func TestEndlessTree(t *testing.T) {
	var body renderFunc
	body = func(*cairn.View) cairn.Node { return cairn.Scope{ID: "s", Body: body} }
	run(t, body).blocked(cairn.RenderPanicked, "deep")
}
