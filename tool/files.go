package tool

import (
	"cmp"
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
func Files(root *os.Root, limits FileLimits) []cairn.Tool {
	f := &files{root: root, FileLimits: limits.filled(), makers: map[string]string{}}
	return []cairn.Tool{f.reader(), f.lister(), f.globber(), f.grepper(), f.writer(), f.editor()}
}

type files struct {
	FileLimits
	root *os.Root

	// changing is held by whoever changes a file.
	changing sync.Mutex

	mu sync.Mutex
	// makers are the paths of the tasks that wrote files, by path.
	makers map[string]string
}

func (f *files) producer(path string) string {
	if f.Producer != nil {
		return f.Producer(path)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.makers[path]
}

func (f *files) made(path, producer string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.makers[path] = producer
}

// stamp is a time as listings show it, in UTC.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
