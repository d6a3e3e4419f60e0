package contextlint

import (
	"regexp"
	"strings"
)

var aWord = regexp.MustCompile(`[\p{L}\p{N}_]+`)

// small are words that tell nothing of what a tool is for.
var small = map[string]bool{}

func init() {
	for _, w := range strings.Fields("a an and are as at be by can does for from has have if in into is it its no not of on one or that the them then there these they this to use when where which with you") {
		small[w] = true
	}
}

// words is the set of a text's words without the small ones.
func words(text string) map[string]bool {
	set := map[string]bool{}
	for _, w := range aWord.FindAllString(strings.ToLower(text), -1) {
		if !small[w] {
			set[w] = true
		}
	}
	return set
}

// shingles are the runs of three words of a text; of a shorter one all of it.
func shingles(text string) map[string]bool {
	all := aWord.FindAllString(strings.ToLower(text), -1)
	set := map[string]bool{}
	if len(all) > 0 && len(all) < 3 {
		set[strings.Join(all, " ")] = true
	}
	for i := 0; i+3 <= len(all); i++ {
		set[strings.Join(all[i:i+3], " ")] = true
	}
	return set
}

// jaccard is how many elements of either set are in both, in per cent, rounded down.
func jaccard(a, b map[string]bool) int {
	both := 0
	for w := range a {
		if b[w] {
			both++
		}
	}
	either := len(a) + len(b) - both
	if either == 0 {
		return 0
	}
	return 100 * both / either
}
