package core_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/cairnrun/cairn"
)

// keys of the lookup tests.
const (
	a cairn.Key[int] = "a"
	b cairn.Key[int] = "b"
	w cairn.Key[int] = "w"
)

func TestGetLooksOutward(t *testing.T) {
	var at, none string
	s := run(t, mount(T("a"), cairn.Loop{ID: "l", Max: 1, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node {
		return cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node {
			n, ok := a.Get(v)
			at = fmt.Sprint(v.Scope(), n, ok)
			_, ok = w.Get(v)
			none = fmt.Sprint(ok)
			return T("x")
		}}
	}}, cairn.Scope{ID: "other", Body: mount(T("w"))}, T("out")))
	s.done("a", 4)
	if at != "l[0]/s4 true" || none != "false" {
		t.Fatalf("from inside: %s, a key of another scope: %s", at, none)
	}
}

func TestPrev(t *testing.T) {
	var log []string
	s := run(t, mount(cairn.Loop{ID: "o", Max: 2, OnMax: cairn.ReturnLast, Body: mount(
		T("a"), cairn.Loop{ID: "i", Max: 2, OnMax: cairn.ReturnLast, Body: func(v *cairn.View) cairn.Node {
			n := T("w")
			n.input = func(v *cairn.View) string {
				mine, _ := w.Prev(v)   // one iteration of i before
				outer, ok := a.Prev(v) // there is no a in an iteration of i, nor one before
				log = append(log, fmt.Sprintf("%s %d %d %t", v.Scope(), mine, outer, ok))
				return ""
			}
			return cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node { return n }}
		}},
		cairn.Scope{ID: "t", Body: func(v *cairn.View) cairn.Node {
			n := T("b")
			n.input = func(v *cairn.View) string {
				mine, ok := b.Prev(v)
				around, ok2 := a.Prev(v)
				log = append(log, fmt.Sprintf("%s %d %t %d %t", v.Scope(), mine, ok, around, ok2))
				return ""
			}
			return n
		}})}, T("out")))
	s.twin, log = nil, nil
	for _, step := range []struct {
		path  string
		value int
	}{{"o[0]/a", 1}, {"o[0]/i[0]/s/w", 2}, {"o[0]/i[1]/s/w", 3}, {"o[0]/t/b", 4}, {"o[1]/a", 5}, {"o[1]/i[0]/s/w", 6}, {"o[1]/i[1]/s/w", 7}, {"o[1]/t/b", 8}} {
		s.done(step.path, step.value)
	}
	want := []string{"o[0]/i[0]/s 0 0 false", "o[0]/i[1]/s 2 0 false", "o[0]/t 0 false 0 false", "o[1]/i[0]/s 0 0 false", "o[1]/i[1]/s 6 0 false", "o[1]/t 4 true 1 true"}
	if !slices.Equal(log, want) {
		t.Fatalf("got  %q\nwant %q", log, want)
	}
}

func TestLatestAllAt(t *testing.T) {
	var at0, at1, atNone, latest int
	var all []string
	s := run(t, func(v *cairn.View) cairn.Node {
		all = nil
		for i, n := range w.All(v) {
			all = append(all, fmt.Sprint(i, ":", n))
		}
		latest, _ = w.Latest(v)
		at0, _ = w.At(v, 0)
		at1, _ = w.At(v, 1)
		atNone, _ = w.At(v, 7)
		return seq(cairn.Loop{ID: "o", Max: 2, OnMax: cairn.ReturnLast, Body: mount(
			cairn.Loop{ID: "i", Max: 2, OnMax: cairn.ReturnLast, Body: mount(optional(T("w")))})},
			cairn.Scope{ID: "s", Body: func(v *cairn.View) cairn.Node {
				if _, ok := w.Latest(v); ok {
					panic("Latest looks at its own scope, not outward")
				}
				return cairn.Loop{ID: "o", Max: 1, OnMax: cairn.ReturnLast, Body: mount(T("w2"))}
			}}, T("out"))
	})
	s.done("o[0]/i[0]/w", 10)
	s.done("o[0]/i[1]/w", 20)
	s.fail("o[1]/i[0]/w", "X") // has no value
	s.done("o[1]/i[1]/w", 40)
	s.done("s/o[0]/w2", 99)
	if !slices.Equal(all, []string{"0:10", "0:20", "1:40"}) || latest != 40 || at0 != 20 || at1 != 40 || atNone != 0 {
		t.Fatalf("all %v, latest %d, at 0 %d, at 1 %d, at 7 %d", all, latest, at0, at1, atNone)
	}
	s.done("out", 1)
	s.finished(1)
}

func TestLatestDoesNotLookIntoScopes(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		if _, ok := w.Latest(v); ok {
			panic("Latest looked into a Scope")
		}
		for range w.All(v) {
			panic("All looked into a Scope")
		}
		return seq(cairn.Scope{ID: "s", Body: mount(cairn.Loop{ID: "l", Max: 1, OnMax: cairn.ReturnLast, Body: mount(T("w"))})}, T("out"))
	})
	s.done("s/l[0]/w", 1)
	s.wants("out")
}

// TestAllKeepsItsOrder when several values come in one frame, and when the state has gone through JSON.
func TestAllKeepsItsOrder(t *testing.T) {
	var all []int
	s := run(t, func(v *cairn.View) cairn.Node {
		all = nil
		for _, n := range w.All(v) {
			all = append(all, n)
		}
		loop := func(id string) cairn.Node {
			return cairn.Loop{ID: id, Max: 1, OnMax: cairn.ReturnLast, Body: mount(T("w"))}
		}
		return seq(par(loop("l1"), loop("l2"), loop("l10")), T("out"))
	})
	s.step(s.doneEvent("l2[0]/w", 2), s.doneEvent("l10[0]/w", 10), s.doneEvent("l1[0]/w", 1))
	want := fmt.Sprint(all)
	s.resume(s.def)
	if fmt.Sprint(all) != want || len(all) != 3 {
		t.Fatalf("in the making %v, folded %v", want, all)
	}
}

func TestOutcome(t *testing.T) {
	var o []cairn.Status
	s := run(t, func(v *cairn.View) cairn.Node {
		o = nil
		for _, key := range []cairn.Key[int]{"a", "b", "c", "d"} {
			got := key.Outcome(v)
			o = append(o, got.Status)
			if got.Status == cairn.Done && got.Value != 7 {
				panic(got.Value)
			}
		}
		return seq(par(T("a"), optional(T("b")), skipIf(true, T("c")), retry(2, T("d"))), T("out"))
	})
	s.done("a", 7)
	s.fail("b", "X")
	s.fail("d", "X")
	if want := []cairn.Status{cairn.Done, cairn.Failed, cairn.Skipped, cairn.Pending}; !slices.Equal(o, want) {
		t.Fatalf("outcomes %v, want %v", o, want)
	}
}

func TestReadingAsAnotherTypeBlocks(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node {
		if _, ok := a.Get(v); ok {
			cairn.Key[string]("a").Get(v)
		}
		return seq(T("a"), T("out"))
	})
	s.done("a", 1)
	s.blocked(cairn.KeyType, "a", "string")
	s.resume(flow(mount(T("a"), T("out"))))
	s.wants("out")
}

func TestMustOnAMissingKeyBlocks(t *testing.T) {
	s := run(t, func(v *cairn.View) cairn.Node { w.Must(v); return T("out") })
	s.blocked(cairn.KeyMissing, "w")

	n := T("out")
	n.input = func(v *cairn.View) string { return fmt.Sprint(w.Must(v)) }
	s = run(t, mount(n))
	s.blocked(cairn.KeyMissing, "w")
	if s.m.State().Tasks["out"] != nil {
		t.Fatal("the task was started without its prompt")
	}
}

// TestValuesAreDecodedAnew: nothing that one read returns can change what another one does.
func TestValuesAreDecodedAnew(t *testing.T) {
	list := cairn.Key[[]int]("list")
	s := run(t, func(v *cairn.View) cairn.Node {
		for range 2 {
			if l, ok := list.Get(v); ok {
				if l[0] != 1 {
					panic("a read was changed by another")
				}
				l[0] = 99
			}
		}
		return seq(as[[]int](T("list")), T("x"), T("out"))
	})
	s.done("list", []int{1, 2})
	s.done("x", 1)
	s.wants("out")
}

func TestViewIsOverAfterItsCall(t *testing.T) {
	uses := map[string]func(v *cairn.View){
		"Get":     func(v *cairn.View) { a.Get(v) },
		"Prev":    func(v *cairn.View) { a.Prev(v) },
		"Latest":  func(v *cairn.View) { a.Latest(v) },
		"Outcome": func(v *cairn.View) { a.Outcome(v) },
		"Now":     func(v *cairn.View) { v.Now() },
		"Run":     func(v *cairn.View) { v.Run() },
		"Loop":    func(v *cairn.View) { v.Loop("l") },
		"Patched": func(v *cairn.View) { v.Patched("p") },
		"Rand":    func(v *cairn.View) { v.Rand("x") },
		"In":      func(v *cairn.View) { a.Get(v.In("s")) },
	}
	for name, use := range uses {
		var kept *cairn.View
		run(t, func(v *cairn.View) cairn.Node { kept = v; return T("out") })
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s on a View that is over says nothing", name)
				}
			}()
			use(kept)
		}()
	}
	var kept *cairn.View
	s := run(t, func(v *cairn.View) cairn.Node {
		kept = v
		return cairn.Scope{ID: "s", Body: func(*cairn.View) cairn.Node { a.Get(kept); return T("out") }}
	})
	s.blocked(cairn.RenderPanicked, "View")
}

func TestRandIsSeeded(t *testing.T) {
	seen := map[string]bool{}
	s := run(t, func(v *cairn.View) cairn.Node {
		seen[fmt.Sprint(v.Rand("x").Uint64(), v.Rand("y").Uint64())] = true
		a.Get(v)
		return seq(T("a"), T("out"))
	})
	s.done("a", 1)
	s.resume(s.def)
	if len(seen) != 1 {
		t.Fatalf("one run and name, several numbers: %v", seen)
	}
	for k := range seen {
		var x, y uint64
		if fmt.Sscan(k, &x, &y); x == y {
			t.Fatal("two names, the same numbers")
		}
	}
}
