package core_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

var update = flag.Bool("update", false, "write the golden traces anew")

// scenarios are runs whose frames are kept as text: a change of what they say is a change of the engine's behaviour.
var scenarios = map[string]func(t *testing.T) *sim{
	"sequence": func(t *testing.T) *sim {
		s := run(t, mount(T("a"), par(T("b"), retry(3, T("c"))), T("out")))
		s.done("a", 1)
		s.step(s.doneEvent("b", 2), s.failEvent("c", "FLAKY"))
		s.fire("c")
		s.all("c", "out")
		return s
	},
	"loop": func(t *testing.T) *sim {
		s := run(t, mount(cairn.Loop{ID: "work", Max: 3, Until: atLeast(2), Body: func(v *cairn.View) cairn.Node {
			n := T("out")
			n.input = func(v *cairn.View) string { last, ok := out.Prev(v); return fmt.Sprint("last: ", last, ok) }
			return n
		}}))
		s.done("work[0]/out", 1)
		s.done("work[1]/out", 2)
		return s
	},
	"try": func(t *testing.T) *sim {
		s := run(t, mount(cairn.Try{Body: par(T("a"), T("b"), seq(T("c"), T("d"))), Only: cairn.Codes{"X"}, Catch: catch("catch"), Finally: mount(T("finally"))}, T("out")))
		s.step(s.doneEvent("c", 1), s.failEvent("a", "X"))
		s.lose("b", true)
		s.fail("catch", "Y")
		s.done("finally", 1)
		return s
	},
	"cancel": func(t *testing.T) *sim {
		s := run(t, mount(par(T("a"), cairn.Try{Body: T("b"), Finally: mount(T("f"))}), T("out")))
		s.step(core.Event{Kind: core.PauseAsked, Seq: 1})
		s.step(core.Event{Kind: core.CancelAsked, Name: "changed my mind", Seq: 2})
		s.lose("b", true)
		s.done("a", 1)
		s.fire("#cancel")
		s.lose("f", true)
		return s
	},
	"unmount": func(t *testing.T) *sim {
		s := run(t, switched(seq(T("a"), T("b")), cairn.Branch{If: true, Then: skipIf(true, T("x")), Else: T("y")}))
		s.done("l[0]/n", 1)
		s.done("a", 5)
		s.step(s.doneEvent("l[1]/n", -1), s.doneEvent("out", 3))
		return s
	},
	"kill": func(t *testing.T) *sim {
		broken := false
		def := flow(func(v *cairn.View) cairn.Node {
			if _, ok := a.Get(v); ok && broken {
				w.Must(v) // blocks with no stack, which would differ from machine to machine
			}
			return par(T("a"), T("b"), T("out"))
		})
		s := start(t, def)
		s.resume(def)
		broken = true
		s.step(s.doneEvent("a", 1))
		s.lose("b", false)
		broken = false
		s.resume(def)
		s.all("b", "out")
		return s
	},
	"handoff": func(t *testing.T) *sim {
		s := run(t, mount(T("plan"), cairn.Try{Body: par(T("a"), T("b")), Catch: func(*cairn.View, cairn.Failure) cairn.Node {
			return seq(T("distil"), handsOn{state: 7, keep: []string{"plan"}})
		}, Finally: mount(T("finally"))}, T("out")))
		s.done("plan", 1)
		s.step(s.failEvent("a", cairn.BudgetExceeded), s.doneEvent("b", 1))
		s.all("distil", "finally")
		s.succeed("run.2")
		return s
	},
	"handed": func(t *testing.T) *sim {
		s := run(t, mount(cairn.Loop{ID: "l", Max: 4, OnMax: cairn.ReturnLast, HandoffEvery: 2, Body: func(*cairn.View) cairn.Node { return T("in") }}, T("out")))
		s.all("l[0]/in", "l[1]/in")
		s = s.succeed("run.2")
		s.all("l[2]/in", "l[3]/in", "out")
		return s
	},
	"changed": func(t *testing.T) *sim {
		s := start(t, withMore(T("x")))
		s.done("a", 1)
		s.resume(withMore(T("b")))
		s.restart(withMore(T("b")), core.Event{Kind: core.CodeAdopted})
		s.all("b", "out")
		return s
	},
}

func TestGoldenTraces(t *testing.T) {
	for name, scenario := range scenarios {
		t.Run(name, func(t *testing.T) {
			s := scenario(t)
			if !s.m.State().Status.Terminal() {
				t.Fatalf("the scenario does not end: %s", s.m.State().Status)
			}
			file := filepath.Join("testdata", "traces", name+".txt")
			got := trace(t, s.bodies)
			if *update {
				if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; make it with -update", err)
			}
			if got != string(want) {
				t.Errorf("the trace has changed; look at it, then write it with -update:\n%s", diffLines(string(want), got))
			}
		})
	}
}

// traces are the frames of all scenarios, as they are stored: seeds for fuzzing.
func traces(f *testing.F) (bodies [][]byte) {
	files, err := filepath.Glob("testdata/traces/*.txt")
	if err != nil || len(files) == 0 {
		f.Fatalf("no traces: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			if raw, ok := bytes.CutPrefix(bytes.TrimSpace(line), []byte("= ")); ok {
				bodies = append(bodies, bytes.Clone(raw))
			}
		}
	}
	return bodies
}

// trace is frames as text: what happened (<), what was decided (>), how the plan changed (+ -), and the bytes (=).
func trace(t *testing.T, bodies [][]byte) string {
	var b strings.Builder
	for _, body := range bodies {
		f, err := core.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "frame %d at %+d ms", f.N, f.Time-epoch)
		if f.Unrendered {
			b.WriteString(", unrendered")
		}
		b.WriteString("\n")
		for _, e := range f.Events {
			fmt.Fprintf(&b, "  < %s %s", e.Kind, e.Path)
			if e.Attempt > 0 {
				fmt.Fprintf(&b, "@%d", e.Attempt)
			}
			for _, s := range []string{string(e.Output), e.Name, map[bool]string{true: "gracefully"}[e.Graceful]} {
				if s != "" {
					fmt.Fprintf(&b, " %s", s)
				}
			}
			if e.Failure != nil {
				fmt.Fprintf(&b, ": %v", e.Failure)
			}
			b.WriteString("\n")
		}
		for _, d := range f.Decisions {
			fmt.Fprintf(&b, "  > %v", d)
			if d.At > 0 {
				fmt.Fprintf(&b, " at %+d ms", d.At-epoch)
			}
			if d.Input != nil {
				fmt.Fprintf(&b, " input %s", d.Input)
			}
			b.WriteString("\n")
		}
		if f.Plan.Full {
			b.WriteString("  the whole plan:\n")
		}
		for _, l := range f.Plan.Set {
			l.Schema = ""
			fmt.Fprintf(&b, "  + %v\n", l)
		}
		for _, path := range f.Plan.Gone {
			fmt.Fprintf(&b, "  - %s\n", path)
		}
		fmt.Fprintf(&b, "  = %s\n", body)
	}
	return b.String()
}

// diffLines shows where two texts part.
func diffLines(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range min(len(w), len(g)) {
		if w[i] != g[i] {
			return fmt.Sprintf("line %d\n- %s\n+ %s", i+1, w[i], g[i])
		}
	}
	return fmt.Sprintf("%d lines, were %d", len(g), len(w))
}
