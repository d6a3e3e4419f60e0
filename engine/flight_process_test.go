package engine_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/cache"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/task"
)

// TestMain is one of the processes that share a cache, when a test asks for one.
func TestMain(m *testing.M) {
	if path := os.Getenv("CAIRN_CACHE_FILE"); path != "" {
		if err := share(path, os.Getenv("CAIRN_CACHE_RUN")); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// share runs a workflow of one task, whose output all processes share. It is made when a line comes in.
func share(path, id string) error {
	ctx := context.Background()
	store, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	wf := workflow(func(*cairn.View) cairn.Node {
		return task.Task[int]{ID: second, Version: "1", With: cairn.With{cache.Policy{Scope: cache.Global, Key: "it"}}, Do: func(context.Context) (int, error) {
			fmt.Println("making")
			_, err := bufio.NewReader(os.Stdin).ReadString('\n')
			return 7, err
		}}
	})
	e, err := engine.Open(ctx, engine.Config{Store: store, Workflows: []cairn.Definer{wf}, LeaseTTL: time.Second})
	if err != nil {
		return err
	}
	fmt.Println("started")
	run, err := e.Start(ctx, "w", []byte(`{}`), engine.StartOptions{ID: id})
	if errors.Is(err, engine.RunExists) {
		run, err = e.Resume(ctx, id, engine.ResumeOptions{})
	}
	if err != nil {
		return err
	}
	out, err := run.Wait(ctx)
	fmt.Println("ended", string(out.Result))
	return errors.Join(err, e.Close(ctx))
}

// child is one such process.
type child struct {
	*exec.Cmd
	in    io.WriteCloser
	lines chan string
}

func startChild(t *testing.T, path, run string) *child {
	t.Helper()
	c := &child{Cmd: exec.Command(os.Args[0]), lines: make(chan string, 10)}
	c.Env = append(os.Environ(), "CAIRN_CACHE_FILE="+path, "CAIRN_CACHE_RUN="+run)
	c.Stderr = os.Stderr
	var err error
	if c.in, err = c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(c.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		_ = c.Process.Kill()
		<-read
		_ = c.Wait()
	})
	return c
}

// says waits for the lines that the process is to print next.
func (c *child) says(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		select {
		case line, ok := <-c.lines:
			if !ok || line != w {
				t.Fatalf("the process says %q, want %q", line, w)
			}
		case <-time.After(time.Minute):
			t.Fatalf("the process says nothing, want %q", w)
		}
	}
}

// TestProcessesShareAndSurviveAKill: of two processes with the same task one makes the output, the other waits. When the
// first is killed the second makes it; those that come later, the killed one's run included, take what is there.
func TestProcessesShareAndSurviveAKill(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	path := filepath.Join(t.TempDir(), "cairn.db")
	a := startChild(t, path, "a")
	a.says(t, "started")
	a.says(t, "making")
	b := startChild(t, path, "b")
	b.says(t, "started")
	select {
	case line := <-b.lines:
		t.Fatalf("while another makes it the process says %q", line)
	case <-time.After(300 * time.Millisecond): // it waits: there is nothing else to see of that
	}
	if err := a.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	b.says(t, "making")
	if _, err := io.WriteString(b.in, "go\n"); err != nil {
		t.Fatal(err)
	}
	b.says(t, "ended 7")
	for _, run := range []string{"c", "a"} {
		startChild(t, path, run).says(t, "started", "ended 7")
	}
}
