package tool

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"runtime"
	"strings"
	"unicode"

	"github.com/cairnrun/cairn"
)

type writeFile struct {
	Path string `json:"path" validate:"required" jsonschema_description:"The file, as a path in the root. Folders on the way are made."`
	Text string `json:"text" jsonschema_description:"All that the file shall hold."`
}

func (f *files) writer() cairn.Tool {
	return fileTool(f, "fs_write", "Writes a whole file: a new one, or one that is there, whose content is lost. To change a part of a file use fs_edit.",
		func(ctx context.Context, f *files, in writeFile) (string, error) {
			name, err := clean(in.Path)
			if err != nil {
				return "", err
			}
			f.changing.Lock()
			defer f.changing.Unlock()
			was, err := f.replace(ctx, name, []byte(in.Text))
			if err != nil {
				return "", err
			}
			if was == nil {
				return fmt.Sprintf("%s: new, %d bytes", quoted(name), len(in.Text)), nil
			}
			return fmt.Sprintf("%s: %d bytes in place of %d", quoted(name), len(in.Text), was.Size()), nil
		}, Idempotent())
}

// replace gives a file a new content, all of it or nothing, and returns what was there before, nil for nothing. It returns
// after the content is on disk. The caller holds changing.
func (f *files) replace(ctx context.Context, name string, content []byte) (fs.FileInfo, error) {
	if int64(len(content)) > f.MaxFile {
		return nil, &cairn.Error{Code: TooLarge, Message: fmt.Sprintf("%d bytes are more than the %d that are written at once", len(content), f.MaxFile), Next: "write several files"}
	}
	if name == "." || strings.ContainsFunc(name, unicode.IsControl) {
		return nil, &cairn.Error{Code: BadName, Message: fmt.Sprintf("%q is no good name for a file", name), Next: "use a name without line breaks and control characters"}
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	folder, base := path.Split(name)
	if folder = path.Clean(folder); folder != "." {
		if err := f.root.MkdirAll(folder, 0o755); err != nil {
			return nil, wrap(folder, err)
		}
	}
	// From here on all happens in one folder, whatever takes its place meanwhile.
	dir, err := f.root.OpenRoot(folder)
	if err != nil {
		return nil, wrap(folder, err)
	}
	defer dir.Close()
	was, mode := fs.FileInfo(nil), fs.FileMode(0o644)
	switch info, err := dir.Lstat(base); {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return nil, &cairn.Error{Code: NotAFile, Message: quoted(name) + " is a symbolic link", Next: "write to the file that it leads to"}
	case err == nil:
		if err := regular(name, info); err != nil {
			return nil, err
		}
		was, mode = info, info.Mode().Perm()
	case !errors.Is(err, fs.ErrNotExist):
		return nil, wrap(name, err)
	}
	if err := put(dir, base, content, mode); err != nil {
		return nil, wrap(name, err)
	}
	if call, ok := cairn.CallFrom(ctx); ok {
		f.made(name, call.Path)
	}
	return was, nil
}

// put writes beside the file and renames over it. A process that dies in between leaves a file .cairn-….tmp.
func put(dir *os.Root, base string, content []byte, mode fs.FileMode) (err error) {
	temp := ".cairn-" + rand.Text() + ".tmp"
	file, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(temp))
		}
	}()
	_, err = file.Write(content)
	if err == nil {
		err = file.Chmod(mode) // what the umask took away from a file that had it
	}
	if err == nil {
		err = file.Sync()
	}
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err := dir.Rename(temp, base); err != nil {
		return err
	}
	return syncFolder(dir)
}

// syncFolder brings the new name to disk.
func syncFolder(dir *os.Root) error {
	if runtime.GOOS == "windows" { // which can't, and need not
		return nil
	}
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
