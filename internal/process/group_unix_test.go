//go:build unix

package process_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cairnrun/cairn/internal/process"
)

// What a program has started ends with it, whatever it thinks of signals: when it ends by itself, and when it is told to.
func TestGroupEndsAsAWhole(t *testing.T) {
	const stubborn = `(exec 3>"$0/alive"; trap "" TERM HUP INT; echo up >&3; cat "$0/never") & `
	for name, tt := range map[string]struct {
		script string
		told   bool
	}{"by itself": {stubborn + `read x <"$0/go"; exit 3`, false}, "told": {stubborn + `trap "" TERM; wait; wait`, true}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for _, pipe := range []string{"alive", "never", "go"} {
				if err := syscall.Mkfifo(filepath.Join(dir, pipe), 0o600); err != nil {
					t.Skip("no pipes: ", err)
				}
			}
			g, err := process.Start(exec.Command("/bin/sh", "-c", tt.script, dir))
			if err != nil {
				t.Fatal(err)
			}
			alive, err := os.Open(filepath.Join(dir, "alive"))
			if err != nil {
				t.Fatal(err)
			}
			defer alive.Close()
			if _, err := io.ReadFull(alive, make([]byte, 3)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			if tt.told {
				cancel()
			} else if err := os.WriteFile(filepath.Join(dir, "go"), []byte("x\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			told, err := g.Wait(ctx, 10*time.Millisecond)
			var exit *exec.ExitError
			if told != tt.told || !errors.As(err, &exit) || !tt.told && exit.ExitCode() != 3 {
				t.Errorf("told %t, %v", told, err)
			}
			if _, err := io.Copy(io.Discard, alive); err != nil { // ends when all who could write are dead
				t.Error(err)
			}
			g.Kill() // nobody is left, and nobody else is hit
		})
	}
	if _, err := process.Start(exec.Command(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}
