package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
)

func (a *app) resume() *cobra.Command {
	var quiet bool
	var opts engine.ResumeOptions
	c := &cobra.Command{
		Use:   "resume RUN",
		Short: "Go on with a run that was interrupted, parked, blocked, or stopped by a budget",
		Long: `Go on with a run that was interrupted, parked or blocked, and wait for its end as up does.

What has finished is not done again. A run whose code renders another structure than the one it was made with is
blocked and shows the difference; --adopt accepts today's structure. Of a run that was continued the last successor
goes on.

A run that has failed because of a budget goes on where the budget stopped it, as far as today's limits allow.`,
		Example: `resume nightly
resume nightly --adopt`,
		Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			info, err := a.last(c.Context(), args[0])
			if err == nil && info.Status.Terminal() && !info.Reopens() {
				err = a.hasEnded(info)
			}
			if err != nil {
				return err
			}
			if _, err := a.workflow(info.Workflow); err != nil {
				return err
			}
			return a.goOn(c.Context(), info.ID, quiet, opts)
		},
	}
	c.Flags().BoolVar(&opts.Adopt, "adopt", false, "accept the structure that today's code renders")
	c.Flags().BoolVarP(&quiet, "quiet", "q", false, "no progress")
	return c
}

// goOn resumes a run and waits for it.
func (a *app) goOn(ctx context.Context, id string, quiet bool, opts engine.ResumeOptions) error {
	info, err := a.last(ctx, id)
	if err != nil {
		return err
	}
	if driven(info) {
		return a.held(info)
	}
	return a.session(ctx, quiet, func(s *session) error {
		outcome, err := s.goOn(ctx, info.ID, opts)
		if err != nil {
			return err
		}
		return a.finish(outcome)
	})
}

func (s *session) goOn(ctx context.Context, id string, opts engine.ResumeOptions) (engine.Outcome, error) {
	if err := s.seen(ctx, id); err != nil {
		return engine.Outcome{}, err
	}
	run, err := s.engine.Resume(context.WithoutCancel(ctx), id, opts)
	if errors.Is(err, engine.LeaseHeld) {
		if info, again := s.store.Run(ctx, id); again == nil {
			err = s.held(info)
		}
	}
	if err != nil {
		return engine.Outcome{}, err
	}
	return s.wait(ctx, run)
}

func (a *app) held(info engine.RunInfo) error {
	return &cairn.Error{Code: engine.LeaseHeld, Run: info.ID, Message: fmt.Sprintf("process %d drives it", info.Owner.PID),
		Next: fmt.Sprintf("watch it with %s, or stop it with %s", a.hint("events", quote(info.ID), "--follow"), a.hint("cancel", quote(info.ID)))}
}
