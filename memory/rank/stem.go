package rank

import "strings"

// Stem takes the endings of an English word, by the algorithm of Porter (1980) with a few changes: words of
// up to two letters stay, no stem is shorter than three letters where a word of three can be kept (used, using and uses
// are use), and the result is stemmed again until it no longer changes, so that a stem is its own stem. What holds anything but a to z, or is longer than 20 letters (no word of English), is left as it is.
func Stem(w string) string {
	if len(w) < 3 || len(w) > 20 {
		return w
	}
	for i := range len(w) {
		if w[i] < 'a' || w[i] > 'z' {
			return w
		}
	}
	for range 8 {
		next := stemOnce(w)
		if next == w {
			break
		}
		w = next
	}
	return w
}

// consonant says whether w[i] is one: y is, at the beginning or after a vowel.
func consonant(w string, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !consonant(w, i-1)
	}
	return true
}

// measure counts the changes from vowel to consonant.
func measure(w string) (m int) {
	vowel := false
	for i := range len(w) {
		c := consonant(w, i)
		if c && vowel {
			m++
		}
		vowel = !c
	}
	return m
}

func hasVowel(w string) bool {
	for i := range len(w) {
		if !consonant(w, i) {
			return true
		}
	}
	return false
}

func double(w string) bool {
	n := len(w)
	return n > 1 && w[n-1] == w[n-2] && consonant(w, n-1)
}

// short says whether w ends in consonant, vowel, consonant other than w, x, y: hop, not snow.
func short(w string) bool {
	n := len(w)
	return n > 2 && consonant(w, n-1) && !consonant(w, n-2) && consonant(w, n-3) && strings.IndexByte("wxy", w[n-1]) < 0
}

type ending struct{ from, to string }

var (
	step2 = []ending{{"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"}, {"anci", "ance"}, {"izer", "ize"}, {"bli", "ble"},
		{"alli", "al"}, {"entli", "ent"}, {"eli", "e"}, {"ousli", "ous"}, {"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"},
		{"alism", "al"}, {"iveness", "ive"}, {"fulness", "ful"}, {"ousness", "ous"}, {"aliti", "al"}, {"iviti", "ive"}, {"biliti", "ble"}, {"logi", "log"}}
	step3 = []ending{{"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"}, {"ical", "ic"}, {"ful", ""}, {"ness", ""}}
	step4 = []string{"al", "ance", "ence", "er", "ic", "able", "ible", "ant", "ement", "ment", "ent", "ion", "ou", "ism", "ate", "iti", "ous", "ive", "ize"}
)

// replace applies the longest of the endings that fits, if what is before it measures more than 0.
func replace(w string, endings []ending) string {
	var best *ending
	for i := range endings {
		if strings.HasSuffix(w, endings[i].from) && (best == nil || len(endings[i].from) > len(best.from)) {
			best = &endings[i]
		}
	}
	if best == nil {
		return w
	}
	if stem := w[:len(w)-len(best.from)]; measure(stem) > 0 {
		return stem + best.to
	}
	return w
}

func stemOnce(w string) string {
	if len(w) < 3 {
		return w
	}
	switch { // plurals
	case len(w) == 4 && (strings.HasSuffix(w, "ies") || strings.HasSuffix(w, "ied")): // dies, died: die
		w = w[:3]
	case strings.HasSuffix(w, "sses"), strings.HasSuffix(w, "ies"):
		w = w[:len(w)-2]
	case strings.HasSuffix(w, "ss"), strings.HasSuffix(w, "us"):
	case strings.HasSuffix(w, "s"):
		w = w[:len(w)-1]
	}
	cut := false
	if strings.HasSuffix(w, "eed") {
		if measure(w[:len(w)-3]) > 0 {
			w = w[:len(w)-1]
		}
	} else if s, ok := strings.CutSuffix(w, "ed"); ok && hasVowel(s) {
		w, cut = s, true
	} else if s, ok := strings.CutSuffix(w, "ing"); ok && hasVowel(s) {
		w, cut = s, true
	}
	if cut {
		switch {
		case strings.HasSuffix(w, "at"), strings.HasSuffix(w, "bl"), strings.HasSuffix(w, "iz"):
			w += "e"
		case len(w) == 2 && consonant(w, 1): // used, icing
			w += "e"
		case double(w) && len(w) > 3 && strings.IndexByte("lsz", w[len(w)-1]) < 0:
			w = w[:len(w)-1]
		case measure(w) == 1 && short(w):
			w += "e"
		}
	}
	if s, ok := strings.CutSuffix(w, "y"); ok && hasVowel(s) {
		w = s + "i"
	}
	w = replace(replace(w, step2), step3)
	longest := ""
	for _, e := range step4 {
		if len(e) > len(longest) && strings.HasSuffix(w, e) {
			longest = e
		}
	}
	if longest != "" {
		s := w[:len(w)-len(longest)]
		if measure(s) > 1 && (longest != "ion" || strings.HasSuffix(s, "s") || strings.HasSuffix(s, "t")) {
			w = s
		}
	}
	if s, ok := strings.CutSuffix(w, "e"); ok && len(s) > 2 {
		if m := measure(s); m > 1 || m == 1 && !short(s) {
			w = s
		}
	}
	if measure(w) > 1 && double(w) && w[len(w)-1] == 'l' {
		w = w[:len(w)-1]
	}
	return w
}
