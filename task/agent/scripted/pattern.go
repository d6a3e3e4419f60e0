package scripted

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode"
)

// matching is a text that a pattern is found in: the one given, if it is, or else about the shortest. It is false for what is no
// pattern, or has none that is so easily made.
func matching(pattern, text string) (string, bool) {
	re, err := regexp.Compile(pattern)
	if err != nil {
		return text, false
	}
	if re.MatchString(text) {
		return text, true
	}
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return text, false
	}
	var b strings.Builder
	spell(tree.Simplify(), &b)
	return b.String(), re.MatchString(b.String())
}

// spell writes a text of an expression: the first choice, as few repetitions as there may be.
func spell(re *syntax.Regexp, b *strings.Builder) {
	switch re.Op {
	case syntax.OpLiteral:
		b.WriteString(string(re.Rune))
	case syntax.OpCharClass:
		b.WriteRune(member(re.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('x')
	case syntax.OpConcat, syntax.OpCapture, syntax.OpPlus:
		for _, sub := range re.Sub {
			spell(sub, b)
		}
	case syntax.OpAlternate:
		spell(re.Sub[0], b)
	}
}

// member is a character of a class, given as pairs of first and last: a letter or a digit, if there is one.
func member(pairs []rune) rune {
	for _, r := range "axAX10" {
		for i := 0; i+1 < len(pairs); i += 2 {
			if pairs[i] <= r && r <= pairs[i+1] {
				return r
			}
		}
	}
	for i := 0; i+1 < len(pairs); i += 2 {
		for r := pairs[i]; r <= pairs[i+1] && r < pairs[i]+100; r++ {
			if unicode.IsPrint(r) {
				return r
			}
		}
	}
	if len(pairs) > 0 {
		return pairs[0]
	}
	return 'x'
}
