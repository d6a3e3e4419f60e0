package crashtest_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/crashtest"
)

// forgery is evidence that a test may change.
type forgery struct {
	*crashtest.Evidence
	t testing.TB
}

// frame changes a frame and forges the chain after it, the acknowledgements and the catalog, so that only what
// the change means is left to see.
func (f *forgery) frame(n int, change func(*core.Frame)) {
	f.t.Helper()
	prev := ""
	renamed := map[string]string{}
	for i, body := range f.Frames {
		frame, err := core.Decode(body)
		if err != nil {
			f.t.Fatal(err)
		}
		if frame.Prev = prev; i == n-1 {
			change(frame)
		}
		forged, err := frame.Encode()
		if err != nil {
			f.t.Fatal(err)
		}
		f.Frames[i], prev = forged, core.Hash(forged)
		renamed[core.Hash(body)] = prev
	}
	for i := range f.Log {
		if l := &f.Log[i]; l.Kind == crashtest.Acked {
			l.Hash = renamed[l.Hash]
		}
	}
	f.Info.Hash = prev
}

// find is the number of the first frame with such an event or decision.
func (f *forgery) find(is func(*core.Frame) bool) int {
	f.t.Helper()
	for i, body := range f.Frames {
		if frame, err := core.Decode(body); err == nil && is(frame) {
			return i + 1
		}
	}
	f.t.Fatal("there is no such frame")
	return 0
}

func (f *forgery) done() int {
	return f.find(func(fr *core.Frame) bool { return has(fr, core.TaskDone) })
}

func has(f *core.Frame, kind core.EventKind) bool {
	return slices.ContainsFunc(f.Events, func(e core.Event) bool { return e.Kind == kind })
}

// line is the position of the first log line of a kind.
func (f *forgery) line(kind string) int {
	f.t.Helper()
	i := slices.IndexFunc(f.Log, func(l crashtest.Line) bool { return l.Kind == kind })
	if i < 0 {
		f.t.Fatalf("there is no line %q", kind)
	}
	return i
}

// again appends a copy of a log line, changed.
func (f *forgery) again(kind string, change func(*crashtest.Line)) {
	l := f.Log[f.line(kind)]
	l.Who = f.Log[len(f.Log)-1].Who
	for i := range slices.Backward(f.Log) { // the last owner of the run
		if f.Log[i].Kind == crashtest.Acked {
			l.Who = f.Log[i].Who
			break
		}
	}
	change(&l)
	f.Log = append(f.Log, l)
}

// TestCheckerBites gives the checker runs that broke each guarantee.
func TestCheckerBites(t *testing.T) {
	ev, out := peace(t)
	same := func(*crashtest.Line) {}
	tests := []struct {
		want  string // what a complaint begins with
		forge func(f *forgery)
	}{
		{"", func(*forgery) {}},
		{"file: PRAGMA", func(f *forgery) { f.Integrity = []string{"row 3 missing from index runs_status"} }},
		{"I1: frame 12 stands where frame 11", func(f *forgery) { f.Frames = slices.Delete(f.Frames, 10, 11) }},
		{"I1: frame 5 follows a frame of hash", func(f *forgery) {
			f.Frames[3] = []byte(strings.Replace(string(f.Frames[3]), `"n":4`, `"n":4 `, 1))
		}},
		{"I1: the catalog ends at frame", func(f *forgery) { f.Info.Head++ }},
		{"I2: frame 6 accepts a result", func(f *forgery) {
			frame, _ := core.Decode(f.Frames[f.done()-1])
			f.frame(6, func(fr *core.Frame) { fr.Events = append(fr.Events, frame.Events[0]) })
		}},
		{"I3: the result", func(f *forgery) { f.Info.Result = json.RawMessage(`"another"`) }},
		{"I3: the result of round[0]/ab/part", func(f *forgery) {
			f.Log = slices.DeleteFunc(f.Log, func(l crashtest.Line) bool { return l.Kind == crashtest.BodyDone && l.Path == "round[0]/ab/part" })
		}},
		{"I3: attempt 99 of", func(f *forgery) { f.again(crashtest.BodyStart, func(l *crashtest.Line) { l.Attempt = 99 }) }},
		{"I3: attempt 1 of", func(f *forgery) { // a body begins before its frame is acknowledged
			i := f.line(crashtest.BodyStart)
			l := f.Log[i]
			f.Log = slices.Insert(slices.Delete(f.Log, i, i+1), 0, l)
		}},
		{"I4: frame 1 was acknowledged by", func(f *forgery) { f.again(crashtest.Acked, func(l *crashtest.Line) { l.Hash = "0" }) }},
		{"I4: frame 1 was acknowledged by engine 1 and by engine 9", func(f *forgery) {
			f.again(crashtest.Acked, func(l *crashtest.Line) { l.Who = "engine 9" })
		}},
		{"I4: step add-0 of report", func(f *forgery) { f.again(crashtest.StepDone, func(l *crashtest.Line) { l.Value = "2" }) }},
		{"I5: frame", func(f *forgery) {
			f.frame(f.find(func(fr *core.Frame) bool { return has(fr, core.PauseAsked) }), func(fr *core.Frame) {
				for i := range fr.Events {
					if fr.Events[i].Kind == core.PauseAsked {
						fr.Events[i].Seq = 2
					}
				}
			})
		}},
		{"I6: the time of frame", func(f *forgery) { f.frame(8, func(fr *core.Frame) { fr.Time -= 1000 }) }},
		{"I6: frame", func(f *forgery) { // a pause that is longer than what was waited
			f.frame(f.find(func(fr *core.Frame) bool {
				return slices.ContainsFunc(fr.Decisions, func(d core.Decision) bool { return d.Kind == core.Retried })
			}), func(fr *core.Frame) {
				for i := range fr.Decisions {
					if fr.Decisions[i].Kind == core.Retried {
						fr.Decisions[i].At += 60_000
					}
				}
			})
		}},
		{"I7: frame 7 starts attempt 2 of config", func(f *forgery) {
			f.frame(7, func(fr *core.Frame) {
				fr.Decisions = append(fr.Decisions, core.Decision{Kind: core.Started, Path: "config", Attempt: 2})
			})
		}},
		{"I7: attempt", func(f *forgery) { f.again(crashtest.BodyStart, same) }},
		{"I7: step add-0 of report is executed", func(f *forgery) { f.again(crashtest.StepRun, same) }},
		{"I7: attempt 1 of", func(f *forgery) { f.again(crashtest.BodyStart, func(l *crashtest.Line) { l.Key = "another" }) }},
		{"I8: frame", func(f *forgery) {
			last, _ := core.Decode(f.Frames[len(f.Frames)-1])
			more := core.Frame{N: last.N + 1, Time: last.Time, Prev: f.Info.Hash, Events: []core.Event{{Kind: core.RunResumed}}}
			body, _ := more.Encode()
			f.Frames, f.Info.Head, f.Info.Hash = append(f.Frames, body), more.N, core.Hash(body)
		}},
		{"I9: frame 10", func(f *forgery) { f.frame(10, func(fr *core.Frame) { fr.Structure = "00000000" }) }},
		{"I10: the run is finished, and", func(f *forgery) { f.Info.Owner = engine.Owner{Token: "x", Host: "h", PID: 1} }},
		{"I10: the run is finished, and attempts", func(f *forgery) {
			f.frame(len(f.Frames), func(fr *core.Frame) {
				fr.Decisions = slices.Insert(fr.Decisions, 0, core.Decision{Kind: core.Started, Path: "new", Attempt: 1})
			})
		}},
		{"I11: Start was acknowledged", func(f *forgery) { f.Missing = true }},
		{"I11: frame 999 was acknowledged", func(f *forgery) { f.Piped = 999 }},
		{"I11: frame 999 was acknowledged", func(f *forgery) { f.again(crashtest.Acked, func(l *crashtest.Line) { l.N = 999 }) }},
		{"I11: step add-0 of report", func(f *forgery) { f.Entries = nil }},
		{"I12: a graceful stop has left the run cancelled", func(f *forgery) { f.Info.Status = core.CancelledRun }},
		{"I12: a graceful stop has left attempts", func(f *forgery) { f.Frames = f.Frames[:6] }},
		{"I13: the catalog says", func(f *forgery) { f.Info.Status = core.Running }},
		{"I13: effect r/sweep@1#0 is committed and neither", func(f *forgery) {
			f.Log = slices.DeleteFunc(f.Log, func(l crashtest.Line) bool { return l.Key == "r/sweep@1#0" })
		}},
		{"I13: effect r/sweep@7#0 is delivered and not", func(f *forgery) {
			f.again(crashtest.Delivering, func(l *crashtest.Line) { l.Key = "r/sweep@7#0" })
		}},
		{"I13: effects", func(f *forgery) { f.Outbox = []string{"r/sweep@1#0"} }},
		{"artifact: sums.txt", func(f *forgery) {
			f.frame(f.find(func(fr *core.Frame) bool {
				return slices.ContainsFunc(fr.Events, func(e core.Event) bool { return len(e.Artifacts) > 0 })
			}), func(fr *core.Frame) {
				for i := range fr.Events {
					for j := range fr.Events[i].Artifacts {
						fr.Events[i].Artifacts[j].Hash = strings.Repeat("0", 64)
					}
				}
			})
		}},
		{"end: task round[1]/tally", func(f *forgery) {
			f.frame(f.find(func(fr *core.Frame) bool {
				return slices.ContainsFunc(fr.Events, func(e core.Event) bool { return e.Kind == core.TaskDone && e.Path == "round[1]/tally" })
			}), func(fr *core.Frame) {
				for i := range fr.Events {
					fr.Events[i].Output = json.RawMessage(`77`)
				}
			})
		}},
	}
	for _, test := range tests {
		copied := *ev
		copied.Frames, copied.Log, copied.Entries = slices.Clone(ev.Frames), slices.Clone(ev.Log), slices.Clone(ev.Entries)
		test.forge(&forgery{Evidence: &copied, t: t})
		c := checker(t, crashtest.PlaceIn(t.TempDir()), crashtest.Everything, out)
		c.Artifacts = files(t)
		bad := c.Final(t.Context(), &copied)
		if strings.HasPrefix(test.want, "I12") {
			bad = c.Stopped(t.Context(), &copied)
		}
		found := len(bad) == 0 && test.want == ""
		for _, err := range bad {
			found = found || test.want != "" && strings.HasPrefix(err.Error(), test.want)
		}
		if !found {
			t.Errorf("nobody complains %q, but %q", test.want, bad)
		}
	}
}

// files holds the artifact of the scenario: what the report has written.
func files(t *testing.T) *artifact.Dir {
	t.Helper()
	dir, err := artifact.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := dir.Put(t.Context(), strings.NewReader("[10 20 30 40]")); err != nil {
		t.Fatal(err)
	}
	return dir
}
