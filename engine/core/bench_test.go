package core_test

import (
	"fmt"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// bench is a run that completes whatever runs, first come first served, in one step each.
type bench struct {
	m       *core.Machine
	running []core.Start
	steps   int
}

func newBench(tb testing.TB, def cairn.Definition) *bench {
	b := &bench{m: core.New(def)}
	b.step(begin)
	if b.m.State().Status != core.Running {
		tb.Fatalf("%s: %v", b.m.State().Status, b.m.State().Block)
	}
	return b
}

func (b *bench) step(events ...core.Event) {
	b.steps++
	for _, c := range b.m.Step(at(epoch), events, true).Commands {
		if c.Kind == core.StartTask {
			b.running = append(b.running, *c.Start)
		}
	}
}

func (b *bench) complete() bool {
	if len(b.running) == 0 {
		return false
	}
	st := b.running[0]
	b.running = b.running[1:]
	b.step(core.Event{Kind: core.TaskDone, Path: st.Path, Attempt: st.Attempt, Output: []byte("1")})
	return true
}

func many(n int) (ns cairn.Nodes) {
	for i := range n {
		ns = append(ns, T(fmt.Sprintf("t%05d", i)))
	}
	return append(ns[:n-1], T("out"))
}

var shapes = map[string]func(n int) cairn.Definition{
	"sequence": func(n int) cairn.Definition {
		return flow(func(*cairn.View) cairn.Node { return cairn.Sequence{Children: many(n)} })
	},
	"loop": func(n int) cairn.Definition {
		return flow(func(*cairn.View) cairn.Node {
			return cairn.Loop{ID: "l", Max: n, OnMax: cairn.ReturnLast, Body: mount(T("out"))}
		})
	},
	"loop after outside": func(n int) cairn.Definition {
		return flow(mount(skipIf(true, T("setup")), cairn.Loop{ID: "l", Max: n, OnMax: cairn.ReturnLast, Body: mount(T("out", "setup"))}))
	},
	"fan-out max 64": func(n int) cairn.Definition {
		return flow(func(*cairn.View) cairn.Node { return cairn.Parallel{Max: 64, Children: many(n)} })
	},
	"foreach": func(n int) cairn.Definition {
		items := make([]string, n)
		for i := range items {
			items[i] = fmt.Sprintf("i%05d", i)
		}
		return flow(func(*cairn.View) cairn.Node {
			return seq(cairn.Parallel{Max: 64, Children: cairn.ForEach(items, func(k string) string { return k }, func(v *cairn.View, _ string) cairn.Node {
				a.Get(v)
				return cairn.Try{Body: T("a"), Finally: mount(T("b"))}
			})}, T("out"))
		})
	},
}

// BenchmarkStep is the cost of one step in runs of 1,000 and 10,000 tasks.
func BenchmarkStep(b *testing.B) {
	for _, name := range []string{"sequence", "loop", "loop after outside", "fan-out max 64", "foreach"} {
		for _, n := range []int{1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				var r *bench
				for b.Loop() {
					if r == nil || !r.complete() {
						b.StopTimer()
						r = newBench(b, shapes[name](n))
						b.StartTimer()
						r.complete()
					}
				}
			})
		}
	}
}

// Nothing per step is proportional to what has been or is still to come. Allocations are counted, not time: time is for
// BenchmarkStep.
func TestStepCostDoesNotGrow(t *testing.T) {
	if testing.Short() {
		t.Skip("builds large trees")
	}
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			cost := func(n int) float64 {
				r := newBench(t, shape(n))
				for range 100 {
					r.complete()
				}
				return testing.AllocsPerRun(400, func() { r.complete() })
			}
			if small, large := cost(1000), cost(10_000); large > 1.3*small {
				t.Fatalf("a step of 1,000 tasks allocates %v times, of 10,000 tasks %v times", small, large)
			}
		})
	}
}
