// Package artifact is a directory of files that are named by their content.
//
// Results that are too large for a prompt or a frame lie here, and what is stored elsewhere is their
// SHA-256. A file never changes, equal contents are one file, and several processes may write at once.
// What Put has acknowledged survives a crash of the machine; what it has not is not visible at all.
//
//	dir, err := artifact.Open(".cairn/artifacts")
//	hash, size, err := dir.Put(ctx, report)
//	r, err := dir.Get(ctx, hash)
//
// Nothing here deletes artifacts: only the owner of the references knows which are still in use.
package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
)

// The codes of this package's errors, each a *cairn.Error. errors.Is(err, artifact.Corrupt) asks for one.
const (
	// NotFound: no artifact of this hash is in the directory.
	NotFound cairn.Code = "ARTIFACT_NOT_FOUND"
	// Corrupt: the file's content is not what its name says. Putting the content again mends it.
	Corrupt cairn.Code = "ARTIFACT_CORRUPT"
	// BadHash: the text is no SHA-256 in 64 lower-case hex digits.
	BadHash cairn.Code = "ARTIFACT_BAD_HASH"
)

// A Dir is a directory of artifacts. It is safe for concurrent use, also by several processes.
type Dir struct {
	path string

	// mu guards what this Dir has already seen to.
	mu      sync.Mutex
	swept   bool
	durable map[string]bool // directories whose own entry is known to be on disk
}

// Open returns the artifacts under path. It creates nothing: the first Put does.
func Open(path string) (*Dir, error) {
	if path == "" {
		return nil, errors.New("artifact: the directory has no name")
	}
	abs, err := filepath.Abs(path) // so that a later chdir moves nothing
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	info, err := os.Stat(abs)
	if err == nil && !info.IsDir() {
		return nil, fmt.Errorf("artifact: %s is a file, not a directory", abs)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return &Dir{path: abs, durable: map[string]bool{}}, nil
}

// Path returns where an artifact lies, or would lie. Whoever reads the file there does so unverified.
func (d *Dir) Path(hash string) (string, error) {
	if !validHash(hash) {
		return "", &cairn.Error{
			Code:    BadHash,
			Message: fmt.Sprintf("%q is no artifact hash", hash),
			Next:    "give the 64 lower-case hex digits of a SHA-256",
		}
	}
	return filepath.Join(d.path, hash[:2], hash), nil
}

func validHash(hash string) bool {
	return len(hash) == 2*sha256.Size && strings.Trim(hash, "0123456789abcdef") == ""
}

// Has reports whether an artifact is present. It does not read it.
func (d *Dir) Has(ctx context.Context, hash string) (bool, error) {
	path, err := d.Path(hash)
	if err != nil {
		return false, err
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	_, err = os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("artifact: %w", err)
	}
	return true, nil
}

// Get opens an artifact. The reader verifies while it reads: a content that does not have the hash ends
// with Corrupt instead of io.EOF, so nothing may be relied on before the end has been reached. Reading
// ends with ctx.
func (d *Dir) Get(ctx context.Context, hash string) (io.ReadCloser, error) {
	path, err := d.Path(hash)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, &cairn.Error{
			Code:    NotFound,
			Message: fmt.Sprintf("no artifact %s in %s", hash, d.path),
			Next:    "open the directory in which the run was started, or put the content again",
		}
	}
	if err != nil {
		return nil, fmt.Errorf("artifact: %w", err)
	}
	return &reader{ctx: ctx, file: file, want: hash, sum: sha256.New()}, nil
}

type reader struct {
	ctx  context.Context
	file *os.File
	want string
	sum  hash.Hash
	end  error // what ended the reading, given again to whoever reads on
}

func (r *reader) Read(p []byte) (int, error) {
	if r.end != nil {
		return 0, r.end
	}
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := r.file.Read(p)
	r.sum.Write(p[:n])
	if err != nil {
		r.end = err
		if got := hex.EncodeToString(r.sum.Sum(nil)); err == io.EOF && got != r.want {
			r.end = &cairn.Error{
				Code:    Corrupt,
				Message: fmt.Sprintf("artifact %s holds a content with the hash %s", r.want, got),
				Next:    "put the right content again",
			}
		}
	}
	return n, r.end
}

func (r *reader) Close() error { return r.file.Close() }

// Put stores what r holds and returns its SHA-256 and size. When Put returns without error the artifact
// is on disk; when it fails, or the process dies, the artifact is not there, unless it was before.
// A content that is stored already is left as it is, once it has been read and found right; a damaged one
// is replaced. Only the owner of the process may read the files.
func (d *Dir) Put(ctx context.Context, r io.Reader) (hash string, size int64, err error) {
	if err := d.prepare(); err != nil {
		return "", 0, fmt.Errorf("artifact: %w", err)
	}
	temp, hash, size, err := d.write(ctx, r)
	if err != nil {
		return "", 0, fmt.Errorf("artifact: %w", err)
	}
	if err := d.publish(temp, hash, size); err != nil {
		return "", 0, fmt.Errorf("artifact %s: %w", hash, errors.Join(err, remove(temp)))
	}
	return hash, size, nil
}

// tempPrefix marks files that are being written. They lie beside the two-digit directories, on the same
// file system, where no hash leads to them.
const tempPrefix = "tmp-"

// staleAfter is how long a temporary file must have been left unwritten to count as its process's remains.
// A Put whose reader pauses longer loses its file and fails; it can do no other harm.
const staleAfter = 24 * time.Hour

// prepare makes the directory and, once, sweeps it.
func (d *Dir) prepare() error {
	if err := d.mkdir(d.path); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.swept {
		return nil
	}
	d.swept = true
	entries, err := os.ReadDir(d.path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), tempPrefix) || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > staleAfter {
			// Another process may sweep as well, and what can't be removed only takes up space.
			_ = os.Remove(filepath.Join(d.path, e.Name()))
		}
	}
	return nil
}

// write copies r into a temporary file and brings that to disk. It leaves no file when it fails.
func (d *Dir) write(ctx context.Context, r io.Reader) (temp, hash string, size int64, err error) {
	file, err := os.CreateTemp(d.path, tempPrefix+"*")
	if err != nil {
		return "", "", 0, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, remove(file.Name()))
		}
	}()
	sum := sha256.New()
	size, err = io.Copy(io.MultiWriter(file, sum), &contextReader{ctx, r})
	if err == nil {
		err = file.Sync()
	}
	// Windows can't remove an open file, so it is closed in either case, and first.
	if err := errors.Join(err, file.Close()); err != nil {
		return "", "", 0, err
	}
	return file.Name(), hex.EncodeToString(sum.Sum(nil)), size, nil
}

// publish gives a temporary file its name, and returns when the name is on disk.
func (d *Dir) publish(temp, hash string, size int64) error {
	path, err := d.Path(hash)
	if err != nil {
		return err
	}
	if err := d.mkdir(filepath.Dir(path)); err != nil {
		return err
	}
	if intact(path, hash, size) {
		if err := remove(temp); err != nil {
			return err
		}
	} else if err := os.Rename(temp, path); err != nil {
		// Windows refuses while another process opens or renames the same file; if that one put the
		// content there, it is there.
		if !intact(path, hash, size) {
			return err
		}
		if err := remove(temp); err != nil {
			return err
		}
	}
	// Also for a file that was there: whoever renamed it may have died before this line. Its content
	// was on disk before it got the name.
	return syncDir(filepath.Dir(path))
}

// intact reports whether the file holds what its name says.
func intact(path, hash string, size int64) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() != size {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	sum := sha256.New()
	_, err = io.Copy(sum, file)
	return err == nil && hex.EncodeToString(sum.Sum(nil)) == hash
}

// mkdir makes a directory, and those above it, and returns when they are on disk.
func (d *Dir) mkdir(path string) error {
	d.mu.Lock()
	known := d.durable[path]
	d.mu.Unlock()

	parent := filepath.Dir(path)
	err := os.Mkdir(path, 0o755)
	switch {
	case errors.Is(err, fs.ErrNotExist) && parent != path:
		if err := d.mkdir(parent); err != nil {
			return err
		}
		return d.mkdir(path)
	case errors.Is(err, fs.ErrExist):
		if known {
			return nil
		}
	case err != nil:
		return err
	}
	// Also for a directory that was there: whoever made it may have died before this line. A parent we
	// may not open is one in which no process of ours made anything.
	if syncErr := syncDir(parent); syncErr != nil && (err == nil || !errors.Is(syncErr, fs.ErrPermission)) {
		return syncErr
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.durable[path] = true
	return nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// contextReader ends with its context, which a plain reader does not know.
type contextReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *contextReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.r.Read(p)
}
