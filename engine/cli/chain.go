package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// linked is a run of a chain as chain --json shows it.
type linked struct {
	Generation int    `json:"generation"`
	Run        string `json:"run"`
	Status     string `json:"status"`
	Frames     int64  `json:"frames"`
	// State is how many bytes of state the run was handed.
	State int `json:"stateBytes"`
}

func (a *app) chain() *cobra.Command {
	return &cobra.Command{
		Use:   "chain RUN",
		Short: "Show the runs that have handed over to one another",
		Long: `Show the chain that a run stands in: each run has handed over to the next, with a state of so many bytes. Any run of
the chain will do.`,
		Example: `chain nightly
chain nightly.3 --json`,
		Args: takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			var all []linked
			err := a.reading(c.Context(), func(store *sqlite.Store) (err error) {
				all, err = lineage(c.Context(), store, args[0])
				return a.unknownRun(args[0], err)
			})
			if err != nil {
				return err
			}
			if a.json {
				for _, l := range all {
					if err := a.put(l); err != nil {
						return err
					}
				}
				return nil
			}
			return a.table(func(w io.Writer) {
				row(w, "GENERATION", "RUN", "STATUS", "FRAMES", "STATE")
				for _, l := range all {
					state := "-"
					if l.State > 0 {
						state = size(int64(l.State))
					}
					row(w, strconv.Itoa(l.Generation), l.Run, l.Status, strconv.FormatInt(l.Frames, 10), state)
				}
			})
		},
	}
}

// lineage lists the runs before and after one, as far as the store has them.
func lineage(ctx context.Context, store *sqlite.Store, id string) (all []linked, err error) {
	info, err := store.Run(ctx, id)
	for met := map[string]bool{}; err == nil && info.Parent != "" && !met[info.ID]; {
		met[info.ID] = true
		before, missing := store.Run(ctx, info.Parent)
		if errors.Is(missing, engine.RunNotFound) {
			break
		}
		info, err = before, missing
	}
	for met := map[string]bool{}; err == nil && !met[info.ID]; {
		met[info.ID] = true
		var state int
		if state, err = handed(ctx, store, info.ID); err != nil {
			break
		}
		all = append(all, linked{Generation: info.Generation, Run: info.ID, Status: standing(info), Frames: info.Head, State: state})
		if info.Successor == "" {
			break
		}
		after, missing := store.Run(ctx, info.Successor)
		if errors.Is(missing, engine.RunNotFound) {
			break
		}
		info, err = after, missing
	}
	return all, err
}

// handed is how many bytes of state a run was handed: its first frame has it.
func handed(ctx context.Context, store *sqlite.Store, id string) (bytes int, err error) {
	enough := errors.New("the first frame has it")
	err = engine.ReadFrames(ctx, store, id, 1, func(f *core.Frame, _ string) error {
		for _, ev := range f.Events {
			if ev.Envelope != nil {
				bytes = len(ev.Envelope.State)
			}
		}
		return enough
	})
	if errors.Is(err, enough) {
		err = nil
	}
	return bytes, err
}

// last looks up the last run of a run's chain, without writing.
func (a *app) last(ctx context.Context, id string) (info engine.RunInfo, err error) {
	err = a.reading(ctx, func(store *sqlite.Store) error {
		info, err = engine.Tail(ctx, store, id)
		return err
	})
	return info, a.unknownRun(id, err)
}

// place says where in a chain a run stands; "" for a run alone.
func place(info engine.RunInfo) string {
	switch {
	case info.Generation < 2 && info.Successor == "":
		return ""
	case info.Parent != "" && info.Successor != "":
		return fmt.Sprintf("%d, after %s, before %s", info.Generation, info.Parent, info.Successor)
	case info.Parent != "":
		return fmt.Sprintf("%d, after %s", info.Generation, info.Parent)
	}
	return fmt.Sprintf("%d, before %s", info.Generation, info.Successor)
}
