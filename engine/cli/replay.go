package cli

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
)

// replayed is what replay --json gives.
type replayed struct {
	Run      string `json:"run"`
	Workflow string `json:"workflow"`
	// Frames is how many frames agreed.
	Frames int64    `json:"frames"`
	Drift  []string `json:"drift,omitempty"`
	// Divergence is the first frame that today's code makes differently.
	Divergence *divergence `json:"divergence,omitempty"`
}

type divergence struct {
	Frame int64  `json:"frame"`
	Cause string `json:"cause"`
	What  string `json:"what"`
	Diff  string `json:"diff,omitempty"`
}

func (a *app) replay() *cobra.Command {
	return &cobra.Command{
		Use:   "replay WORKFLOW FILE",
		Short: "Check that today's code makes the same run of what happened then; no task is executed",
		Long: `Step an exported run through today's code, frame by frame. No task is executed and nothing is written. Exit code 1
means that the code has diverged, and stderr says where.`,
		Example: "replay audit nightly.jsonl",
		Args:    takes("WORKFLOW", "FILE"),
		RunE: func(c *cobra.Command, args []string) error {
			def, err := a.workflow(args[0])
			if err != nil {
				return err
			}
			raw, err := a.file(c.Context(), args[1])
			if err != nil {
				return err
			}
			report, err := engine.Replay(def, bytes.NewReader(raw))
			if err != nil {
				return err
			}
			return a.replayed(report)
		},
	}
}

func (a *app) replayed(r engine.Report) error {
	d := r.Divergence
	if a.json {
		out := replayed{Run: r.Run, Workflow: r.Workflow, Frames: r.Frames, Drift: r.Drift}
		if d != nil {
			out.Divergence = &divergence{d.Frame, d.Cause, d.What, d.Diff}
		}
		if err := a.put(out); err != nil {
			return err
		}
		if d != nil {
			return status(ExitFailed)
		}
		return nil
	}
	if _, err := fmt.Fprintf(a.out, "run %s: %s replayed alike\n", r.Run, count(int(r.Frames), "frame")); err != nil {
		return err
	}
	for _, line := range r.Drift {
		fmt.Fprintf(a.out, "drift, which is allowed: %s\n", line)
	}
	if d == nil {
		return nil
	}
	if d.Diff != "" {
		fmt.Fprintf(a.out, "%s\n", d.Diff)
	}
	return &cairn.Error{Code: Diverged, Run: r.Run, Message: fmt.Sprintf("frame %d (%s): %s", d.Frame, d.Cause, d.What),
		Next: "decide with View.Patched in the code, or resume such runs with the code that wrote them"}
}
