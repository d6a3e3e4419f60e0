package rehearsal

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
)

// staged is a render whose tree is one for a play. It stands in for one that panics: then what it has mounted last stays.
func (p *player) staged(render func(v *cairn.View) cairn.Node) func(v *cairn.View) cairn.Node {
	if render == nil {
		return nil
	}
	var last cairn.Node
	return func(v *cairn.View) (tree cairn.Node) {
		defer func() {
			if panicked := recover(); panicked != nil {
				p.missed(v.Scope(), "what is mounted here, which can't be rendered with outputs that are made up: "+why(failureOf(panicked)))
				tree = last
			}
		}()
		last = p.set(render(v))
		return last
	}
}

// set is a node of a play.
func (p *player) set(n cairn.Node) cairn.Node {
	if n == nil {
		return nil
	}
	return scene{p, n}
}

func (p *player) each(all cairn.Nodes) (list cairn.Nodes) {
	for _, n := range all {
		list = append(list, p.set(n))
	}
	return list
}

// scene is a node whose tasks do nothing, and of which all is mounted that could be.
type scene struct {
	p    *player
	node cairn.Node
}

func (s scene) Lower() cairn.Spec {
	p, spec := s.p, s.node.Lower()
	spec.Children, spec.Body = p.each(spec.Children), p.staged(spec.Body)
	switch {
	case spec.Task != nil:
		spec.Task = p.idle(*spec.Task)
	case spec.Branch != nil:
		b := *spec.Branch
		b.Then, b.Else = p.set(b.Then), p.set(b.Else)
		if spec.Branch = &b; !p.bare {
			spec.Kind, spec.Branch, spec.Children = cairn.KindSequence, nil, cairn.Nodes{b.Then, b.Else}
		}
	case spec.Loop != nil:
		l := *spec.Loop
		l.HandoffEvery = min(l.HandoffEvery, 0)
		if !p.bare {
			l.Until, l.OnMax = nil, cairn.ReturnLast
		}
		if l.Max == 0 || l.Max == cairn.Unbounded || l.Max > Iterations {
			l.Max, l.OnMax = Iterations, cairn.ReturnLast
		}
		spec.Loop = &l
	case spec.Try != nil:
		spec.Try = p.try(*spec.Try)
	case spec.Handoff != nil:
		spec = p.handOver(spec)
	}
	return spec
}

// try has nothing to catch, as nothing fails: its Catch is a part of its Finally.
func (p *player) try(t cairn.TrySpec) *cairn.TrySpec {
	catch, finally := t.Catch, p.staged(t.Finally)
	t.Catch, t.Finally = nil, finally
	if catch == nil || p.bare {
		return &t
	}
	f := cairn.Failure{Code: cairn.TaskFailed, Message: "a failure that is made up"}
	if len(t.Only) > 0 {
		f.Code = t.Only[0]
	}
	caught := p.staged(func(v *cairn.View) cairn.Node { return catch(v, f) })
	t.Finally = func(v *cairn.View) cairn.Node {
		all := cairn.Nodes{caught(v)}
		if finally != nil {
			all = append(all, finally(v))
		}
		return all
	}
	return &t
}

// idle is a task that starts whenever it may, and of which nobody can call anything that does something.
func (p *player) idle(t cairn.TaskSpec) *cairn.TaskSpec {
	t.SkipIf, t.Run = nil, never
	input := t.Input
	switch {
	case input == nil:
	case t.Prompted:
		t.Input = func(v *cairn.View) (json.RawMessage, error) {
			raw, f := p.input(v, input)
			delete(p.failures, &t)
			if f != nil {
				p.failures[&t] = f
			}
			return raw, nil
		}
	case !t.Fixed:
		t.Input = nil
	}
	return &t
}

// input makes one, or says why it can't be made.
func (p *player) input(v *cairn.View, of func(v *cairn.View) (json.RawMessage, error)) (raw json.RawMessage, f *cairn.Failure) {
	defer func() {
		if panicked := recover(); panicked != nil {
			raw, f = json.RawMessage(`""`), failureOf(panicked)
		}
	}()
	raw, err := of(v)
	if err == nil && !json.Valid(raw) {
		err = errors.New("it is not JSON")
	}
	if err != nil {
		return json.RawMessage(`""`), &cairn.Failure{Code: cairn.CodeOf(err, cairn.PromptFailed), Message: err.Error()}
	}
	return raw, nil
}

// handOver is a task in place of a handoff: so the run goes on after it, and what it hands over is known when its turn has come.
func (p *player) handOver(spec cairn.Spec) cairn.Spec {
	h := spec.Handoff
	t := &cairn.TaskSpec{Run: never, Fixed: true}
	t.Input = func(v *cairn.View) (json.RawMessage, error) {
		raw, f := p.input(v, func(v *cairn.View) (json.RawMessage, error) {
			var c carried
			if h.State != nil {
				var err error
				if c.State, c.Schema, err = h.State(v); err != nil {
					return nil, err
				}
			}
			return json.Marshal(c)
		})
		if f != nil {
			p.missed(v.Scope(), "what a successor mounts, whose state can't be made of outputs that are made up: "+why(f))
		}
		return raw, nil
	}
	p.handoffs[t] = h
	return cairn.Spec{Kind: cairn.KindTask, ID: cmp.Or(spec.ID, string(spec.Kind)), Task: t, Mistakes: spec.Mistakes}
}

// never is the body of all tasks of a play. Nobody calls it.
func never(context.Context, *cairn.Call) (cairn.Result, error) {
	return cairn.Result{}, errors.New("rehearsal: a body was called")
}

// failureOf makes a failure of a panic.
func failureOf(panicked any) *cairn.Failure {
	err, ok := panicked.(error)
	if !ok {
		err = errors.New(fmt.Sprint(panicked))
	}
	return &cairn.Failure{Code: cairn.CodeOf(err, cairn.RenderPanicked), Message: messageOf(err)}
}

// messageOf is what an error says, without the code that stands before it anyway.
func messageOf(err error) string {
	var e *cairn.Error
	if errors.As(err, &e) {
		return e.Message
	}
	return err.Error()
}
