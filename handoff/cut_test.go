package handoff_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cairnrun/cairn/handoff"
	"pgregory.net/rapid"
)

func TestLast(t *testing.T) {
	items := []int{1, 2, 3}
	for _, c := range []struct {
		n    int
		want []int
	}{{-1, nil}, {0, nil}, {1, []int{3}}, {3, items}, {9, items}} {
		if got := handoff.Last(items, c.n); !slices.Equal(got, c.want) {
			t.Errorf("%d: %v", c.n, got)
		}
	}
	if got := handoff.Last[int](nil, 2); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text  string
		bytes int
		want  string
	}{
		{"hello", 5, "hello"},
		{"hello, world", 8, "hello…"},
		{"hello, world", 11, "hello, w…"},
		{"hello", 4, "h…"},
		{"hello", 3, ""},
		{"hello", 2, ""},
		{"hello", 0, ""},
		{"hello", -1, ""},
		{"", -1, ""},
		{"héllo", 5, "h…"}, // é has two bytes
		{"héllo!", 6, "hé…"},
		{"ab\xffcd", 9, "ab\uFFFDcd"},
		{"ab\xff\xfecdefgh", 8, "ab\uFFFD…"},
		{"e\u0301e\u0301e\u0301", 8, "e\u0301…"}, // letters with accents of their own
		{"👍🏽👍🏽👍🏽", 14, "👍🏽…"},                    // skin tones
		{"👩‍👩‍👧‍👦 family", 26, ""},               // joined by joiners
		{"👩‍👩‍👧‍👦 family", 28, "👩‍👩‍👧‍👦…"},                    //
		{"🇩🇪🇫🇷🇬🇧", 18, "🇩🇪…"},                                 // two letters are a flag
		{"🇩🇪🇫🇷🇬🇧", 19, "🇩🇪🇫🇷…"},                               //
		{"❤️❤️❤️", 14, "❤️…"},                                 // a variation selector
		{"one\r\ntwo three", 7, "one…"},                       //
		{"\U0001F3F4\U000E0067\U000E0062\U000E007F!", 16, ""}, // tags
		{strings.Repeat("\u0301", 9), 10, ""},                 // all one character
		{"नमस्ते दुनिया", 20, "नमस्…"},                        // vowel signs
	} {
		got := handoff.Cut(c.text, c.bytes)
		if got != c.want {
			t.Errorf("%q to %d bytes: %q, want %q", c.text, c.bytes, got, c.want)
		}
	}
}

// texts have what is hard to cut, and what is hard to encode.
func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		piece := rapid.SampledFrom([]string{"a", "word ", "é", "e\u0301", "\"", "<&>", "\n", "\\", "日本", "👩‍👧", "🇩🇪", "👍🏽", "\xff", "\x00", "…", "\u2028"})
		return strings.Join(rapid.SliceOfN(piece, 0, 30).Draw(t, "pieces"), "")
	})
}

func TestCutKeepsItsWord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := texts().Draw(t, "text")
		n := rapid.IntRange(-1, 100).Draw(t, "bytes")
		valid := strings.ToValidUTF8(text, "\uFFFD")
		got := handoff.Cut(text, n)
		if len(got) > max(n, 0) || !utf8.ValidString(got) {
			t.Fatalf("%q has %d bytes of %d", got, len(got), n)
		}
		if got != valid && got != "" && !strings.HasPrefix(valid, strings.TrimSuffix(got, handoff.Mark)) {
			t.Fatalf("%q is no beginning of %q", got, valid)
		}
		if again := handoff.Cut(got, n); again != got {
			t.Fatalf("cut again: %q, %q", got, again)
		}
		more := handoff.Cut(text, n+rapid.IntRange(0, 20).Draw(t, "more"))
		if len(more) < len(got) {
			t.Fatalf("with more room: %q, %q", got, more)
		}
	})
}
