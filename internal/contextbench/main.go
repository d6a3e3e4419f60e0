// Command contextbench measures what planning the windows of a long conversation saves, and what it costs: tokens, dollars, facts that
// are still known, bytes that stay the same for the provider's cache, and the engine's own time.
//
//	go run ./internal/contextbench    # the tables of docs/context.md
//
// It exits with 1 if one of the aims is missed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// The aims.
const (
	// fewer are tokens, as a part of those without planning. The defaults of a large window give up some of it: they clear late.
	fewer, fewerByDefault = 0.80, 0.70
	stable                = 0.90 // bytes of a window that begin the next one
	retained              = 28   // of 30 facts, after compactions
	overhead              = 2 * time.Millisecond
)

// rounds is how often the engine's time is taken. The least counts: what else the machine does only adds to it.
const rounds = 5

func main() {
	missed, err := run(context.Background(), os.Stdout)
	if err == nil {
		err = errors.Join(missed...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "contextbench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer) (missed []error, err error) {
	dir, err := os.MkdirTemp("", "contextbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	next := func() (place, error) {
		sub, err := os.MkdirTemp(dir, "")
		if err != nil {
			return place{}, err
		}
		return durable(sub)
	}
	results, err := compare(ctx, next)
	if err != nil {
		return nil, err
	}
	tell(out, results)
	missed = judge(results)

	fmt.Fprintf(out, "\nthe engine's time for a call of the model or of a tool, median of %d (least-most); the floor is one durable record\n", rounds)
	for _, y := range []way{unplanned, planned, early} {
		took, base, err := y.clock(ctx, next)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "%-24s %.2f ms (%.2f-%.2f), floor %.2f ms (%.2f-%.2f)\n", y.name, ms(took[rounds/2]), ms(took[0]), ms(took[rounds-1]),
			ms(base[rounds/2]), ms(base[0]), ms(base[rounds-1]))
		if took[0] > overhead {
			missed = append(missed, fmt.Errorf("%s: a call costs %.2f ms at least, the aim is %.0f (a record costs %.2f)", y.name, ms(took[0]), ms(overhead), ms(base[0])))
		}
	}
	return missed, nil
}

// clock takes the engine's time for a call, and that for a record right after, several times; both sorted.
func (y way) clock(ctx context.Context, next func() (place, error)) (took, base []time.Duration, err error) {
	for range rounds {
		at, err := next()
		if err != nil {
			return nil, nil, err
		}
		r, err := y.play(ctx, at)
		if err != nil {
			return nil, nil, err
		}
		if at, err = next(); err != nil {
			return nil, nil, err
		}
		f, err := floor(ctx, at, r.records)
		if err != nil {
			return nil, nil, err
		}
		took, base = append(took, r.overhead), append(base, f)
	}
	slices.Sort(took)
	slices.Sort(base)
	return took, base, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// compare runs the work in all ways.
func compare(ctx context.Context, next func() (place, error)) (all []result, err error) {
	for _, y := range []way{unplanned, planned, early, narrow} {
		at, err := next()
		if err != nil {
			return nil, err
		}
		r, err := y.play(ctx, at)
		if err != nil {
			return nil, err
		}
		all = append(all, r)
	}
	return all, nil
}

// saved is how much less a run has used than the first one.
func saved(base, r int64) float64 { return 1 - float64(r)/float64(base) }

func least(parts []float64) (least, mean float64) {
	least = 1
	for _, p := range parts {
		least = min(least, p)
		mean += p / float64(len(parts))
	}
	return least, mean
}

func tell(out io.Writer, results []result) {
	base := results[0]
	row := func(name string, of func(r result) string) {
		fmt.Fprintf(out, "%-44s", name)
		for _, r := range results {
			fmt.Fprintf(out, " %21s", of(r))
		}
		fmt.Fprintln(out)
	}
	number := func(name string, of func(r result) int64) {
		row(name, func(r result) string { return fmt.Sprint(of(r)) })
	}
	row("", func(r result) string { return r.way.name })
	number("model calls", func(r result) int64 { return int64(r.calls) })
	number("of them to look up what is not in view", func(r result) int64 { return int64(r.lookups) })
	number("input tokens, all calls", func(r result) int64 { return r.used.Context() })
	row("fewer than without", func(r result) string { return fmt.Sprintf("%.1f %%", 100*saved(base.used.Context(), r.used.Context())) })
	number("the largest window", func(r result) int64 { return r.most })
	row("the first call over 200,000 tokens", func(r result) string {
		if r.beyond == 0 {
			return "none"
		}
		return fmt.Sprint(r.beyond)
	})
	number("tokens read from the cache", func(r result) int64 { return r.used.CacheRead })
	number("written to it", func(r result) int64 { return r.used.CacheWrite })
	number("neither", func(r result) int64 { return r.used.Input })
	number("output tokens", func(r result) int64 { return r.used.Output })
	row("cost at the prices of "+priced, func(r result) string { return fmt.Sprintf("$%.2f", float64(r.cost)/1e6) })
	row("less than without", func(r result) string { return fmt.Sprintf("%.1f %%", 100*saved(base.cost, r.cost)) })
	number("facts of 30 known from the last window", func(r result) int64 { return int64(r.known) })
	number("of them from its summary alone", func(r result) int64 { return int64(r.summed) })
	number("known, or in an artifact that it refers to", func(r result) int64 { return int64(r.kept) })
	row("stable prefix, least and mean", func(r result) string {
		low, mean := least(r.stable)
		return fmt.Sprintf("%.1f %%, %.1f %%", 100*low, 100*mean)
	})
	row("clearings, results cleared", func(r result) string { return fmt.Sprintf("%d, %d", r.clearings, r.cleared) })
	number("compactions", func(r result) int64 { return int64(r.compactions) })
	number("results put aside at once", func(r result) int64 { return int64(r.offloads) })
	number("pointers in the last window", func(r result) int64 { return int64(r.pointers) })
}

// judge says which aims are missed, the engine's time left out.
func judge(results []result) (missed []error) {
	miss := func(r result, format string, args ...any) {
		missed = append(missed, fmt.Errorf(r.way.name+": "+format, args...))
	}
	base := results[0]
	for _, r := range results[1:] {
		aim := fewer
		if r.way == planned {
			aim = fewerByDefault
		}
		if part := saved(base.used.Context(), r.used.Context()); part < aim {
			miss(r, "%.1f %% fewer tokens, the aim is %.0f %%", 100*part, 100*aim)
		}
		if low, _ := least(r.stable); low < stable {
			miss(r, "%.1f %% of a window begin the next one, the aim is %.0f %%", 100*low, 100*stable)
		}
		switch {
		case r.compactions == 0 && r.known < base.known:
			miss(r, "%d facts are known, without planning %d", r.known, base.known)
		case r.known < retained:
			miss(r, "%d facts are known after %d compactions, the aim is %d", r.known, r.compactions, retained)
		}
	}
	return missed
}
