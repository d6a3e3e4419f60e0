package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// Package is a directory that holds Go files. Files are grouped by directory
// and not by package clause, so a package comes together with its external
// tests and with the programs that build constraints hide beside it.
type Package struct {
	// Path is slash-separated and relative to the audited directory, which
	// itself is ".".
	Path string `json:"path" validate:"required"`
	// Files are the names of the Go files in the directory, sorted.
	Files []string `json:"files" validate:"required,min=1,dive,required"`
}

// Listing is what an audit has before it: the packages below a directory.
type Listing struct {
	// Dir is the directory as the caller named it.
	Dir string `json:"dir" validate:"required"`
	// Module and GoVersion are what the go.mod in Dir says; both are empty when
	// there is none.
	Module    string `json:"module,omitempty"`
	GoVersion string `json:"go_version,omitempty"`
	// Packages are sorted by path.
	Packages []Package `json:"packages" validate:"required,dive"`
	// Omitted is how many packages [Listing.Limit] has taken away.
	Omitted int `json:"omitted" validate:"gte=0"`
	// Unreadable are the directories that may not be looked into.
	Unreadable []string `json:"unreadable" validate:"required"`
}

// List finds the packages in dir and below.
//
// It passes over what the go command passes over as well: directories called
// testdata or vendor, and names that begin with a dot or an underscore; and
// over node_modules. That holds below dir only, dir itself may have any name.
// Modules nested in dir are part of the audit.
//
// Symbolic links to directories are not followed, so a loop cannot catch it. A
// link to a file is, as long as the file lies in dir too: an audit does not
// read outside of what it was given.
func List(ctx context.Context, dir string) (Listing, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return Listing{}, fmt.Errorf("list packages: %w", err)
	}
	defer root.Close()

	module, err := readModule(root)
	if err != nil {
		return Listing{}, fmt.Errorf("list packages of %s: %w", dir, err)
	}
	w := walk{ctx: ctx, root: root, files: map[string][]string{}}
	if err := fs.WalkDir(root.FS(), ".", w.visit); err != nil {
		return Listing{}, fmt.Errorf("list packages of %s: %w", dir, err)
	}
	return Listing{
		Dir:        dir,
		Module:     module.path,
		GoVersion:  module.goVersion,
		Packages:   w.packages(),
		Unreadable: sorted(w.unreadable),
	}, nil
}

// Limit keeps the first n packages and counts the others as omitted. Zero
// keeps them all.
func (l Listing) Limit(n int) Listing {
	if n <= 0 || n >= len(l.Packages) {
		return l
	}
	l.Omitted += len(l.Packages) - n
	l.Packages = l.Packages[:n:n]
	return l
}

// Name is how Go programs call the package with this path: its import path
// where the module is known, the path itself where it is not.
func (l Listing) Name(pkg string) string {
	switch {
	case l.Module == "":
		return pkg
	case pkg == ".":
		return l.Module
	case l.Module == "std": // The standard library is imported without a module path.
		return pkg
	default:
		return l.Module + "/" + pkg
	}
}

// walk gathers the Go files of a tree by the directory they are in.
type walk struct {
	ctx        context.Context
	root       *os.Root
	files      map[string][]string
	unreadable []string
}

func (w *walk) visit(name string, entry fs.DirEntry, err error) error {
	if ctxErr := w.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if err != nil {
		return w.refused(name, err)
	}
	if entry.IsDir() {
		if name != "." && skipsDir(entry.Name()) {
			return fs.SkipDir
		}
		return nil
	}
	if isGoFile(entry.Name()) && w.isRegular(name, entry) {
		parent := path.Dir(name)
		w.files[parent] = append(w.files[parent], valid(entry.Name()))
	}
	return nil
}

// refused decides whether the walk goes on without a directory. The root has
// nothing to go on with, and what may pass is better tried again later.
func (w *walk) refused(name string, err error) error {
	if name == "." || !isLasting(err) {
		return err
	}
	w.unreadable = append(w.unreadable, valid(name))
	return fs.SkipDir
}

// valid makes a name one that JSON does not change. A file whose real name is
// no text can then not be opened, and its analysis says so.
func valid(name string) string {
	return strings.ToValidUTF8(name, "\uFFFD")
}

// isRegular looks through a link, which keeps out pipes and devices that would
// never stop giving bytes, links that lead nowhere and those that leave root.
func (w *walk) isRegular(name string, entry fs.DirEntry) bool {
	if entry.Type()&fs.ModeSymlink == 0 {
		return entry.Type().IsRegular()
	}
	info, err := w.root.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

func (w *walk) packages() []Package {
	found := make([]Package, 0, len(w.files))
	for _, dir := range slices.Sorted(maps.Keys(w.files)) {
		found = append(found, Package{Path: dir, Files: sorted(w.files[dir])})
	}
	return found
}

func skipsDir(name string) bool {
	switch name {
	case "testdata", "vendor", "node_modules":
		return true
	}
	return isHidden(name)
}

func isGoFile(name string) bool {
	return strings.HasSuffix(name, ".go") && !isHidden(name)
}

func isHidden(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// isLasting tells the errors that come back on every attempt, and so belong in
// the report, from those that a retry may cure, like too many open files.
func isLasting(err error) bool {
	return errors.Is(err, fs.ErrNotExist) ||
		errors.Is(err, fs.ErrPermission) ||
		errors.Is(err, fs.ErrInvalid)
}
