package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task/agent/cachereport"
)

// cached is a run's use of prompt caches, as cache-report --json shows it.
type cached struct {
	Run string `json:"run"`
	cachereport.Report
}

func (a *app) cacheReport() *cobra.Command {
	return &cobra.Command{
		Use:   "cache-report RUN",
		Short: "Show what a run's model calls have read from prompt caches, what that saved, and why not more",
		Long: `Show what the model calls of a run have read from their providers' prompt caches, have written to them and have paid in
full, what that has saved, and for each call that could have read more the reason: below the minimum, expired, look-back
exceeded, too few breakpoints, a planned rewrite, or the first byte that differs and what has changed it.

The windows are made again from the journal; nobody is asked. The hit rate is what was read out of all input. Savings are at
list prices, against the same calls without a cache. Of a chain of runs only the one that is named is looked at.`,
		Example: "cache-report nightly\ncache-report nightly --json",
		Args:    takes("RUN"),
		RunE: func(c *cobra.Command, args []string) error {
			out, err := a.cached(c.Context(), args[0])
			if err != nil {
				return err
			}
			if a.json {
				return a.put(out)
			}
			if len(out.Calls) == 0 {
				_, err := fmt.Fprintf(a.out, "run %s has made no calls of a model whose windows are in its journal\n", args[0])
				return err
			}
			return out.write(a)
		},
	}
}

// cached reads a run's calls and judges them. It needs no code of the workflow.
func (a *app) cached(ctx context.Context, id string) (*cached, error) {
	out := &cached{Run: id}
	err := a.reading(ctx, func(store *sqlite.Store) error {
		info, err := store.Run(ctx, id)
		if err != nil {
			return a.unknownRun(id, err)
		}
		type attempt struct {
			path string
			n    int
		}
		ended := map[attempt]int64{}
		var state *core.State
		err = engine.FoldFrames(ctx, store, id, func(now *core.State, f *core.Frame) error {
			state = now
			for _, done := range now.Ended() {
				ended[attempt{done.Path, done.Number}] = now.Time
			}
			return nil
		})
		if err != nil {
			return err
		}
		all, err := conversations(ctx, store, id, "")
		if err != nil {
			return err
		}
		alive := driven(info)
		var calls []cachereport.Call
		for _, path := range slices.Sorted(maps.Keys(all)) {
			calls = append(calls, cachereport.Calls(path, all[path], func(n int) (int64, bool) {
				t := state.Tasks[path]
				return ended[attempt{path, n}], alive && t != nil && t.Status == core.TaskRunning && t.Attempt == n
			})...)
		}
		out.Report = cachereport.Of(calls, aspects.DefaultModels().Cost)
		return nil
	})
	return out, err
}

// write shows a report to people.
func (out *cached) write(a *app) error {
	t := out.Total
	err := a.table(func(w io.Writer) {
		row(w, "run", out.Run)
		row(w, "calls", cairn.Tokens.Format(int64(t.Calls)))
		row(w, "input", fmt.Sprintf("%s tokens read, %s written, %s uncached", cairn.Tokens.Format(t.Read), cairn.Tokens.Format(t.Written), cairn.Tokens.Format(t.Uncached)))
		row(w, "hit rate", rate(t.HitRate))
		saved := cairn.Cost.Format(t.Saved)
		if t.Unpriced > 0 {
			saved += fmt.Sprintf(", without %s of models that have no price", count(t.Unpriced, "call"))
		}
		row(w, "saved", saved)
		row(w, "misses", missed(t.Misses))
	})
	if err != nil {
		return err
	}
	for _, groups := range []struct {
		title string
		list  []cachereport.Group
	}{{"agent", out.Agents}, {"node", out.Nodes}} {
		fmt.Fprintln(a.out)
		err := a.table(func(w io.Writer) {
			row(w, groups.title, "calls", "read", "written", "uncached", "hit rate", "saved")
			for _, g := range groups.list {
				row(w, g.Name, cairn.Tokens.Format(int64(g.Calls)), cairn.Tokens.Format(g.Read), cairn.Tokens.Format(g.Written), cairn.Tokens.Format(g.Uncached),
					rate(g.HitRate), saving(g.Saved, g.Unpriced, g.Calls))
			}
		})
		if err != nil {
			return err
		}
	}
	fmt.Fprintln(a.out)
	names := numbered(out.Calls)
	return a.table(func(w io.Writer) {
		row(w, "call", "read", "written", "uncached", "saved", "verdict")
		for i := range out.Calls {
			l := &out.Calls[i]
			name := names[l.Ref]
			if l.Compacts {
				name += " compactor"
			}
			row(w, name, cairn.Tokens.Format(l.Read), cairn.Tokens.Format(l.Written), cairn.Tokens.Format(l.Uncached), saving(l.Saved, l.Unpriced, 1), verdict(l, names))
		}
	})
}

// numbered names the calls: by path and number, and by the conversation's number where a task has had several.
func numbered(calls []cachereport.Line) map[cachereport.Ref]string {
	held := map[string][]string{}
	for _, l := range calls {
		if !slices.Contains(held[l.Path], l.Conversation) {
			held[l.Path] = append(held[l.Path], l.Conversation)
		}
	}
	names := map[cachereport.Ref]string{}
	for _, l := range calls {
		name := fmt.Sprintf("%s %d", l.Path, l.Call)
		if all := held[l.Path]; len(all) > 1 {
			name = fmt.Sprintf("%s %d.%d", l.Path, slices.Index(all, l.Conversation)+1, l.Call)
		}
		names[l.Ref] = name
	}
	return names
}

// verdict is what is said of a call.
func verdict(l *cachereport.Line, names map[cachereport.Ref]string) string {
	text := string(l.Verdict)
	switch {
	case l.State == cachereport.InFlight:
		return "in flight"
	case l.State == cachereport.Lost:
		return "lost: " + l.Because
	case l.Verdict == cachereport.None:
		return l.Because
	case l.Why != "":
		text += ", " + strings.ReplaceAll(string(l.Why), "_", " ")
	}
	if l.Because != "" {
		text += ": " + l.Because
	}
	if l.Than != nil && l.Why == cachereport.Differs {
		text += " in " + names[*l.Than]
	}
	return text
}

// missed lists the reasons, the most frequent first.
func missed(misses map[cachereport.Why]int) string {
	total := 0
	reasons := slices.SortedFunc(maps.Keys(misses), func(a, b cachereport.Why) int {
		return cmp.Or(misses[b]-misses[a], cmp.Compare(a, b))
	})
	parts := make([]string, len(reasons))
	for i, why := range reasons {
		total += misses[why]
		parts[i] = fmt.Sprintf("%d %s", misses[why], strings.ReplaceAll(string(why), "_", " "))
	}
	if total == 0 {
		return "none"
	}
	return fmt.Sprintf("%d: %s", total, strings.Join(parts, ", "))
}

func rate(r float64) string { return fmt.Sprintf("%.1f %%", 100*r) }

// saving is what calls have saved, as far as their models have prices.
func saving(microDollars int64, unpriced, calls int) string {
	if unpriced >= calls && microDollars == 0 && unpriced > 0 {
		return "no price"
	}
	return cairn.Cost.Format(microDollars)
}
