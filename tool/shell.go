package tool

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/cairnrun/cairn"
)

// A ShellPolicy says what shell_run may do. The zero value has no network and little environment.
type ShellPolicy struct {
	// Network lets commands use the network. Without it they run in a network namespace of their own that has no way out,
	// not even to this host; where the system has none, they do not run at all.
	Network bool
	// Timeout is how long a command may take if the call does not say; the default is 2 minutes. MaxTimeout is the most it
	// may say, and bounds Timeout; the default is 10 minutes, or Timeout if that is more.
	Timeout, MaxTimeout time.Duration
	// Grace is how long a command that is to end has between SIGTERM and SIGKILL; the default is 3 seconds.
	Grace time.Duration
	// MaxOutput is the most bytes of output in an answer; the default is 12 KiB. Of more, the first and the last halves are
	// shown, and all of it goes to an artifact, up to MaxKept bytes, by default 64 MiB.
	MaxOutput int
	MaxKept   int64
	// Store keeps what is too long, as in Offload. The default writes to the artifacts of the attempt.
	Store Store
	// Inherit are names of variables of this process that a command sees; Env are more, as NAME=value. Without them it sees
	// PATH and LANG as they are here and HOME, which is the root, and nothing else.
	Inherit, Env []string
	// Shell is the program that gets the command after -c; the default is /bin/sh.
	Shell string
}

func (p ShellPolicy) filled() ShellPolicy {
	longest := cmp.Or(p.MaxTimeout, max(p.Timeout, 10*time.Minute))
	p.Timeout, p.MaxTimeout = min(cmp.Or(p.Timeout, 2*time.Minute), longest), longest
	p.Grace = cmp.Or(p.Grace, 3*time.Second)
	p.MaxOutput = cmp.Or(p.MaxOutput, 12<<10)
	p.MaxKept = cmp.Or(p.MaxKept, 64<<20)
	p.Shell = cmp.Or(p.Shell, "/bin/sh")
	return p
}

// bound is what commands may do and see, for cairn.Tool.Bound. Of variables it is the names: values can be secrets.
func (p ShellPolicy) bound() string {
	names := slices.Clone(p.Inherit)
	for _, pair := range p.Env {
		name, _, _ := strings.Cut(pair, "=")
		names = append(names, name)
	}
	slices.Sort(names)
	return fmt.Sprintf(", network %t, by %s with the variables %q", p.Network, p.Shell, slices.Compact(names))
}

type shellCommand struct {
	Command string  `json:"command" validate:"required" jsonschema_description:"What to run, for the shell."`
	Dir     string  `json:"dir,omitempty" jsonschema_description:"The folder to run it in, as a path in the root. The default is the root."`
	Seconds float64 `json:"seconds,omitempty" jsonschema:"exclusiveMinimum=0" jsonschema_description:"After how many seconds it is stopped."`
}

// Shell returns shell_run, which runs a command in a folder of the root. The answer is text: how it ended, and what it wrote to
// standard output and standard error, in this order of time. A command that fails, or is stopped because its time is over,
// is an answer; a call whose context ends is an error.
//
// A command is a group of processes, and all of them are killed when the command ends, runs out of time or is cancelled: with
// SIGTERM and, after Grace, SIGKILL. It reads nothing, and begins in the very folder that the path led to when the
// call was checked. On Linux it also dies with this process.
//
// What is not safe: the root confines where a command begins, not what it opens. It can read and write whatever this process's
// user can, sockets in the file system included. A process that makes a session of its own leaves the group; it is not killed,
// though the call does not wait for it. Run the program in a container where commands are not to be trusted.
//
// The root stays the caller's. The tool is safe for concurrent use.
func Shell(root *os.Root, policy ShellPolicy) cairn.Tool {
	return shellTool(directory{root: root}, policy)
}

// ShellIn is Shell for a directory by name, which each call opens for itself, as with FilesIn.
func ShellIn(dir string, policy ShellPolicy) cairn.Tool {
	return shellTool(directory{name: dir}, policy)
}

func shellTool(at directory, policy ShellPolicy) cairn.Tool {
	policy = policy.filled()
	about := "Runs a shell command and tells its exit status and output. What still runs in the background when it ends is killed."
	if !policy.Network {
		about += " There is no network."
	}
	return New("shell_run", about, func(ctx context.Context, in shellCommand) (string, error) {
		root, leave, err := at.enter()
		if err != nil {
			return "", err
		}
		defer leave()
		return (&shell{policy, root}).run(ctx, in)
	}, SideEffect(), Bound(at.bound()+policy.bound()))
}

// shell is what runs one command.
type shell struct {
	ShellPolicy
	root *os.Root
}

func (s *shell) run(ctx context.Context, in shellCommand) (string, error) {
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	limit := s.Timeout
	if in.Seconds > 0 {
		limit = time.Duration(min(in.Seconds, 1e9) * float64(time.Second))
	}
	if limit > s.MaxTimeout {
		return "", &cairn.Error{Code: BadInput, Message: fmt.Sprintf("a command may take %s at most", s.MaxTimeout), Next: "ask for less time, or do it in parts"}
	}
	if strings.ContainsRune(in.Command, 0) {
		return "", &cairn.Error{Code: BadInput, Message: "the command has a NUL byte", Next: "leave it out"}
	}
	name, err := clean(in.Dir)
	if err != nil {
		return "", err
	}
	info, err := s.root.Stat(name)
	if err == nil && !info.IsDir() {
		return "", &cairn.Error{Code: NotAFile, Message: quoted(name) + " is no folder", Next: "name the folder that it is in"}
	}
	if err != nil {
		return "", wrap(name, err)
	}
	dir, err := s.root.OpenFile(name, nonblocking, 0)
	if err != nil {
		return "", wrap(name, err)
	}
	defer dir.Close()
	if info, err = dir.Stat(); err == nil && !info.IsDir() {
		err = &fs.PathError{Op: "run", Path: name, Err: fs.ErrInvalid}
	}
	if err != nil {
		return "", wrap(name, err)
	}
	out := &capture{half: s.MaxOutput / 2, maxKept: s.MaxKept}
	defer out.close()
	timed, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ended, err := s.execute(timed, in.Command, dir, out)
	switch {
	case err != nil:
		return "", err
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case timed.Err() != nil && ended.killed:
		return fmt.Sprintf("stopped: not done within %s\n", limit) + out.render(ctx, s.Store), nil
	}
	return ended.status + "\n" + out.render(ctx, s.Store), nil
}

// An ending is how a command ended.
type ending struct {
	status string
	// killed says that it was told to end.
	killed bool
}
