//go:build unix

package tool

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/process"
)

// execute runs a command and returns when it has ended, and with it all of its group.
func (s *shell) execute(ctx context.Context, command string, dir *os.File, out io.Writer) (ending, error) {
	// One pipe for both streams, so that their order stays. A pipe of ours, so that a process that has left the group and
	// holds it open can be let go.
	read, write, err := os.Pipe()
	if err != nil {
		return ending{}, notStarted(err)
	}
	cmd := exec.Command(s.Shell, "-c", command)
	cmd.Stdout, cmd.Stderr = write, write
	cmd.Dir = folder(dir, s.root)
	cmd.Env = process.Environment(home(s.root), s.Inherit, s.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{}
	if err := confine(cmd.SysProcAttr, s.Network); err != nil {
		return ending{}, errors.Join(err, read.Close(), write.Close())
	}

	copied := make(chan error, 1)
	go func() {
		_, err := io.Copy(out, read)
		copied <- err
	}()
	ended, err := s.wait(ctx, cmd, write)
	if err == nil {
		// All of the group is dead, and the pipe ends with them, unless someone has got away with it.
		_ = read.SetReadDeadline(time.Now().Add(s.Grace)) // pipes have deadlines
	}
	<-copied
	return ended, errors.Join(err, read.Close())
}

// wait starts the command, ends it in time, and kills what it leaves behind. It closes the write end in this process.
func (s *shell) wait(ctx context.Context, cmd *exec.Cmd, write *os.File) (ending, error) {
	all, err := process.Start(cmd)
	_ = write.Close() // the command has its own
	if err != nil {
		return ending{}, s.refusal(err)
	}
	killed, err := all.Wait(ctx, s.Grace)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return ending{}, &cairn.Error{Code: NoShell, Message: "how the command has ended is not known", Err: err, Next: "look at what it has done before running it again"}
	}
	return ending{status: status(cmd.ProcessState), killed: killed}, nil
}

// refusal tells a system that can't take the network away from a shell that is not there.
func (s *shell) refusal(err error) error {
	if errors.Is(err, syscall.E2BIG) {
		return &cairn.Error{Code: BadInput, Message: "the command is too long for this system", Next: "write it to a file and run that"}
	}
	elsewhere := []error{fs.ErrNotExist, syscall.ENOEXEC, syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE}
	if s.Network || slices.ContainsFunc(elsewhere, func(one error) bool { return errors.Is(err, one) }) {
		return notStarted(err)
	}
	return noIsolation(err)
}

func notStarted(err error) error {
	return &cairn.Error{Code: NoShell, Message: "the command was not started", Err: err, Next: "go on without a shell"}
}

func noIsolation(err error) error {
	return &cairn.Error{Code: NoIsolation, Message: "the command was not run: the network is to be off, and this system can't take it away from a command", Err: err,
		Next: "allow the network explicitly with ShellPolicy.Network, or run where user namespaces are allowed"}
}

func status(state *os.ProcessState) string {
	if ws, ok := state.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		return fmt.Sprintf("ended by signal: %s", ws.Signal())
	}
	return fmt.Sprintf("exit status %d", state.ExitCode())
}
