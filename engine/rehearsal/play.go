package rehearsal

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// Bounds of a play.
const (
	// MaxSteps is how many steps a run makes, and how many successors of it are played.
	MaxSteps      = 300
	MaxSuccessors = 3
	// Iterations is how many a loop goes through.
	Iterations = 2
)

// Config says what is played. All fields are required.
type Config struct {
	// Run is the run's id, Now the time, which stands still.
	Run string
	Now time.Time
	// Input has been checked.
	Input json.RawMessage
	// Output makes up what a task gives. Its error is told, and the task gives null.
	Output func(t *cairn.TaskSpec) (json.RawMessage, error)
}

// Rehearsal is what was seen.
type Rehearsal struct {
	// Tasks are those that were mounted at some time, by when they were. The Input is what the task started with. Where that could not
	// be made, Failure says why.
	Tasks []Task
	// Missed is what could not be reached.
	Missed []Missed
}

// Task is one that was mounted.
type Task struct {
	core.Mounted
	// Started says that its turn has come.
	Started bool
}

// Missed is what could not be reached, and why. Path is the scope or the task; "" is the whole run.
type Missed struct{ Path, Why string }

// player plays one workflow.
type player struct {
	Config
	def cairn.Definition
	// bare: the tree is played as it is.
	bare bool
	out  Rehearsal
	at   map[string]int // of Tasks, by path
	// failures are why prompts could not be made, handoffs what tasks stand for that hand over.
	failures map[*cairn.TaskSpec]*cairn.Failure
	handoffs map[*cairn.TaskSpec]*cairn.HandoffSpec
	// next are the first events of successors.
	next []core.Event
}

// Play plays a workflow. Its error is why a run could not even begin.
func Play(ctx context.Context, def cairn.Definition, c Config) (Rehearsal, error) {
	m, err := engine.RehearseAs(def, c.Input, c.Run, c.Now)
	if err != nil {
		return Rehearsal{}, err
	}
	p := &player{Config: c, def: def, at: map[string]int{}, failures: map[*cairn.TaskSpec]*cairn.Failure{}, handoffs: map[*cairn.TaskSpec]*cairn.HandoffSpec{}}
	for _, one := range m.Mounted() {
		p.see(one, false)
	}
	p.def.Bind = func(input json.RawMessage) (func(*cairn.View) cairn.Node, error) {
		render, err := def.Bind(input)
		if err != nil {
			return nil, err
		}
		return p.staged(render), nil
	}
	started := core.Event{Kind: core.RunStarted, Path: c.Run, Name: def.Name, Payload: c.Input}
	block := p.run(ctx, started)
	if together := block; together != nil && together.Code == cairn.InvalidTree {
		p.bare, p.next = true, nil
		if block = p.run(ctx, started); block == nil {
			p.missed(together.Path, "what both sides of branches, catches and second iterations mount together: "+why(together))
		}
	}
	p.blocked(block)
	for i := 0; i < len(p.next) && i < MaxSuccessors; i++ {
		p.blocked(p.run(ctx, p.next[i]))
	}
	return p.out, nil
}

// run plays one run to its end, and tells why it was blocked, if it was.
func (p *player) run(ctx context.Context, started core.Event) *cairn.Failure {
	m := core.New(p.def)
	events := []core.Event{started}
	for n := 0; len(events) > 0; n++ {
		if n == MaxSteps || ctx.Err() != nil {
			p.missed("", fmt.Sprintf("what comes after %d steps, where the play has stopped", n))
			break
		}
		step := m.Step(p.Now, events, true)
		if step.Status == core.Blocked {
			return m.State().Block
		}
		p.look(m)
		events = nil
		for _, c := range step.Commands {
			if c.Kind == core.StartTask {
				events = append(events, p.end(m, c.Start))
			}
		}
	}
	for _, one := range m.Mounted() {
		if i, known := p.at[one.Path]; known && !p.out.Tasks[i].Started {
			p.see(one, false)
		}
	}
	return nil
}

// look takes down what is mounted.
func (p *player) look(m *core.Machine) {
	for _, line := range m.Plan() {
		if _, known := p.at[line.Path]; known || line.Kind != cairn.KindTask || line.Untaken {
			continue
		}
		if spec := m.Task(line.Path); p.handoffs[spec] == nil {
			p.see(core.Mounted{Path: line.Path, Task: spec, Failure: &cairn.Failure{Code: cairn.KeyMissing, Message: "its turn has not come"}}, false)
		}
	}
}

// see takes a task down. What is known of one that has started, with an input, is the last word on it.
func (p *player) see(one core.Mounted, started bool) {
	if f := p.failures[one.Task]; f != nil {
		one.Input, one.Failure = nil, f
	}
	i, known := p.at[one.Path]
	if !known {
		i = len(p.out.Tasks)
		p.at[one.Path] = i
		p.out.Tasks = append(p.out.Tasks, Task{Mounted: one, Started: started})
		return
	}
	if was := p.out.Tasks[i]; !was.Started || was.Failure != nil && one.Failure == nil {
		p.out.Tasks[i] = Task{Mounted: one, Started: started}
	}
}

// end is how an attempt ends that is never made.
func (p *player) end(m *core.Machine, s *core.Start) core.Event {
	ev := core.Event{Kind: core.TaskDone, Path: s.Path, Attempt: s.Attempt, Output: json.RawMessage("null")}
	spec := m.Task(s.Path)
	if spec == nil { // unmounted in the step that has started it
		return ev
	}
	if h := p.handoffs[spec]; h != nil {
		p.succeed(m, s, h)
		return ev
	}
	p.see(core.Mounted{Path: s.Path, Task: spec, Input: s.Input}, true)
	if spec.Fixed {
		ev.Output = s.Input
		return ev
	}
	out, err := p.Output(spec)
	if err == nil && !json.Valid(out) {
		err = errors.New("it is no JSON")
	}
	if err != nil {
		p.missed(s.Path, "what follows from its output, which can't be made up: "+err.Error())
		return ev
	}
	ev.Output = out
	return ev
}

// carried is what the task that stands for a handoff has as its input.
type carried struct {
	State  json.RawMessage
	Schema string
}

// succeed asks for the play of a successor. Successors of successors are like them.
func (p *player) succeed(m *core.Machine, s *core.Start, h *cairn.HandoffSpec) {
	state := m.State()
	if state.Envelope != nil {
		return
	}
	var c carried
	if json.Unmarshal(s.Input, &c) != nil { // it could not be made, and that is told
		return
	}
	input := p.Input
	if h.Input != nil {
		made, err := h.Input()
		if err == nil {
			made, err = engine.CheckInput(p.def, made)
		}
		if err != nil {
			p.missed(s.Path, "what a successor mounts, whose input is refused: "+err.Error())
			return
		}
		input = made
	}
	p.next = append(p.next, core.Event{Kind: core.RunStarted, Path: p.Run + "-2", Name: p.def.Name, Payload: input,
		Envelope: &core.Envelope{State: c.State, Schema: c.Schema, Parent: p.Run, Root: p.Run, Generation: 2}})
}

func (p *player) blocked(f *cairn.Failure) {
	if f != nil {
		p.missed(f.Path, "what comes after this, which stops the play: "+why(f))
	}
}

func (p *player) missed(path, why string) {
	if one := (Missed{path, why}); !slices.Contains(p.out.Missed, one) {
		p.out.Missed = append(p.out.Missed, one)
	}
}

func why(f *cairn.Failure) string { return string(f.Code) + ": " + f.Message }
