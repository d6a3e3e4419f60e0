package rank

import "strings"

func asksWhen(text string) bool {
	t := strings.ToLower(text)
	return strings.HasPrefix(t, "when") || strings.Contains(t, " when ") || strings.Contains(t, "what date") || strings.Contains(t, "which month") || strings.Contains(t, "which year") || strings.Contains(t, "how long")
}

var timeWords = func() map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields("yesterday today tomorrow tonight ago last next week weekend month year monday tuesday wednesday thursday friday saturday sunday january february march april june july august september october november december since recently day morning") {
		m[Stem(w)] = true
	}
	return m
}()

func tellsTime(e *Entry) bool {
	for _, t := range e.Terms[Body] {
		if timeWords[t] || len(t) == 4 && (strings.HasPrefix(t, "19") || strings.HasPrefix(t, "20")) {
			return true
		}
	}
	return false
}

func question(text string) bool {
	return strings.HasSuffix(strings.TrimSpace(text), "?")
}

type span struct{ from, to int64 }

func dates(text string, now int64) []span { return nil }

func inside(spans []span, t int64) float64 { return 0 }
