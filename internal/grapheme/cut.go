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
	end, state := 0, -1
	for rest := text; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end+len(cluster)+len(Mark) > bytes {
			break
		}
		end += len(cluster)
	}
	if end == 0 {
		return "" // a mark alone would take room and tell nothing
	}
	return text[:end] + Mark
}
