package tool

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/cairnrun/cairn"
)

// A capture takes the output of a command: the beginning and the end in memory, and once that is not all, everything up to a
// limit in a file without a name. It is written to by one goroutine, and read when that is done.
type capture struct {
	half    int
	maxKept int64

	head, tail []byte
	size       int64
	file       *os.File
	kept       int64
	// failed is why the file is not whole.
	failed error
}

// Write never fails: a command must not die of what we can't keep.
func (c *capture) Write(p []byte) (int, error) {
	n := len(p)
	c.spool(p)
	c.size += int64(n)
	if room := c.half - len(c.head); room > 0 {
		taken := min(room, len(p))
		c.head = append(c.head, p[:taken]...)
		p = p[taken:]
	}
	if len(p) > c.half {
		p = p[len(p)-c.half:]
	}
	if over := len(c.tail) + len(p) - c.half; over > 0 {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	c.tail = append(c.tail, p...)
	return n, nil
}

// spool writes to the file, which begins with what was kept in memory when that was still all.
func (c *capture) spool(p []byte) {
	if c.failed != nil || c.size+int64(len(p)) <= int64(2*c.half) {
		return
	}
	if c.file == nil {
		if c.file, c.failed = os.CreateTemp("", "cairn-output-"); c.failed != nil {
			return
		}
		// Where an open file can be removed it is gone with the process, whatever happens; elsewhere close removes it.
		_ = os.Remove(c.file.Name())
		c.append(c.head)
		c.append(c.tail)
	}
	c.append(p)
}

func (c *capture) append(p []byte) {
	if c.failed != nil {
		return
	}
	if room := c.maxKept - c.kept; int64(len(p)) > room {
		p = p[:room]
	}
	var n int
	n, c.failed = c.file.Write(p)
	c.kept += int64(n)
}

func (c *capture) close() {
	if c.file != nil {
		_ = c.file.Close()
		_ = os.Remove(c.file.Name()) // most often gone already
	}
}

// render is the output as an answer shows it. What is left out is kept as an artifact, if there is a store.
func (c *capture) render(ctx context.Context, store Store) string {
	if left := c.size - int64(len(c.head)+len(c.tail)); left > 0 {
		head, tail := cutRune(c.head), whole(c.tail)
		left = c.size - int64(len(head)+len(tail))
		return valid(head) + fmt.Sprintf("\n[… %d of %d bytes left out; %s …]\n", left, c.size, c.keep(ctx, store)) + valid(tail)
	}
	return valid(append(c.head, c.tail...))
}

// keep stores the whole output and says where it is.
func (c *capture) keep(ctx context.Context, store Store) string {
	if !store.available(ctx) {
		return "they are lost, for there is no store for artifacts"
	}
	err := c.failed
	var kept cairn.Artifact
	if err == nil {
		if _, err = c.file.Seek(0, io.SeekStart); err == nil {
			kept, err = store.write(ctx, "shell_run", "text/plain; charset=utf-8", c.file)
		}
	}
	if err != nil { // the command has run, and what it did must not look undone
		return "they could not be kept: " + err.Error()
	}
	all := "all of it"
	if c.kept < c.size {
		all = fmt.Sprintf("the first %d bytes", c.kept)
	}
	return fmt.Sprintf("artifact_read has %s as %s", all, kept.Hash)
}

func valid(b []byte) string { return strings.ToValidUTF8(string(b), string(utf8.RuneError)) }
