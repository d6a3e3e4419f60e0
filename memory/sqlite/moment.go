package sqlite

import (
	"math"
	"time"
)

// Ends of time that are open.
const (
	ever  = math.MinInt64
	never = math.MaxInt64
)

// from and until are how times that may be zero are stored.
func from(t time.Time) int64 {
	if t.IsZero() {
		return ever
	}
	return t.UnixMilli()
}

func until(t time.Time) int64 {
	if t.IsZero() {
		return never
	}
	return t.UnixMilli()
}

// moment is how stored milliseconds look outside; both open ends are the zero time.
func moment(ms int64) time.Time {
	if ms == ever || ms == never {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
