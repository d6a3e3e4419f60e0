package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cairnrun/cairn"
)

// admit starts ready tasks while there is room, and reports whether a skipped one has touched a render or a composite.
func (m *Machine) admit() bool {
	s, mo := m.state, m.memo
	if s.Status != Running || m.forced() {
		return false
	}
	for len(mo.ready) > 0 && (s.Limit == 0 || len(s.running) < s.Limit) {
		n := mo.ready.pop()
		t := s.Tasks[n.path]
		if n.dropped || !n.active || n.settled || t != nil && t.Status == TaskRunning || !n.free() {
			m.readmit(n, nil)
			continue
		}
		full := m.full(n)
		switch {
		case full != nil:
			full.held.push(n)
		case m.skips(n, t):
			m.skip(n, BySkipIf)
		case !m.refused(n, t):
			m.start(n, t)
		}
		m.readmit(n, full)
		if len(mo.dirty) > 0 || len(mo.checks) > 0 || len(mo.failed) > 0 {
			return true
		}
	}
	return false
}

// skips asks SkipIf, once: a task that has started is past it.
func (m *Machine) skips(n *node, t *Task) (skip bool) {
	if n.task.SkipIf == nil || t != nil && t.Status == TaskWaiting {
		return false
	}
	m.view(n.scope, nil, func(v *cairn.View) { skip = n.task.SkipIf(v) })
	return skip
}

// BySkipIf is the reason of a task that its own SkipIf has skipped.
const BySkipIf = "SkipIf"

// skip ends a task that is not to run.
func (m *Machine) skip(n *node, reason string) {
	m.decide(Decision{Kind: SkippedTask, Path: n.path, Reason: reason})
	begin(n)
	m.outcome(n.path, m.state.Tasks[n.path], n)
}

// start decides on an attempt.
func (m *Machine) start(n *node, t *Task) {
	d := Decision{Kind: Started, Path: n.path, Attempt: 1, Schema: n.task.SchemaHash}
	if t != nil {
		d.Attempt = t.Attempt + 1
	}
	policy := n.task.Policy
	if !policy.IsZero() {
		d.Policy = &policy
	}
	if policy.Timeout > 0 && (t == nil || t.Deadline == 0) {
		d.Deadline = m.state.Time + policy.Timeout.Milliseconds()
	}
	if n.task.Input != nil && (t == nil || t.InputHash == "") {
		d.Input, d.Reads = m.input(n)
		parts := []string{n.path, string(d.Input)}
		if n.task.Fork != "" {
			d.Fork = m.source(n)
			parts = append(parts, d.Fork)
		}
		hash := digestOf(parts...)
		d.InputHash = hash.String()
		m.memo.input.add(hash)
	}
	d.Budgets, d.Tracking = m.limits(n)
	m.decide(d)
	begin(n)
	m.bump(n, 1)
	st := m.state.Tasks[n.path]
	var fork *Source
	if st.Fork != "" {
		fork = &Source{Path: st.Fork, Wrong: m.state.noSource(st.Fork)}
	}
	m.command(Command{Kind: StartTask, Path: n.path, Start: &Start{
		Path: n.path, Attempt: d.Attempt, Booked: st.Booked, Input: st.Input, Policy: policy, Deadline: st.Deadline, Budgets: d.Budgets, Governing: len(n.governing()), Run: n.task.Run,
		Schema: n.task.SchemaHash, Identity: n.task.Identity, Prompted: n.task.Prompted, Check: n.task.Check, Fork: fork}})
}

// input makes a task's frozen input, and tells what it read.
func (m *Machine) input(n *node) (input json.RawMessage, reads []string) {
	var err error
	hits := m.view(n.scope, nil, func(v *cairn.View) { input, err = n.task.Input(v) })
	if err == nil && !json.Valid(input) {
		err = fmt.Errorf("it is not JSON")
	}
	if err != nil {
		panic(&cairn.Error{Code: cairn.CodeOf(err, cairn.PromptFailed), Path: n.path, Message: "the prompt or input can't be made", Err: err})
	}
	slices.Sort(hits)
	return input, slices.Compact(hits)
}
