package rank

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Tokenizer is the tokenizer of an FTS5 table that holds terms joined with spaces: it cuts at the spaces and nowhere
// else, because terms hold no ASCII sign but letters and digits. (unicode61 would drop emoji and part numbers at the
// joiner.)
const Tokenizer = "ascii"

// MaxTerm is the length of the longest term, in runes. What is longer (a base64 blob, a minified line) is cut on both
// sides of the match.
const MaxTerm = 64

// joiner stands in a whole form where two digits would otherwise run together: 1.12 and 11.2 are not the same version.
// It also begins the whole form of a flag. A term is taken apart again by Terms nowhere, so it must count as a letter.
const joiner = '·'

// Terms returns what of a text is indexed, in the order of the text, repeated as often as it occurs:
//
//   - words in lower case, without diacritics (café is cafe), without English stop words, stemmed;
//   - identifiers whole and in parts: snake_case, camelCase, HTTPServer, dotted.names, kebab-case and pkg/path give
//     their parts and, joined without separators, the whole, so httpserver finds HTTPServer and http_server;
//   - numbers with points, dashes or colons (versions, dates, addresses) whole and in parts; "v1.2" is "1.2"; a flag such
//     as -race both as the flag and as the word; of a hexadecimal id of twelve digits or more also the first seven;
//   - runs of scripts without spaces (Han, Kana, Hangul, Thai, …) as single characters and overlapping pairs;
//   - emoji, one by one, without skin tone.
//
// Terms of the terms are the same terms. No term holds a space, a quote or another ASCII sign.
func Terms(text string) []string {
	s := scanner{index: true}
	s.scan(text)
	return s.terms
}

// QueryTerms returns the terms to look for, each once, in the order of the query. It cuts as Terms does, except that
// a run of Han and the like of two or more characters is looked up by its pairs alone. A query of nothing but stop words
// and signs has no terms, and recalls nothing.
func QueryTerms(text string) []string {
	s := scanner{}
	s.scan(text)
	seen := make(map[string]bool, len(s.terms))
	return slices.DeleteFunc(s.terms, func(t string) bool {
		if seen[t] {
			return true
		}
		seen[t] = true
		return false
	})
}

// scanner cuts one text into terms.
type scanner struct {
	index bool // for the index: single characters of unspaced scripts too
	terms []string
	marks []mark // scratch: the segments of the compound being read
	text  string
}

// mark is one segment of a compound: letters and digits between connectors.
type mark struct {
	from, to int
	deep     bool // the connector before it separates elements: path, address, host:port
}

func (s *scanner) scan(text string) {
	text = strings.ToValidUTF8(text, " ")
	if !ascii(text) {
		text = norm.NFKC.String(text)
	}
	s.text = text
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case unspaced(r):
			end := i
			for end < len(text) {
				r, n := utf8.DecodeRuneInString(text[end:])
				if !unspaced(r) && !(end > i && unicode.Is(unicode.Mn, r)) {
					break
				}
				end += n
			}
			s.pairs(text[i:end])
			i = end
		case emoji(r):
			i += s.emoji(i, r, size)
		case word(r):
			i = s.compound(i)
		default:
			i += size
		}
	}
}

// compound reads segments joined by single connectors from i on, and emits whole, elements and parts.
func (s *scanner) compound(i int) int {
	start := i
	s.marks = s.marks[:0]
	deep := false
	for {
		end := s.segment(i)
		s.marks = append(s.marks, mark{i, end, deep})
		i = end
		if i >= len(s.text) {
			break
		}
		r, n := utf8.DecodeRuneInString(s.text[i:])
		isDeep, ok := connector(r)
		if !ok {
			break
		}
		if r == ':' && i+1 < len(s.text) && s.text[i+1] == ':' { // C++ and Rust paths
			n = 2
		}
		next, _ := utf8.DecodeRuneInString(s.text[min(i+n, len(s.text)):])
		if !word(next) || unspaced(next) || emoji(next) {
			break
		}
		deep = isDeep
		i += n
	}
	s.flag(start)
	if len(s.marks) > 1 {
		s.whole(s.marks)
		for from := 0; from < len(s.marks); {
			to := from + 1
			for to < len(s.marks) && !s.marks[to].deep {
				to++
			}
			if to-from > 1 && to-from < len(s.marks) {
				s.whole(s.marks[from:to])
			}
			from = to
		}
	}
	for n, m := range s.marks {
		s.part(m, n+1 < len(s.marks) || n > 0)
	}
	return i
}

// segment returns where the letters and digits that begin at i end. An apostrophe and the comma of 1,000 are inside.
func (s *scanner) segment(i int) int {
	for i < len(s.text) {
		r, n := utf8.DecodeRuneInString(s.text[i:])
		switch {
		case unspaced(r):
			return i
		case word(r):
			i += n
		case apostrophe(r) || r == ',' && s.thousands(i):
			next, _ := utf8.DecodeRuneInString(s.text[i+n:])
			if !word(next) || unspaced(next) {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return i
}

// thousands says whether the comma at i parts groups of three digits.
func (s *scanner) thousands(i int) bool {
	t := s.text
	if i == 0 || i+3 >= len(t) || !digit(t[i-1]) || !digit(t[i+1]) || !digit(t[i+2]) || !digit(t[i+3]) {
		return false
	}
	return i+4 == len(t) || !digit(t[i+4])
}

// flag emits -race, --race and _race as they are typed, beside their words.
func (s *scanner) flag(start int) {
	if start == 0 || s.text[start-1] != '-' && s.text[start-1] != '_' || digit(s.text[start]) {
		return
	}
	before := strings.TrimRight(s.text[:start], "-_")
	if r, _ := utf8.DecodeLastRuneInString(before); before != "" && word(r) {
		return
	}
	var b strings.Builder
	b.WriteRune(joiner)
	for _, m := range s.marks {
		b.WriteString(plain(s.text[m.from:m.to]))
	}
	if b.Len() > len("·") {
		s.terms = append(s.terms, cut(b.String()))
	}
}

// whole emits segments as one term, unless all of them are stop words.
func (s *scanner) whole(marks []mark) {
	var b strings.Builder
	meaning := false
	last := rune(0)
	for n, m := range marks {
		p := plain(s.text[m.from:m.to])
		if n == 0 && n+1 < len(marks) {
			p = s.version(p, marks[1])
		}
		if p == "" {
			continue
		}
		meaning = meaning || !stop[p]
		first, _ := utf8.DecodeRuneInString(p)
		if unicode.IsDigit(last) && unicode.IsDigit(first) {
			b.WriteRune(joiner)
		}
		b.WriteString(p)
		last, _ = utf8.DecodeLastRuneInString(p)
	}
	if meaning {
		s.emit(b.String())
	}
}

// version takes the v from v1.2.
func (s *scanner) version(p string, next mark) string {
	if len(p) > 1 && p[0] == 'v' && digit(p[1]) && digit(s.text[next.from]) && strings.Trim(p[1:], "0123456789") == "" {
		return p[1:]
	}
	return p
}

// part emits one segment and, if it is in camel case, its words.
func (s *scanner) part(m mark, inside bool) {
	text := possessive(s.text[m.from:m.to])
	p := plain(text)
	if inside && len(p) > 1 && p[0] == 'v' && strings.Trim(p[1:], "0123456789") == "" {
		p = p[1:]
	}
	s.emit(p)
	from := 0
	humps := 0
	for at := range text {
		if at > from && hump(text, from, at) {
			s.hump(text[from:at])
			from = at
			humps++
		}
	}
	if humps > 0 {
		s.hump(text[from:])
	}
}

func (s *scanner) hump(text string) {
	if p := plain(text); utf8.RuneCountInString(p) > 1 {
		s.emit(p)
	}
}

// hump says whether a word of camel case begins at at: fooBar and HTTPServer, but not in URLs.
func hump(text string, from, at int) bool {
	r, size := utf8.DecodeRuneInString(text[at:])
	if !unicode.IsUpper(r) {
		return false
	}
	before, _ := utf8.DecodeLastRuneInString(text[from:at])
	if unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	rest := text[at+size:]
	after, n := utf8.DecodeRuneInString(rest)
	return unicode.IsUpper(before) && unicode.IsLower(after) && !(after == 's' && len(rest) == n)
}

// emit appends a folded word: stemmed, unless it is a stop word. A word whose stem would be one stays whole.
func (s *scanner) emit(w string) {
	if w == "" || stop[w] {
		return
	}
	w = cut(w)
	if stem := Stem(w); !stop[stem] {
		w = stem
	}
	s.terms = append(s.terms, w)
	if len(w) >= 12 && strings.Trim(w, "0123456789abcdef") == "" && strings.ContainsAny(w, "0123456789") {
		s.emit(w[:7]) // as Git shortens it
	}
}

// pairs emits a run of a script without spaces.
func (s *scanner) pairs(run string) {
	var last string
	n := 0
	for i := 0; i < len(run); {
		end := i
		for end < len(run) { // a character with the marks on it
			r, size := utf8.DecodeRuneInString(run[end:])
			if end > i && !unicode.Is(unicode.Mn, r) && !unicode.Is(unicode.Mc, r) {
				break
			}
			end += size
		}
		one := run[i:end]
		if n > 0 {
			s.terms = append(s.terms, last+one)
		}
		if s.index || n == 0 && end == len(run) {
			s.terms = append(s.terms, one)
		}
		last, i = one, end
		n++
	}
}

// emoji emits the emoji at i and returns its length. Two regional indicators are one flag.
func (s *scanner) emoji(i int, r rune, size int) int {
	if regional(r) {
		if next, n := utf8.DecodeRuneInString(s.text[i+size:]); regional(next) {
			size += n
		}
	}
	s.terms = append(s.terms, s.text[i:i+size])
	return size
}

// possessive takes the 's from a word.
func possessive(w string) string {
	for _, end := range [...]string{"'s", "’s", "'S", "’S"} {
		if short, ok := strings.CutSuffix(w, end); ok {
			return short
		}
	}
	return w
}

// cut shortens a term to MaxTerm runes.
func cut(w string) string {
	if len(w) <= MaxTerm {
		return w
	}
	n := 0
	for i := range w {
		if n == MaxTerm {
			return w[:i]
		}
		n++
	}
	return w
}

// plain folds a word: lower case, no diacritics, no apostrophes and commas.
func plain(w string) string {
	w = possessive(w)
	if ascii(w) {
		w = strings.ToLower(w)
		if strings.ContainsAny(w, "',") {
			w = strings.NewReplacer("'", "", ",", "").Replace(w)
		}
		return w
	}
	fold := func(w string) string {
		return strings.Map(func(r rune) rune {
			if r >= 0x300 && r <= 0x36f || apostrophe(r) || r == ',' || r == 0xfe0e || r == 0xfe0f {
				return -1
			}
			return unicode.ToLower(r)
		}, norm.NFD.String(w))
	}
	w = norm.NFKC.String(fold(strings.ReplaceAll(w, "ß", "ss")))
	if !ascii(w) { // lower case can have what upper case had not
		w = norm.NFKC.String(fold(w))
	}
	return w
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func word(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r == joiner || unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) && r != 0xfe0f && r != 0xfe0e && r != 0x20e3
}

// connector says whether a sign joins the parts of an identifier, and whether it parts elements of a path or an address.
func connector(r rune) (deep, ok bool) {
	switch r {
	case '.', '_', '-', '‐':
		return false, true
	case '/', ':', '@', '\\':
		return true, true
	}
	return false, false
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' }

// unspaced says whether a rune is of a script that puts no space between words, or too few for search by word.
func unspaced(r rune) bool {
	return r >= 0x0e00 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Bopomofo,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) && (unicode.IsLetter(r) || unicode.IsMark(r) || r == '々') || r == 'ー'
}

func regional(r rune) bool { return r >= 0x1f1e6 && r <= 0x1f1ff }

func emoji(r rune) bool {
	return r >= 0x1f000 && r <= 0x1faff && !(r >= 0x1f3fb && r <= 0x1f3ff) && unicode.Is(unicode.So, r) ||
		r >= 0x2600 && r <= 0x27bf && unicode.Is(unicode.So, r) || r == 0x2b50 || r == 0x2b55 || r == 0x231a || r == 0x231b || r == 0x23f0 || r == 0x23f3
}
