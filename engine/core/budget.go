package core

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/cairnrun/cairn"
)

// Budgets are checked when a task's turn has come, the outermost first: what the surroundings no longer allow, nothing
// inside can allow. All of them hold. What is checked follows from the state and the plan: committed usage, the limits
// of today's code, and the limit that has ended a running attempt.

// governing are the budgets that may keep something in a node from starting, the outermost first: those around it, up to
// the Finally that it stands in. A Finally always runs, also on the way out of a budget that is used up. What it uses is
// booked all the same.
func (n *node) governing() (around []*node) {
	for p := n.parent; p != nil && !p.isFinally(); p = p.parent {
		if p.kind == cairn.KindAspects {
			around = append(around, p)
		}
	}
	slices.Reverse(around)
	return around
}

// budgets are all the ones around a node, the outermost first.
func (n *node) budgets() (around []*node) {
	for p := n.parent; p != nil; p = p.parent {
		if p.kind == cairn.KindAspects {
			around = append(around, p)
		}
	}
	slices.Reverse(around)
	return around
}

// Around lists the budgets around the node at a path, the outermost first, with the limits of today's code and what is
// spent so far. The plan has to be known: after folding, Verify makes it. A path that is not mounted has none.
func (m *Machine) Around(path string) (addresses []string, ledgers []Ledger) {
	if m.memo == nil || m.memo.nodes[path] == nil {
		return nil, nil
	}
	for _, a := range m.memo.nodes[path].budgets() {
		var l Ledger
		if known := m.state.Ledgers[a.path]; known != nil {
			l = *known
		}
		l.Limits = *a.aspects
		addresses, ledgers = append(addresses, a.path), append(ledgers, l)
	}
	return addresses, ledgers
}

// limits names the budgets that an attempt is booked on, and what of it is tracked. Limits that the ledger does not have
// go into the frame first.
func (m *Machine) limits(n *node) (addresses []string, tracking cairn.Tracking) {
	for _, a := range n.budgets() {
		addresses = append(addresses, a.path)
		if a.aspects.Tracking != 0 {
			tracking = a.aspects.Tracking
		}
		if l := m.state.Ledgers[a.path]; l == nil || l.Limits != *a.aspects {
			limits := *a.aspects
			m.decide(Decision{Kind: Limited, Path: a.path, Limits: &limits})
		}
	}
	return addresses, tracking
}

// spent is what is spent below a budget as of the frame.
func (m *Machine) spent(a *node) Spent {
	if l := m.state.Ledgers[a.path]; l != nil {
		return l.SpentAt(m.state.Time)
	}
	return Spent{}
}

// reached is the first of a budget's limits on all below it that is reached, among those of some modes. refused is the
// limit that has ended the task's last attempt, if one has.
func (m *Machine) reached(a *node, refused *cairn.Breach, modes func(cairn.OnExceeded) bool) *cairn.Breach {
	for _, measure := range cairn.Measures {
		if modes(a.aspects.Of(measure).OnExceeded) {
			if b := m.exhausted(a, measure, refused); b != nil {
				return b
			}
		}
	}
	return nil
}

// exhausted says that all below a budget has spent what it may. A refused attempt knew more than the ledger: the usage of
// others that still run.
func (m *Machine) exhausted(a *node, measure cairn.Measure, refused *cairn.Breach) *cairn.Breach {
	limit := a.aspects.Of(measure).Max
	if limit <= 0 {
		return nil
	}
	spent := m.spent(a).Of(measure)
	if r := refused; r != nil && !r.PerTask && r.Budget == a.path && r.Measure == measure && r.Limit >= limit {
		spent = max(spent, r.Spent)
	}
	if spent < limit {
		return nil
	}
	return &cairn.Breach{Budget: a.path, Measure: measure, Limit: limit, Spent: spent}
}

// exhaustedBy says that a task has spent what each may.
func exhaustedBy(a *node, measure cairn.Measure, path string, t *Task) *cairn.Breach {
	limit := a.aspects.Of(measure).PerTask
	if limit <= 0 {
		return nil
	}
	spent := t.Spent.Of(measure)
	if r := t.Refused; r != nil && r.PerTask && r.Budget == a.path && r.Measure == measure && r.Limit >= limit {
		spent = max(spent, r.Spent)
	}
	if spent < limit {
		return nil
	}
	return &cairn.Breach{Budget: a.path, Measure: measure, PerTask: true, Limit: limit, Spent: spent, Path: path}
}

// overdrawn is the first limit on each task that a task has reached and that stops it.
func overdrawn(a *node, path string, t *Task) *cairn.Breach {
	for _, measure := range cairn.Measures {
		if stops(a.aspects.Of(measure).OnExceeded) {
			if b := exhaustedBy(a, measure, path, t); b != nil {
				return b
			}
		}
	}
	return nil
}

func stops(mode cairn.OnExceeded) bool     { return mode != cairn.WarnExceeded }
func skipsRest(mode cairn.OnExceeded) bool { return mode == cairn.SkipExceeded }

// told says that a breach stands in an earlier decision.
func (m *Machine) told(b *cairn.Breach) bool {
	if b.PerTask {
		return m.state.Tasks[b.Path].Noticed[perTask(b.Measure, b.Budget)] == b.Limit
	}
	l := m.state.Ledgers[b.Budget]
	return l != nil && l.Noticed[b.Measure] == b.Limit
}

// tell puts a breach into the frame, unless it was told before.
func (m *Machine) tell(b *cairn.Breach, mode cairn.OnExceeded) {
	if !m.told(b) {
		m.decide(Decision{Kind: Breached, Path: b.Budget, Breach: b, Reason: string(mode)})
	}
}

// refused deals with a task that a budget does not let start: it is skipped, or its budget fails. It reports whether the
// task may not start.
func (m *Machine) refused(n *node, t *Task) bool {
	around := n.governing()
	for _, a := range around {
		m.priced(a)
	}
	var before *cairn.Breach
	if t != nil {
		before = t.Refused
	}
	for _, a := range around {
		b := m.reached(a, before, stops)
		if b == nil && t != nil && t.Status == TaskWaiting {
			b = overdrawn(a, n.path, t)
		}
		if b == nil {
			continue
		}
		b.Path = n.path
		mode := a.aspects.Of(b.Measure).OnExceeded
		m.tell(b, mode)
		switch {
		case mode == cairn.SkipExceeded:
			m.skip(n, b.String())
		case b.PerTask:
			m.decide(Decision{Kind: GaveUp, Path: n.path, Yes: n.task.Policy.Optional, Failure: breach(b)})
			m.outcome(n.path, m.state.Tasks[n.path], n)
		default:
			m.raise(a, breach(b))
		}
		return true
	}
	return false
}

// breach is a reached limit as a failure: of the task for a limit on each, else of the budget.
func breach(b *cairn.Breach) *cairn.Failure {
	f := &cairn.Failure{Code: cairn.BudgetExceeded, Path: b.Budget, Permanent: true, Message: b.String()}
	if b.PerTask {
		f.Path = b.Path
	} else if b.Path != "" {
		f.Message += ", and " + b.Path + " wants to start"
	}
	detail, err := json.Marshal(b)
	must(err)
	f.Detail = detail
	return f
}

// priced blocks the run where a limited cost is unknown.
func (m *Machine) priced(a *node) {
	if l := m.state.Ledgers[a.path]; l != nil && l.Unpriced != "" && a.aspects.Cost.Limits() && !a.aspects.AllowUnpriced {
		panic(unpriced(a.path, l.Unpriced))
	}
}

func unpriced(path, model string) error {
	return &cairn.Error{Code: cairn.UnpricedModel, Path: path, Message: fmt.Sprintf("the cost below it is limited, and model %q has no price", model),
		Next: "give the model a price, or set AllowUnpriced to count its calls as free"}
}

// prices reports the tasks of a render that are to use models without a price, where the cost is limited.
func (m *Machine) prices(fresh []*node) {
	if m.Priced == nil {
		return
	}
	for _, n := range fresh {
		if n.kind != cairn.KindTask || n.untaken {
			continue
		}
		for _, model := range n.task.Models {
			if m.Priced(model) {
				continue
			}
			for _, a := range n.budgets() {
				if a.aspects.Cost.Limits() && !a.aspects.AllowUnpriced {
					m.memo.mistake(cairn.UnpricedModel, n.path, fmt.Sprintf("the cost below %s is limited, and model %q has no price: give it one, or set AllowUnpriced", a.path, model))
				}
			}
		}
	}
}

// aimless reports a try of a render that is to catch a breached budget and has none in its body.
func (m *Machine) aimless(fresh []*node) {
	for _, n := range fresh {
		if n.kind != cairn.KindTry || n.untaken || !slices.Contains(n.try.Only, cairn.BudgetExceeded) {
			continue
		}
		budget := false
		n.children[bodyPart].walk(func(c *node) bool {
			budget = budget || c.kind == cairn.KindAspects
			return !budget
		})
		if !budget {
			m.memo.mistake(cairn.InvalidTree, n.path, fmt.Sprintf("a Try on %s with no Aspects in its Body: it would never catch one", cairn.BudgetExceeded))
		}
	}
}

// full is the outermost budget around a task that has no room for another attempt's reserve while others run: what they
// really use is not known yet. Nil lets the task go on.
func (m *Machine) full(n *node) *node {
	for _, a := range n.governing() {
		l := m.state.Ledgers[a.path]
		if l == nil || l.Running == 0 {
			continue
		}
		for _, measure := range cairn.Measures {
			b := a.aspects.Of(measure)
			if b.Reserve <= 0 || b.Max <= 0 || b.OnExceeded == cairn.WarnExceeded {
				continue
			}
			spent := l.SpentAt(m.state.Time).Of(measure)
			if spent < b.Max && spent+int64(l.Running+1)*b.Reserve > b.Max {
				return a
			}
		}
	}
	return nil
}

// readmit lets the next held task of each budget around a node try, but for one that has just held it.
func (m *Machine) readmit(n, full *node) {
	for p := n.parent; p != nil; p = p.parent {
		if p.kind == cairn.KindAspects && p != full && len(p.held) > 0 {
			m.memo.ready.push(p.held.pop())
		}
	}
}

// readmitHeld lets the next held task of each budget try below which an attempt has ended: it has given room back.
func (m *Machine) readmitHeld() {
	for _, path := range m.over {
		for _, address := range m.state.Tasks[path].Budgets {
			if a := m.memo.nodes[address]; a != nil && len(a.held) > 0 {
				m.memo.ready.push(a.held.pop())
			}
		}
	}
}

// skipping says why a loop begins no further iteration: all in it would be skipped.
func (m *Machine) skipping(n *node) string {
	for _, a := range n.governing() {
		if b := m.reached(a, nil, skipsRest); b != nil {
			return b.String()
		}
	}
	return ""
}

// notice tells of the limits, buckets and prices that the ended attempts of a step have to do with. A task that waits for
// another attempt and may not have one is not left waiting. It reports whether anything moved.
func (m *Machine) notice(events []Event) (moved bool) {
	for i := range events {
		e := &events[i]
		switch e.Kind {
		case TaskDone, TaskFailed, TaskLost:
		default:
			continue
		}
		t := m.state.Tasks[e.Path]
		stopped := false
		for _, address := range t.Budgets {
			a := m.memo.nodes[address]
			if a == nil || a.kind != cairn.KindAspects {
				continue
			}
			m.noticeLimits(a, e.Path, t)
			stopped = stopped || t.Status == TaskWaiting && overdrawn(a, e.Path, t) != nil
		}
		m.noticeUsage(e, t)
		if n := m.memo.nodes[e.Path]; stopped && n != nil && n.active {
			if t.At > 0 {
				m.command(Command{Kind: ClearTimer, Path: e.Path})
			}
			moved = m.refused(n, t) || moved
		}
	}
	return moved
}

// noticeLimits tells which limits of a budget are reached. One on each task is only told when the task would need more,
// or has used more.
func (m *Machine) noticeLimits(a *node, path string, t *Task) {
	for _, measure := range cairn.Measures {
		mode := a.aspects.Of(measure).OnExceeded
		if b := m.exhausted(a, measure, nil); b != nil {
			m.tell(b, mode)
		}
		if b := exhaustedBy(a, measure, path, t); b != nil && (b.Spent > b.Limit || t.Status == TaskWaiting) {
			m.tell(b, mode)
		}
	}
}

// noticeUsage tells of model calls with much context, or without a price.
func (m *Machine) noticeUsage(e *Event, t *Task) {
	for _, u := range e.Usage {
		if u.Unpriced && !m.state.Unpriced[u.Model] {
			m.decide(Decision{Kind: Unpriced, Path: e.Path, Reason: u.Model})
		}
		context := u.Context()
		if bucket := ContextBucket(context); bucket > t.Bucket {
			m.decide(Decision{Kind: Crowded, Path: e.Path, I: bucket, At: context})
		}
		if u.Window > 0 && 2*context > u.Window && !t.HalfFull {
			m.decide(Decision{Kind: Crowded, Path: e.Path, At: context, Yes: true})
		}
	}
}
