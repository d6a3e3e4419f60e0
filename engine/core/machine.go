package core

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Machine decides for one run. It is not safe for concurrent use.
type Machine struct {
	def    cairn.Definition
	render func(v *cairn.View) cairn.Node
	state  *State
	memo   *memo
	// Priced says whether a model has a price; a cost budget refuses one that has none. Nil is yes. Set it before the first
	// step, and never change it.
	Priced func(model string) bool
	// restoring: the plan of the last frame is being made anew, nothing is decided for the first time.
	restoring bool
	// diverged is what Fold found when it passed the last rendered frame.
	diverged *Divergence
	// Of the step being made: the time of the frame before it, whose attempts have ended, what was decided, what is to be done.
	last      int64
	over      []string
	decisions []Decision
	commands  []Command
}

// New returns the machine of a run that has no frame yet.
func New(def cairn.Definition) *Machine { return Restore(def, NewState()) }

// Restore returns the machine of a run in the given state, which becomes the machine's own.
func Restore(def cairn.Definition, s *State) *Machine { return &Machine{def: def, state: s} }

// State is the machine's state, to read between steps.
func (m *Machine) State() *State { return m.state }

// Forget drops the memo. The next step renders the state anew; frames are the same.
func (m *Machine) Forget() { m.memo = nil }

// bind decodes the run's input for the render function.
func (m *Machine) bind() {
	if m.render != nil {
		return
	}
	render, err := m.def.Bind(m.state.Input)
	if err != nil {
		panic(&cairn.Error{Code: cairn.OutputDecode, Message: "the stored input can't be read as " + m.def.Input.String(), Err: err})
	}
	m.render = render
}

// view calls fn with a View of the scope and returns the paths it read. The View is over when fn returns.
func (m *Machine) view(scope string, c *cell, fn func(v *cairn.View)) []string {
	life := &call{}
	defer func() { life.over = true }()
	fn(cairn.NewView(&reader{m: m, scope: scope, cell: c, call: life}))
	return life.hits
}

// decide applies a decision and puts it into the frame.
func (m *Machine) decide(d Decision) {
	must(m.state.decision(&d))
	m.decisions = append(m.decisions, d)
	if m.memo != nil && (d.Kind == Verdict || d.Kind == Exhausted) {
		m.memo.touch(read{kind: readLoop, path: d.Path})
	}
}

func (m *Machine) command(c Command) { m.commands = append(m.commands, c) }

func (m *Machine) schema(t reflect.Type) (string, error) {
	s, err := schema.Of(t)
	if err != nil {
		return "", err
	}
	return s.Hash, nil
}

// internalError is a broken promise of the core itself. It is not the workflow's fault and does not block the run.
type internalError struct{ err error }

func must(err error) {
	if err != nil {
		panic(internalError{err})
	}
}

// guard runs a part of a step and returns why the workflow's code stopped it.
func (m *Machine) guard(fn func()) (blocked *cairn.Failure) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case internalError:
			panic(p.err)
		case *cairn.Failure: // from a guard inside of this one
			blocked = p
		default:
			blocked = stopped(p)
		}
	}()
	fn()
	return nil
}

// stopped makes a failure of a panic of the workflow's code.
func stopped(p any) *cairn.Failure {
	f := &cairn.Failure{Code: cairn.RenderPanicked, Message: strings.ToValidUTF8(fmt.Sprint(p), "\ufffd"), Permanent: true}
	var e *cairn.Error
	if err, ok := p.(error); ok && errors.As(err, &e) {
		f.Code, f.Path, f.Message = e.Code, e.Path, e.Message
		if e.Err != nil {
			f.Message += ": " + e.Err.Error()
		}
		return f
	}
	f.Stack = stack()
	return f
}

// stack is where a panic came from, up to the core: functions and lines without addresses, so that the same panic
// gives the same frame.
func stack() string {
	pcs := make([]uintptr, 64)
	frames := runtime.CallersFrames(pcs[:runtime.Callers(0, pcs)])
	var b strings.Builder
	for panicked, more := false, true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch inside := strings.HasPrefix(f.Function, "runtime."); {
		case !panicked:
			panicked = f.Function == "runtime.gopanic"
		case inside: // what raised it, or called it
		case strings.Contains(f.Function, "/engine/core."):
			return b.String()
		default:
			fmt.Fprintf(&b, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
		}
	}
	return b.String()
}
