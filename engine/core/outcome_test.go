package core_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// TestEnded: every attempt is told of once, in the frame that it ends in, with what has become of it. That frames tell the
// same as steps is checked by the simulation.
func TestEnded(t *testing.T) {
	s := run(t, mount(par(retry(3, T("a")), retry(3, T("b")), T("c"), T("d")), T("out")))
	ended := func(want ...string) {
		t.Helper()
		var got []string
		for _, a := range s.m.State().Ended() {
			got = append(got, fmt.Sprintf("%s/%d %s %dms %d", a.Path, a.Number, a.Outcome, a.Took, len(a.Usage)))
		}
		if strings.Join(got, ", ") != strings.Join(want, ", ") {
			t.Fatalf("ended: %q, want %q", got, want)
		}
	}
	ended()
	s.now = s.now.Add(time.Second)
	a, b := s.failEvent("a", "BROKEN"), s.doneEvent("c", 1)
	a.Usage, b.Cached = []cairn.Usage{{Model: "m", Input: 1}}, true
	s.step(a, b)
	ended("a/1 failed 1000ms 1", "c/1 cached 1000ms 0")
	s.fire("a")
	ended()
	refused := s.failEvent("a", cairn.BudgetExceeded)
	refused.Refused = &cairn.Breach{Budget: "#gone", Measure: cairn.Tokens, Limit: 1, Spent: 1}
	s.step(refused)
	ended("a/2 refused 0ms 0")
	s.now = s.now.Add(time.Hour)
	s.restart(s.def, core.Event{Kind: core.RunResumed})
	if got := s.m.State().Ended(); len(got) != 3 || got[0].Path != "a" || got[1].Path != "b" || got[0].Outcome != core.AttemptLost || got[0].Took >= 3_600_000 {
		t.Fatalf("lost with the process: %+v", got) // the hour in which nobody drove the run is in none of them
	}
	s.lose("d", true)
	if got := s.m.State().Ended(); len(got) != 1 || got[0].Outcome != core.AttemptLost {
		t.Fatalf("stopped with the process: %+v", got)
	}
	b = s.doneEvent("b", 1)
	s.step(b, core.Event{Kind: core.CancelAsked})
	if got := s.m.State().Ended(); len(got) != 1 || got[0].Outcome != core.AttemptDone || s.m.State().Tasks["b"].Status != core.TaskFinished {
		t.Fatalf("done before the cancellation: %+v", got)
	}
	s.fail("a", cairn.Cancelled)
	if got := s.m.State().Ended(); len(got) != 1 || got[0].Outcome != core.AttemptCancelled {
		t.Fatalf("told to stop: %+v", got)
	}
}
