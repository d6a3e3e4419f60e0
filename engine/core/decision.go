package core

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cairnrun/cairn"
)

// String is a decision as people read it.
func (d Decision) String() string {
	s := string(d.Kind)
	if d.Path != "" {
		s += " " + d.Path
	}
	switch d.Kind {
	case Started:
		s += fmt.Sprintf(" attempt %d", d.Attempt)
		if d.Fork != "" {
			s += ", a fork of " + d.Fork
		}
	case Verdict:
		s += fmt.Sprintf(" of iteration %d: %t", d.I, d.Yes)
	case Exhausted:
		s += fmt.Sprintf(" after iteration %d", d.I)
	case Entered:
		s += " " + string(d.Phase)
	case Patched:
		s += fmt.Sprintf(" %s: %t", d.Reason, d.Yes)
		return s
	case HandingOver:
		if d.Handoff != nil {
			s += fmt.Sprintf(", a state of %d bytes", len(d.Handoff.State))
		}
	case Succeeding:
		s += " by"
	case Ended:
		s += " " + string(d.Status)
	case Limited, Breached, Crowded, Unpriced:
		return s + ": " + d.Spending()
	}
	if d.Reason != "" {
		s += " (" + d.Reason + ")"
	}
	if d.Failure != nil {
		s += ": " + d.Failure.Error()
	}
	return s
}

// Spending is what a decision about budgets or usage says, without its kind and path; "" for all others.
func (d Decision) Spending() string {
	switch d.Kind {
	case Limited:
		return limitsText(d.Limits)
	case Breached:
		if d.Breach == nil {
			return ""
		}
		b := d.Breach
		text := fmt.Sprintf("%s %s spent of %s", b.Measure, b.Measure.Format(b.Spent), b.Measure.Format(b.Limit))
		if b.PerTask {
			text += " per task"
		}
		text += " (" + ModeName(cairn.OnExceeded(d.Reason)) + ")"
		if b.Path != "" {
			text += ", by " + b.Path
		}
		return text
	case Crowded:
		text := cairn.Tokens.Format(d.At) + " tokens of context"
		switch {
		case d.Yes:
			text += ", over half of the model's window"
		case d.I > 0 && d.I <= len(ContextBuckets):
			text += ", over " + BucketName(d.I-1)
		}
		return text
	case Unpriced:
		return fmt.Sprintf("model %q has no price", d.Reason)
	}
	return ""
}

// ModeName is what a reached limit does, in a word: fail, warn or skip-remaining.
func ModeName(mode cairn.OnExceeded) string { return cmp.Or(string(mode), "fail") }

// limitsText names all that limits limit.
func limitsText(limits *cairn.AspectsSpec) string {
	var out []string
	for _, measure := range cairn.Measures {
		if limits == nil {
			break
		}
		b := limits.Of(measure)
		if b.Max > 0 {
			out = append(out, fmt.Sprintf("%s %s (%s)", measure, measure.Format(b.Max), ModeName(b.OnExceeded)))
		}
		if b.PerTask > 0 {
			out = append(out, fmt.Sprintf("%s %s per task (%s)", measure, measure.Format(b.PerTask), ModeName(b.OnExceeded)))
		}
	}
	if len(out) == 0 {
		return "no limits"
	}
	return strings.Join(out, ", ")
}
