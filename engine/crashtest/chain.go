package crashtest

import (
	"context"
	"errors"
	"slices"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// GatherChain reads what the runs of a chain have left, the first one's first. Nothing may be driving any of them.
func GatherChain(ctx context.Context, p Place, root string, final bool) (all []*Evidence, err error) {
	taken := int64(0)
	for id := root; id != ""; {
		ev, err := Gather(ctx, p, id, final)
		if err != nil {
			return nil, err
		}
		ev.Taken = taken
		all = append(all, ev)
		if ev.Missing {
			break
		}
		taken = readHistory(ev, new(complaints)).inbox
		id = ev.Info.Successor
	}
	return all, nil
}

// heirs lists the runs that name this one as the one before.
func heirs(ctx context.Context, store engine.Catalog, id string) (ids []string, err error) {
	runs, err := store.Runs(ctx, engine.Query{Limit: 10_000})
	for _, info := range runs {
		if info.Parent == id {
			ids = append(ids, info.ID)
		}
	}
	return ids, err
}

// Chain checks all runs of a chain, and that each continued one has exactly one successor, which was handed what it
// decided to hand over. With ended, the chain must have come to its end.
func (c *Checker) Chain(ctx context.Context, all []*Evidence, ended bool) []error {
	var bad complaints
	for i, ev := range all {
		last := i == len(all)-1
		if ended {
			bad = append(bad, c.Final(ctx, ev)...)
		} else {
			bad = append(bad, c.Check(ctx, ev)...)
		}
		if ev.Missing {
			if i > 0 {
				bad.add("chain", "run %s is continued by %s, and there is no such run", all[i-1].Run, ev.Run)
			}
			break
		}
		switch continued := ev.Info.Status == core.Continued; {
		case continued == last:
			bad.add("chain", "run %s is %s, and is run %d of %d", ev.Run, ev.Info.Status, i+1, len(all))
		case continued && !slices.Equal(ev.Heirs, []string{ev.Info.Successor}):
			bad.add("chain", "run %s is continued by %s, and has the heirs %v", ev.Run, ev.Info.Successor, ev.Heirs)
		case !continued && len(ev.Heirs) > 0:
			bad.add("chain", "run %s is %s, and has the heirs %v", ev.Run, ev.Info.Status, ev.Heirs)
		}
		if ev.Info.Generation != i+1 {
			bad.add("chain", "run %s has generation %d and stands at %d", ev.Run, ev.Info.Generation, i+1)
		}
		if i > 0 {
			handed(all[i-1], ev, &bad)
		}
	}
	return bad
}

// handed compares what a run has decided to hand over with what its successor began with.
func handed(from, to *Evidence, bad *complaints) {
	var decided *core.Handoff
	var started *core.Event
	path := ""
	err := errors.Join(each(from, func(f *core.Frame) {
		for _, d := range f.Decisions {
			if d.Kind == core.HandingOver {
				decided, path = d.Handoff, d.Path
			}
		}
	}), each(to, func(f *core.Frame) {
		if f.N == 1 && len(f.Events) > 0 {
			started = &f.Events[0]
		}
	}))
	switch {
	case err != nil: // Check has said so
	case decided == nil || started == nil || started.Envelope == nil:
		bad.add("chain", "run %s was continued by %s, and nothing was handed over", from.Run, to.Run)
	case started.Envelope.Parent != from.Run || string(started.Envelope.State) != string(decided.State):
		bad.add("chain", "run %s began with %s from %s, and %s of %s has decided on %s", to.Run, started.Envelope.State, started.Envelope.Parent, path, from.Run, decided.State)
	}
}

func each(ev *Evidence, fn func(f *core.Frame)) error {
	for _, body := range ev.Frames {
		f, err := core.Decode(body)
		if err != nil {
			return err
		}
		fn(f)
	}
	return nil
}

// Items lists the inbox items that the frames of a chain have taken, in order.
func Items(all []*Evidence) (items []core.Event) {
	for _, ev := range all {
		_ = each(ev, func(f *core.Frame) {
			for _, e := range f.Events {
				if e.Seq > 0 {
					items = append(items, e)
				}
			}
		})
	}
	return items
}
