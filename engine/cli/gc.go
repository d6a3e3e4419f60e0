package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// cleaned is what gc --json gives.
type cleaned struct {
	Expired  int `json:"expired"`
	Versions int `json:"versions"`
	Applied  int `json:"applied"`
	// Indexed says that the full-text index was made anew.
	Indexed bool `json:"indexed,omitempty"`
}

// cleanedAtOnce is how much is removed in one transaction.
const cleanedAtOnce = 500

func (a *app) memoryClean() *cobra.Command {
	keep, reindex := "", false
	c := &cobra.Command{
		Use:   "gc",
		Short: "Collect what nobody reads any more: expired facts, old versions, old operations",
		Long: `Collect what nobody reads any more: facts that have expired; earlier versions of facts that ended longer ago than --keep,
so that reads of the past reach no further; and the ids of operations applied longer ago than that, which tell a
repeated delivery from a new one.`,
		Example: "memory gc\nmemory gc --keep 30d --json",
		Args:    takes(),
		RunE: func(c *cobra.Command, _ []string) error {
			age, err := duration("keep", keep)
			if err != nil {
				return err
			}
			return a.clean(c.Context(), age, reindex)
		},
	}
	c.Flags().StringVar(&keep, "keep", "90d", "how long versions and operations are kept")
	c.Flags().BoolVar(&reindex, "reindex", false, "make the full-text index anew, too")
	return c
}

func (a *app) clean(ctx context.Context, age time.Duration, reindex bool) error {
	var done cleaned
	before := time.Now().Add(-age)
	_, err := a.mending(ctx, func(m *lanes.Store) (err error) {
		if done.Expired, err = repeated(ctx, cleanedAtOnce, m.ExpireFacts); err != nil {
			return err
		}
		for _, piece := range []struct {
			to *int
			do func(ctx context.Context, before time.Time, limit int) (int, error)
		}{{&done.Versions, m.PruneVersions}, {&done.Applied, m.PruneApplied}} {
			*piece.to, err = repeated(ctx, cleanedAtOnce, func(ctx context.Context, limit int) (int, error) { return piece.do(ctx, before, limit) })
			if err != nil {
				return err
			}
		}
		if reindex {
			done.Indexed = true
			return m.Reindex(ctx)
		}
		return nil
	})
	if err != nil {
		return err
	}
	words := "collected %s, %s, %s"
	if done.Indexed {
		words += "; the index is made anew"
	}
	return a.said(done, words, count(done.Expired, "expired fact"), count(done.Versions, "old version"), count(done.Applied, "old operation"))
}
