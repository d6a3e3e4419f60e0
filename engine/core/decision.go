package core

import "fmt"

// String is a decision as people read it.
func (d Decision) String() string {
	s := string(d.Kind)
	if d.Path != "" {
		s += " " + d.Path
	}
	switch d.Kind {
	case Started:
		s += fmt.Sprintf(" attempt %d", d.Attempt)
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
	case Breached:
		return fmt.Sprintf("%s %s", s, d.Breach)
	case Crowded:
		if s += fmt.Sprintf(": %d tokens of context", d.At); d.Yes {
			s += ", over half of the model's window"
		}
	}
	if d.Reason != "" {
		s += " (" + d.Reason + ")"
	}
	if d.Failure != nil {
		s += ": " + d.Failure.Error()
	}
	return s
}
