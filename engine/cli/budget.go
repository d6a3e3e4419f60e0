package cli

import (
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// limited is a limit of a budget as inspect and node show it. Amounts are in the measure's unit: tokens, micro-dollars,
// milliseconds.
type limited struct {
	Budget     string        `json:"budget"`
	Measure    cairn.Measure `json:"measure"`
	PerTask    bool          `json:"perTask,omitempty"`
	Limit      int64         `json:"limit"`
	Reserve    int64         `json:"reserve,omitempty"`
	OnExceeded string        `json:"onExceeded"`
	// Spent and Left say where it stands. They are missing of a limit per task where no task is meant. Left is negative of
	// one that is overdrawn.
	Spent *int64 `json:"spent,omitempty"`
	Left  *int64 `json:"left,omitempty"`
	// Unpriced is a model whose calls a limited cost leaves out, because it has no price.
	Unpriced string `json:"unpriced,omitempty"`
}

// limitsOf lists the limits of a budget, as of a moment in Unix milliseconds. task is whom those per task are for; nil is
// nobody.
func limitsOf(address string, l *core.Ledger, at int64, task *core.Spent) (all []limited) {
	spent := l.SpentAt(at)
	for _, measure := range cairn.Measures {
		b := l.Limits.Of(measure)
		one := limited{Budget: address, Measure: measure, OnExceeded: core.ModeName(b.OnExceeded)}
		if measure == cairn.Cost {
			one.Unpriced = l.Unpriced
		}
		if b.Max > 0 {
			total := one
			total.Reserve = b.Reserve
			total.stands(b.Max, spent.Of(measure))
			all = append(all, total)
		}
		if b.PerTask > 0 {
			one.PerTask, one.Limit = true, b.PerTask
			if task != nil {
				one.stands(b.PerTask, task.Of(measure))
			}
			all = append(all, one)
		}
	}
	return all
}

func (l *limited) stands(limit, spent int64) {
	l.Limit, l.Spent, l.Left = limit, new(spent), new(limit-spent)
}

// barWidth is how many cells a bar has.
const barWidth = 10

// bar shows how much of a limit is spent. Only one that is reached is full.
func bar(spent, limit int64) string {
	cells := min(barWidth-1, int(float64(max(spent, 0))/float64(limit)*barWidth))
	if spent >= limit {
		cells = barWidth
	}
	return strings.Repeat("█", cells) + strings.Repeat("░", barWidth-cells)
}

// budgetRow writes a limit as a line of a table.
func budgetRow(w io.Writer, l limited) {
	show, text := "per task", l.Measure.Format(l.Limit)+" each"
	if l.Spent != nil {
		text = fmt.Sprintf("%s of %s (%s left)", l.Measure.Format(*l.Spent), l.Measure.Format(l.Limit), l.Measure.Format(*l.Left))
		if *l.Left < 0 {
			text = fmt.Sprintf("%s of %s (%s over)", l.Measure.Format(*l.Spent), l.Measure.Format(l.Limit), l.Measure.Format(-max(*l.Left, -math.MaxInt64)))
		}
		if show = bar(*l.Spent, l.Limit); l.PerTask {
			text += " per task"
		}
	}
	text += " " + l.OnExceeded
	if l.Reserve > 0 {
		text += fmt.Sprintf(", reserves %s", l.Measure.Format(l.Reserve))
	}
	if l.Unpriced != "" {
		text += fmt.Sprintf(", without the calls of %q, which has no price", l.Unpriced)
	}
	row(w, "budget", l.Budget, string(l.Measure), show, text)
}

// raise says how a run goes on that a budget has stopped.
func (a *app) raise(id string) string {
	return "raise the limit and go on with " + a.hint("resume", quote(id))
}

// instant is the moment that a run is looked at, in Unix milliseconds: what nobody drives stands still.
func instant(info engine.RunInfo, state *core.State, now int64) int64 {
	if driven(info) {
		return max(state.Time, now)
	}
	return state.Time
}
