package engine

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// Report is what a replay has found.
type Report struct {
	Run, Workflow string
	// Frames is how many frames agreed, of the run and its successors.
	Frames int64
	// Divergence is the first frame that today's code makes differently; nil if none.
	Divergence *ReplayDivergence
	// Drift lists what differs and is allowed: policies and inputs.
	Drift []string
}

// ReplayDivergence is the first frame that today's code makes differently.
type ReplayDivergence struct {
	// Run is the run of the chain, Frame the number of the frame in it.
	Run   string
	Frame int64
	// Cause says what happened in the frame.
	Cause string
	// What says what is different, Diff shows it: - as recorded, + as made today.
	What, Diff string
}

// String is the divergence as people read it, over several lines.
func (d *ReplayDivergence) String() string {
	return fmt.Sprintf("frame %d (%s): %s\n%s", d.Frame, d.Cause, d.What, d.Diff)
}

// Replay runs a recorded run, as written by Export, against today's code: each frame's events are stepped through again,
// at the frame's time, without executing any task. The plan, the decisions and the starts must come out as recorded;
// each frame is rendered a second time, from nothing, and must give the same plan. The first divergence ends it.
func Replay(def cairn.Definition, r io.Reader) (Report, error) {
	all, err := readExport(r)
	if err != nil {
		return Report{}, err
	}
	report := Report{Run: all[0].run.ID, Workflow: all[0].run.Workflow}
	for _, rec := range all {
		if rec.run.Workflow != def.Name {
			return report, &cairn.Error{Code: BadExport, Run: rec.run.ID,
				Message: fmt.Sprintf("it is a run of workflow %q, not of %q", rec.run.Workflow, def.Name)}
		}
		p := player{def: def, m: core.New(def), recorded: core.NewState(), lines: core.Lines{}, report: &report}
		for i, f := range rec.frames {
			if report.Divergence = p.play(f, rec.hashes[i]); report.Divergence != nil {
				report.Divergence.Run = rec.run.ID
				return report, nil
			}
			report.Frames++
		}
	}
	return report, nil
}

// player replays frame after frame. It folds the recorded frames beside: where policies have drifted, the run still goes
// on as it did then.
type player struct {
	def      cairn.Definition
	m        *core.Machine
	recorded *core.State
	lines    core.Lines
	report   *Report
}

func (p *player) play(f *core.Frame, hash string) *ReplayDivergence {
	d := &ReplayDivergence{Frame: f.N, Cause: cause(f)}
	p.lines.Fold(f.Plan)
	if err := p.recorded.Fold(f, hash); err != nil {
		d.What = err.Error()
		return d
	}
	if f.Unrendered {
		// The code of then could not render this; what it arrived with is taken over as it stands.
		p.m.Forget()
		if err := p.m.Fold(f, hash); err != nil {
			d.What = err.Error()
			return d
		}
		return nil
	}
	step := p.m.Step(time.UnixMilli(f.Time), f.Events, !f.Stopping)
	if block := p.m.State().Block; block != nil {
		d.What = "the code can't render it: " + block.Error()
		return d
	}
	if step.Frame == nil {
		d.What = "nothing comes of what happened"
		return d
	}
	if got := p.m.State().Structure; got != p.lines.Digest() {
		d.What, d.Diff = "the plan is another", diff(p.lines, p.m.Plan())
		return d
	}
	if then, now := p.decisions(f), p.decisions(step.Frame); then != now {
		d.What, d.Diff = "the decisions are others", "- "+then+"\n+ "+now
		return d
	}
	if step.Hash != hash {
		p.drift(f, step.Frame)
		state, err := p.recorded.Clone()
		if err != nil {
			d.What = err.Error()
			return d
		}
		p.m = core.Restore(p.def, state)
	}
	p.m.Forget()
	if again := p.m.Verify(); again != nil {
		d.What = "rendering it twice gives two plans: the code is not pure"
		d.Diff = diff(p.lines, again.Today)
		return d
	}
	return nil
}

// decisions shows what was decided, policies and inputs aside: these may drift.
func (p *player) decisions(f *core.Frame) string {
	var out []string
	for _, d := range f.Decisions {
		d.Policy, d.Input, d.InputHash, d.Reads, d.Deadline, d.At = nil, nil, "", nil, 0, 0
		out = append(out, d.String())
	}
	return strings.Join(out, ", ")
}

func (p *player) drift(then, now *core.Frame) {
	if then.Policy != now.Policy {
		p.report.Drift = append(p.report.Drift, fmt.Sprintf("frame %d: policies are others", then.N))
	}
	if then.Input != now.Input {
		p.report.Drift = append(p.report.Drift, fmt.Sprintf("frame %d: inputs or prompts are others", then.N))
	}
}

// cause names what happened in a frame.
func cause(f *core.Frame) string {
	var out []string
	for _, ev := range f.Events {
		s := string(ev.Kind)
		if ev.Path != "" {
			s += " " + ev.Path
		}
		out = append(out, s)
	}
	if len(out) == 0 {
		return "no event"
	}
	return strings.Join(out, ", ")
}
