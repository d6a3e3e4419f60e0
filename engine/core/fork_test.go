package core_test

import (
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// A names an agent's task of the simulation, F one that forks a key.
func A(id string) node               { n := T(id); n.agent = true; return n }
func F(id, key string) node          { n := T(id); n.fork = key; return n }
func cached(e core.Event) core.Event { e.Cached = true; return e }

func (s *sim) forks(path, source, wrong string) {
	s.t.Helper()
	f := s.attempt(path).Fork
	if f == nil || f.Path != source || f.Wrong != wrong {
		s.t.Fatalf("%s forks %+v, want %s %q", path, f, source, wrong)
	}
}

func TestForkWaitsAndIsFrozen(t *testing.T) {
	s := run(t, mount(par(A("a"), retry(3, F("b", "a")), F("c", "a"), F("d", "b")), T("out")))
	s.wants("a")
	s.done("a", 1)
	s.wants("b", "c")
	s.forks("b", "a", "")
	s.forks("c", "a", "")
	s.fail("b", "X")
	s.fire("b")
	s.forks("b", "a", "")
	s.resume(s.def)
	s.forks("b", "a", "")
	if got := s.fold.Tasks["c"].Fork; got != "a" {
		t.Fatalf("forgot the source: %q", got)
	}
}

// TestForkIsLookedUpOutwards: an inner scope's own before one around it, and in loops the latest finished.
func TestForkIsLookedUpOutwards(t *testing.T) {
	body := func(v *cairn.View) cairn.Node {
		inner := F("inner", "a")
		var again cairn.Node
		if v.Iteration() > 0 {
			again = F("step", "step")
		} else {
			again = A("step")
		}
		return seq(again, cairn.Scope{ID: "s", Body: mount(F("deep", "step"), inner)})
	}
	s := run(t, mount(A("a"), par(
		cairn.Loop{ID: "l", Max: 2, OnMax: cairn.ReturnLast, Body: body},
		F("after", "step")), F("last", "after"), T("out")))
	s.done("a", 1)
	s.wants("l[0]/step") // "after" waits for the whole loop
	s.done("l[0]/step", 1)
	s.wants("l[0]/s/deep")
	s.forks("l[0]/s/deep", "l[0]/step", "")
	s.done("l[0]/s/deep", 1)
	s.forks("l[0]/s/inner", "a", "")
	s.done("l[0]/s/inner", 1)
	s.forks("l[1]/step", "l[0]/step", "")
	s.done("l[1]/step", 1)
	s.forks("l[1]/s/deep", "l[1]/step", "")
	s.all("l[1]/s/deep", "l[1]/s/inner")
	s.wants("after")
	s.forks("after", "l[1]/step", "")
	s.done("after", 1)
	s.forks("last", "after", "")
}

func TestForkOfWhatHasNoConversation(t *testing.T) {
	for want, c := range map[string]struct {
		source cairn.Node
		end    func(s *sim)
	}{
		"has failed with X": {optional(A("a")), func(s *sim) { s.fail("a", "X") }},
		"was skipped":       {skipIf(true, A("a")), func(*sim) {}},
		"was not run: its output was taken from the cache": {A("a"), func(s *sim) { s.step(cached(s.doneEvent("a", 1))) }},
		"has not finished": {cairn.Branch{If: false, Then: A("a")}, func(*sim) {}},
	} {
		s := run(t, mount(c.source, F("b", "a"), T("out")))
		c.end(s)
		s.forks("b", "a", want)
	}
}

// TestWrongForksAreMistakes: what the tree says already is refused before anything runs.
func TestWrongForksAreMistakes(t *testing.T) {
	scope := cairn.Scope{ID: "s", Body: mount(A("a"))}
	for want, tree := range map[string]cairn.Node{
		`it forks "nope"`:         seq(F("b", "nope")),
		"no task of an agent":     seq(T("a"), F("b", "a")),
		"is a scope":              seq(scope, F("b", "s")),
		`it forks "a"`:            seq(scope, F("b", "a")), // nobody looks into a scope
		`it forks "b"`:            seq(F("b", "b")),
		"comes after them":        seq(F("b", "a"), A("a")),
		"nothing of it can start": par(F("b", "c"), F("c", "b")),
	} {
		s := run(t, mount(tree, T("out")))
		s.blocked(cairn.InvalidTree, want)
	}
}

// TestForkWaitsForLoopsThatHaveTheSource: what a fork waits for follows from what is mounted.
func TestForkWaitsForLoopsThatHaveTheSource(t *testing.T) {
	gone := func(v *cairn.View) cairn.Node {
		if _, ok := cairn.Key[int]("stop").Get(v); ok {
			return T("y")
		}
		return seq(A("a"), T("y"))
	}
	s := run(t, mount(par(T("stop"),
		cairn.Loop{ID: "l", Max: 1, OnMax: cairn.ReturnLast, Body: mount(A("a"))},
		cairn.Loop{ID: "m", Max: 1, OnMax: cairn.ReturnLast, Body: gone},
		F("b", "a")), T("out")))
	s.wants("stop", "l[0]/a", "m[0]/a")
	s.done("l[0]/a", 1)
	s.wants("stop", "m[0]/a")
	s.done("stop", 1) // the other loop has none any more
	s.forks("b", "l[0]/a", "")
}
