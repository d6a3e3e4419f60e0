package rank

import (
	"slices"
	"strings"
)

// asksWhen says whether a question wants a time as its answer.
func asksWhen(text string) bool {
	words := strings.Fields(strings.ToLower(text))
	for i, w := range words {
		switch w {
		case "when", "when's", "since":
			return true
		case "long":
			if i > 0 && words[i-1] == "how" {
				return true
			}
		case "date", "day", "month", "year", "time", "week":
			if i > 0 && (words[i-1] == "what" || words[i-1] == "which") {
				return true
			}
		}
	}
	return false
}

// timeWords are stems of words that tell a time, absolute or relative.
var timeWords = func() map[string]bool {
	all := map[string]bool{}
	for _, w := range slices.Concat(strings.Fields(`yesterday today tomorrow tonight ago last next recently day week weekend
		month year morning`), months[:], weekdays[:]) {
		all[Stem(w)] = true
	}
	return all
}()

// tellsTime says whether the body of a document names a time: a day, a month, a year, or one relative to its own.
func tellsTime(e *Entry) bool {
	for _, t := range e.Terms[Body] {
		if timeWords[t] || len(t) == 4 && (t[:2] == "19" || t[:2] == "20") && digit(t[2]) && digit(t[3]) {
			return true
		}
	}
	return false
}
