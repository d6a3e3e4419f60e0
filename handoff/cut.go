package handoff

import "github.com/cairnrun/cairn/internal/grapheme"

// Mark stands where text was cut off. It counts: a text of n bytes has it inside of the n.
const Mark = grapheme.Mark

// Last keeps the last n items, in their order. It is a part of items, not a copy.
func Last[T any](items []T, n int) []T {
	return items[len(items)-min(max(n, 0), len(items)):]
}

// Cut shortens text to at most so many bytes, Mark included. It never cuts inside a character, and keeps together what is
// read as one: a letter and its accents, the parts of an emoji. Text that fits is returned as it is; where there is no
// room for a character and Mark, nothing is left. Invalid UTF-8 becomes U+FFFD.
func Cut(text string, bytes int) string { return grapheme.Cut(text, bytes) }
