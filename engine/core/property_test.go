package core_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestMachineAgreesWithModel drives random trees and compares with the oracle after each step.
func TestMachineAgreesWithModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tree := randomTree(t, false)
		d := newDriver(t, tree)
		d.model = newModel(tree, d.limit)
		d.drive()
	})
}

// TestRunsAreDeterministic drives random trees whose code also breaks and is mended.
func TestRunsAreDeterministic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { newDriver(t, randomTree(t, true)).drive() })
}

// driver feeds random events to two machines: one that is never dropped, one that forgets, is killed and folded anew.
// Whatever it does, I1, I2, I6 to I9 of the design must hold.
type driver struct {
	t     *rapid.T
	world *world
	def   cairn.Definition
	tree  *tree
	limit int
	model *model

	kept, m *core.Machine
	wall    int64
	fold    *core.State
	lines   core.Lines
	bodies  [][]byte

	running  []core.Start
	timers   map[string]int64
	old      []core.Event // to be delivered again
	started  map[string]bool
	ended    map[string]bool
	accepted map[string]bool
	deadline int64 // of a cancel
	asked    *core.Event
	passed   int // how often the chain has handed over
}

func newDriver(t *rapid.T, tree *tree) *driver {
	d := &driver{t: t, world: &world{}, tree: tree, wall: epoch, fold: core.NewState(), lines: core.Lines{}, timers: map[string]int64{},
		started: map[string]bool{}, ended: map[string]bool{}, accepted: map[string]bool{}}
	d.def = tree.workflow(d.world)
	d.limit = rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "limit")
	d.kept, d.m = core.New(d.def), core.New(d.def)
	return d
}

func (d *driver) fatalf(format string, args ...any) {
	d.t.Helper()
	for _, body := range d.bodies {
		d.t.Logf("%s", body)
	}
	d.t.Fatalf("%s\ntree: %s", fmt.Sprintf(format, args...), d.tree)
}

func (d *driver) drive() {
	d.driveFrom(core.Event{Kind: core.RunStarted, Path: "run", Name: "random", Payload: json.RawMessage(`""`), Limit: d.limit, Grace: 10_000})
	for next := d; next.m.State().Status == core.Continued && next.passed < 2; {
		before := next
		next = newDriver(d.t, d.tree)
		next.passed, next.limit, next.wall = before.passed+1, d.limit, max(before.wall, before.m.State().Time)
		if d.model != nil {
			next.model = newModel(d.tree, d.limit)
			next.model.inherit(before.asked)
		}
		next.driveFrom(*before.asked)
	}
}

func (d *driver) driveFrom(first core.Event) {
	d.step(first)
	for range rapid.IntRange(0, 25).Draw(d.t, "steps") {
		d.random()
	}
	d.settle()
}

// random takes one step with a few random events, or none.
func (d *driver) random() {
	if d.m.State().Status == core.Blocked {
		d.world.broken = false
		d.kill()
		return
	}
	var events []core.Event
	for range rapid.IntRange(1, 3).Draw(d.t, "events") {
		events = append(events, d.event()...)
	}
	d.step(events...)
}

func (d *driver) event() []core.Event {
	switch what := rapid.IntRange(0, 19).Draw(d.t, "event"); {
	case what < 10:
		if len(d.running) == 0 {
			return nil
		}
		i := rapid.IntRange(0, len(d.running)-1).Draw(d.t, "which")
		st := d.running[i]
		d.running = slices.Delete(d.running, i, i+1)
		return []core.Event{d.outcome(st)}
	case what < 13:
		if len(d.timers) == 0 {
			return nil
		}
		path := rapid.SampledFrom(slices.Sorted(maps.Keys(d.timers))).Draw(d.t, "timer")
		if at := d.timers[path]; rapid.Bool().Draw(d.t, "due") {
			d.wall = max(d.wall, at)
		}
		return []core.Event{{Kind: core.TimerFired, Path: path}}
	case what < 15:
		d.wall += rapid.Int64Range(-3000, 3000).Draw(d.t, "clock")
	case what == 15 && len(d.old) > 0:
		return []core.Event{rapid.SampledFrom(d.old).Draw(d.t, "again")}
	case what == 16:
		return []core.Event{{Kind: rapid.SampledFrom([]core.EventKind{core.PauseAsked, core.Unpaused, core.Unpaused}).Draw(d.t, "pause")}}
	case what == 17 && rapid.IntRange(0, 4).Draw(d.t, "cancel?") == 0:
		return []core.Event{{Kind: core.CancelAsked, Name: "enough"}}
	case what == 18:
		d.kill()
	case what == 19 && d.asked != nil:
		return []core.Event{d.answer(rapid.IntRange(0, 3).Draw(d.t, "answer"))}
	case what == 19:
		d.world.broken = true
	}
	return nil
}

// refused is why some successors can't go on; the run is blocked by it.
const refused cairn.Code = "REFUSED"

// answer tells of the successor that was asked for.
func (d *driver) answer(how int) core.Event {
	switch how {
	case 0:
		return core.Event{Kind: core.HandoffRefused, Failure: &cairn.Failure{Code: cairn.TooManyGenerations, Permanent: true}}
	case 1:
		if d.model == nil {
			return core.Event{Kind: core.HandoffRefused, Failure: &cairn.Failure{Code: refused}}
		}
	}
	return core.Event{Kind: core.HandedOver, Name: d.asked.Path}
}

func (d *driver) outcome(st core.Start) core.Event {
	e := core.Event{Kind: core.TaskDone, Path: st.Path, Attempt: st.Attempt}
	if used := rapid.Int64Range(0, 3).Draw(d.t, "tokens"); used > 0 {
		e.Usage = []cairn.Usage{{Model: "m", Output: used}}
	}
	switch rapid.IntRange(0, 8).Draw(d.t, "outcome") {
	case 0:
		e.Kind, e.Failure = core.TaskFailed, &cairn.Failure{Code: "A"}
	case 1, 2:
		e.Kind, e.Failure = core.TaskFailed, &cairn.Failure{Code: rapid.SampledFrom([]cairn.Code{"A", "B"}).Draw(d.t, "code"), Permanent: true}
	case 3:
		e.Kind, e.Graceful = core.TaskLost, rapid.Bool().Draw(d.t, "graceful")
	case 4:
		e.Output = json.RawMessage("1")
		if b := d.refusal(st); b != nil {
			e.Kind, e.Output, e.Refused, e.Failure = core.TaskFailed, nil, b, &cairn.Failure{Code: cairn.BudgetExceeded, Permanent: true}
		}
	default:
		e.Output = json.RawMessage(fmt.Sprint(rapid.IntRange(0, 3).Draw(d.t, "value")))
	}
	return e
}

// refusal is a limit that a running body may have met.
func (d *driver) refusal(st core.Start) *cairn.Breach {
	if st.Governing == 0 {
		return nil
	}
	address := rapid.SampledFrom(st.Budgets[len(st.Budgets)-st.Governing:]).Draw(d.t, "budget")
	l := d.m.State().Ledgers[address].Limits.Tokens
	b := &cairn.Breach{Budget: address, Measure: cairn.Tokens, PerTask: rapid.Bool().Draw(d.t, "per task"), Limit: l.Max}
	if b.PerTask {
		b.Limit = l.PerTask
	}
	if b.Spent = b.Limit; b.Limit == 0 || l.OnExceeded == cairn.WarnExceeded {
		return nil
	}
	return b
}

// kill drops the process: a new one folds the frames.
func (d *driver) kill() {
	broken := d.world.broken
	d.world.broken = false
	d.m = core.New(d.def)
	for i, body := range d.bodies {
		f, err := core.Decode(body)
		if err != nil {
			d.fatalf("frame %d: %v", i+1, err)
		}
		if err := d.m.Fold(f, core.Hash(body)); err != nil {
			d.fatalf("frame %d: %v", i+1, err)
		}
	}
	if rapid.Bool().Draw(d.t, "verify") {
		if div := d.m.Verify(); div != nil {
			d.fatalf("the killed run diverges: %+v %v", div, div.Failure)
		}
	}
	d.world.broken = broken
	d.running, d.timers = nil, map[string]int64{}
	d.step(core.Event{Kind: core.RunResumed})
}

func (d *driver) step(events ...core.Event) {
	switch rapid.IntRange(0, 5).Draw(d.t, "forget") {
	case 0:
		d.m.Forget()
	case 1:
		if len(d.bodies) > 0 {
			d.m = core.Restore(d.def, d.clone(d.m.State()))
		}
	}
	if d.world.broken { // a render that panics must do so in both, and the forgetful one renders more
		d.m.Forget()
		d.kept.Forget()
	}
	before := d.m.State().Status
	for _, e := range events {
		if e.Kind != core.RunResumed { // that one loses what runs, each time
			d.old = append(d.old, e)
		}
	}
	got := d.m.Step(at(d.wall), events, true)
	want := d.kept.Step(at(d.wall), events, true)
	if string(got.Body) != string(want.Body) {
		d.fatalf("two machines, two frames:\nkept   %s\nforgot %s", want.Body, got.Body)
	}
	if before.Terminal() && (got.Frame != nil || len(got.Commands) > 0) {
		d.fatalf("a step after the end: %s", got.Body)
	}
	if d.model != nil {
		now := d.model.now
		if d.model.step(d.wall, events); got.Frame == nil {
			d.model.now = now // time is what has been committed
		}
	}
	d.take(got, events)
	d.check(got)
	if d.model == nil {
		return
	}
	if want, got := d.model.String(), asModel(d.m.State()); want != got {
		d.fatalf("the model has\n%s\nthe machine\n%s", want, got)
	}
}

func (d *driver) take(s core.Step, events []core.Event) {
	if s.Frame != nil {
		d.bodies = append(d.bodies, s.Body)
		for _, e := range s.Frame.Events {
			switch e.Kind {
			case core.TaskDone, core.TaskFailed, core.TaskLost:
				id := fmt.Sprint(e.Path, "@", e.Attempt)
				if d.ended[id] || !d.started[id] {
					d.fatalf("%s ended twice, or was never started: %s", id, s.Body)
				}
				d.ended[id] = true
			case core.CancelAsked:
				d.deadline = s.Frame.Time + 10_000
			}
		}
		for path, t := range d.m.State().Tasks {
			if t.Status == core.TaskFinished || t.Status == core.TaskSkipped {
				d.accepted[path] = true
			} else if d.accepted[path] {
				d.fatalf("%s had finished and is %s", path, t.Status)
			}
		}
	}
	for _, c := range s.Commands {
		switch c.Kind {
		case core.StartTask:
			id := fmt.Sprint(c.Path, "@", c.Start.Attempt)
			if d.started[id] {
				d.fatalf("%s is started twice", id)
			}
			d.started[id] = true
			d.forks(s, *c.Start)
			d.running = append(d.running, *c.Start)
		case core.SetTimer:
			d.timers[c.Path] = c.At
		case core.ClearTimer:
			delete(d.timers, c.Path)
		case core.ContinueAsNew:
			if d.asked = c.Successor; len(d.running) > 0 {
				d.fatalf("it hands over while something runs")
			}
		case core.CancelTask:
			if !slices.ContainsFunc(d.running, func(st core.Start) bool { return st.Path == c.Path }) {
				d.fatalf("%s is cancelled and does not run", c.Path)
			}
		}
	}
	if d.model != nil {
		d.model.timers = maps.Clone(d.timers)
	}
}

// forks holds an attempt to the source that its task has begun with, and that to the obvious one: what has the key on the way
// outwards, or was the last to finish in the loops of a scope there.
func (d *driver) forks(s core.Step, st core.Start) {
	tasks := d.m.State().Tasks
	frozen := tasks[st.Path].Fork
	if (st.Fork != nil) != (frozen != "") || st.Fork != nil && st.Fork.Path != frozen {
		d.fatalf("%s attempt %d forks %+v, and began with %q", st.Path, st.Attempt, st.Fork, frozen)
	}
	if st.Fork == nil || !slices.ContainsFunc(s.Frame.Decisions, func(d core.Decision) bool { return d.Path == st.Path && d.Fork != "" }) {
		return
	}
	_, key := cairn.Split(frozen)
	scope, _ := cairn.Split(st.Path)
	for ; ; scope, _ = cairn.Split(scope) {
		want := ""
		for _, path := range slices.Sorted(maps.Keys(tasks)) {
			at, name := cairn.Split(path)
			for name == key && at != scope {
				if _, _, ok := cairn.CutIteration(at); !ok {
					break
				}
				at, _ = cairn.Split(at)
			}
			t := tasks[path]
			direct := path == cairn.Join(scope, key)
			if name == key && at == scope && (direct || t.Status == core.TaskFinished) && (want == "" || t.Frame >= tasks[want].Frame) {
				want = path
			}
		}
		switch {
		case want != "" && want != frozen && tasks[frozen] == nil:
			d.fatalf("%s forks %s, which is nothing, and not %s", st.Path, frozen, want)
		case want != "" && want != frozen && tasks[want].Frame > tasks[frozen].Frame:
			d.fatalf("%s forks %s, and %s is newer", st.Path, frozen, want)
		case want != "" || scope == "":
			return
		}
	}
}

func (d *driver) clone(s *core.State) *core.State {
	c, err := s.Clone()
	if err != nil {
		d.fatalf("the state does not go through JSON: %v", err)
	}
	return c
}

func (d *driver) json(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		d.fatalf("%v", err)
	}
	return string(raw)
}

// check holds after every step.
func (d *driver) check(s core.Step) {
	state := d.m.State()
	if kept := d.kept.State(); d.json(kept) != d.json(state) {
		d.fatalf("two machines, two states:\nkept   %s\nforgot %s", d.json(kept), d.json(state))
	}
	if s.Frame == nil {
		return
	}
	f, err := core.Decode(s.Body)
	if err != nil {
		d.fatalf("%v", err)
	}
	if again, err := f.Encode(); err != nil || string(again) != string(s.Body) {
		d.fatalf("a frame does not encode as it was: %v\n%s\n%s", err, s.Body, again)
	}
	if f.N != int64(len(d.bodies)) {
		d.fatalf("frame %d is number %d", len(d.bodies), f.N)
	}
	if err := d.fold.Fold(f, core.Hash(s.Body)); err != nil {
		d.fatalf("the frame does not fold: %v\n%s", err, s.Body)
	}
	if d.json(d.fold) != d.json(state) {
		d.fatalf("the fold is not the state:\nfold  %s\nstate %s", d.json(d.fold), d.json(state))
	}
	clone := d.clone(d.fold)
	if d.json(clone) != d.json(d.fold) {
		d.fatalf("a state does not survive JSON:\nin  %s\nout %s", d.json(d.fold), d.json(clone))
	}
	d.lines.Fold(f.Plan)
	if !f.Unrendered && d.lines.Digest() != state.Structure {
		d.fatalf("the folded plan has another digest than the state: %v", d.lines)
	}
	if !f.Unrendered {
		broken := d.world.broken
		d.world.broken = false
		if div := core.Restore(d.def, clone).Verify(); div != nil {
			d.fatalf("rendering the fold of %d frames gives another structure: %v %v", f.N, div, div.Failure)
		}
		d.world.broken = broken
	}
	if state.Status == core.Blocked && !d.world.broken && state.Block.Code != refused {
		d.fatalf("the run is blocked: %v\n%s", state.Block, state.Block.Stack)
	}
	if d.limit > 0 && len(d.running) > d.limit {
		d.fatalf("%d attempts run, the limit is %d", len(d.running), d.limit)
	}
}

// settle answers everything there is, until the run ends: nothing may wait for what does not come.
func (d *driver) settle() {
	d.world.broken = false
	for range 400 {
		if d.m.State().Status.Terminal() {
			return
		}
		var events []core.Event
		switch {
		case d.m.State().Status == core.Blocked:
			d.kill()
			continue
		case d.m.State().Status == core.Paused:
			events = append(events, core.Event{Kind: core.Unpaused})
		case len(d.running) > 0:
			st := d.running[0]
			d.running = d.running[1:]
			events = append(events, core.Event{Kind: core.TaskDone, Path: st.Path, Attempt: st.Attempt, Output: json.RawMessage("1")})
		case len(d.timers) > 0:
			path := slices.Sorted(maps.Keys(d.timers))[0]
			d.wall = max(d.wall, d.timers[path])
			delete(d.timers, path)
			events = append(events, core.Event{Kind: core.TimerFired, Path: path})
		case d.m.State().Successor != nil:
			events = append(events, d.answer(2))
		default:
			d.fatalf("the run waits for nothing and has not ended: %s", d.json(d.m.State()))
		}
		d.step(events...)
	}
	d.fatalf("the run does not end: %s", d.json(d.m.State()))
}
