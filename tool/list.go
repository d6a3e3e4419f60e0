package tool

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
)

type listFolder struct {
	Path string `json:"path,omitempty" jsonschema_description:"The folder, as a path in the root. The default is the root."`
}

func (f *files) lister() cairn.Tool {
	return fileTool(f, "fs_list", "Lists a folder: for each entry its name, size, time of the last change, and which task wrote it, where that is known. Names of folders end with a slash.",
		func(ctx context.Context, f *files, in listFolder) (string, error) {
			name, err := clean(in.Path)
			if err != nil {
				return "", err
			}
			info, err := f.root.Stat(name)
			if err != nil {
				return "", wrap(name, err)
			}
			if !info.IsDir() { // before it is opened: it may be a pipe
				return "", &cairn.Error{Code: NotAFile, Message: quoted(name) + " is no folder", Next: "read it with fs_read"}
			}
			names, more, err := f.entries(ctx, name)
			if err != nil {
				return "", wrap(name, err)
			}
			return f.listing(quoted(name)+"/", names, len(names), more), nil
		})
}

// entries are the paths of what is in a folder, sorted. more says that there is more than these.
func (f *files) entries(ctx context.Context, name string) (names []string, more bool, err error) {
	dir, err := f.root.OpenFile(name, nonblocking, 0)
	if err != nil {
		return nil, false, err
	}
	defer dir.Close()
	for len(names) < f.MaxVisited {
		if err := ctx.Err(); err != nil {
			return nil, false, context.Cause(ctx)
		}
		batch, err := dir.Readdirnames(1000)
		for _, base := range batch {
			names = append(names, path.Join(name, base))
		}
		if err == io.EOF {
			slices.Sort(names)
			return names, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	slices.Sort(names)
	return names, true, nil
}

// listing renders entries under a heading, and says how many there are.
func (f *files) listing(heading string, names []string, total int, more bool) string {
	var b strings.Builder
	shown := 0
	for _, name := range names {
		row := f.row(name)
		if shown == f.MaxEntries || b.Len()+len(row) > f.MaxAnswer {
			break
		}
		b.WriteString(row)
		shown++
	}
	count := fmt.Sprintf("%d entries", total)
	if total == 1 {
		count = "1 entry"
	}
	if more {
		count = "at least " + count
	}
	if shown < total {
		count += fmt.Sprintf(", the first %d of them here", shown)
	}
	return heading + ": " + count + "\n" + b.String()
}

// row is one line about an entry.
func (f *files) row(name string) string {
	info, err := f.root.Lstat(name)
	if err != nil { // it has gone meanwhile
		return quoted(name) + "\n"
	}
	row := quoted(name)
	switch mode := info.Mode(); {
	case mode.IsDir():
		row += "/"
	case mode&fs.ModeSymlink != 0:
		row += "  symbolic link"
		if target, err := f.root.Readlink(name); err == nil {
			row += " to " + quoted(target)
		}
	case mode.IsRegular():
		row += fmt.Sprintf("  %d bytes", info.Size())
	default:
		row += "  no regular file: " + mode.Type().String()
	}
	row += "  " + stamp(info.ModTime())
	if by := f.producer(name); by != "" {
		row += "  by " + quoted(by)
	}
	return row + "\n"
}
