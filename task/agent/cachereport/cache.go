package cachereport

import (
	"fmt"
	"slices"

	"github.com/cairnrun/cairn/task/agent/window"
)

// model is what is known of a provider's cache for a model.
type model struct {
	entries map[key]*entry
	// latest has the last call of each agent, in the order in which they came.
	latest []*seen
	// caches says that a call has read or written something.
	caches bool
}

// entry is a beginning of a window.
type entry struct {
	// by is the newest call that begins so.
	by *seen
	// cached says that the provider has it, as far as its rules tell: writer has made it, at is when it was used last, and life
	// how long it then stays, 0 for ever.
	cached bool
	writer *seen
	at     int64
	life   int64
	// tokens is how many the provider has counted up to here; 0 is unknown.
	tokens int64
}

func (e *entry) alive(now int64) bool { return e.cached && (e.life == 0 || now-e.at <= e.life) }

func (e *entry) write(by *seen, now int64, long bool, rules window.Rules) {
	if !e.alive(now) {
		e.writer, e.life = by, 0
	}
	life := rules.Life.Milliseconds()
	if long && rules.Long > 0 {
		life = rules.Long.Milliseconds()
	}
	e.cached, e.at, e.life = true, now, max(e.life, life)
}

// obstacle is what keeps an entry from being read.
type obstacle struct {
	why     Why
	because string
}

// find is the longest beginning that is to be had, in units, and what stands before a longer one.
func (v *view) find(shared int) (units int, stuck obstacle) {
	rules, now := v.Setup.Cache, v.Plan.At
	for k := shared; k > 0; k-- {
		e := v.model.entries[v.keys[k-1]]
		if e == nil || !e.cached {
			continue
		}
		if v.tokens[k-1] < int64(rules.Minimum) {
			break // and so are all that are shorter
		}
		if v.reads(v.goal(k)) {
			return k, stuck // whatever the rules say
		}
		wrong := obstacle{}
		switch away := v.away(k); {
		case !e.alive(now):
			wrong = obstacle{Expired, fmt.Sprintf("the entry was last used %s before, and lives %s", span(now-e.at), span(e.life))}
		case v.inFlight(e.writer):
			wrong = obstacle{Concurrent, fmt.Sprintf("the call that writes the entry was made only %s before, and may not have answered by then", span(now-e.writer.Plan.At))}
		case rules.Marks > 0 && away < 0:
			wrong = obstacle{TooFew, "no breakpoint of the call stands behind the entry"}
		case rules.Marks > 0 && rules.Lookback > 0 && away > rules.Lookback:
			wrong = obstacle{Lookback, fmt.Sprintf("the entry ends %d blocks before a breakpoint, and %d are looked at", away, rules.Lookback)}
		default:
			return k, stuck
		}
		if stuck.why == "" {
			stuck = wrong
		}
	}
	return 0, stuck
}

// away is how many units before the next breakpoint a beginning ends; -1 if there is none behind it.
func (v *view) away(units int) int {
	least := -1
	for _, m := range v.marks {
		if d := m.units - units; d >= 0 && (least < 0 || d < least) {
			least = d
		}
	}
	return least
}

// inFlight says that a call of another conversation may not have answered when this one was made.
func (v *view) inFlight(w *seen) bool {
	return w != nil && w.conversation() != v.conversation() && (w.over == 0 || v.Plan.At < w.over)
}

// leave takes down what the call has found and written.
func (v *view) leave(read int) {
	m, now, rules := v.model, v.Plan.At, v.Setup.Cache
	v.left = v.goal(v.kept)
	for i, k := range v.keys {
		e := m.entries[k]
		if e == nil {
			e = &entry{}
			m.entries[k] = e
		}
		e.by = v.seen
		if v.sure[i] && v.State == Answered {
			e.tokens = v.tokens[i]
		}
		if i < read && e.cached { // what is a part of it was used, too
			e.at = now
		}
		if rules.Marks == 0 {
			e.write(v.seen, now, v.Plan.Long, rules)
		}
	}
	if rules.Marks > 0 {
		for _, mark := range v.marks {
			if v.tokens[mark.units-1] >= int64(rules.Minimum) {
				m.entries[v.keys[mark.units-1]].write(v.seen, now, mark.long, rules)
			}
		}
	}
	m.latest = slices.DeleteFunc(m.latest, func(s *seen) bool { return s.agent == v.agent })
	m.latest = append(m.latest, v.seen)
}
