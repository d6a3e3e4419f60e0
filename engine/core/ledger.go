package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

// Spent is what has been used up: tokens, micro-dollars, and milliseconds in which something ran.
type Spent struct {
	Tokens  int64 `json:"tokens,omitempty"`
	Cost    int64 `json:"cost,omitempty"`
	Latency int64 `json:"latency,omitempty"`
	// Delegated is the part of Tokens that sub-agents behind tools have used.
	Delegated int64 `json:"delegated,omitempty"`
}

// Of is the amount of a measure.
func (s Spent) Of(m cairn.Measure) int64 {
	switch m {
	case cairn.Tokens:
		return s.Tokens
	case cairn.Cost:
		return s.Cost
	}
	return s.Latency
}

// Use adds what model calls have used.
func (s *Spent) Use(usage ...cairn.Usage) {
	for _, u := range usage {
		s.Tokens += u.Tokens()
		s.Cost += u.Cost
		if u.Delegate != "" {
			s.Delegated += u.Tokens()
		}
	}
}

// Ledger is what is spent below a budget, as far as it is committed.
type Ledger struct {
	// Limits are those that the last start below was checked against.
	Limits cairn.AspectsSpec `json:"limits,omitzero"`
	Spent  Spent             `json:"spent,omitzero"`
	// Running counts attempts; Since is when the first of them began, in Unix milliseconds: Spent.Latency goes up to there.
	Running int   `json:"running,omitempty"`
	Since   int64 `json:"since,omitempty"`
	// Noticed has the limits whose breach was told.
	Noticed map[cairn.Measure]int64 `json:"noticed,omitempty"`
	// Unpriced is the first model without a price that was used, if one was.
	Unpriced string `json:"unpriced,omitempty"`
}

// SpentAt is what is spent at a moment, in Unix milliseconds: Latency goes on while something runs.
func (l *Ledger) SpentAt(now int64) Spent {
	s := l.Spent
	if l.Running > 0 {
		s.Latency += max(0, now-l.Since)
	}
	return s
}

// ContextBuckets are the upper bounds, in tokens, of what one model call reads; the bucket after the last has none.
var ContextBuckets = [...]int64{50_000, 100_000, 200_000, 500_000, 1_000_000}

// ContextBucket is the position of the bucket that a call belongs to, from 0.
func ContextBucket(tokens int64) int {
	i, _ := slices.BinarySearch(ContextBuckets[:], tokens)
	return i
}

// BucketName is a bucket by its upper bound: 50k, 100k, 200k, 500k, 1M or +Inf.
func BucketName(bucket int) string {
	switch {
	case bucket < 0 || bucket >= len(ContextBuckets):
		return "+Inf"
	case ContextBuckets[bucket] >= 1_000_000:
		return fmt.Sprintf("%dM", ContextBuckets[bucket]/1_000_000)
	}
	return fmt.Sprintf("%dk", ContextBuckets[bucket]/1_000)
}

// ledger returns a budget's, made on first use.
func (s *State) ledger(address string) *Ledger {
	l := s.Ledgers[address]
	if l == nil {
		l = &Ledger{}
		s.Ledgers[address] = l
	}
	return l
}

// clockOn begins an attempt in the ledgers.
func (s *State) clockOn(t *Task) {
	t.Since = s.Time
	for _, address := range t.Budgets {
		l := s.ledger(address)
		if l.Running++; l.Running == 1 {
			l.Since = s.Time
		}
	}
}

// book ends an attempt in the ledgers, as of a time, and returns how long it took.
func (s *State) book(t *Task, usage []cairn.Usage, at int64) (took int64) {
	took = max(0, at-t.Since)
	if t.Since = 0; len(t.Budgets) == 0 && len(usage) == 0 {
		return took // nobody asks what it has taken
	}
	t.Spent.Use(usage...)
	t.Spent.Latency += took
	for _, address := range t.Budgets {
		l := s.ledger(address)
		l.Spent.Use(usage...)
		for _, u := range usage {
			if u.Unpriced && l.Unpriced == "" {
				l.Unpriced = u.Model
			}
		}
		if l.Running--; l.Running == 0 {
			l.Spent.Latency += max(0, at-l.Since)
			l.Since = 0
		}
	}
	return took
}

// spending applies the decisions about budgets and usage.
func (s *State) spending(d *Decision) error {
	switch d.Kind {
	case Limited:
		if d.Limits == nil {
			return fmt.Errorf("limits of %s without limits", d.Path)
		}
		s.ledger(d.Path).Limits = *d.Limits
	case Breached:
		if d.Breach == nil {
			return fmt.Errorf("a breach of %s that is none", d.Path)
		}
		b := d.Breach
		if !b.PerTask {
			l := s.ledger(d.Path)
			l.Noticed = noted(l.Noticed, b.Measure, b.Limit)
			break
		}
		t := s.Tasks[b.Path]
		if t == nil {
			return fmt.Errorf("a breach by %s, which has never started", b.Path)
		}
		t.Noticed = noted(t.Noticed, perTask(b.Measure, b.Budget), b.Limit)
	case Crowded:
		t := s.Tasks[d.Path]
		if t == nil {
			return fmt.Errorf("a context of %s, which has never started", d.Path)
		}
		if d.Yes {
			t.HalfFull = true
		} else {
			t.Bucket = d.I
		}
	case Unpriced:
		s.Unpriced[d.Reason] = true
	}
	return nil
}

func noted[K comparable](in map[K]int64, key K, limit int64) map[K]int64 {
	if in == nil {
		in = map[K]int64{}
	}
	in[key] = limit
	return in
}

// perTask names a limit per task in Task.Noticed.
func perTask(m cairn.Measure, address string) string { return string(m) + " " + address }

// Budgets lists the addresses of all ledgers: by scope, the outermost first, and iterations by number.
func (s *State) Budgets() []string {
	return slices.SortedFunc(maps.Keys(s.Ledgers), func(a, b string) int {
		scopeA, nameA := placeOf(a)
		scopeB, nameB := placeOf(b)
		return cmp.Or(comparePaths(scopeA, scopeB), strings.Compare(nameA, nameB))
	})
}
