package tool

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cairnrun/cairn"
)

type grepFiles struct {
	Pattern string `json:"pattern" validate:"required" jsonschema_description:"A regular expression in RE2 syntax, for one line at a time. (?i) in front ignores case."`
	Path    string `json:"path,omitempty" jsonschema_description:"The file, or the folder to search in. The default is the root."`
	Glob    string `json:"glob,omitempty" jsonschema_description:"Only files whose path below that folder fits, such as **/*.go. The default is all."`
	Context int    `json:"context,omitempty" jsonschema:"minimum=0,maximum=20" jsonschema_description:"How many lines to show before and after each match. The default is 0."`
}

func (f *files) grepper() cairn.Tool {
	return fileTool(f, "fs_grep", "Searches the lines of text files. Matches are shown as file:line:text, the lines around them as file-line-text. Binary and very large files are left out, and counted.",
		func(ctx context.Context, f *files, in grepFiles) (string, error) {
			g, err := newGrep(in.Pattern, in.Context, f.MaxAnswer)
			if err != nil {
				return "", err
			}
			found, err := f.grep(ctx, g, in)
			if err != nil {
				return "", err
			}
			return g.render() + found.notes(), nil
		})
}

func (f *files) grep(ctx context.Context, g *grep, in grepFiles) (seen, error) {
	name, err := clean(in.Path)
	if err != nil {
		return seen{}, err
	}
	info, err := f.root.Stat(name)
	if err != nil {
		return seen{}, wrap(name, err)
	}
	if !info.IsDir() {
		if in.Glob != "" {
			return seen{}, &cairn.Error{Code: NotAFile, Message: quoted(name) + " is no folder, so glob has nothing to choose from", Next: "leave glob out"}
		}
		return seen{}, f.grepFile(ctx, g, name)
	}
	glob := in.Glob
	if glob == "" {
		glob = "**"
	}
	return f.walk(ctx, name, glob, func(file string) error {
		err := f.grepFile(ctx, g, file)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil { // a link to nowhere, a pipe, a file that has gone: no reason to end the search
			g.unread++
		}
		return nil
	})
}

func (f *files) grepFile(ctx context.Context, g *grep, name string) error {
	file, info, err := f.open(name)
	if err != nil {
		return err
	}
	defer file.Close()
	if info.Size() > f.MaxFile {
		g.large++
		return nil
	}
	return wrap(name, g.search(ctx, name, file))
}

// A grep searches one text after the other and gathers the answer.
type grep struct {
	pattern *regexp.Regexp
	context int
	// max is the most bytes of the answer.
	max int

	out                               strings.Builder
	searched, matched, matches, shown int
	binary, large, unread             int
	full                              bool
}

// maxLine is the most bytes that are shown of a line.
const maxLine = 400

func newGrep(pattern string, context, max int) (*grep, error) {
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		return nil, &cairn.Error{Code: BadPattern, Message: "the pattern is no regular expression of RE2", Err: err, Next: `escape what is meant literally with \; there are no look-arounds and no references back`}
	}
	return &grep{pattern: compiled, context: context, max: max}, nil
}

// search reads a text to its end.
func (g *grep) search(ctx context.Context, name string, r io.Reader) error {
	in := bufio.NewReaderSize(r, chunk)
	if head, _ := in.Peek(sniffed); bytes.IndexByte(head, 0) >= 0 {
		g.binary++
		_, err := io.Copy(io.Discard, in) // whoever verifies wants to see the end
		return err
	}
	g.searched++
	before, after, last, any := []string{}, 0, -1, false
	for number := 1; ; number++ {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		line, err := readLine(in)
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
		switch {
		case g.pattern.Match(line):
			g.matches++
			if !any {
				any = true
				g.matched++
			}
			if g.full {
				continue
			}
			first := number - len(before)
			if g.context > 0 && g.out.Len() > 0 && last != first-1 {
				g.write("--\n")
			}
			for i, text := range before {
				g.row(name, '-', first+i, text)
			}
			before = before[:0]
			if g.row(name, ':', number, show(line)) {
				g.shown++
			}
			after, last = g.context, number
		case after > 0:
			after--
			g.row(name, '-', number, show(line))
			last = number
		case g.context > 0:
			if len(before) == g.context {
				before = append(before[:0], before[1:]...)
			}
			before = append(before, show(line))
		}
	}
	return nil
}

// readLine returns a line without its end, and of a line that is longer than a chunk the beginning.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		line = bytes.Clone(line)
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
	case err == io.EOF && len(line) == 0:
		return nil, io.EOF
	}
	if err != nil && err != io.EOF {
		return nil, err
	}
	return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil
}

func show(line []byte) string {
	cut := ""
	if len(line) > maxLine {
		cut = fmt.Sprintf(" … (%d bytes)", len(line))
		line = cutRune(line[:maxLine])
	}
	return strings.ToValidUTF8(string(line), string(utf8.RuneError)) + cut
}

func (g *grep) row(name string, mark byte, number int, text string) bool {
	prefix := ""
	if name != "" {
		prefix = quoted(name) + string(mark)
	}
	return g.write(fmt.Sprintf("%s%d%c%s\n", prefix, number, mark, text))
}

func (g *grep) write(text string) bool {
	if g.full || g.out.Len()+len(text) > g.max {
		g.full = true
		return false
	}
	g.out.WriteString(text)
	return true
}

// render is the answer: how much was found, and then the lines.
func (g *grep) render() string {
	head := fmt.Sprintf("%d matches in %d files, %d searched", g.matches, g.matched, g.searched)
	if g.shown < g.matches {
		head += fmt.Sprintf("; the first %d here", g.shown)
	}
	for _, left := range []struct {
		count int
		what  string
	}{{g.binary, "binary"}, {g.large, "too large"}, {g.unread, "that could not be read"}} {
		if left.count > 0 {
			head += fmt.Sprintf("; left out %d %s", left.count, left.what)
		}
	}
	return head + "\n" + g.out.String()
}
