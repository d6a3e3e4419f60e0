package rank

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSpans(t *testing.T) {
	now := time.Date(2026, 4, 15, 13, 0, 0, 0, time.UTC) // a Wednesday
	tests := []struct{ text, want string }{
		{"", ""},
		{"may I march into the office", ""},
		{"What happened on 7 May 2023?", "2023-05-07+1"},
		{"on May 7th, 2023", "2023-05-07+1"},
		{"on the 7th of May, 2023", "2023-05-07+1"},
		{"deployed 2026-02-28.", "2026-02-28+1"},
		{"in May 2023", "2023-05-01+31"},
		{"in February", "2026-02-01+28"},
		{"in December", "2025-12-01+31"},
		{"on 3 March", "2026-03-03+1"},
		{"during 2024", "2024-01-01+366"},
		{"what broke yesterday", "2026-04-14+1"},
		{"today's deploys and today", "2026-04-15+1"},
		{"last week", "2026-04-06+7"},
		{"this week", "2026-04-13+7"},
		{"last month", "2026-03-01+31"},
		{"last year", "2025-01-01+365"},
		{"last Monday", "2026-04-13+1"},
		{"last Wednesday", "2026-04-08+1"},
		{"three days ago", "2026-04-12+1"},
		{"2 weeks ago", "2026-03-29+7"},
		{"a year ago", "2025-01-01+365"},
		{"99999999 days ago", ""},
		{"ago days", ""},
	}
	show := func(all []span) string {
		var out []string
		for _, s := range all {
			out = append(out, fmt.Sprintf("%s+%d", time.UnixMilli(s.from).UTC().Format(time.DateOnly), (s.to-s.from)/(24*3600*1000)))
		}
		return strings.Join(out, " ")
	}
	for _, tt := range tests {
		if got := show(spans(tt.text, now.UnixMilli())); got != tt.want {
			t.Errorf("%q: %s, want %s", tt.text, got, tt.want)
		}
	}
	if got := show(spans("last week, yesterday, in May, on 7 May 2023", 0)); got != "2023-05-07+1" {
		t.Errorf("without a clock: %s", got)
	}
}

func TestInside(t *testing.T) {
	const day = 24 * 3600 * 1000
	s := []span{{100 * day, 101 * day}}
	for at, want := range map[int64]float64{0: 0, 99 * day: 0, 100 * day: 1, 101*day - 1: 1, 101 * day: 1, 101*day + 7*day/2: .5, 108 * day: 0, 500 * day: 0} {
		if got := inside(s, at); got != want {
			t.Errorf("day %g: %g, want %g", float64(at)/day, got, want)
		}
	}
}

func TestAsks(t *testing.T) {
	for text, want := range map[string]bool{"When did it break?": true, "how long does it take": true, "which year was that": true, "since the move": true,
		"What broke?": false, "a long way": false, "": false} {
		if asksWhen(text) != want {
			t.Errorf("%q asks for a time: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"Really?": true, "Wirklich?\" ": true, "本当ですか？": true, "No.": false, "": false, "what? no": false} {
		if asks(text) != want {
			t.Errorf("%q is a question: %v", text, !want)
		}
	}
}

func TestTop(t *testing.T) {
	order := func(a, b int) int { return a - b }
	for n := range 40 {
		for limit := range 12 {
			var list []int
			for i := range n {
				list = append(list, (i*7919+13)%41)
			}
			want := slices.Sorted(slices.Values(list))
			want = want[:min(limit, len(want))]
			if got := top(list, limit, order); !slices.Equal(got, want) {
				t.Fatalf("%d of %d: %v, want %v", limit, n, got, want)
			}
		}
	}
	if got := top([]int{1}, -1, order); len(got) != 0 {
		t.Error(got)
	}
}
