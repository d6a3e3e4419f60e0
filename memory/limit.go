package memory

import (
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of what a store takes, in bytes of UTF-8 unless said otherwise. More is MEMORY_TOO_LARGE.
const (
	// MaxName bounds the ids of namespaces, threads, messages and notes, the keys of facts, banks and tags.
	MaxName = 256
	// MaxText bounds a fact's value, a note's body, and a message's content and data together.
	MaxText = 1 << 20
	// MaxTitle bounds the title of a note or thread.
	MaxTitle = 1 << 10
	// MaxDigest bounds the text of a digest.
	MaxDigest = 2 << 10
	// MaxTagged is how many different tags an item may have.
	MaxTagged = 16
	// MaxLinks is how many notes one note may supersede or be derived from, and how many calls a message may make.
	MaxLinks = 256
)

// CheckName is INVALID_NAME unless s is printable UTF-8, not empty, without blanks at its ends, and MEMORY_TOO_LARGE if
// it is longer than MaxName. what says what it names.
func CheckName(what, s string) error {
	switch {
	case s == "":
		return invalid(what+" is empty", "give it a name")
	case len(s) > MaxName:
		return tooLarge(fmt.Sprintf("%s has %d bytes: %.40q…", what, len(s), s), fmt.Sprintf("use at most %d", MaxName))
	case !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }):
		return invalid(fmt.Sprintf("%s is %q, which does not print", what, s), "use printable UTF-8")
	case s[0] == ' ' || s[len(s)-1] == ' ':
		return invalid(fmt.Sprintf("%s is %q, with blanks at its ends", what, s), "leave them away")
	}
	return nil
}

// checkText is MEMORY_TOO_LARGE over limit and INVALID_ITEM for what is no text. A NUL is no text: other backends refuse it.
func checkText(what, s string, limit int) error {
	switch {
	case len(s) > limit:
		return tooLarge(fmt.Sprintf("%s has %d bytes", what, len(s)), fmt.Sprintf("store at most %d and keep the rest in an artifact", limit))
	case !utf8.ValidString(s) || strings.ContainsRune(s, 0):
		return contradictory(what+" is no valid UTF-8, or has a NUL", "clean it with strings.ToValidUTF8")
	}
	return nil
}

func checkLinks(what string, ids []string) error {
	if len(ids) > MaxLinks {
		return tooLarge(fmt.Sprintf("%d %s", len(ids), what), fmt.Sprintf("use at most %d", MaxLinks))
	}
	for i, id := range ids {
		if err := CheckName("an id in "+what, id); err != nil {
			return err
		}
		for _, before := range ids[:i] {
			if before == id {
				return contradictory(fmt.Sprintf("%s names %q twice", what, id), "name it once")
			}
		}
	}
	return nil
}

// checkTimes is INVALID_ITEM for years that JSON can't write.
func checkTimes(times ...time.Time) error {
	for _, t := range times {
		if y := t.UTC().Year(); y < 1 || y > 9999 {
			return contradictory(fmt.Sprintf("a time in year %d", y), "use the years 1 to 9999, and the zero time for no end")
		}
	}
	return nil
}
