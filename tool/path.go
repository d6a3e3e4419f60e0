package tool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cairnrun/cairn"
)

// The longest path and the longest part of one that any file system of ours takes, in bytes.
const (
	maxPath = 4096
	maxPart = 255
)

const relative = `give a path in the root, such as "dir/file.txt", without a leading slash and without ".."`

// clean checks a path of a model and returns it without "./" and double slashes. os.Root is what confines; this is for errors
// that say more, and for systems on which a name means more than a file.
func clean(name string) (string, error) {
	refuse := func(code cairn.Code, why string) (string, error) {
		return "", &cairn.Error{Code: code, Message: fmt.Sprintf("%.200q %s", name, why), Next: relative}
	}
	switch {
	case name == "":
		return ".", nil
	case len(name) > maxPath:
		return refuse(BadName, "is too long for a path")
	case strings.ContainsRune(name, 0):
		return refuse(BadName, "has a NUL byte")
	case !utf8.ValidString(name):
		return refuse(BadName, "is no UTF-8")
	case path.IsAbs(name) || filepath.IsAbs(name) || filepath.VolumeName(name) != "":
		return refuse(Outside, "is an absolute path")
	}
	for part := range strings.SplitSeq(filepath.ToSlash(name), "/") {
		if part == ".." {
			return refuse(Outside, "leads out of its folder")
		}
		if len(part) > maxPart {
			return refuse(BadName, "has a part that is too long")
		}
	}
	name = path.Clean(filepath.ToSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) { // reserved names of Windows
		return refuse(Outside, "is no path in the root")
	}
	return name, nil
}

// wrap makes an error of the file system one that a model can act on.
func wrap(name string, err error) error {
	var done *cairn.Error
	if err == nil || errors.As(err, &done) {
		return err
	}
	out := &cairn.Error{Code: Failed, Message: quoted(name), Err: cause(err), Next: "look at it with fs_list"}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		out.Code, out.Message, out.Err, out.Next = NotFound, "there is no "+quoted(name), nil, "look for it with fs_glob or fs_list"
	case strings.Contains(err.Error(), "path escapes from parent"): // os.Root has no value to compare with
		out.Code, out.Message, out.Err, out.Next = Outside, quoted(name)+" leads out of the root by a symbolic link", nil, "use another file"
	case errors.Is(err, fs.ErrPermission):
		out.Next = "use another file: this one is not yours to open"
	}
	return out
}

// cause is an error without the operation and the path, which wrap tells in its own words.
func cause(err error) error {
	var at *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &at):
		return at.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

// open opens a regular file for reading. A pipe would make it wait, and a device do something, so it looks before, opens
// without waiting, and looks again at what it has got.
func (f *files) open(name string) (*os.File, fs.FileInfo, error) {
	info, err := f.root.Stat(name)
	if err != nil {
		return nil, nil, wrap(name, err)
	}
	if err := regular(name, info); err != nil {
		return nil, nil, err
	}
	file, err := f.root.OpenFile(name, os.O_RDONLY|nonblocking, 0)
	if err != nil {
		return nil, nil, wrap(name, err)
	}
	info, err = file.Stat()
	if err == nil {
		err = regular(name, info)
	}
	if err != nil {
		return nil, nil, errors.Join(err, file.Close())
	}
	return file, info, nil
}

func regular(name string, info fs.FileInfo) error {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		return &cairn.Error{Code: NotAFile, Message: quoted(name) + " is a folder", Next: "list it with fs_list"}
	default:
		return &cairn.Error{Code: NotAFile, Message: quoted(name) + " is no regular file: " + mode.Type().String(), Next: "use another file"}
	}
}

// quoted keeps a name on one line, and apart from what stands beside it.
func quoted(name string) string {
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) || strings.TrimSpace(name) != name {
		return strconv.Quote(name)
	}
	return name
}
