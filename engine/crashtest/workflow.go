package crashtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/handoff"
	"github.com/cairnrun/cairn/task"
)

// Names of the workflows.
const (
	// Everything uses all that a crash could break.
	Everything = "everything"
	// Relayed is a chain of runs, each of which hands over to the next.
	Relayed = "relayed"
	// Gated has a task that works until it is let go, for deaths at a known place.
	Gated = "gated"
)

// Order is the input of Everything.
type Order struct {
	Items  []string `json:"items" validate:"required"`
	Rounds int      `json:"rounds" validate:"required"`
}

// Part is what is done with one item in one round, Report what comes of all.
type (
	Part struct {
		Item  string `json:"item"`
		Round int    `json:"round"`
	}
	Report struct {
		Text string         `json:"text"`
		Sum  int            `json:"sum"`
		File cairn.Artifact `json:"file"`
	}
)

const (
	config    cairn.Key[Order]  = "config"
	part      cairn.Key[int]    = "part"
	tally     cairn.Key[int]    = "tally"
	report    cairn.Key[Report] = "report"
	extra     cairn.Key[string] = "extra"
	sweep     cairn.Key[string] = "sweep"
	doomed    cairn.Key[string] = "doomed"
	bystander cairn.Key[string] = "bystander"
	rescue    cairn.Key[string] = "rescue"
	tidy      cairn.Key[string] = "tidy"
	once      cairn.Key[int]    = "once"
	final     cairn.Key[string] = "final"
	gate      cairn.Key[string] = "gate"
	after     cairn.Key[string] = "after"
	leg       cairn.Key[string] = "leg"
)

// Effects says how many effects a finished task has emitted.
func Effects(path string) int {
	_, key := cairn.Split(path)
	switch key {
	case string(report):
		return 3
	case string(sweep), string(after), string(leg):
		return 1
	}
	return 0
}

// World is what the bodies of the workflows act on.
type World struct {
	Log *Log
	// Pause is how long a body works.
	Pause time.Duration
	// Say tells whoever watches the process; may be nil.
	Say func(words ...any)
	// Gate lets the task of Gated through once it is closed; nil is closed for good.
	Gate <-chan struct{}
}

// Workflows are what a worker runs.
func (w *World) Workflows() []cairn.Definer {
	return []cairn.Definer{w.everything(), w.gated(), w.relayed()}
}

// Definition is one of the workflows.
func (w *World) Definition(name string) cairn.Definition {
	for _, wf := range w.Workflows() {
		if d := wf.Define(); d.Name == name {
			return d
		}
	}
	panic("no workflow " + name)
}

// Deliver are the couriers of effects.
func (w *World) Deliver() map[string]engine.Deliver {
	return map[string]engine.Deliver{"note": func(_ context.Context, d engine.Delivery) error {
		w.Log.Add(Line{Kind: Delivering, Run: d.Run, Path: d.Path, Key: d.ID, Value: string(d.Effect.Body)})
		return nil
	}}
}

// Observe notes frames as acknowledged.
func (w *World) Observe(run string, f *core.Frame) {
	body, err := f.Encode()
	if err != nil {
		panic(err)
	}
	w.Log.Add(Line{Kind: Acked, Run: run, N: f.N, Hash: core.Hash(body)})
	w.say("frame", run, f.N)
}

func (w *World) say(words ...any) {
	if w.Say != nil {
		w.Say(words...)
	}
}

// soon tries often and at once: pauses of a second would be most of a run.
var soon = task.Retry{Max: 6, Initial: time.Millisecond, Cap: 3 * time.Millisecond}

func (w *World) everything() cairn.Definer {
	return cairn.Workflow[Order, string]{Name: Everything, Result: final, Render: func(v *cairn.View, in Order) cairn.Node {
		return cairn.Nodes{
			task.Task[Order]{ID: config, Value: &in},
			cairn.Try{
				ID: "work",
				Body: cairn.Nodes{
					cairn.Loop{ID: "round", Max: in.Rounds + 1,
						Until: func(v *cairn.View) bool { return v.Iteration()+1 >= in.Rounds },
						Body:  func(v *cairn.View) cairn.Node { return w.round(in, v.Iteration()) }},
					task.Task[Report]{ID: report, Retry: soon, Heartbeat: time.Minute, From: task.From(tallies, attempted(w, w.report))},
					task.Task[string]{ID: extra, Optional: true, Retry: soon, Do: plain(w, func(context.Context) (string, error) {
						return "", task.Permanent(errors.New("nobody needs it"))
					})},
				},
				Finally: func(*cairn.View) cairn.Node {
					return task.Task[string]{ID: sweep, Retry: soon, Do: plain(w, func(ctx context.Context) (string, error) {
						return "swept", task.Emit(ctx, "note", "swept")
					})}
				},
			},
			cairn.Try{
				ID: "risk",
				Body: cairn.Parallel{Children: cairn.Nodes{
					task.Task[string]{ID: doomed, Do: plain(w, func(context.Context) (string, error) {
						return "", task.Permanent(errors.New("as it must"))
					})},
					task.Task[string]{ID: bystander, Do: plain(w, func(ctx context.Context) (string, error) {
						<-ctx.Done()
						return "", context.Cause(ctx)
					})},
				}},
				Catch: func(_ *cairn.View, f cairn.Failure) cairn.Node {
					return task.Task[string]{ID: rescue, Retry: soon, Do: plain(w, func(context.Context) (string, error) { return f.Path, nil })}
				},
				Finally: func(*cairn.View) cairn.Node {
					return task.Task[string]{ID: tidy, Retry: soon, Do: plain(w, func(context.Context) (string, error) { return "tidy", nil })}
				},
			},
			// A task that may fail only once must not fail because the store did.
			task.Task[int]{ID: once, Retry: task.Retry{Max: 1}, Do: plain(w, w.once)},
			task.Task[string]{ID: final, Retry: soon, From: task.From(
				func(v *cairn.View) Report { return report.Must(v) },
				attempted(w, func(_ context.Context, r Report) (string, error) { return fmt.Sprintf("%s = %d", r.Text, r.Sum), nil }),
			)},
		}
	}}
}

// round works on all items side by side and adds up.
func (w *World) round(in Order, i int) cairn.Node {
	return cairn.Nodes{
		cairn.Parallel{Max: 3, Children: cairn.ForEach(in.Items, func(item string) string { return item },
			func(_ *cairn.View, item string) cairn.Node {
				return task.Task[int]{ID: part, Retry: soon, From: task.From(
					func(v *cairn.View) Part { return Part{Item: item, Round: i} }, attempted(w, w.part))}
			})},
		task.Task[int]{ID: tally, Retry: soon, From: task.From(
			func(v *cairn.View) (parts []int) {
				for _, item := range in.Items {
					parts = append(parts, part.Must(v.In(item)))
				}
				return parts
			},
			attempted(w, func(_ context.Context, parts []int) (sum int, _ error) {
				for _, n := range parts {
					sum += n
				}
				return sum, nil
			}))},
	}
}

// part fails its first attempts, up to two, as its path says.
func (w *World) part(ctx context.Context, p Part) (int, error) {
	call, _ := cairn.CallFrom(ctx)
	h := fnv.New32a()
	h.Write([]byte(call.Path))
	if call.Attempt <= int(h.Sum32()%3) {
		return 0, fmt.Errorf("attempt %d fails, and another is made", call.Attempt)
	}
	return len(p.Item) * (p.Round + 1), nil
}

func tallies(v *cairn.View) (sums []int) {
	for _, sum := range tally.All(v) {
		sums = append(sums, sum)
	}
	return sums
}

// report has sub-steps, one of which writes a file and emits, and tells how far it is.
func (w *World) report(ctx context.Context, sums []int) (out Report, err error) {
	for i, sum := range sums {
		got, err := w.step(ctx, fmt.Sprintf("add-%d", i), sum)
		if err != nil {
			return out, err
		}
		out.Sum += got
		if err := task.Heartbeat(ctx, i); err != nil {
			return out, err
		}
	}
	out.File, err = task.Step(ctx, "write", func(ctx context.Context) (cairn.Artifact, error) {
		if err := task.Emit(ctx, "note", "written"); err != nil {
			return cairn.Artifact{}, err
		}
		return task.WriteArtifact(ctx, "sums.txt", "text/plain", strings.NewReader(fmt.Sprint(sums)))
	})
	if err != nil {
		return out, err
	}
	out.Text = fmt.Sprint(sums)
	return out, errors.Join(task.Emit(ctx, "note", out.Sum), task.Emit(ctx, "note", "reported"))
}

func (w *World) once(ctx context.Context) (sum int, err error) {
	for i := range 2 {
		got, err := w.step(ctx, fmt.Sprintf("once-%d", i), i)
		if err != nil {
			return 0, err
		}
		sum += got
	}
	return sum, task.Heartbeat(ctx, sum)
}

// stepped is what a step gives. By tells executions apart, so that two that both count can't hide.
type stepped struct {
	Value int    `json:"value"`
	By    string `json:"by"`
}

// step is a sub-step that leaves its marks in the log.
func (w *World) step(ctx context.Context, name string, value int) (int, error) {
	call, _ := cairn.CallFrom(ctx)
	line := Line{Run: call.Run, Path: call.Path, Attempt: call.Attempt, Name: name}
	out, err := task.Step(ctx, name, func(ctx context.Context) (stepped, error) {
		line.Kind = StepRun
		w.Log.Add(line)
		return stepped{Value: value, By: fmt.Sprintf("%s/%d", w.Log.who, call.Attempt)}, w.work(ctx)
	})
	if err != nil {
		return 0, err
	}
	raw, err := json.Marshal(out)
	line.Kind, line.Value = StepDone, string(raw)
	w.Log.Add(line)
	return out.Value, err
}

// Legs is how many runs the chain of Relayed has.
const Legs = 3

// baton is what a run of Relayed hands to the next.
type baton struct {
	Leg int `json:"leg"`
}

// relayed works in each run, beside something that has to be waited for, and cleans up before it hands over.
func (w *World) relayed() cairn.Definer {
	return cairn.Workflow[string, string]{Name: Relayed, Result: final, Render: func(v *cairn.View, _ string) cairn.Node {
		at := handoff.Carried(v, baton{Leg: 1}).Leg
		work := task.Task[string]{ID: leg, Retry: soon, Do: plain(w, func(ctx context.Context) (string, error) {
			return fmt.Sprint("leg ", at), task.Emit(ctx, "note", at)
		})}
		tidy := func(*cairn.View) cairn.Node {
			return task.Task[string]{ID: tidy, Retry: soon, Do: plain(w, func(context.Context) (string, error) { return "tidy", nil })}
		}
		if at == Legs {
			return cairn.Try{Finally: tidy, Body: cairn.Nodes{work, task.Task[string]{ID: final, Retry: soon,
				Do: plain(w, func(context.Context) (string, error) { return fmt.Sprint("after ", at), nil })}}}
		}
		return cairn.Try{Finally: tidy, Body: cairn.Parallel{Children: cairn.Nodes{
			task.Task[string]{ID: bystander, Retry: soon, Do: plain(w, func(ctx context.Context) (string, error) { return "done", w.work(ctx) })},
			cairn.Nodes{work, handoff.ContinueAsNew{State: baton{Leg: at + 1}}},
		}}}
	}}
}

func (w *World) gated() cairn.Definer {
	return cairn.Workflow[string, string]{Name: Gated, Result: after, Render: func(*cairn.View, string) cairn.Node {
		return cairn.Nodes{
			task.Task[string]{ID: gate, Retry: soon, Do: plain(w, func(ctx context.Context) (string, error) {
				select {
				case <-w.Gate:
				case <-ctx.Done():
					return "", context.Cause(ctx)
				}
				n, err := w.step(ctx, "through", 1)
				return fmt.Sprint("through ", n), err
			})},
			task.Task[string]{ID: after, Retry: soon, Do: plain(w, func(ctx context.Context) (string, error) {
				return "after", task.Emit(ctx, "note", "after")
			})},
		}
	}}
}

// work passes the time of a body.
func (w *World) work(ctx context.Context) error {
	if w.Pause == 0 {
		return nil
	}
	select {
	case <-time.After(w.Pause):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
