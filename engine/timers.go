package engine

import (
	"cmp"
	"slices"
	"time"

	"github.com/cairnrun/cairn/engine/core"
)

// timers wakes the owner of a run at the earliest of many moments. The moments are wall time as frames have it; the
// core checks them itself, so that waking too early does nothing but ask again.
type timers struct {
	at    map[string]int64
	first int64
	clock *time.Timer
}

func newTimers() *timers {
	clock := time.NewTimer(time.Hour)
	clock.Stop()
	return &timers{at: map[string]int64{}, clock: clock}
}

func (t *timers) set(path string, at int64) {
	t.at[path] = at
	if t.first == 0 || at < t.first {
		t.arm(at)
	}
}

func (t *timers) clear(path string) { delete(t.at, path) }

func (t *timers) arm(at int64) {
	t.first = at
	if at == 0 {
		t.clock.Stop()
		return
	}
	t.clock.Reset(max(0, time.Until(time.UnixMilli(at))))
}

// due takes the moments that have come, and sets the clock to the next one.
func (t *timers) due(now time.Time) (events []core.Event) {
	if t.first == 0 || t.first > now.UnixMilli() {
		t.arm(t.first)
		return nil
	}
	var next int64
	for path, at := range t.at {
		switch {
		case at <= now.UnixMilli():
			delete(t.at, path)
			events = append(events, core.Event{Kind: core.TimerFired, Path: path})
		case next == 0 || at < next:
			next = at
		}
	}
	t.arm(next)
	slices.SortFunc(events, func(a, b core.Event) int { return cmp.Compare(a.Path, b.Path) })
	return events
}
