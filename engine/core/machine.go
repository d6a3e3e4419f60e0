package core

import (
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/schema"
)

// Machine decides for one run. It is not safe for concurrent use.
type Machine struct {
	def    cairn.Definition
	render func(v *cairn.View) cairn.Node
	state  *State
	memo   *memo
	// restoring: the plan of the last frame is being made anew, nothing is decided for the first time.
	restoring bool
	// diverged is what Fold found when it passed the last rendered frame.
	diverged *Divergence
	// Of the step being made:
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
		p := recover()
		if p == nil {
			return
		}
		if broken, ok := p.(internalError); ok {
			panic(broken.err)
		}
		blocked = &cairn.Failure{Code: cairn.RenderPanicked, Message: fmt.Sprint(p), Permanent: true}
		var e *cairn.Error
		if err, ok := p.(error); ok && errors.As(err, &e) {
			blocked.Code, blocked.Path = e.Code, e.Path
			blocked.Message = e.Message
			if e.Err != nil {
				blocked.Message += ": " + e.Err.Error()
			}
			return
		}
		blocked.Stack = string(debug.Stack())
	}()
	fn()
	return nil
}

// catch runs fn and returns its panic, for later.
func catch(fn func()) (p any) {
	defer func() {
		p = recover()
		if broken, ok := p.(internalError); ok {
			panic(broken)
		}
	}()
	fn()
	return nil
}
