package audit

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io"
	"io/fs"
	"os"
	"strings"
)

// maxFileSize is far above any file a person or a sane generator writes. It
// keeps one stray file from taking the memory of the process.
const maxFileSize = 16 << 20

var errTooLarge = errors.New("the file is larger than 16 MiB")

// source is a Go file that has been parsed.
type source struct {
	path      string
	fset      *token.FileSet
	file      *ast.File
	test      bool
	generated bool
}

// parse reads a file without regard to its build constraints. A file with a
// syntax error yields the first one as a finding and no source: what the parser
// makes of the rest is guesswork, and a guess is no ground for a finding.
func parse(path string, src []byte) (*source, *Finding) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, syntaxError(path, src, err)
	}
	return &source{
		path:      path,
		fset:      fset,
		file:      file,
		test:      isTestFile(path),
		generated: ast.IsGenerated(file),
	}, nil
}

// syntaxError finds the line from the offset, because the line the parser
// reports is the one a //line comment claims.
func syntaxError(path string, src []byte, err error) *Finding {
	line, text := 1, err.Error()
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		offset := min(max(list[0].Pos.Offset, 0), len(src))
		line, text = 1+bytes.Count(src[:offset], []byte("\n")), list[0].Msg
	}
	return &Finding{Kind: KindParse, File: path, Line: line, Text: shorten(text)}
}

// line is where a position is in the file as it lies on disk, whatever //line
// comments say about where it came from.
func (s *source) line(pos token.Pos) int {
	return s.fset.PositionFor(pos, false).Line
}

// isProgram is true for a file of package main, of which nobody can import
// anything.
func (s *source) isProgram() bool {
	return s.file.Name.Name == "main"
}

func isTestFile(path string) bool {
	return strings.HasSuffix(path, "_test.go")
}

func countLines(src []byte) int {
	lines := bytes.Count(src, []byte("\n"))
	if len(src) > 0 && src[len(src)-1] != '\n' {
		lines++
	}
	return lines
}

func readFile(root *os.Root, name string) ([]byte, error) {
	file, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	src, err := io.ReadAll(io.LimitReader(file, maxFileSize+1))
	if err != nil {
		return nil, err
	}
	if len(src) > maxFileSize {
		return nil, errTooLarge
	}
	return src, nil
}

// reason is an error without the path that it is about: the finding has that
// already, and the report must not show where on the machine the code lies.
func reason(err error) string {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err.Error()
	}
	return err.Error()
}
