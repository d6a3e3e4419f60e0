package audit

import (
	"fmt"
	"strconv"
	"strings"
)

// Markdown writes the report. Totals that are equal give equal bytes.
func Markdown(t Totals) []byte {
	r := &report{}
	r.opening(t)
	if t.Packages > 0 {
		r.figures(t)
	}
	r.caveats(t)
	if t.Since != nil {
		r.since(*t.Since)
	}
	if t.Packages > 0 {
		r.worst(t)
		r.broken(t)
		r.names(t)
		r.longest(t)
		r.todos(t)
		r.untested(t)
	}
	return []byte(r.String())
}

// report is a Markdown document in the making. Every method writes a section
// and leaves the document at the start of a line.
type report struct {
	strings.Builder
}

func (r *report) printf(format string, args ...any) {
	fmt.Fprintf(r, format, args...)
}

func (r *report) heading(title string) {
	r.printf("\n## %s\n\n", title)
}

// more says what a list leaves out.
func (r *report) more(left int) {
	if left > 0 {
		r.printf("- … and %s more\n", number(left))
	}
}

func (r *report) opening(t Totals) {
	subject := t.Module
	if subject == "" {
		subject = t.Dir
	}
	r.printf("# Audit of %s\n\n", escape(subject))
	r.printf("%s in %s", count(t.Packages, "package", "packages"), code(t.Dir))
	if t.GoVersion != "" {
		r.printf(", written for Go %s", escape(t.GoVersion))
	}
	r.printf(". %s\n", verdict(t))
}

// verdict is the report in a sentence.
func verdict(t Totals) string {
	if t.Packages == 0 {
		return "No Go code was audited."
	}
	var found []string
	for _, part := range []struct {
		n         int
		one, many string
	}{
		{t.ParseErrors.Count, "broken file", "broken files"},
		{t.Undocumented, "exported name without documentation", "exported names without documentation"},
		{t.Todos.Count, "thing left to do", "things left to do"},
		{len(t.Untested), "package without tests", "packages without tests"},
	} {
		if part.n > 0 {
			found = append(found, count(part.n, part.one, part.many))
		}
	}
	if len(found) == 0 {
		return "Nothing to complain about."
	}
	return "Found: " + strings.Join(found, ", ") + "."
}

func (r *report) figures(t Totals) {
	c := t.Counts
	r.heading("At a glance")
	r.printf("| | Count | Of which |\n")
	r.printf("| --- | ---: | --- |\n")
	r.printf("| Packages | %s | %s without tests |\n", number(t.Packages), part(len(t.Untested), t.Packages))
	r.printf("| Files | %s | %s tests, %s generated |\n",
		number(c.Files), number(c.TestFiles), number(c.GeneratedFiles))
	r.printf("| Lines | %s | %s in tests, %s generated |\n",
		number(c.Lines), number(c.TestLines), number(c.GeneratedLines))
	r.printf("| Functions | %s | %s |\n", number(c.Functions), longestLine(t.Longest))
	r.printf("| Exported names | %s | %s undocumented |\n", number(c.Exported), part(t.Undocumented, c.Exported))
	r.printf("| TODO and FIXME | %s | |\n", number(t.Todos.Count))
	r.printf("| Broken files | %s | |\n", number(t.ParseErrors.Count))
	r.printf("\nFunctions and exported names are those of code written by hand, without tests.\n")
}

func longestLine(functions []Function) string {
	if len(functions) == 0 {
		return ""
	}
	return "the longest has " + count(functions[0].Lines, "line", "lines")
}

// caveats says what the report does not cover; most reports have no such
// section.
func (r *report) caveats(t Totals) {
	if t.Omitted == 0 && len(t.Missing) == 0 && len(t.Unreadable) == 0 {
		return
	}
	r.heading("Not covered")
	if t.Omitted > 0 {
		r.printf("- %s beyond the limit that was asked for\n", count(t.Omitted, "package", "packages"))
	}
	for _, name := range t.Missing {
		r.printf("- package %s, which has no analysis\n", code(name))
	}
	for _, dir := range t.Unreadable {
		r.printf("- directory %s, which cannot be read\n", code(dir))
	}
}

func (r *report) since(c Comparison) {
	r.heading("Since the last audit")
	switch {
	case c.Trouble != "":
		r.printf("%s\n", escape(c.Trouble))
	case c.First:
		r.printf("No earlier audit is remembered. The next one will say what has changed.\n")
	case len(c.Changes) == 0:
		r.printf("Nothing has changed in these figures.\n")
	}
	if len(c.Changes) == 0 {
		return
	}
	if c.Trouble != "" {
		r.printf("\n")
	}
	r.printf("| Package | Lines | Undocumented | To do | Broken files |\n")
	r.printf("| --- | ---: | ---: | ---: | ---: |\n")
	for _, change := range c.Changes {
		name := cell(change.Package)
		if change.State != "" {
			name += " (" + change.State + ")"
		}
		by := change.By
		r.printf("| %s | %s | %s | %s | %s |\n", name, signed(by.Lines), signed(by.Undocumented), signed(by.Todos), signed(by.ParseErrors))
	}
	if c.Omitted > 0 {
		r.printf("\n%s more changed.\n", count(c.Omitted, "package", "packages"))
	}
}

func (r *report) worst(t Totals) {
	if len(t.Worst) == 0 {
		return
	}
	r.heading("Packages with the most findings")
	r.printf("| Package | Findings | Undocumented | To do | Broken files | Longest function, lines | Tests |\n")
	r.printf("| --- | ---: | ---: | ---: | ---: | ---: | --- |\n")
	for _, s := range t.Worst {
		r.printf("| %s | %s | %s | %s | %s | %s | %s |\n",
			cell(s.Package), number(s.Findings()),
			part(s.Undocumented, s.Exported), number(s.Todos), number(s.ParseErrors),
			number(s.Longest), yesNo(s.HasTests))
	}
}

func (r *report) broken(t Totals) {
	if t.ParseErrors.Count == 0 {
		return
	}
	r.heading("Broken files")
	r.printf("These do not parse or cannot be read; only their lines are counted.\n\n")
	for _, f := range t.ParseErrors.Kept {
		r.printf("- %s %s\n", place(f.File, f.Line), escape(f.Text))
	}
	r.more(t.ParseErrors.left())
}

func (r *report) names(t Totals) {
	r.heading("Exported names without documentation")
	if t.Undocumented == 0 {
		r.printf("None.\n")
		return
	}
	shown := 0
	for i, p := range t.Names {
		if i > 0 {
			r.printf("\n")
		}
		r.printf("### %s (%s)\n\n", code(p.Package), number(p.Findings.Count))
		for _, f := range p.Findings.Kept {
			r.printf("- %s %s %s\n", f.Kind, code(f.Name), place(f.File, f.Line))
		}
		r.more(p.Findings.left())
		shown += p.Findings.Count
	}
	if left := t.Undocumented - shown; left > 0 {
		r.printf("\nOther packages have %s more.\n", number(left))
	}
}

func (r *report) longest(t Totals) {
	if len(t.Longest) == 0 {
		return
	}
	r.heading("Longest functions")
	r.printf("| Lines | Function | Where |\n")
	r.printf("| ---: | --- | --- |\n")
	for _, f := range t.Longest {
		r.printf("| %s | %s | %s |\n", number(f.Lines), cell(f.Name), cell(f.File+":"+strconv.Itoa(f.Line)))
	}
}

func (r *report) todos(t Totals) {
	r.heading("Left to do")
	if t.Todos.Count == 0 {
		r.printf("Nothing.\n")
		return
	}
	for _, f := range t.Todos.Kept {
		r.printf("- %s %s\n", place(f.File, f.Line), todoText(f))
	}
	r.more(t.Todos.left())
}

func todoText(f Finding) string {
	text := strings.ToUpper(string(f.Kind))
	if f.Name != "" {
		text += "(" + escape(f.Name) + ")"
	}
	if f.Text != "" {
		text += ": " + escape(f.Text)
	}
	return text
}

func (r *report) untested(t Totals) {
	r.heading("Packages without tests")
	if len(t.Untested) == 0 {
		r.printf("None.\n")
		return
	}
	for _, name := range t.Untested {
		r.printf("- %s\n", code(name))
	}
}
