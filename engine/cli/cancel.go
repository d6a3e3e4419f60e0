package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// askPause is how often a run that another process drives is looked at.
const askPause = 100 * time.Millisecond

func (a *app) cancel() *cobra.Command {
	var reason string
	var patience time.Duration
	c := &cobra.Command{
		Use:   "cancel RUN",
		Short: "Cancel a run: what runs is told to stop, Finally parts run",
		Long: `Cancel a run, and wait until it has ended. What runs is told to stop, and Finally parts run, for a limited time.

A run that no live process drives is resumed here for it. The exit code is 0 when the run has ended as cancelled or had
finished before; of a run that takes longer than --wait the cancellation stays asked for.`,
		Example: `cancel nightly
cancel nightly --reason "wrong directory" --wait 5m`,
		Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			info, err := a.unfinished(ctx, args[0])
			if err != nil {
				return err
			}
			if !driven(info) {
				if _, err := a.workflow(info.Workflow); err != nil {
					return err // its Finally can't run here
				}
			}
			return a.session(ctx, false, func(s *session) error {
				if err := s.engine.Cancel(ctx, info.ID, reason); err != nil {
					return err
				}
				outcome, err := s.cancelled(ctx, info.ID, patience)
				if err != nil {
					return err
				}
				s.progress.close()
				return a.hasCancelled(outcome)
			})
		},
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the record")
	c.Flags().DurationVar(&patience, "wait", time.Minute, "how long to wait for a process that drives the run")
	return c
}

// cancelled waits until a run that was asked to cancel has ended, and drives it when nobody else does.
func (s *session) cancelled(ctx context.Context, id string, patience time.Duration) (engine.Outcome, error) {
	return s.until(ctx, id, patience, "cancel", func(info engine.RunInfo) (engine.Outcome, bool, error) {
		if info.Status.Terminal() {
			return outcomeOf(info), true, nil
		}
		if driven(info) {
			return engine.Outcome{}, false, nil
		}
		outcome, err := s.goOn(ctx, info.ID, engine.ResumeOptions{})
		if errors.Is(err, engine.LeaseHeld) || errors.Is(err, engine.RunEnded) {
			return engine.Outcome{}, false, nil
		}
		return outcome, true, err
	})
}

func outcomeOf(info engine.RunInfo) engine.Outcome {
	return engine.Outcome{Run: info.ID, Status: info.Status, Result: info.Result, Failure: info.Failure}
}

// hasCancelled shows how a run ended that was asked to.
func (a *app) hasCancelled(o engine.Outcome) error {
	if o.Status != core.CancelledRun {
		return a.finish(o)
	}
	if a.json {
		return a.put(o)
	}
	_, err := fmt.Fprintf(a.out, "run %s is cancelled\n", o.Run)
	return err
}
