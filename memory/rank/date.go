package rank

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

var (
	months = [...]string{"january", "february", "march", "april", "may", "june", "july", "august", "september", "october",
		"november", "december"}
	weekdays = [...]string{"sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"}
	small    = map[string]int{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
		"eight": 8, "nine": 9, "ten": 10, "couple": 2, "few": 3}
)

// span is a time from the first millisecond up to, not including, the last.
type span struct{ from, to int64 }

// inside says how well a time fits the best of some spans: 1 within, less and less up to a week after it (what happened
// is told afterwards) and nothing before it. An unknown time fits nothing.
func inside(spans []span, t int64) (fit float64) {
	const week = 7 * 24 * 3600 * 1000
	if t == 0 {
		return 0
	}
	for _, s := range spans {
		switch {
		case t >= s.from && t < s.to:
			return 1
		case t >= s.to && t < s.to+week:
			fit = max(fit, 1-float64(t-s.to)/week)
		}
	}
	return fit
}

// spans returns the times that a text names: 2023-05-07, 7 May 2023, May 7th, 2023, May 2023; and, counted from now if
// that is known, yesterday, last week, two months ago, last Monday, in May. Days are those of UTC.
func spans(text string, now int64) (out []span) {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return r == ' ' || r == '\n' || r == '\t' || r == ',' || r == '?' || r == '!' || r == '(' || r == ')' || r == '"' || r == ';'
	})
	for i := range words {
		words[i] = strings.Trim(words[i], ".:'")
	}
	word := func(i int) string {
		if i < 0 || i >= len(words) {
			return ""
		}
		return words[i]
	}
	var today time.Time
	if now != 0 {
		today = time.UnixMilli(now).UTC().Truncate(24 * time.Hour)
	}
	add := func(from time.Time, years, months, days int) {
		out = append(out, span{from.UnixMilli(), from.AddDate(years, months, days).UnixMilli()})
	}
	for i, w := range words {
		if at, err := time.Parse("2006-01-02", w); err == nil {
			add(at, 0, 0, 1)
			continue
		}
		if m := slices.Index(months[:], w); m >= 0 {
			month := time.Month(m + 1)
			day, year := dayOf(word(i-1)), yearOf(word(i+1))
			if day == 0 && word(i-1) == "of" {
				day = dayOf(word(i - 2))
			}
			if day == 0 {
				if day = dayOf(word(i + 1)); day > 0 {
					year = yearOf(word(i + 2))
				}
			}
			if year == 0 && (day > 0 || slices.Contains([]string{"in", "since", "during", "last", "of", "this", "early", "late"}, word(i-1))) && now != 0 {
				if year = today.Year(); time.Date(year, month, max(day, 1), 0, 0, 0, 0, time.UTC).After(today) {
					year--
				}
			}
			switch {
			case year == 0:
			case day > 0:
				add(time.Date(year, month, day, 0, 0, 0, 0, time.UTC), 0, 0, 1)
			default:
				add(time.Date(year, month, 1, 0, 0, 0, 0, time.UTC), 0, 1, 0)
			}
			continue
		}
		if y := yearOf(w); y > 0 && slices.Contains([]string{"in", "since", "during", "of"}, word(i-1)) {
			add(time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC), 1, 0, 0)
			continue
		}
		if now == 0 {
			continue
		}
		switch before := word(i - 1); {
		case w == "today" || w == "tonight":
			add(today, 0, 0, 1)
		case w == "yesterday":
			add(today.AddDate(0, 0, -1), 0, 0, 1)
		case w == "ago":
			n := small[word(i-2)]
			if n == 0 {
				n, _ = strconv.Atoi(word(i - 2))
			}
			if n <= 0 || n > 1000 {
				break
			}
			switch strings.TrimSuffix(before, "s") {
			case "day":
				add(today.AddDate(0, 0, -n), 0, 0, 1)
			case "week":
				add(today.AddDate(0, 0, -7*n-3), 0, 0, 7)
			case "month":
				add(today.AddDate(0, -n, -15), 0, 1, 0)
			case "year":
				add(time.Date(today.Year()-n, 1, 1, 0, 0, 0, 0, time.UTC), 1, 0, 0)
			}
		case before == "last" || before == "past" || before == "this" || before == "previous":
			this := before == "this"
			monday := today.AddDate(0, 0, -(int(today.Weekday())+6)%7)
			first := time.Date(today.Year(), today.Month(), 1, 0, 0, 0, 0, time.UTC)
			back := func(n int) int {
				if this {
					return 0
				}
				return -n
			}
			switch d := slices.Index(weekdays[:], w); {
			case d >= 0:
				ago := (int(today.Weekday()) - d + 7) % 7
				if ago == 0 && !this {
					ago = 7
				}
				add(today.AddDate(0, 0, -ago), 0, 0, 1)
			case w == "week":
				add(monday.AddDate(0, 0, back(7)), 0, 0, 7)
			case w == "month":
				add(first.AddDate(0, back(1), 0), 0, 1, 0)
			case w == "year":
				add(time.Date(today.Year()+back(1), 1, 1, 0, 0, 0, 0, time.UTC), 1, 0, 0)
			}
		}
	}
	return out
}

// dayOf reads the day of a month: 7, 7th, 21st.
func dayOf(w string) int {
	for _, end := range [...]string{"st", "nd", "rd", "th"} {
		if short, ok := strings.CutSuffix(w, end); ok {
			w = short
			break
		}
	}
	if n, err := strconv.Atoi(w); err == nil && n >= 1 && n <= 31 && len(w) <= 2 {
		return n
	}
	return 0
}

// yearOf reads a year from 1900 to 2099.
func yearOf(w string) int {
	if n, err := strconv.Atoi(w); err == nil && len(w) == 4 && n >= 1900 && n <= 2099 {
		return n
	}
	return 0
}
