package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// followPause is how often events --follow looks for more.
const followPause = 200 * time.Millisecond

func (a *app) events() *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use:   "events RUN",
		Short: "Tell what has happened in a run, one line per event",
		Example: `events nightly
events nightly --follow
events nightly --json`,
		Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.reading(c.Context(), func(store *sqlite.Store) error {
				return a.unknownRun(args[0], a.tell(c.Context(), store, args[0], follow))
			})
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run and its successors have ended, whichever process drives them")
	return c
}

// tell shows the events of a run: those there are or, to follow, all until it and its successors end.
func (a *app) tell(ctx context.Context, store *sqlite.Store, id string, follow bool) error {
	p, next := newProjector(), int64(1)
	tick := time.NewTicker(followPause)
	defer tick.Stop()
	for {
		info, err := store.Run(ctx, id)
		if err != nil {
			return err
		}
		if info.Head >= next {
			err := engine.ReadFrames(ctx, store, id, next, func(f *core.Frame, _ string) error {
				next = f.N + 1
				for _, h := range p.project(f) {
					if err := a.happened(h); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				return err
			}
		}
		if follow && info.Successor != "" {
			id, p, next = info.Successor, newProjector(), 1
			continue
		}
		if !follow || info.Status.Terminal() {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (a *app) happened(h happening) error {
	if a.json {
		return a.put(h)
	}
	_, err := fmt.Fprintf(a.out, "%s  %4d  %s\n", h.Time.Format(clock), h.Frame, h)
	return err
}
