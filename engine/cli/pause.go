package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

func (a *app) pause() *cobra.Command {
	var patience time.Duration
	c := &cobra.Command{
		Use:   "pause RUN",
		Short: "Let a running run rest: nothing more starts, what runs is waited for",
		Long: `Let a run that another process drives rest: it starts nothing more, waits for what runs, and that process exits
with code 3. Go on with resume.`,
		Example: "pause nightly\nresume nightly",
		Args:    takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			ctx := c.Context()
			info, err := a.unfinished(ctx, args[0])
			if err != nil {
				return err
			}
			if !driven(info) {
				return &cairn.Error{Code: NotRunning, Run: info.ID, Message: fmt.Sprintf("the run is %s, nobody drives it", standing(info)),
					Next: "it rests until " + a.hint("resume", quote(info.ID))}
			}
			return a.session(ctx, true, func(s *session) error {
				if err := s.engine.Pause(ctx, info.ID); err != nil {
					return err
				}
				o, err := s.rested(ctx, info.ID, patience)
				if err != nil {
					return err
				}
				if a.json {
					return a.put(o)
				}
				_, err = fmt.Fprintf(a.out, "run %s is %s\n", o.Run, o.Status)
				return err
			})
		},
	}
	c.Flags().DurationVar(&patience, "wait", time.Minute, "how long to wait for what runs")
	return c
}

// rested waits until nobody drives a run any more.
func (s *session) rested(ctx context.Context, id string, patience time.Duration) (engine.Outcome, error) {
	return s.until(ctx, id, patience, "pause", func(info engine.RunInfo) (engine.Outcome, bool, error) {
		return outcomeOf(info), info.Status != core.Running && info.Owner.Token == "" || !driven(info), nil
	})
}

// until asks the catalog about a run until met says that it is as it should be, or patience is over.
func (s *session) until(ctx context.Context, id string, patience time.Duration, asked string,
	met func(engine.RunInfo) (engine.Outcome, bool, error)) (engine.Outcome, error) {
	late := time.NewTimer(patience)
	defer late.Stop()
	tick := time.NewTicker(askPause)
	defer tick.Stop()
	for {
		info, err := engine.Tail(ctx, s.store, id)
		if err != nil {
			return engine.Outcome{}, err
		}
		if outcome, ok, err := met(info); ok || err != nil {
			return outcome, err
		}
		select {
		case <-ctx.Done():
			return engine.Outcome{}, ctx.Err()
		case <-late.C:
			return engine.Outcome{}, &cairn.Error{Code: StillRunning, Run: id,
				Message: fmt.Sprintf("it was asked to %s, and process %d still drives it after %s", asked, info.Owner.PID, patience),
				Next:    "watch it with " + s.hint("events", quote(id), "--follow")}
		case <-tick.C:
		}
	}
}
