package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
)

// Counts measure code.
type Counts struct {
	// Files are all Go files; tests and generated files are among them.
	Files          int `json:"files" validate:"gte=0"`
	TestFiles      int `json:"test_files" validate:"gte=0"`
	GeneratedFiles int `json:"generated_files" validate:"gte=0"`
	// Lines are those of all files, and again by sort of file.
	Lines          int `json:"lines" validate:"gte=0"`
	TestLines      int `json:"test_lines" validate:"gte=0"`
	GeneratedLines int `json:"generated_lines" validate:"gte=0"`
	// Functions and Exported leave out tests and generated files. They count
	// declarations: what is declared once a platform counts once a platform.
	Functions int `json:"functions" validate:"gte=0"`
	Exported  int `json:"exported" validate:"gte=0"`
}

func (c Counts) plus(other Counts) Counts {
	return Counts{
		Files:          c.Files + other.Files,
		TestFiles:      c.TestFiles + other.TestFiles,
		GeneratedFiles: c.GeneratedFiles + other.GeneratedFiles,
		Lines:          c.Lines + other.Lines,
		TestLines:      c.TestLines + other.TestLines,
		GeneratedLines: c.GeneratedLines + other.GeneratedLines,
		Functions:      c.Functions + other.Functions,
		Exported:       c.Exported + other.Exported,
	}
}

// Analysis is what there is to say about one package.
type Analysis struct {
	Path   string `json:"path" validate:"required"`
	Counts Counts `json:"counts"`
	// HasTests is true when there is a test file, whatever is in it.
	HasTests bool `json:"has_tests"`
	// Undocumented are exported names without documentation.
	Undocumented Findings `json:"undocumented"`
	// Todos are the TODO and FIXME in comments.
	Todos Findings `json:"todos"`
	// ParseErrors are the files that cannot be read as Go, one finding each.
	ParseErrors Findings `json:"parse_errors"`
	// Longest are the longest functions, longest first.
	Longest []Function `json:"longest" validate:"required,dive"`
}

// Analyse reads the files of a package in the directory dir.
//
// Every file counts, whatever platform it is for. A test file is searched for
// TODO and FIXME; its names and the length of its functions are its own
// affair. A generated file is counted and otherwise left alone, because nobody
// can mend it by hand.
//
// A file that does not parse, is gone or may not be read becomes a finding. An
// error is returned only where another attempt may do better, or when dir
// itself cannot be opened.
func Analyse(ctx context.Context, dir string, p Package) (Analysis, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Analysis{}, fmt.Errorf("analyse package %s: %w", p.Path, err)
	}
	defer root.Close()

	a := newAnalyser(p.Path)
	for _, name := range p.Files {
		if err := ctx.Err(); err != nil {
			return Analysis{}, fmt.Errorf("analyse package %s: %w", p.Path, err)
		}
		file := path.Join(p.Path, name)
		src, err := readFile(root, file)
		switch {
		case err == nil:
			a.read(file, src)
		case isLasting(err), errors.Is(err, errTooLarge):
			a.missed(file, err)
		default:
			return Analysis{}, fmt.Errorf("analyse package %s: %w", p.Path, err)
		}
	}
	return a.result(), nil
}

// analyser gathers an analysis file by file.
type analyser struct {
	analysis  Analysis
	functions []Function
}

func newAnalyser(pkg string) *analyser {
	return &analyser{analysis: Analysis{
		Path:         pkg,
		Undocumented: newFindings(),
		Todos:        newFindings(),
		ParseErrors:  newFindings(),
	}}
}

func (a *analyser) result() Analysis {
	a.analysis.Longest = longest(a.functions)
	return a.analysis
}

// read takes in a file that has been read.
func (a *analyser) read(file string, src []byte) {
	lines := countLines(src)
	a.count(file, lines)
	parsed, broken := parse(file, src)
	switch {
	case broken != nil:
		a.analysis.ParseErrors.add(*broken, maxFindings)
	case parsed.generated:
		a.analysis.Counts.GeneratedFiles++
		a.analysis.Counts.GeneratedLines += lines
	case parsed.test:
		a.remark(parsed)
	default:
		a.remark(parsed)
		a.measure(parsed)
		a.inspect(parsed)
	}
}

// missed takes in a file that cannot be read.
func (a *analyser) missed(file string, err error) {
	a.count(file, 0)
	a.analysis.ParseErrors.add(Finding{
		Kind: KindParse,
		File: file,
		Line: 1,
		Text: shorten(reason(err)),
	}, maxFindings)
}

func (a *analyser) count(file string, lines int) {
	counts := &a.analysis.Counts
	counts.Files++
	counts.Lines += lines
	if isTestFile(file) {
		counts.TestFiles++
		counts.TestLines += lines
		a.analysis.HasTests = true
	}
}

// remark gathers what the comments leave to do.
func (a *analyser) remark(s *source) {
	for _, todo := range s.todos() {
		a.analysis.Todos.add(todo, maxFindings)
	}
}

// measure gathers the functions.
func (a *analyser) measure(s *source) {
	found := s.functions()
	a.analysis.Counts.Functions += len(found)
	a.functions = append(a.functions, found...)
}

// inspect gathers the exported names.
func (a *analyser) inspect(s *source) {
	for _, name := range s.exported() {
		a.analysis.Counts.Exported++
		if !name.documented {
			a.analysis.Undocumented.add(Finding{
				Kind: name.kind,
				File: s.path,
				Line: name.line,
				Name: name.name,
			}, maxFindings)
		}
	}
}
