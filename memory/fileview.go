package memory

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/cairnrun/cairn/internal/grapheme"
)

// mostLines is the format's limit.
const mostLines = 999_999

func (f *files) view(ctx context.Context, in command) (string, error) {
	at, err := f.tree.parse(in.Path)
	if err != nil {
		return "", err
	}
	s, err := look(ctx, f.store, f.tree.banks, f.tags)
	if err != nil {
		return "", err
	}
	if file := s.files[at]; file != nil {
		text, err := f.text(file, in)
		if err == nil {
			f.seen[at] = keyOf(file.Note)
		}
		return text, err
	}
	delete(f.seen, at)
	if at.name != "" && len(s.below(at)) == 0 {
		return "", refused(NotFound, "The path %s does not exist. Please provide a valid path.", shown(in.Path))
	}
	if len(in.Range) > 0 {
		return "", refused(InvalidItem, "Error: %s is a directory, and `view_range` is for files.", in.Path)
	}
	return f.listing(s, at), nil
}

// text is a file with its lines numbered, as much as fits.
func (f *files) text(file *file, in command) (string, error) {
	lines := linesIn(file.Body)
	if len(lines) > mostLines {
		return "", refused(TooLarge, "File %s exceeds maximum line limit of 999,999 lines.", in.Path)
	}
	first, last := 1, len(lines)
	if len(in.Range) > 0 {
		if len(in.Range) != 2 || in.Range[0] < 1 || in.Range[0] > len(lines) || in.Range[1] != -1 && in.Range[1] < in.Range[0] {
			return "", refused(InvalidItem, "Error: Invalid `view_range` parameter: %v. It should be two lines of the file, [1, %d] at most, or -1 for its end.", in.Range, len(lines))
		}
		first = in.Range[0]
		if in.Range[1] != -1 {
			last = min(in.Range[1], len(lines))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Here's the content of %s with line numbers:\n", in.Path)
	text, end := numberedLines(lines, first, last, MaxView-b.Len()-200)
	b.WriteString(text)
	if end < last {
		fmt.Fprintf(&b, "(Lines %d to %d of %d: there is more than fits. View the rest with view_range [%d, %d].)\n", first, end, len(lines), end+1, last)
	}
	return b.String(), nil
}

// numberedLines shows lines of a file, from first to last, in at most so many bytes, and says which was the last. One is always
// shown, cut if it has to be.
func numberedLines(lines []string, first, last, most int) (text string, end int) {
	var b strings.Builder
	for end = first - 1; end < last; end++ {
		row := fmt.Sprintf("%6d\t%s\n", end+1, lines[end])
		if b.Len()+len(row) > most {
			if end < first {
				const note = " (this line is cut)\n"
				return grapheme.Cut(row, most-len(note)) + note, first
			}
			break
		}
		b.WriteString(row)
	}
	return b.String(), end
}

// listing shows what is in a directory, and in those in it: sizes, and of files when they were written, and by whom.
func (f *files) listing(s *shelf, top filePlace) string {
	rows, sizes := f.rows(s, top)
	var b strings.Builder
	fmt.Fprintf(&b, "Here're the files and directories up to 2 levels deep in %s, excluding hidden items and node_modules:\n", f.tree.path(top))
	fmt.Fprintf(&b, "%s\t%s\n", size(sizes[top]), f.tree.path(top))
	for i, row := range rows {
		line := fmt.Sprintf("%s\t%s", size(sizes[row.at]), f.tree.path(row.at))
		if row.file == nil {
			line += "/\n"
		} else {
			line += fmt.Sprintf("\t%s\tby %s\n", row.file.Created.Format(time.RFC3339), producer(row.file.Origin))
		}
		if b.Len()+len(line) > MaxView-300 {
			fmt.Fprintf(&b, "(%d more: view a directory, or delete what is no longer needed.)\n", len(rows)-i)
			break
		}
		b.WriteString(line)
	}
	for _, bank := range f.tree.banks {
		if n := s.odd[bank]; n > 0 && top.name == "" && (top.bank == "" || top.bank == bank) {
			fmt.Fprintf(&b, "(Not shown, as their ids are no paths: %d of the pinned notes of bank %s.)\n", n, bank)
		}
	}
	return b.String()
}

// row is one line of a listing: a directory where there is no file.
type row struct {
	at   filePlace
	file *file
}

// rows are what is up to two levels below a directory, in order, with the bytes of all that is in each.
func (f *files) rows(s *shelf, top filePlace) (rows []row, sizes map[filePlace]int) {
	sizes = map[filePlace]int{}
	known := map[filePlace]bool{}
	add := func(at filePlace) {
		if !known[at] {
			known[at] = true
			rows = append(rows, row{at: at})
		}
	}
	banks := f.tree.banks
	if top.bank != "" {
		banks = []string{top.bank}
	}
	for _, bank := range banks {
		level := 0
		if top.bank == "" {
			level = 1
			add(filePlace{bank: bank})
		}
		for _, file := range s.below(filePlace{bank, top.name}) {
			length := len(file.Body)
			sizes[top] += length
			if top.bank == "" {
				sizes[filePlace{bank: bank}] += length
			}
			depth, start := level, 0
			if top.name != "" {
				start = len(top.name) + 1
			}
			for i := start; i < len(file.at.name) && depth < 2; i++ {
				if file.at.name[i] == '/' {
					depth++
					at := filePlace{bank, file.at.name[:i]}
					add(at)
					sizes[at] += length
				}
			}
			if depth < 2 {
				sizes[file.at] += length
				rows = append(rows, row{file.at, file})
			}
		}
	}
	return rows, sizes
}

// size is for people: 12B, 1.5K.
func size(bytes int) string {
	if bytes < 1<<10 {
		return fmt.Sprintf("%dB", bytes)
	}
	n, unit := float64(bytes)/(1<<10), "K"
	if n >= 1<<10 {
		n, unit = n/(1<<10), "M"
	}
	return fmt.Sprintf("%.1f%s", n, unit)
}

// producer says who wrote a version.
func producer(o Origin) string {
	if o.Run == "" {
		return "a person"
	}
	return fmt.Sprintf("%s, %s", shown(o.Run), shown(o.Path))
}

// linesIn are the lines of a text, without their ends.
func linesIn(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }

// lineAt is the line that an offset is in, from 1.
func lineAt(text string, offset int) int { return strings.Count(text[:offset], "\n") + 1 }

// linesOf are the lines of offsets, the first twenty.
func linesOf(text string, offsets []int) string {
	var list []string
	for i, offset := range offsets {
		if i == 20 {
			list = append(list, "…")
			break
		}
		list = append(list, fmt.Sprint(lineAt(text, offset)))
	}
	return strings.Join(list, ", ")
}

// What a model is told about an edit, in bytes and in lines around it.
const (
	mostSnippet = 4 << 10
	around      = 4
)

// snippet is some lines of a text with those around them.
func snippet(text string, first, last int) string {
	lines := linesIn(text)
	out, _ := numberedLines(lines, max(1, min(first, len(lines))-around), min(len(lines), last+around), mostSnippet)
	return out
}

// excerpt is a text as a message repeats it.
func excerpt(text string) string { return grapheme.Cut(text, 200) }
