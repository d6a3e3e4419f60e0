package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cairnrun/cairn"
)

// A span is which part of a text is asked for.
type span struct {
	// From is the first line, from 1; Lines is how many, 0 for as many as fit.
	From, Lines int
	// Offset, if not 0, is the byte to begin at instead.
	Offset int64
	// Max is the most bytes.
	Max int
}

// An excerpt is a part of a text, and how much there is.
type excerpt struct {
	text string
	// first and last are lines, from 1. next is the line to go on from, 0 at the end.
	first, last, next int
	// begin and end are where the part stands, in bytes. inside says that it ends within a line.
	begin, end int64
	inside     bool
	// lines and size are those of all that was looked at; partly says that it was not all.
	lines  int
	size   int64
	partly bool
	binary bool
}

// sniffed is how much of a file is looked at for a NUL byte, which no text has.
const sniffed = 8000

// chunk is how much is read at once. A line longer than that comes in pieces.
const chunk = 64 << 10

// read takes the part out of a text. It reads to the end, for the count of lines and for readers that verify what they
// read, or up to limit bytes, if that is not 0.
func (s span) read(ctx context.Context, r io.Reader, limit int64) (excerpt, error) {
	c := cutter{span: s}
	in := bufio.NewReaderSize(r, chunk)
	if head, _ := in.Peek(sniffed); bytes.IndexByte(head, 0) >= 0 {
		c.out.binary = true
	}
	for line := 1; ; {
		if err := ctx.Err(); err != nil {
			return c.out, context.Cause(ctx)
		}
		piece, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && err != io.EOF {
			return c.out, err
		}
		if len(piece) > 0 {
			at := c.out.size
			c.out.lines, c.out.size = line, at+int64(len(piece))
			if part, at := c.wanted(piece, line, at); len(part) > 0 && !c.full && !c.out.binary {
				c.take(part, line, at, err == io.EOF)
			}
			if piece[len(piece)-1] == '\n' {
				line++
			}
		}
		if err == io.EOF {
			break
		}
		if limit > 0 && c.out.size >= limit {
			c.out.partly = true
			break
		}
	}
	out := c.out
	if s.Lines > 0 && !c.full && out.last > 0 && out.last < out.lines {
		out.next = out.last + 1
	}
	out.end = out.begin + int64(len(c.text))
	out.text = strings.ToValidUTF8(string(c.text), string(utf8.RuneError))
	return out, nil
}

// A cutter is an excerpt in the making.
type cutter struct {
	span
	out  excerpt
	text []byte
	// full says that no more fits.
	full bool
}

// wanted is what of a piece of a line is asked for, and where it stands.
func (c *cutter) wanted(piece []byte, line int, at int64) ([]byte, int64) {
	if c.Offset > 0 {
		skip := min(max(c.Offset-at, 0), int64(len(piece)))
		if skip == 0 {
			return piece, at
		}
		rest := whole(piece[skip:])
		return rest, at + int64(len(piece)-len(rest))
	}
	from := max(c.From, 1)
	if line < from || c.Lines > 0 && line-from >= c.Lines {
		return nil, at
	}
	return piece, at
}

// take adds a piece of a line. What does not fit is left out as a whole, unless it is all there is.
func (c *cutter) take(piece []byte, line int, at int64, ends bool) {
	if len(c.text) == 0 {
		c.out.first, c.out.begin = line, at
	}
	if room := c.Max - len(c.text); len(piece) > room {
		c.full = true
		if len(c.text) > 0 && !c.out.inside {
			c.out.next = line
			return
		}
		piece = cutRune(piece[:max(room, 0)])
	}
	if len(piece) == 0 { // within a line that filled the room to its last byte
		return
	}
	c.text = append(c.text, piece...)
	c.out.last = line
	c.out.inside = piece[len(piece)-1] != '\n' && (c.full || !ends)
}

// whole drops the rest of a character whose beginning was cut off.
func whole(b []byte) []byte {
	for i := range min(utf8.UTFMax, len(b)) {
		if utf8.RuneStart(b[i]) {
			return b[i:]
		}
	}
	return b
}

// cutRune drops the beginning of a character whose rest was cut off.
func cutRune(b []byte) []byte {
	for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
		if c := b[len(b)-i]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return b[:len(b)-i]
			}
			break
		}
	}
	return b
}

// render is the answer: a line that says what this is and how much there is, and then the text as it is.
func (e excerpt) render(name string, s span, size int64) (string, error) {
	least := ""
	if e.partly {
		least = "at least "
	}
	switch {
	case size == 0:
		return name + ": empty\n", nil
	case e.binary:
		return "", &cairn.Error{Code: Binary, Message: fmt.Sprintf("%s is not text: it has NUL bytes, %d bytes in all", name, size), Next: "use a program that understands it"}
	case e.first == 0:
		return "", &cairn.Error{Code: BadRange, Message: fmt.Sprintf("%s has %s%d lines, %d bytes", name, least, e.lines, size), Next: "begin before its end"}
	}
	var b strings.Builder
	if s.Offset > 0 || e.inside {
		fmt.Fprintf(&b, "%s: bytes %d-%d of %d, lines %d-%d of %s%d", name, e.begin, e.end, size, e.first, e.last, least, e.lines)
	} else {
		fmt.Fprintf(&b, "%s: lines %d-%d of %s%d, %d bytes in all", name, e.first, e.last, least, e.lines, size)
	}
	switch {
	case e.inside:
		fmt.Fprintf(&b, "; goes on at offset %d", e.end)
	case e.next > 0:
		fmt.Fprintf(&b, "; goes on at line %d", e.next)
	}
	b.WriteString("\n")
	b.WriteString(e.text)
	return b.String(), nil
}
