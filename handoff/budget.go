package handoff

import (
	"cmp"
	"encoding/json"
	"errors"

	"github.com/cairnrun/cairn"
)

// OnBudget hands over when a budget breaks: what is in Body stands under a budget of package aspects, a breach is caught,
// Distil makes a short state of what was learned, and a successor begins with it, its budgets at zero. All other
// failures pass outward, as if it were not there. It is a Try and a ContinueAsNew, and nothing that could not be
// written with them.
type OnBudget struct {
	// ID names the node, by default "on-budget"; two unnamed in one scope are a mistake. It is no part of task paths.
	ID   string
	Body cairn.Node
	// Distil, if not nil, is mounted after the breach and runs before the handoff: a task that condenses, under a budget of
	// its own if it needs one. It is outside of the budget that broke. When it fails the run fails with that, and the
	// breach as its cause.
	Distil func(v *cairn.View, f cairn.Failure) cairn.Node
	// State makes what the successor's Carried gives, once, when Distil is done: it may read what that has made. Required.
	State func(v *cairn.View, f cairn.Failure) any
	// Keep is that of ContinueAsNew.
	Keep cairn.Keys
	// Finally runs on every way out, before the handoff too, as that of a Try. Optional.
	Finally func(v *cairn.View) cairn.Node
}

// Lower says what an OnBudget is.
func (o OnBudget) Lower() cairn.Spec {
	id := cmp.Or(o.ID, "on-budget")
	try := cairn.Try{ID: id, Body: o.Body, Only: cairn.Codes{cairn.BudgetExceeded}, Finally: o.Finally}
	try.Catch = func(v *cairn.View, f cairn.Failure) cairn.Node {
		var distil cairn.Node
		if o.Distil != nil {
			distil = o.Distil(v, f)
		}
		return cairn.Nodes{distil, afterwards{ContinueAsNew{ID: id + "-handoff", Keep: o.Keep}, f, o.State}}
	}
	spec := try.Lower()
	if o.State == nil {
		spec.Mistakes = append(spec.Mistakes, errors.New("an OnBudget without a State: the successor would begin from nothing and break the same budget"))
	}
	return spec
}

// afterwards is a ContinueAsNew whose state is made when its turn has come.
type afterwards struct {
	ContinueAsNew
	failure cairn.Failure
	state   func(v *cairn.View, f cairn.Failure) any
}

// Lower says what the ContinueAsNew is.
func (a afterwards) Lower() cairn.Spec {
	spec := a.ContinueAsNew.Lower()
	spec.Handoff.State = func(v *cairn.View) (json.RawMessage, string, error) {
		state := a.state(v, a.failure)
		if state == nil {
			return nil, "", nil
		}
		return encode(state)
	}
	return spec
}
