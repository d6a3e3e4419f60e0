package core_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/schema"
)

var updateDrawings = flag.Bool("update-drawings", false, "rewrite the golden drawings")

// leaf is a task that is never executed: these tests say how attempts end.
type leaf struct {
	id     string
	after  []string
	policy cairn.Policy
	skip   bool
}

func (l leaf) Lower() cairn.Spec {
	s, err := schema.Of(reflect.TypeFor[int]())
	if err != nil {
		panic(err)
	}
	t := &cairn.TaskSpec{SchemaHash: s.Hash, After: l.after, Policy: l.policy,
		Run: func(context.Context, *cairn.Call) (cairn.Result, error) {
			return cairn.Result{}, errors.New("never called")
		}}
	if l.skip {
		t.SkipIf = func(*cairn.View) bool { return true }
	}
	return cairn.Spec{Kind: cairn.KindTask, ID: l.id, Task: t}
}

// play steps a machine by hand, at a time of its own.
type play struct {
	t   *testing.T
	m   *core.Machine
	now time.Time
	// running is the attempt of each task that runs.
	running map[string]int
}

func newPlay(t *testing.T, limit int, render func(v *cairn.View) cairn.Node) *play {
	t.Helper()
	def := cairn.Workflow[string, int]{Name: "drawn", Result: "end", Render: func(v *cairn.View, _ string) cairn.Node { return render(v) }}.Define()
	p := &play{t: t, m: core.New(def), now: time.UnixMilli(0), running: map[string]int{}}
	p.step(core.Event{Kind: core.RunStarted, Path: "r", Name: "drawn", Payload: json.RawMessage(`""`), Limit: limit, Grace: 1000})
	if block := p.m.State().Block; block != nil {
		t.Fatal(block)
	}
	return p
}

func (p *play) step(events ...core.Event) {
	p.t.Helper()
	for _, c := range p.m.Step(p.now, events, true).Commands {
		if c.Kind == core.StartTask {
			p.running[c.Path] = c.Start.Attempt
		}
	}
}

func (p *play) done(paths ...string) {
	p.t.Helper()
	for _, path := range paths {
		p.step(core.Event{Kind: core.TaskDone, Path: path, Attempt: p.attempt(path), Output: json.RawMessage("1")})
	}
}

func (p *play) fail(path string, f cairn.Failure) {
	p.t.Helper()
	p.step(core.Event{Kind: core.TaskFailed, Path: path, Attempt: p.attempt(path), Failure: &f})
}

func (p *play) attempt(path string) int {
	p.t.Helper()
	attempt, ok := p.running[path]
	if !ok {
		p.t.Fatalf("%s does not run; %v do", path, p.running)
	}
	delete(p.running, path)
	return attempt
}

// garden has one of every shape, and names that need escaping.
func garden(*cairn.View) cairn.Node {
	return cairn.Nodes{
		leaf{id: `quo"te\<b>`},
		cairn.Parallel{Max: 2, Children: cairn.Nodes{
			leaf{id: "a"},
			cairn.Sequence{Children: cairn.Nodes{leaf{id: "b1"}, cairn.Parallel{Children: cairn.Nodes{leaf{id: "b2"}, leaf{id: "b3"}}}}},
			cairn.Scope{ID: "inner", Body: func(*cairn.View) cairn.Node {
				return cairn.Loop{ID: "rounds", Body: func(*cairn.View) cairn.Node { return cairn.Nodes{leaf{id: "c"}, leaf{id: "d", after: []string{"a"}}} },
					Until: func(*cairn.View) bool { return true }}
			}},
			cairn.Branch{If: false, Then: leaf{id: "then"}, Else: leaf{id: "else"}},
		}},
		cairn.Parallel{},
		cairn.Try{ID: "careful", Body: cairn.Nodes{leaf{id: "x"}, leaf{id: "y"}}, Catch: func(*cairn.View, cairn.Failure) cairn.Node { return leaf{id: "caught"} },
			Finally: func(*cairn.View) cairn.Node { return leaf{id: "tidy"} }},
		leaf{id: "end"},
	}
}

func TestDraw(t *testing.T) {
	p := newPlay(t, 0, garden)
	fresh := p.m.Draw()
	fresh.State = nil
	p.done(`quo"te\<b>`, "a", "b1")
	later := p.m.Draw()
	for _, d := range []struct {
		name string
		core.Drawing
	}{{"fresh", fresh}, {"later", later}} {
		for format, draw := range map[string]func(core.Drawing) string{"txt": core.Drawing.Text, "dot": core.Drawing.DOT, "mmd": core.Drawing.Mermaid} {
			got, path := draw(d.Drawing), filepath.Join("testdata", "draw", d.name+"."+format)
			if again := draw(d.Drawing); again != got {
				t.Errorf("%s is drawn in two ways", path)
			}
			if *updateDrawings {
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(got), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			if want, err := os.ReadFile(path); err != nil || string(want) != got {
				t.Errorf("%s: %v, got\n%s", path, err, got)
			}
		}
	}
}

// A plan made anew is drawn as the one that was kept, and lines alone are enough to draw.
func TestDrawFromFrames(t *testing.T) {
	p := newPlay(t, 0, garden)
	want := p.m.Draw().Text()
	lines := core.Lines{}
	lines.Fold(core.Delta{Set: p.m.Plan()})
	p.m.Forget()
	if d := p.m.Verify(); d != nil {
		t.Fatal(d)
	}
	if got := p.m.Draw().Text(); got != want {
		t.Errorf("made anew:\n%s", got)
	}
	d := lines.Draw(p.m.State())
	for _, text := range []string{d.Text(), d.DOT(), d.Mermaid()} {
		if text == "" || text == want {
			t.Errorf("from lines alone:\n%s", text)
		}
	}
}
