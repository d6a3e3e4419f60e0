package handoff

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Mark stands where text was cut off. It counts: a text of n bytes has it inside of the n.
const Mark = "…"

// Last keeps the last n items, in their order. It is a part of items, not a copy.
func Last[T any](items []T, n int) []T {
	return items[len(items)-min(max(n, 0), len(items)):]
}

// Cut shortens text to at most so many bytes, Mark included. It never cuts inside a character, and keeps together what is
// read as one: a letter and its accents, the parts of an emoji. Text that fits is returned as it is; where there is no
// room for a character and Mark, nothing is left. Invalid UTF-8 becomes U+FFFD.
func Cut(text string, bytes int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= bytes {
		return text
	}
	end := 0
	for _, at := range places(text) {
		if at+len(Mark) > bytes {
			break
		}
		end = at
	}
	return head(text, end)
}

// head is the beginning of a text that goes on. A mark alone would take room and tell nothing.
func head(text string, end int) string {
	if end == 0 {
		return ""
	}
	return text[:end] + Mark
}

// places are the offsets at which valid text may be cut, from 0, without its end.
func places(text string) []int {
	var all []int
	var before rune
	flags := 0 // regional indicators in a row: two of them are one flag
	for at, r := range text {
		if at == 0 || !joined(before, r) && (!isFlag(r) || flags%2 == 0) {
			all = append(all, at)
		}
		if flags++; !isFlag(r) {
			flags = 0
		}
		before = r
	}
	return all
}

// joined says whether two characters are read as one. It covers what people write, not all of UAX 29.
func joined(before, r rune) bool {
	const joiner = '\u200d'
	switch {
	case r == joiner, before == joiner:
		return true
	case before == '\r':
		return r == '\n'
	case r >= 0x1f3fb && r <= 0x1f3ff: // skin tones
		return true
	case r >= 0xe0020 && r <= 0xe007f: // tags, in flags of regions
		return true
	}
	return unicode.Is(unicode.M, r) // accents, vowel signs, variation selectors
}

func isFlag(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }
