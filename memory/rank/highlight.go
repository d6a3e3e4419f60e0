package rank

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Highlights returns the places in a text where it has terms of a query, as offsets of their first byte and behind their
// last, in order and apart from one another. A word that matches by its stem, without its accents or in another case is
// marked as it stands. Of a compound
// all is marked where the whole matches, otherwise the parts that do.
func Highlights(text, query string) (spans [][2]int) {
	terms := QueryTerms(query)
	matches := func(part string) bool {
		return slices.ContainsFunc(Terms(part), func(t string) bool { return slices.Contains(terms, t) })
	}
	for at := 0; at < len(text); {
		chunk := text[at:]
		if end := strings.IndexFunc(chunk, unicode.IsSpace); end >= 0 {
			chunk = chunk[:end]
		}
		if chunk == "" {
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
			continue
		}
		spans = append(spans, marked(chunk, at, terms, matches)...)
		at += len(chunk)
	}
	return joined(spans)
}

// marked is Highlights of what stands between two blanks, at an offset.
func marked(chunk string, at int, terms []string, matches func(string) bool) (spans [][2]int) {
	word := func(r rune) bool {
		return (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r)) && !unspaced(r)
	}
	var ofParts []string
	for i := 0; i < len(chunk); {
		r, n := utf8.DecodeRuneInString(chunk[i:])
		switch {
		case unspaced(r):
			end := len(chunk)
			if stop := strings.IndexFunc(chunk[i:], func(r rune) bool { return !unspaced(r) && !unicode.Is(unicode.Mn, r) }); stop >= 0 {
				end = i + stop
			}
			for offset := range chunk[i:end] {
				for _, term := range terms {
					if strings.HasPrefix(chunk[i+offset:], term) {
						spans = append(spans, [2]int{at + i + offset, at + i + offset + len(term)})
					}
				}
			}
			ofParts = append(ofParts, Terms(chunk[i:end])...)
			i = end
		case word(r):
			end := len(chunk)
			if stop := strings.IndexFunc(chunk[i:], func(r rune) bool { return !word(r) }); stop >= 0 {
				end = i + stop
			}
			if matches(chunk[i:end]) {
				spans = append(spans, [2]int{at + i, at + end})
			}
			ofParts = append(ofParts, Terms(chunk[i:end])...)
			i = end
		default:
			i += n
		}
	}
	whole := slices.ContainsFunc(Terms(chunk), func(t string) bool { return slices.Contains(terms, t) && !slices.Contains(ofParts, t) })
	if !whole {
		return spans
	}
	from := strings.IndexFunc(chunk, func(r rune) bool { return word(r) || unspaced(r) })
	to := strings.LastIndexFunc(chunk, func(r rune) bool { return word(r) || unspaced(r) })
	if from < 0 { // an emoji
		return [][2]int{{at, at + len(chunk)}}
	}
	_, n := utf8.DecodeRuneInString(chunk[to:])
	return [][2]int{{at + from, at + to + n}}
}

// joined sorts spans and makes one of those that touch.
func joined(spans [][2]int) (out [][2]int) {
	slices.SortFunc(spans, func(a, b [2]int) int { return cmp.Or(a[0]-b[0], a[1]-b[1]) })
	for _, s := range spans {
		if n := len(out); n > 0 && s[0] <= out[n-1][1] {
			out[n-1][1] = max(out[n-1][1], s[1])
			continue
		}
		out = append(out, s)
	}
	return out
}
