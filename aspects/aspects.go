package aspects

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/cairnrun/cairn"
)

// BudgetExceeded is the code of a reached limit with OnExceeded Fail. BreachOf reads the details of such a failure.
const BudgetExceeded = cairn.BudgetExceeded

// Units of Cost.
const (
	Cent   = 10_000    // micro-dollars
	Dollar = 1_000_000 // micro-dollars
)

// Units of Latency.
const (
	Second = 1_000       // milliseconds
	Minute = 60 * Second // in milliseconds, like all of these
	Hour   = 60 * Minute // see Minute
)

// What a reached limit does.
const (
	Fail          = cairn.FailExceeded // the default: the node fails with BUDGET_EXCEEDED
	Warn          = cairn.WarnExceeded // it is told, and nothing else happens
	SkipRemaining = cairn.SkipExceeded // what has not started is skipped
)

// What metrics show of the tasks below a node, to be combined with |.
const (
	TrackTokens  = cairn.TrackTokens
	TrackCost    = cairn.TrackCost
	TrackLatency = cairn.TrackLatency
	TrackContext = cairn.TrackContext
	TrackNothing = cairn.TrackNothing
)

// Aspects puts budgets around its children, which run in order as in a Sequence. It adds nothing to their paths.
type Aspects struct {
	// ID names the node where its scope has several. Defaults to "aspects"; the budget's address is scope#ID.
	ID string
	// Tokens counts all that model calls read and write, cached or not.
	Tokens Budget
	// Cost is in micro-dollars: 2 * Dollar.
	Cost Budget
	// Latency is the time in which at least one attempt runs, in milliseconds: 10 * Minute. Pauses between attempts and time
	// in which nobody drives the run do not count. It can't be reserved.
	Latency Budget
	// AllowUnpriced lets Cost govern models that have no price: they count as free. Without it such a model is
	// UNPRICED_MODEL: at the start if the agent tells its model, else the run blocks after the first call.
	AllowUnpriced bool
	// Tracking says what of the tasks below appears in metrics. The zero value is what is around the node says, everything by
	// default. It changes nothing about the budgets.
	Tracking cairn.Tracking
	Children cairn.Nodes
}

// Budget is a limit. Its zero value limits nothing.
type Budget struct {
	// Max is what all tasks below the node may use together, PerTask what each may, over all of its attempts. 0 is no limit.
	Max, PerTask int64
	// Reserve is what one attempt is expected to use, at most: see the package's "How far a budget can be overdrawn". 0 reserves
	// nothing.
	Reserve int64
	// OnExceeded is Fail, Warn or SkipRemaining.
	OnExceeded cairn.OnExceeded
}

// Lower says what the node is, and what is wrong with it.
func (a Aspects) Lower() cairn.Spec {
	spec := &cairn.AspectsSpec{Tokens: cairn.Budget(a.Tokens), Cost: cairn.Budget(a.Cost), Latency: cairn.Budget(a.Latency),
		AllowUnpriced: a.AllowUnpriced, Tracking: a.Tracking}
	out := cairn.Spec{Kind: cairn.KindAspects, ID: a.ID, Children: a.Children, Aspects: spec}
	for _, measure := range cairn.Measures {
		if err := check(measure, spec.Of(measure)); err != nil {
			out.Mistakes = append(out.Mistakes, fmt.Errorf("the budget of %s: %w", measure, err))
		}
	}
	if a.Tracking&cairn.TrackNothing != 0 && a.Tracking != cairn.TrackNothing {
		out.Mistakes = append(out.Mistakes, errors.New("the Tracking is TrackNothing and more"))
	}
	return out
}

// check says what is wrong with a budget.
func check(measure cairn.Measure, b cairn.Budget) error {
	switch {
	case b.Max < 0 || b.PerTask < 0 || b.Reserve < 0:
		return fmt.Errorf("a Max of %d, PerTask %d, Reserve %d: none may be negative, and 0 is no limit", b.Max, b.PerTask, b.Reserve)
	case b.OnExceeded != Fail && b.OnExceeded != Warn && b.OnExceeded != SkipRemaining:
		return fmt.Errorf("its OnExceeded is %q: use Fail, Warn or SkipRemaining", b.OnExceeded)
	case b.OnExceeded != Fail && !b.Limits():
		return errors.New("its OnExceeded is set, and no limit")
	case b.Reserve > 0 && measure == cairn.Latency:
		return errors.New("time that attempts share can't be reserved")
	case b.Reserve > 0 && b.Max == 0:
		return errors.New("a Reserve needs a Max")
	case b.Max > 0 && b.Reserve > b.Max:
		return fmt.Errorf("a Reserve of %d is more than Max %d", b.Reserve, b.Max)
	}
	return nil
}

// Breach is which limit is reached: the budget's address, the measure, the limit, what is spent, and the task that was
// refused.
type Breach = cairn.Breach

// BreachOf reads the details of a BUDGET_EXCEEDED failure, in a Catch or of a run. It is false for other failures.
func BreachOf(f cairn.Failure) (Breach, bool) {
	var b Breach
	if f.Code != BudgetExceeded || json.Unmarshal(f.Detail, &b) != nil {
		return Breach{}, false
	}
	return b, true
}
