package command_test

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestKillEndsTheProgramToo: a program does not work on for an engine that is gone.
func TestKillEndsTheProgramToo(t *testing.T) {
	p := newPlace(t)
	pipe := filepath.Join(p.home, "alive")
	must(t, syscall.Mkfifo(pipe, 0o600))
	gone := make(chan error, 1)
	go func() {
		f, err := os.Open(pipe) // waits for the program
		if err == nil {
			defer f.Close()
			_, err = io.Copy(io.Discard, f)
		}
		gone <- err
	}()
	if got := p.live("claude", "holds", "before 1"); got != "trapped" {
		t.Fatal(got)
	}
	must(t, <-gone)
}
