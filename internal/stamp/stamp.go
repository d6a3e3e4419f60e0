// Package stamp finds what makes a text differ from one moment or run to the next: times, and ids that are drawn or
// counted. It tells them by their looks alone, so a date that a text is about is found as well as the date of today: whoever
// asks says whether that matters.
package stamp

import (
	"regexp"
	"slices"
	"strconv"
	"time"
)

// Kind says what a Stamp is.
type Kind string

// The kinds of stamps.
const (
	// Time is a moment: date and time of day, or a number of seconds, or parts of them, since 1970.
	Time Kind = "time"
	// Date is a day without a time, Clock a time without a day.
	Date  Kind = "date"
	Clock Kind = "clock" // see Date
	// ID is a UUID, a ULID, or a long hexadecimal number.
	ID Kind = "id"
)

// A Stamp is a place in a text.
type Stamp struct {
	Kind     Kind
	From, To int
	// Text is what stands there.
	Text string
}

const months = `(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)`

// The patterns, in the order in which they are tried at a place.
var patterns = []struct {
	kind Kind
	re   *regexp.Regexp
}{
	{ID, regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`)},
	{Time, regexp.MustCompile(`\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?`)},
	{Time, regexp.MustCompile(`\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? (?:` + months + ` +\d{1,2}|\d{1,2} ` + months + `)[ ,\d:]*\d(?: ?[A-Z]{3,4}\b)?`)},
	{Date, regexp.MustCompile(`\b\d{4}-\d\d-\d\d\b`)},
	{Date, regexp.MustCompile(`\b` + months + `\.? \d{1,2}(?:st|nd|rd|th)?,? \d{4}\b`)},
	{Date, regexp.MustCompile(`\b\d{1,2}(?:st|nd|rd|th)?\.? ` + months + `\.?,? \d{4}\b`)},
	{Clock, regexp.MustCompile(`\b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b`)},
	{Time, regexp.MustCompile(`\b1[0-9]{9}(?:[0-9]{3}|[0-9]{6}|[0-9]{9})?\b`)},
	{ID, regexp.MustCompile(`\b[0-7][0-9A-HJKMNP-TV-Z]{25}\b`)},
	{ID, regexp.MustCompile(`\b(?:[0-9]+[a-f]|[a-f]+[0-9])[0-9a-f]{10,}\b`)},
}

// Find lists the stamps of a text in their order. They do not overlap.
func Find(text string) (list []Stamp) {
	taken := make([]bool, len(text))
	for _, p := range patterns {
		for _, at := range p.re.FindAllStringIndex(text, -1) {
			if !taken[at[0]] && !taken[at[1]-1] {
				for i := at[0]; i < at[1]; i++ {
					taken[i] = true
				}
				list = append(list, Stamp{p.kind, at[0], at[1], text[at[0]:at[1]]})
			}
		}
	}
	slices.SortFunc(list, func(a, b Stamp) int { return a.From - b.From })
	return list
}

// around is how far from a place a stamp may reach.
const around = 64

// At is the stamp at a place of a text, or right before it, where the digits of another moment may have been longer.
func At(text string, at int) (Stamp, bool) {
	from, to := max(0, at-around), min(len(text), at+around)
	if at < 0 || from >= to {
		return Stamp{}, false
	}
	for _, s := range Find(text[from:to]) {
		if s.From+from <= at && at <= s.To+from {
			return Stamp{s.Kind, s.From + from, s.To + from, s.Text}, true
		}
	}
	return Stamp{}, false
}

// Near says whether a stamp is a moment within some time of now. That of a Clock has no day and is none; a Date counts from its
// beginning to its end, wherever on earth.
func (s Stamp) Near(now time.Time, within time.Duration) bool {
	at, exact, ok := s.moment()
	if !ok {
		return false
	}
	late := time.Duration(0)
	if !exact {
		late, within = 24*time.Hour, within+14*time.Hour
	}
	return !at.After(now.Add(within)) && !at.Add(late).Before(now.Add(-within))
}

// Layouts of times and dates, as far as they tell a year.
var (
	times = []string{"2006-01-02T15:04:05.999999999Z07:00", "2006-01-02 15:04:05.999999999 MST", "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05.999999999",
		"2006-01-02T15:04", "2006-01-02 15:04", time.RFC1123, time.RFC1123Z, time.ANSIC, time.UnixDate}
	dates = []string{"2006-01-02", "January 2, 2006", "January 2 2006", "Jan 2, 2006", "Jan 2 2006", "2 January 2006", "2 Jan 2006"}
)

// moment reads a stamp.
func (s Stamp) moment() (at time.Time, exact, ok bool) {
	layouts := times
	switch s.Kind {
	case Date:
		layouts = dates
	case Time:
		exact = true
		if n, err := strconv.ParseInt(s.Text, 10, 64); err == nil {
			for n >= 1e10 {
				n /= 1000
			}
			return time.Unix(n, 0), true, true
		}
	default:
		return time.Time{}, false, false
	}
	for _, layout := range layouts {
		if at, err := time.Parse(layout, s.Text); err == nil {
			return at, exact, true
		}
	}
	return time.Time{}, false, false
}
