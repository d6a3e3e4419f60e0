//go:build unix

package tool_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cairnrun/cairn/tool"
)

const dialEnv = "CAIRN_TOOL_DIAL" // makes the test binary a program that dials and says what came of it

func TestMain(m *testing.M) {
	if address := os.Getenv(dialEnv); address != "" {
		conn, err := net.DialTimeout("tcp", address, 5*time.Second)
		if err != nil {
			fmt.Println("no connection:", err)
			os.Exit(7)
		}
		fmt.Println("connected")
		_ = conn.Close()
		os.Exit(0)
	}
	if os.Getenv(nestedEnv) != "" {
		nested()
	}
	os.Exit(m.Run())
}

// shellOf is a shell whose network is as it may be on this system.
func shellOf(t testing.TB, root *os.Root, p tool.ShellPolicy) kit {
	t.Helper()
	return isolated(t, p, func(p tool.ShellPolicy) kit { return kitOf(t, tool.Shell(root, p)) })
}

func isolated(t testing.TB, p tool.ShellPolicy, with func(p tool.ShellPolicy) kit) kit {
	t.Helper()
	k := with(p)
	if _, err := k.call(t.Context(), "shell_run", in{"command": "true"}); errors.Is(err, tool.NoIsolation) {
		t.Logf("without isolation: %v", err)
		p.Network = true
		k = with(p)
	}
	return k
}

func TestShell(t *testing.T) {
	root, dir := workspace(t, map[string]string{"sub/f": "text\n"})
	k := shellOf(t, root, tool.ShellPolicy{})
	k.want(t, "shell_run", in{"command": "echo out; echo err >&2; echo out; exit 3"}, "exit status 3\nout\nerr\nout\n")
	k.want(t, "shell_run", in{"command": "cat f", "dir": "sub"}, "exit status 0\ntext\n")
	k.want(t, "shell_run", in{"command": "cat"}, "exit status 0\n")
	k.want(t, "shell_run", in{"command": "kill -9 $$"}, "ended by signal: killed\n")
	k.want(t, "shell_run", in{"command": "echo x > made; printf '\\377'"}, "exit status 0\n\uFFFD")
	if got := content(t, filepath.Join(dir, "made")); got != "x\n" {
		t.Errorf("made %q", got)
	}
	if got, err := k.call(t.Context(), "shell_run", in{"command": "no-such-program"}); err != nil || !strings.HasPrefix(got, "exit status 127\n") {
		t.Errorf("got %q, %v", got, err)
	}
	k.refuses(t, "shell_run", in{"command": ""}, tool.BadInput)
	k.refuses(t, "shell_run", in{"command": "a\x00b"}, tool.BadInput)
	k.refuses(t, "shell_run", in{"command": "true", "seconds": 601}, tool.BadInput, "10m0s at most")
	k.refuses(t, "shell_run", in{"command": "true", "dir": "none"}, tool.NotFound)
	k.refuses(t, "shell_run", in{"command": "true", "dir": "sub/f"}, tool.NotAFile)
	k.refuses(t, "shell_run", in{"command": ": " + strings.Repeat("x", 1<<20)}, tool.BadInput, "too long")
	if s := k["shell_run"]; !s.SideEffect || s.Idempotent {
		t.Error("shell_run is not marked")
	}
	missing := shellOf(t, root, tool.ShellPolicy{Shell: "/no/such/shell"})
	missing.refuses(t, "shell_run", in{"command": "true"}, tool.NoShell)
}

func TestShellEnvironment(t *testing.T) {
	t.Setenv("SECRET_TOKEN", canary)
	t.Setenv("SHARED", "shared")
	t.Setenv("LANG", "C")
	root, dir := workspace(t, nil)
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := func(k kit) []string {
		t.Helper()
		got, err := k.call(t.Context(), "shell_run", in{"command": "env"})
		if err != nil || strings.Contains(got, canary) {
			t.Fatalf("%q, %v", got, err)
		}
		lines := strings.Split(strings.TrimSpace(got), "\n")[1:]
		// What the shell itself sets.
		lines = slices.DeleteFunc(lines, func(l string) bool {
			return strings.HasPrefix(l, "PWD=") || strings.HasPrefix(l, "OLDPWD=") || strings.HasPrefix(l, "SHLVL=") || strings.HasPrefix(l, "_=")
		})
		slices.Sort(lines)
		return lines
	}
	path := "PATH=" + os.Getenv("PATH")
	if got, want := names(shellOf(t, root, tool.ShellPolicy{})), []string{"HOME=" + real, "LANG=C", path}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	more := tool.ShellPolicy{Inherit: []string{"SHARED", "UNSET"}, Env: []string{"HOME=/other", "A=b"}}
	if got, want := names(shellOf(t, root, more)), []string{"A=b", "HOME=/other", "LANG=C", path, "SHARED=shared"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestShellOutputIsCapped(t *testing.T) {
	root, _ := workspace(t, nil)
	s := &shelf{}
	ctx := withArtifacts(t.Context(), s)
	k := shellOf(t, root, tool.ShellPolicy{MaxOutput: 40})
	command := in{"command": "i=0; while [ $i -lt 100 ]; do echo line $i; i=$((i+1)); done"}
	got, err := k.call(ctx, "shell_run", command)
	if err != nil || len(s.Kept()) != 1 {
		t.Fatalf("%q, %v, %d artifacts", got, err, len(s.Kept()))
	}
	for hash, all := range s.Kept() {
		if len(all) != 790 || !strings.HasPrefix(string(all), "line 0\nline 1\n") || !strings.HasSuffix(string(all), "line 99\n") {
			t.Errorf("kept %d bytes: %.30q", len(all), all)
		}
		if !strings.HasPrefix(got, "exit status 0\nline 0\nline 1\n") || !strings.HasSuffix(got, "line 98\nline 99\n") || !strings.Contains(got, "[… 750 of 790 bytes left out; artifact_read has all of it as "+hash+" …]") {
			t.Errorf("got %q", got)
		}
	}
	if got, err := k.call(t.Context(), "shell_run", command); err != nil || !strings.Contains(got, "they are lost") {
		t.Errorf("without a store: %q, %v", got, err)
	}
	k.want(t, "shell_run", in{"command": "printf 1234567890123456789012345678901234567890"}, "exit status 0\n1234567890123456789012345678901234567890")

	less := shellOf(t, root, tool.ShellPolicy{MaxOutput: 40, MaxKept: 100})
	s = &shelf{}
	ctx = withArtifacts(t.Context(), s)
	got, err = less.call(ctx, "shell_run", command)
	if err != nil || !strings.Contains(got, "has the first 100 bytes as") {
		t.Errorf("over what is kept: %q, %v", got, err)
	}
	for _, all := range s.Kept() {
		if len(all) != 100 {
			t.Errorf("kept %d bytes", len(all))
		}
	}
}

// fifo makes a pipe in the file system.
func fifo(t *testing.T, path string) string {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Skip("no pipes: ", err)
	}
	return path
}

// alive opens the pipe that the processes of a command hold open: begun when the first one has written, gone when the last one is.
func alive(t *testing.T, path string) (begun, gone <-chan error) {
	b, g := make(chan error, 1), make(chan error, 1)
	go func() {
		f, err := os.Open(path)
		if err != nil {
			b <- err
			g <- err
			return
		}
		defer f.Close()
		_, err = f.Read(make([]byte, 1))
		b <- err
		_, err = io.Copy(io.Discard, f)
		g <- err
	}()
	return b, g
}

// holds makes every process of a command hold the pipe alive; never is one that nobody writes to.
const holds = "exec 3>alive; echo x >&3; "

func TestCancelKillsTheGroup(t *testing.T) {
	for name, command := range map[string]string{
		"politely":  holds + "(cat never) & (cat never) & cat never",
		"forcibly":  holds + "trap '' TERM; (cat never) & cat never; cat never; cat never",
		"no leader": holds + "(trap '' TERM; cat never; cat never) & exec cat never",
	} {
		t.Run(name, func(t *testing.T) {
			root, dir := workspace(t, nil)
			fifo(t, filepath.Join(dir, "never"))
			begun, gone := alive(t, fifo(t, filepath.Join(dir, "alive")))
			k := shellOf(t, root, tool.ShellPolicy{Grace: 20 * time.Millisecond})
			ctx, cancel := context.WithCancelCause(t.Context())
			why := errors.New("enough")
			go func() {
				if err := <-begun; err != nil {
					t.Error(err)
				}
				cancel(why)
			}()
			if got, err := k.call(ctx, "shell_run", in{"command": command}); !errors.Is(err, why) {
				t.Errorf("got %q, %v", got, err)
			}
			if err := <-gone; err != nil {
				t.Error(err)
			}
		})
	}
}

// The kill is the same as that of a cancelled call.
func TestTimeoutIsAnAnswer(t *testing.T) {
	root, dir := workspace(t, nil)
	fifo(t, filepath.Join(dir, "never"))
	k := shellOf(t, root, tool.ShellPolicy{Grace: 20 * time.Millisecond, MaxTimeout: time.Minute})
	k.want(t, "shell_run", in{"command": "(trap '' TERM; cat never) & cat never", "seconds": 0.02}, "stopped: not done within 20ms\n")
	k.want(t, "shell_run", in{"command": "true", "seconds": 60}, "exit status 0\n")
	k.refuses(t, "shell_run", in{"command": "true", "seconds": 60.5}, tool.BadInput, "1m0s at most")
	k.refuses(t, "shell_run", in{"command": "true", "seconds": 0}, tool.BadInput, "more than 0")
}

func TestWhatIsLeftInTheBackgroundIsKilled(t *testing.T) {
	root, dir := workspace(t, nil)
	fifo(t, filepath.Join(dir, "never"))
	_, gone := alive(t, fifo(t, filepath.Join(dir, "alive")))
	k := shellOf(t, root, tool.ShellPolicy{Grace: time.Hour})
	k.want(t, "shell_run", in{"command": holds + "(trap '' TERM HUP; cat never; cat never) & echo done"}, "exit status 0\ndone\n")
	if err := <-gone; err != nil {
		t.Error(err)
	}
}

// A process that has left the group is not waited for, though it holds the output open.
func TestWhoLeavesTheGroupIsNotWaitedFor(t *testing.T) {
	root, dir := workspace(t, nil)
	never := fifo(t, filepath.Join(dir, "never"))
	k := shellOf(t, root, tool.ShellPolicy{Grace: 20 * time.Millisecond})
	if got, err := k.call(t.Context(), "shell_run", in{"command": "command -v setsid"}); err != nil || !strings.HasPrefix(got, "exit status 0") {
		t.Skip("no setsid")
	}
	fifo(t, filepath.Join(dir, "ready"))
	_, gone := alive(t, fifo(t, filepath.Join(dir, "alive")))
	k.want(t, "shell_run", in{"command": "setsid sh -c '" + holds + "echo > ready; cat never' & read x < ready; echo done"}, "exit status 0\ndone\n")
	// The rest of it ends with this test.
	f, err := os.OpenFile(never, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_ = f.Close()
	if err := <-gone; err != nil {
		t.Error(err)
	}
}

func TestShellsSideBySide(t *testing.T) {
	root, _ := workspace(t, nil)
	k := shellOf(t, root, tool.ShellPolicy{})
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			k.want(t, "shell_run", in{"command": fmt.Sprint("echo ", i)}, fmt.Sprintf("exit status 0\n%d\n", i))
		})
	}
	all.Wait()
}

func TestNetworkIsOffUnlessAllowed(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reached := make(chan struct{}, 10)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			reached <- struct{}{}
			_ = conn.Close()
		}
	}()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	root, _ := workspace(t, nil)
	dial := in{"command": "'" + self + "'"}
	env := []string{dialEnv + "=" + listener.Addr().String()}

	open := kitOf(t, tool.Shell(root, tool.ShellPolicy{Network: true, Env: env}))
	open.want(t, "shell_run", dial, "exit status 0\nconnected\n")
	<-reached

	off := kitOf(t, tool.Shell(root, tool.ShellPolicy{Env: env}))
	got, err := off.call(t.Context(), "shell_run", dial)
	switch {
	case errors.Is(err, tool.NoIsolation):
		if !strings.Contains(err.Error(), "allow the network explicitly") {
			t.Errorf("the refusal says nothing to do: %v", err)
		}
		t.Logf("not run: %v", err)
	case err != nil || !strings.HasPrefix(got, "exit status 7\nno connection:"):
		t.Errorf("got %q, %v", got, err)
	}
	if runtime.GOOS != "linux" && err == nil {
		t.Error("this system has no network namespaces")
	}
	select {
	case <-reached:
		t.Error("the listener was reached")
	default:
	}
}

func TestShellBeginsInTheRoot(t *testing.T) {
	for name, door := range doors {
		t.Run(name, func(t *testing.T) {
			c := newCage(t, door)
			c.kit = isolated(t, tool.ShellPolicy{}, func(p tool.ShellPolicy) kit { return kitOf(t, door(t, c.root, p)...) })
			shellBeginsInTheRoot(t, c)
		})
	}
}

func shellBeginsInTheRoot(t *testing.T, c *cage) {
	real, err := filepath.EvalSymlinks(c.root)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(hardPaths(c), "in", "good") {
		got, err := c.call(t.Context(), "shell_run", in{"command": "pwd -P", "dir": path})
		if err != nil {
			continue
		}
		where := strings.TrimSuffix(strings.TrimPrefix(got, "exit status 0\n"), "\n")
		if where != real && !strings.HasPrefix(where, real+"/") {
			t.Errorf("%q begins in %q", path, where)
		}
	}
	c.want(t, "shell_run", in{"command": "pwd -P", "dir": "good"}, "exit status 0\n"+real+"/in\n")
}
