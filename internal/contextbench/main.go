// Command contextbench measures what planning the windows of a long conversation saves, and what it costs: tokens, dollars, facts that
// are still known, bytes that stay the same for the provider's cache, and the engine's own time.
//
//	go run ./internal/contextbench          # the first tables of docs/context.md
//	go run ./internal/contextbench -each    # each tactic alone, and all but one
//	go run ./internal/contextbench -sweep   # where clearing begins
//
// It exits with 1 if one of the aims is missed.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"
)

// The aims.
const (
	// fewer are tokens, as a part of those without planning. The defaults of a large window give up some of it where results are small:
	// they clear late.
	fewer, fewerByDefault = 0.80, 0.70
	stable                = 0.90 // bytes of a window that begin the next one
	retained              = 28   // of 30 facts, after compactions
	overhead              = 2 * time.Millisecond
	// quiet is what a record costs at most where the disk has nothing else to do.
	quiet = 500 * time.Microsecond
)

// rounds is how often the engine's time is taken, mostRounds how often where the least is over the aim.
const rounds, mostRounds = 3, 8

func main() {
	each := flag.Bool("each", false, "each tactic alone, and all but one")
	swept := flag.Bool("sweep", false, "clearing that begins at different sizes")
	flag.Parse()
	ways := compared
	switch {
	case *each:
		ways = alone()
	case *swept:
		ways = sweep()
	}
	missed, err := run(context.Background(), os.Stdout, ways, !*each && !*swept)
	if err == nil {
		err = errors.Join(missed...)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "contextbench:", err)
		os.Exit(1)
	}
}

// run makes the tables: all lines of a few ways, with the aims and the engine's time, or a line for each of many.
func run(ctx context.Context, out io.Writer, ways []way, whole bool) (missed []error, err error) {
	dir, err := os.MkdirTemp("", "contextbench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	folder := func() (string, error) { return os.MkdirTemp(dir, "") }
	next := func() (place, error) {
		sub, err := folder()
		if err != nil {
			return place{}, err
		}
		return durable(sub)
	}
	results, err := compare(ctx, ways, next)
	if err != nil {
		return nil, err
	}
	if !whole {
		list(out, results)
		return nil, nil
	}
	tell(out, results)
	missed = judge(results)
	fmt.Fprintln(out)
	if results, err = compare(ctx, searched, next); err != nil {
		return nil, err
	}
	tell(out, results)
	missed = append(missed, judge(results)...)

	fmt.Fprintf(out, "\nthe engine's time for a call of the model or of a tool, in ms: median, least and most; a record is one durable write\n")
	fmt.Fprintf(out, "%-24s %20s %20s %20s\n", "", "a call", "without the disk", "a record")
	for _, y := range []way{unplanned, planned, early} {
		t, err := y.clock(ctx, next, func() (place, error) {
			sub, err := folder()
			return fleeting(sub), err
		})
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(out, "%-24s %20s %20s %20s\n", y.name, spread(t.calls), spread(t.calm), spread(t.records))
		switch call, calm, record := slices.Min(t.calls), slices.Min(t.calm), slices.Min(t.records); {
		case calm > overhead:
			missed = append(missed, fmt.Errorf("%s: a call costs %.2f ms at least without the disk, the aim is %.0f", y.name, ms(calm), ms(overhead)))
		case call > overhead && record <= quiet:
			missed = append(missed, fmt.Errorf("%s: a call costs %.2f ms at least, the aim is %.0f", y.name, ms(call), ms(overhead)))
		case call > overhead:
			fmt.Fprintf(out, "  not judged: the disk is busy or slow, as two records alone, which a call has, take %.2f ms\n", 2*ms(record))
		}
	}
	return missed, nil
}

// times are the engine's for a call, for one without the disk, and for a record.
type times struct{ calls, calm, records []time.Duration }

// clock takes times, more often where the aim is not met: what else the machine does adds to them and never takes away.
func (y way) clock(ctx context.Context, durable, fleeting func() (place, error)) (t times, err error) {
	for round := 0; round < rounds || round < mostRounds && slices.Min(t.calls) > overhead; round++ {
		at, err := durable()
		if err != nil {
			return t, err
		}
		r, err := y.play(ctx, at)
		if err != nil {
			return t, err
		}
		if at, err = durable(); err != nil {
			return t, err
		}
		f, err := floor(ctx, at, r.records)
		if err != nil {
			return t, err
		}
		if at, err = fleeting(); err != nil {
			return t, err
		}
		calm, err := y.play(ctx, at)
		if err != nil {
			return t, err
		}
		t.calls, t.calm, t.records = append(t.calls, r.overhead), append(t.calm, calm.overhead), append(t.records, f)
	}
	return t, nil
}

// spread is the median of times, the least and the most.
func spread(all []time.Duration) string {
	all = slices.Sorted(slices.Values(all))
	return fmt.Sprintf("%.2f (%.2f-%.2f)", ms(all[len(all)/2]), ms(all[0]), ms(all[len(all)-1]))
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// compared are the ways of the first table, the base first, searched those of the second.
var compared, searched = []way{unplanned, planned, early, narrow}, []way{unplannedSearch, plannedSearch}

// compare runs the work in some ways.
func compare(ctx context.Context, ways []way, next func() (place, error)) (all []result, err error) {
	for _, y := range ways {
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

// list has a line for each way.
func list(out io.Writer, results []result) {
	base := results[0]
	fmt.Fprintf(out, "%-16s %6s %9s %12s %8s %10s %12s %9s %8s %8s %7s %7s\n", "", "calls", "look-ups", "tokens", "fewer", "largest", "cache read", "written", "cost", "less", "clears", "known")
	for _, r := range results {
		fmt.Fprintf(out, "%-16s %6d %9d %12d %6.1f %% %10d %12d %9d %8s %6.1f %% %7d %7d\n", strings.TrimPrefix(r.way.name, "the same, "), r.calls, r.lookups, r.used.Context(), 100*saved(base.used.Context(), r.used.Context()),
			r.most, r.used.CacheRead, r.used.CacheWrite, fmt.Sprintf("$%.2f", float64(r.cost)/1e6), 100*saved(base.cost, r.cost), r.clearings, r.known)
	}
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
