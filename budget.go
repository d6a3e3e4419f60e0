package cairn

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Measure is what a budget counts.
type Measure string

const (
	Tokens  Measure = "tokens"  // Usage.Tokens of all model calls
	Cost    Measure = "cost"    // micro-dollars
	Latency Measure = "latency" // milliseconds in which at least one attempt runs, by the times of frames
)

// Measures lists all of them, in the order in which they are checked.
var Measures = [...]Measure{Tokens, Cost, Latency}

// OnExceeded says what a reached limit does.
type OnExceeded string

const (
	// FailExceeded, the default, raises BUDGET_EXCEEDED.
	FailExceeded OnExceeded = ""
	// WarnExceeded tells, once, and goes on.
	WarnExceeded OnExceeded = "warn"
	// SkipExceeded skips what has not started.
	SkipExceeded OnExceeded = "skip-remaining"
)

// Budget is a limit as plain data. Package aspects documents its fields.
type Budget struct {
	Max        int64      `json:"max,omitempty"`
	PerTask    int64      `json:"perTask,omitempty"`
	Reserve    int64      `json:"reserve,omitempty"`
	OnExceeded OnExceeded `json:"onExceeded,omitempty"`
}

// Limits says that something is limited.
func (b Budget) Limits() bool { return b.Max > 0 || b.PerTask > 0 }

// Tracking says which measures of a task appear in metrics. The zero value leaves it to what is around.
type Tracking uint8

// What can be tracked, to be combined with |.
const (
	TrackTokens Tracking = 1 << iota
	TrackCost
	TrackLatency
	TrackContext
	TrackNothing
)

// Tracks says whether metrics show what.
func (t Tracking) Tracks(what Tracking) bool { return t == 0 || t&what != 0 }

// AspectsSpec is the part of a Spec that package aspects sets.
type AspectsSpec struct {
	Tokens  Budget `json:"tokens,omitzero"`
	Cost    Budget `json:"cost,omitzero"`
	Latency Budget `json:"latency,omitzero"`
	// AllowUnpriced lets a cost budget govern models that have no price: they count as free.
	AllowUnpriced bool     `json:"allowUnpriced,omitempty"`
	Tracking      Tracking `json:"tracking,omitempty"`
}

// Of is the budget of a measure.
func (a AspectsSpec) Of(m Measure) Budget {
	switch m {
	case Tokens:
		return a.Tokens
	case Cost:
		return a.Cost
	}
	return a.Latency
}

// Breach is a limit that is reached, and what it refuses.
type Breach struct {
	// Budget is the address of the Aspects node, Measure which of its budgets.
	Budget  string  `json:"budget"`
	Measure Measure `json:"measure"`
	// PerTask says that the limit is on each task, not on all together.
	PerTask bool `json:"perTask,omitempty"`
	// Limit and Spent are in the measure's unit.
	Limit int64 `json:"limit"`
	Spent int64 `json:"spent"`
	// Path is the task that was refused, or has gone over its limit.
	Path string `json:"path,omitempty"`
}

// String is a breach as people read it.
func (b Breach) String() string {
	each := ""
	if b.PerTask {
		each = " per task"
	}
	return fmt.Sprintf("%s of %s: %s spent of %s%s", b.Measure, b.Budget, b.Measure.Format(b.Spent), b.Measure.Format(b.Limit), each)
}

// Format is an amount of the measure as people read it: 105,000, $0.105, 1m30s. Nothing is rounded.
func (m Measure) Format(amount int64) string {
	if amount < 0 {
		return "-" + m.Format(-max(amount, -math.MaxInt64))
	}
	switch m {
	case Cost:
		cents, rest := amount%1e6/1e4, amount%1e4
		text := fmt.Sprintf("$%s.%02d", grouped(amount/1e6), cents)
		if rest > 0 {
			text += strings.TrimRight(fmt.Sprintf("%04d", rest), "0")
		}
		return text
	case Latency:
		if amount > math.MaxInt64/int64(time.Millisecond) {
			return grouped(amount/1e3) + "s"
		}
		text := (time.Duration(amount) * time.Millisecond).String()
		if short, whole := strings.CutSuffix(text, "m0s"); whole {
			text = strings.TrimSuffix(short+"m", "h0m")
			if text != short+"m" {
				text += "h"
			}
		}
		return text
	}
	return grouped(amount)
}

// grouped parts the thousands of a number that is not negative.
func grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for at := len(digits) - 3; at > 0; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

// Meter knows the budgets around an attempt. It is safe for concurrent use.
type Meter interface {
	// Admit says whether another model call may begin: nil, or a *Failure of BUDGET_EXCEEDED that the body returns.
	Admit() error
	// Spend books a model call that has ended, well or not. What is booked here is no part of Result.Usage.
	Spend(u Usage)
}
