package crashtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// Checker compares what a run has left with what is guaranteed. One checker follows one run from death to death: it
// renders each frame only once.
type Checker struct {
	Def       cairn.Definition
	Artifacts cairn.Artifacts
	// Effects says how many effects the finished task on a path has emitted.
	Effects func(path string) int
	// Dead says that the process that holds a lease has ended.
	Dead func(engine.Owner) bool
	// Undisturbed, for Final, is what the run would have come to by itself.
	Undisturbed *Outcome

	// rendered are the hashes of frames that were rendered anew and agreed.
	rendered map[string]bool
}

// Outcome is what a run has come to, apart from how it got there.
type Outcome struct {
	Status core.Status
	Result string
	// Tasks holds status and output by path.
	Tasks map[string]string
}

// OutcomeOf folds the frames.
func OutcomeOf(ev *Evidence) (*Outcome, error) {
	s := core.NewState()
	for _, body := range ev.Frames {
		f, err := core.Decode(body)
		if err != nil {
			return nil, err
		}
		if err := s.Fold(f, core.Hash(body)); err != nil {
			return nil, err
		}
	}
	out := &Outcome{Status: s.Status, Result: string(ev.Info.Result), Tasks: map[string]string{}}
	for path, t := range s.Tasks {
		out.Tasks[path] = fmt.Sprintf("%s %s", t.Status, t.Output)
	}
	return out, nil
}

// complaints are what is wrong; each begins with the guarantee that is broken.
type complaints []error

func (c *complaints) add(guarantee, format string, args ...any) {
	*c = append(*c, fmt.Errorf("%s: %s", guarantee, fmt.Sprintf(format, args...)))
}

// Check looks at a run that nobody drives: after a death, a graceful stop, or its end.
func (c *Checker) Check(ctx context.Context, ev *Evidence) []error {
	var bad complaints
	if !slices.Equal(ev.Integrity, []string{"ok"}) {
		bad.add("file", "PRAGMA integrity_check says %q", ev.Integrity)
	}
	acked := slices.ContainsFunc(ev.Log, func(l Line) bool { return l.Kind == Began || l.Kind == Resumed || l.Kind == Acked })
	if ev.Missing {
		if acked || ev.Begun || ev.Piped > 0 {
			bad.add("I11", "Start was acknowledged, and the run is not there")
		}
		return bad
	}
	h := readHistory(ev, &bad)
	c.catalog(ev, h, &bad)
	c.render(ev, &bad)
	c.files(ctx, h, &bad)
	checkLog(ev, h, c.Effects, &bad)
	if o := ev.Info.Owner; o.Token != "" && c.Dead != nil && !c.Dead(o) {
		bad.add("I10", "nobody drives the run, and its lease belongs to %+v, which is not dead", o)
	}
	return bad
}

// Stopped checks, in addition, a run whose process was stopped gracefully: it can be resumed at once.
func (c *Checker) Stopped(ctx context.Context, ev *Evidence) []error {
	bad := complaints(c.Check(ctx, ev))
	if ev.Missing {
		return bad
	}
	h := readHistory(ev, new(complaints))
	if s := ev.Info.Status; s != core.Running && s != core.Finished && s != core.Failed {
		bad.add("I12", "a graceful stop has left the run %s", s)
	}
	if ev.Info.Owner.Token != "" {
		bad.add("I12", "a graceful stop has left the lease with %+v", ev.Info.Owner)
	}
	if len(h.running) > 0 {
		bad.add("I12", "a graceful stop has left attempts running: %v", h.running)
	}
	return bad
}

// Final checks, in addition, a run that has ended and whose outbox was drained.
func (c *Checker) Final(ctx context.Context, ev *Evidence) []error {
	bad := complaints(c.Check(ctx, ev))
	if !ev.Info.Status.Terminal() {
		bad.add("end", "the run is %s and should have ended: %v", ev.Info.Status, ev.Info.Failure)
		return bad
	}
	if len(ev.Outbox) > 0 {
		bad.add("I13", "effects %q of committed frames were not delivered", ev.Outbox)
	}
	if want := c.Undisturbed; want != nil {
		got, err := OutcomeOf(ev)
		if err != nil {
			return bad // Check has said so
		}
		if got.Status != want.Status || got.Result != want.Result {
			bad.add("end", "the run has ended %s with %s (%v), undisturbed it ends %s with %s", got.Status, got.Result, ev.Info.Failure, want.Status, want.Result)
		}
		for path, task := range want.Tasks {
			if got.Tasks[path] != task {
				bad.add("end", "task %s is %q, undisturbed it is %q", path, got.Tasks[path], task)
			}
		}
		for path, task := range got.Tasks {
			if _, ok := want.Tasks[path]; !ok {
				bad.add("end", "task %s is %q, undisturbed there is none", path, task)
			}
		}
	}
	report, err := engine.Replay(c.Def, bytes.NewReader(ev.Export))
	if err != nil {
		bad.add("I9", "the export does not replay: %v", err)
	} else if report.Divergence != nil || report.Frames != max(ev.Exported, ev.Info.Head) {
		bad.add("I9", "the export replays up to frame %d of %d: %v", report.Frames, max(ev.Exported, ev.Info.Head), report.Divergence)
	}
	return bad
}

// catalog compares the run's row with its frames, which were written in the same transactions.
func (c *Checker) catalog(ev *Evidence, h *history, bad *complaints) {
	info := ev.Info
	if n := int64(len(ev.Frames)); info.Head != n || n > 0 && info.Hash != core.Hash(ev.Frames[n-1]) {
		bad.add("I1", "the catalog ends at frame %d with hash %s, and there are %d frames", info.Head, info.Hash, n)
	}
	if h.status != "" && info.Status != h.status {
		bad.add("I13", "the catalog says %s, the frames say %s", info.Status, h.status)
	}
	if !info.Status.Terminal() {
		return
	}
	if info.Owner.Token != "" {
		bad.add("I10", "the run is %s, and %+v has a lease of it", info.Status, info.Owner)
	}
	if len(h.running) > 0 {
		bad.add("I10", "the run is %s, and attempts are running: %v", info.Status, h.running)
	}
	if done, ok := h.accepted[c.Def.Result]; info.Status == core.Finished && (!ok || !bytes.Equal(done.output, info.Result)) {
		bad.add("I3", "the result %s in the catalog is not the one in a frame, %s", info.Result, done.output)
	}
}

// render folds the frames one by one and renders each state anew.
func (c *Checker) render(ev *Evidence, bad *complaints) {
	if c.rendered == nil {
		c.rendered = map[string]bool{}
	}
	s, lines := core.NewState(), core.Lines{}
	for i, body := range ev.Frames {
		f, err := core.Decode(body)
		if err != nil {
			return // readHistory has said so
		}
		hash := core.Hash(body)
		if err := s.Fold(f, hash); err != nil {
			bad.add("fold", "%v", err)
			return
		}
		lines.Fold(f.Plan)
		if c.rendered[hash] || s.Unrendered {
			continue
		}
		if got := lines.Digest(); got != s.Structure {
			bad.add("I9", "frame %d: the plan's deltas come to structure %s, the frame says %s", i+1, got, s.Structure)
			return
		}
		copied, err := s.Clone()
		if err != nil {
			bad.add("fold", "frame %d: the state is not JSON: %v", i+1, err)
			return
		}
		if d := core.Restore(c.Def, copied).Verify(); d != nil {
			bad.add("I9", "frame %d renders as %s instead of %s (%v)", d.Frame, d.Got, d.Want, d.Failure)
			return
		}
		c.rendered[hash] = true
	}
	if raw, err := json.Marshal(s.Status); err == nil && ev.Info.Status != s.Status {
		bad.add("I13", "the catalog says %s, the folded state %s", ev.Info.Status, raw)
	}
}

// files reads every artifact that an accepted result refers to, which verifies its hash.
func (c *Checker) files(ctx context.Context, h *history, bad *complaints) {
	for path, done := range h.accepted {
		for _, a := range done.artifacts {
			r, err := c.Artifacts.Get(ctx, a.Hash)
			if err != nil {
				bad.add("artifact", "%s of %s: %v", a.Name, path, err)
				continue
			}
			n, err := io.Copy(io.Discard, r)
			r.Close()
			if err != nil || n != a.Size {
				bad.add("artifact", "%s of %s has %d bytes and should have %d: %v", a.Name, path, n, a.Size, err)
			}
		}
	}
}
