// Package grapheme cuts text between what is read as single characters: never inside a rune, nor between a letter and its
// accents or the parts of an emoji (UAX 29).
package grapheme

import (
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// Mark stands where text was cut off.
const Mark = "…"

// Cut shortens text to at most so many bytes, Mark included. Text that fits is returned as it is; where there is no room for
// a character and Mark, nothing is left. Invalid UTF-8 becomes U+FFFD.
func Cut(text string, bytes int) string {
	text = strings.ToValidUTF8(text, string(utf8.RuneError))
	if len(text) <= bytes {
		return text
	}
	end := 0
	for _, at := range Places(text) {
		if at+len(Mark) > bytes {
			break
		}
		end = at
	}
	return Head(text, end)
}

// Head is the beginning of a text that goes on. A mark alone would take room and tell nothing.
func Head(text string, end int) string {
	if end == 0 {
		return ""
	}
	return text[:end] + Mark
}

// Places are the offsets at which valid text may be cut, from 0, without its end.
func Places(text string) (all []int) {
	at, state := 0, -1
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		all = append(all, at)
		at += len(cluster)
	}
	return all
}
