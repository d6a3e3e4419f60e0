package audit

import (
	"regexp"
	"strings"
)

// marker finds TODO or FIXME as a word of its own, who it names in parentheses,
// and the text behind it. A dot or a quote in front, or () behind, means that
// the comment talks about something of that name, such as context.TODO().
var marker = regexp.MustCompile(
	"(?:^|[^\\pL\\pN_.'\"`])" +
		`(TODO|FIXME)` +
		`(?:\(([^()]+)\))?` +
		`((?:[^\pL\pN_(].*|\((?:[^)].*)?)?)$`)

// todos are the markers in the comments of a file. A line has at most one.
func (s *source) todos() []Finding {
	var found []Finding
	for _, group := range s.file.Comments {
		for _, comment := range group.List {
			first := s.line(comment.Pos())
			for i, text := range commentLines(comment.Text) {
				if todo, ok := parseTodo(text); ok {
					todo.File, todo.Line = s.path, first+i
					found = append(found, todo)
				}
			}
		}
	}
	return found
}

// commentLines takes the comment signs off, and splits at the ends of lines so
// that the index of a text is its distance from the first line.
func commentLines(comment string) []string {
	if text, ok := strings.CutPrefix(comment, "//"); ok {
		return []string{text}
	}
	text := strings.TrimSuffix(strings.TrimPrefix(comment, "/*"), "*/")
	return strings.Split(text, "\n")
}

func parseTodo(text string) (Finding, bool) {
	match := marker.FindStringSubmatch(strings.TrimSpace(text))
	if match == nil {
		return Finding{}, false
	}
	kind := KindTodo
	if match[1] == "FIXME" {
		kind = KindFixme
	}
	return Finding{
		Kind: kind,
		Name: shorten(match[2]),
		Text: shorten(strings.TrimLeft(match[3], ":- \t")),
	}, true
}
