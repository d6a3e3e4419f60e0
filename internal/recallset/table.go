package recallset

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/cairnrun/cairn/memory/rank"
)

// Table prints the figures of some scopes for each effort. With vectors there is a line for High without them, too.
func Table(ctx context.Context, w io.Writer, name string, scopes []Scope, kind string) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(out, "%s\tqueries\tR@5\tR@10\tR@20\tMRR\tin 2 KiB\tprecision\trows\tsilent\tp50\tp95\n", name)
	line := func(label string, scopes []Scope, effort rank.Effort) error {
		f, err := Measure(ctx, scopes, effort, kind)
		if err != nil {
			return err
		}
		silent := "-"
		if f.NoAnswer > 0 {
			silent = fmt.Sprintf("%.2f of %d", f.Silent, f.NoAnswer)
		}
		fmt.Fprintf(out, "%s\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.1f\t%s\t%.2fms\t%.2fms\n", label, f.Queries, f.At5, f.At10, f.At20,
			f.MRR, f.InBlock, f.Precision, f.Rows, silent, float64(f.P50.Microseconds())/1e3, float64(f.P95.Microseconds())/1e3)
		return nil
	}
	bare, vectors := bare(scopes)
	for _, effort := range []rank.Effort{rank.Low, rank.Mid, rank.High} {
		if err := line(effort.String(), bare, effort); err != nil {
			return err
		}
	}
	if vectors {
		if err := line("high + vectors", scopes, rank.High); err != nil {
			return err
		}
	}
	fmt.Fprintln(out)
	return out.Flush()
}

// bare returns scopes without the vectors of their queries, and whether there were any.
func bare(scopes []Scope) (out []Scope, vectors bool) {
	for _, s := range scopes {
		queries := make([]Query, len(s.Queries))
		for i, q := range s.Queries {
			vectors = vectors || q.Vector != nil
			q.Vector = nil
			queries[i] = q
		}
		s.Queries = queries
		out = append(out, s)
	}
	return out, vectors
}
