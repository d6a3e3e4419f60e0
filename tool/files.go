package tool

import (
	"cmp"
	"context"
	"os"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
)

// FileLimits are the bounds of the fs_ tools. The zero value is a good one.
type FileLimits struct {
	// MaxAnswer is the most bytes of text in one answer; the default is 15 KiB, just under what Offload takes away.
	MaxAnswer int
	// MaxFile is the most bytes of a file that is searched, edited or written; the default is 8 MiB. Reading has no limit:
	// it shows a part and says how much there is.
	MaxFile int64
	// MaxEntries is the most entries that a listing shows; the default is 500. It says how many there are.
	MaxEntries int
	// MaxVisited is the most entries that one call looks at; the default is 200,000. A call that stops there says so.
	MaxVisited int
	// Skip are names of folders that fs_glob and fs_grep do not enter unless the call names them; nil is .git.
	Skip []string
	// Producer tells who made a file, by its path in the root, with slashes; "" where it is not known. By default it is the
	// path of the task that last wrote the file with these tools, for as long as the process lives.
	Producer func(path string) string
}

func (l FileLimits) filled() FileLimits {
	l.MaxAnswer = cmp.Or(l.MaxAnswer, 15<<10)
	l.MaxFile = cmp.Or(l.MaxFile, 8<<20)
	l.MaxEntries = cmp.Or(l.MaxEntries, 500)
	l.MaxVisited = cmp.Or(l.MaxVisited, 200_000)
	if l.Skip == nil {
		l.Skip = []string{".git"}
	}
	return l
}

// Files returns fs_read, fs_list, fs_glob, fs_grep, fs_write and fs_edit, in this order; ReadOnly takes the last two away.
//
// Whatever path a model gives, nothing outside of the root is opened, made or changed: the paths go to the system through
// os.Root, which follows symbolic links inside of the root and none that lead out, also when one is put in place while the
// call runs. Devices, pipes and sockets are not opened. What os.Root can't see it does not guard: file systems
// and hard links that someone else has put into the root; a root of "/" has /proc in it.
//
// The tools are safe for concurrent use. Changes by the tools of one Files come one after the other, so that edits
// side by side don't lose one another; who writes by other ways is not waited for. The root stays the caller's, to be closed
// after the last call.
//
// It is for a directory that is held open for all of a program, or whose parents are not to be trusted: the root stays what it
// is, whatever takes its name. An agent that a render makes, where nothing may be opened, takes FilesIn.
func Files(root *os.Root, limits FileLimits) []cairn.Tool {
	return fileTools(directory{root: root}, limits)
}

// FilesIn is Files for a directory by name. It opens nothing, so it has its place in a render, where the directory is a field of
// the input: each call opens the root and closes it, which costs tens of microseconds. A relative name is relative to the
// process's working directory at the time of the call. Where there is no such directory, or not yet, the call's error is NoRoot.
//
// Inside of the root all is as with Files. The way to it is followed anew by each call, symbolic links included: whoever can change
// the directories above can put another in its place. Changes by all FilesIn of one name come one after the
// other, so that two tasks with sets of their own lose nothing; which task wrote a file is known to the set that did it.
func FilesIn(dir string, limits FileLimits) []cairn.Tool {
	return fileTools(directory{name: dir}, limits)
}

func fileTools(at directory, limits FileLimits) []cairn.Tool {
	f := &files{at: at, FileLimits: limits.filled(), bound: at.bound(), changing: at.lock(), makers: &makers{by: map[string]string{}}}
	return []cairn.Tool{f.reader(), f.lister(), f.globber(), f.grepper(), f.writer(), f.editor()}
}

type files struct {
	FileLimits
	at    directory
	bound string
	// root is open, in a call.
	root *os.Root
	// changing is held by whoever changes a file.
	changing sync.Locker
	makers   *makers
}

// fileTool makes a tool of a function that is given the files with their root open.
func fileTool[In any](f *files, name, description string, fn func(ctx context.Context, f *files, in In) (string, error), opts ...Option) cairn.Tool {
	return New(name, description, func(ctx context.Context, in In) (string, error) {
		root, leave, err := f.at.enter()
		if err != nil {
			return "", err
		}
		defer leave()
		open := *f
		open.root = root
		return fn(ctx, &open, in)
	}, append(opts, Bound(f.bound))...)
}

// makers are the paths of the tasks that wrote files, by path.
type makers struct {
	mu sync.Mutex // guards by
	by map[string]string
}

func (f *files) producer(path string) string {
	if f.Producer != nil {
		return f.Producer(path)
	}
	f.makers.mu.Lock()
	defer f.makers.mu.Unlock()
	return f.makers.by[path]
}

func (f *files) made(path, producer string) {
	f.makers.mu.Lock()
	defer f.makers.mu.Unlock()
	f.makers.by[path] = producer
}

// stamp is a time as listings show it, in UTC.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
