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
	var out excerpt
	var text []byte
	in := bufio.NewReaderSize(r, chunk)
	if head, _ := in.Peek(sniffed); bytes.IndexByte(head, 0) >= 0 {
		out.binary = true
	}
	from := max(s.From, 1)
	line, full := 1, false
	for {
		if err := ctx.Err(); err != nil {
			return out, context.Cause(ctx)
		}
		piece, err := in.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) && err != io.EOF {
			return out, err
		}
		if len(piece) > 0 {
			out.lines = line
			at, ended := out.size, piece[len(piece)-1] == '\n'
			out.size += int64(len(piece))
			wanted := line >= from && (s.Lines <= 0 || line < from+s.Lines)
			if s.Offset > 0 {
				wanted = out.size > s.Offset
				if skip := s.Offset - at; wanted && skip > 0 {
					piece = whole(piece[skip:])
					at = out.size - int64(len(piece))
				}
				wanted = wanted && len(piece) > 0
			}
			if wanted && !full && !out.binary {
				if len(text) == 0 {
					out.first, out.begin = line, at
				}
				taken := piece
				if room := s.Max - len(text); len(piece) > room {
					full = true
					taken = nil
					if len(text) == 0 || out.inside { // the line alone is too long
						taken = cutRune(piece[:max(room, 0)])
					}
				}
				text = append(text, taken...)
				if len(taken) > 0 {
					out.last = line
				}
				if full {
					out.next = out.last
					if len(taken) == 0 && !out.inside {
						out.next++
					}
				}
				if len(taken) > 0 {
					out.inside = taken[len(taken)-1] != '\n' && (full || err != io.EOF)
				}
			}
			if ended {
				line++
			}
		}
		if err == io.EOF {
			break
		}
		if limit > 0 && out.size >= limit {
			out.partly = true
			break
		}
	}
	if s.Lines > 0 && !full && out.last > 0 && out.last < out.lines {
		out.next = out.last + 1
	}
	out.end = out.begin + int64(len(text))
	out.text = strings.ToValidUTF8(string(text), string(utf8.RuneError))
	return out, nil
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
