package audit

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// special are the characters that mean something to Markdown inside a line.
const special = "\\`*_[]<>|~&#$"

// escape makes text from a source file show as it is. A comment must not be
// able to open a table, a link or a tag in the report.
func escape(text string) string {
	var b strings.Builder
	for _, r := range printable(text) {
		if strings.ContainsRune(special, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// printable puts spaces in the place of characters that do not show, those that
// steer a terminal or turn the direction of text among them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// code shows text as code. The fence must be longer than any run of backticks
// in the text, which a file name may well have.
func code(text string) string {
	text = printable(text)
	if !strings.Contains(text, "`") {
		return "`" + text + "`"
	}
	fence := "`"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	return fence + " " + text + " " + fence
}

// cell is code in a table, where a bar ends the cell even inside of code.
func cell(text string) string {
	return strings.ReplaceAll(code(text), "|", `\|`)
}

// place is written the way editors and terminals make a link of.
func place(file string, line int) string {
	return code(file + ":" + strconv.Itoa(line))
}

// number writes an integer that is not negative with its thousands apart.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// signed writes a difference.
func signed(n int) string {
	switch {
	case n > 0:
		return "+" + number(n)
	case n < 0:
		return "-" + number(-n)
	}
	return "0"
}

// count writes a number with what it counts.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return number(n) + " " + many
}

// part writes a number and its share of a whole. The share is cut and not
// rounded, so that 100 % is said only of all.
func part(n, whole int) string {
	if n == 0 || whole == 0 {
		return number(n)
	}
	tenths := n * 1000 / whole
	return fmt.Sprintf("%s (%d.%d %%)", number(n), tenths/10, tenths%10)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}
