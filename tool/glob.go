package tool

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
	"github.com/cairnrun/cairn"
)

type globFiles struct {
	Pattern string `json:"pattern" validate:"required" jsonschema_description:"Such as **/*.go or docs/{a,b}*.md: * is any text without a slash, ** any folders or none."`
	Path    string `json:"path,omitempty" jsonschema_description:"The folder to begin in, from which the pattern counts. The default is the root."`
}

func (f *files) globber() cairn.Tool {
	return fileTool(f, "fs_glob", "Finds files by their names. The answer is sorted, with sizes and times as in fs_list.",
		func(ctx context.Context, f *files, in globFiles) (string, error) {
			var names []string
			found, err := f.walk(ctx, in.Path, in.Pattern, func(name string) error {
				names = append(names, name)
				return nil
			})
			if err != nil {
				return "", err
			}
			slices.Sort(names)
			return f.listing(quoted(in.Pattern), names, len(names), found.stopped) + found.notes(), nil
		})
}

// seen is what a walk has come across.
type seen struct {
	visited int
	// stopped says that it has not seen all.
	stopped bool
	// unread folders could not be opened.
	unread int
}

// notes are lines for the end of an answer.
func (s seen) notes() string {
	out := ""
	if s.stopped {
		out += "(stopped: there are too many files; name a folder)\n"
	}
	if s.unread > 0 {
		out += "(some folders could not be read)\n"
	}
	return out
}

var errStop = errors.New("stop")

// walk visits the files below a folder whose path from there fits a pattern, in the order of their folders. Symbolic links are
// visited and not followed. An error of visit ends it.
func (f *files) walk(ctx context.Context, from, pattern string, visit func(name string) error) (seen, error) {
	var s seen
	start, err := clean(from)
	if err == nil {
		_, err = clean(pattern)
	}
	if err != nil {
		return s, err
	}
	pattern = strings.TrimPrefix(pattern, "./")
	if !doublestar.ValidatePattern(pattern) {
		return s, &cairn.Error{Code: BadPattern, Message: quoted(pattern) + " is no pattern for files", Next: "close its brackets and braces"}
	}
	base, _ := doublestar.SplitPattern(pattern)
	base = path.Join(start, base)
	info, err := f.root.Stat(base)
	switch {
	case errors.Is(err, fs.ErrNotExist) && base != start:
		return s, nil
	case err != nil:
		return s, wrap(base, err)
	case !info.IsDir():
		return s, &cairn.Error{Code: NotAFile, Message: quoted(base) + " is no folder", Next: "name the folder that it is in"}
	}
	depth := -1 // of folders below start; a pattern without ** ends there
	if !strings.Contains(pattern, "**") {
		depth = strings.Count(pattern, "/")
	}
	err = fs.WalkDir(f.root.FS(), base, func(name string, e fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if s.visited++; s.visited > f.MaxVisited {
			s.stopped = true
			return errStop
		}
		if err != nil {
			s.unread++
			return fs.SkipDir
		}
		rel := name
		if start != "." {
			rel = strings.TrimPrefix(strings.TrimPrefix(name, start), "/")
		}
		if e.IsDir() {
			switch {
			case name == base:
			case slices.Contains(f.Skip, e.Name()) && !strings.Contains(pattern, e.Name()):
				return fs.SkipDir
			case depth >= 0 && strings.Count(rel, "/") >= depth:
				return fs.SkipDir
			}
			return nil
		}
		if ok, _ := doublestar.Match(pattern, rel); ok { // a pattern that can't be read was refused above
			return visit(name)
		}
		return nil
	})
	if err == errStop {
		err = nil
	}
	return s, err
}
