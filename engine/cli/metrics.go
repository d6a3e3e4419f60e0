package cli

import (
	"context"
	"fmt"
	"math"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/metrics"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// measured is a counter as metrics --json shows it.
type measured struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Value  int64             `json:"value"`
}

func (a *app) metrics() *cobra.Command {
	workflow := ""
	c := &cobra.Command{
		Use:   "metrics [RUN…]",
		Short: "Count what has happened in runs, in the text format of Prometheus",
		Long: `Count what has happened in all runs, in those named, or in those of a workflow: frames, attempts, tokens, cost,
context, cache hits, breached budgets. The numbers are recomputed from the stored frames, in the text format of
Prometheus. Names and labels are stable.`,
		Example: `metrics
metrics nightly
metrics --workflow audit --json`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, runs []string) error {
			if workflow != "" && len(runs) > 0 {
				return &cairn.Error{Code: BadUsage, Message: "runs are named, and a --workflow too", Next: "name runs, or the workflow of all to count"}
			}
			var counted metrics.Registry
			if a.hasDB() || len(runs) > 0 {
				err := a.reading(c.Context(), func(store *sqlite.Store) error {
					return a.measure(c.Context(), store, runs, workflow, &counted)
				})
				if err != nil {
					return err
				}
			}
			return a.showMetrics(&counted)
		},
	}
	c.Flags().StringVar(&workflow, "workflow", "", "only runs of this workflow")
	return c
}

// measure counts runs: those named or, without names, all of a workflow or of the store.
func (a *app) measure(ctx context.Context, store *sqlite.Store, runs []string, workflow string, to *metrics.Registry) error {
	if len(runs) == 0 {
		list, err := store.Runs(ctx, engine.Query{Workflow: workflow, Limit: math.MaxInt32})
		if err != nil {
			return err
		}
		for _, info := range list {
			runs = append(runs, info.ID)
		}
	}
	seen := map[string]bool{}
	for _, id := range runs {
		if seen[id] {
			continue
		}
		seen[id] = true
		if err := engine.MeasureRun(ctx, store, id, to); err != nil {
			return a.unknownRun(id, err)
		}
	}
	return nil
}

func (a *app) showMetrics(counted *metrics.Registry) error {
	if !a.json {
		if _, err := counted.WriteTo(a.out); err != nil {
			return fmt.Errorf("the metrics can't be written: %w", err)
		}
		return nil
	}
	for _, s := range counted.Samples() {
		m := measured{s.Name, map[string]string{}, s.Value}
		for _, l := range s.Labels {
			m.Labels[l.Name] = l.Value
		}
		if err := a.put(m); err != nil {
			return err
		}
	}
	return nil
}
