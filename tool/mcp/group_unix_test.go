//go:build unix

package mcp_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cairnrun/cairn/tool/mcp"
)

// What a server's program has started ends with it.
func TestCloseEndsTheWholeGroup(t *testing.T) {
	dir := t.TempDir()
	alive, never := filepath.Join(dir, "alive"), filepath.Join(dir, "never")
	for _, path := range []string{alive, never} {
		if err := syscall.Mkfifo(path, 0o600); err != nil {
			t.Skip("no pipes: ", err)
		}
	}
	gone := make(chan error, 1)
	go func() {
		f, err := os.Open(alive) // waits for the child
		if err == nil {
			defer f.Close()
			_, err = io.Copy(io.Discard, f)
		}
		gone <- err
	}()
	s := stdio(t, dir, "say-back")
	script := `(exec 3>"$0/alive"; trap "" TERM HUP INT; cat "$0/never"; cat "$0/never") </dev/null >/dev/null 2>&1 & exec "$1"`
	s.Command = []string{"/bin/sh", "-c", script, dir, s.Command[0]}
	c, err := mcp.Connect(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	// Where the child had not come to open its pipe yet, it never will: let the reader go.
	if f, err := os.OpenFile(alive, os.O_WRONLY|syscall.O_NONBLOCK, 0); err == nil {
		_ = f.Close()
	}
	if err := <-gone; err != nil {
		t.Error(err)
	}
}
