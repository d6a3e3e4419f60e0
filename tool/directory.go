package tool

import (
	"os"
	"path/filepath"
	"sync"

	"github.com/cairnrun/cairn"
)

// A directory is what tools work in: a root that is open, or one by name, which each call opens for itself.
type directory struct {
	root *os.Root
	name string
}

// enter returns the root, to be left when the call is done. The error does not say where the directory is, as a model reads it.
func (d directory) enter() (root *os.Root, leave func(), err error) {
	if d.root != nil {
		return d.root, func() {}, nil
	}
	root, err = os.OpenRoot(d.name)
	if err != nil {
		return nil, nil, &cairn.Error{Code: NoRoot, Message: "the directory that this tool works in can't be opened", Err: cause(err),
			Next: "no other path helps: say that it is missing, and go on without its files"}
	}
	return root, func() { _ = root.Close() }, nil // nothing was written by it
}

// bound names the directory, for cairn.Tool.Bound: absolute, as a relative name is another one in another process.
func (d directory) bound() string {
	name := d.name
	if d.root != nil {
		name = d.root.Name()
	}
	if absolute, err := filepath.Abs(name); err == nil { // or the working directory is gone
		name = absolute
	}
	return "in " + filepath.Clean(name)
}

// lock is held by whoever changes a file. Tools by one name share it, also those of different sets.
func (d directory) lock() sync.Locker {
	if d.root != nil {
		return new(sync.Mutex)
	}
	return namedLock(filepath.Clean(d.name))
}

// A namedLock is one lock for all who have the same name. Nothing is left of it while nobody has or wants it.
type namedLock string

var namedLocks struct {
	mu sync.Mutex // guards of
	of map[namedLock]*wanted
}

// wanted is a lock that somebody has or waits for.
type wanted struct {
	sync.Mutex
	by int
}

func (n namedLock) Lock() {
	namedLocks.mu.Lock()
	l := namedLocks.of[n]
	if l == nil {
		l = new(wanted)
		if namedLocks.of == nil {
			namedLocks.of = map[namedLock]*wanted{}
		}
		namedLocks.of[n] = l
	}
	l.by++
	namedLocks.mu.Unlock()
	l.Lock()
}

func (n namedLock) Unlock() {
	namedLocks.mu.Lock()
	defer namedLocks.mu.Unlock()
	l := namedLocks.of[n]
	l.Unlock()
	if l.by--; l.by == 0 {
		delete(namedLocks.of, n)
	}
}
