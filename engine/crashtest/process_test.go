//go:build unix

package crashtest_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cairnrun/cairn/engine/crashtest"
)

// program is the worker, built once for all tests.
var program = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "crashtest")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "worker")
	out, err := exec.Command("go", "build", "-o", path, "./worker").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("build the worker: %w\n%s", err, out)
	}
	return path, err
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built.Load() {
		if path, err := program(); err == nil {
			os.RemoveAll(filepath.Dir(path))
		}
	}
	os.Exit(code)
}

// built says that there is a worker to remove.
var built atomic.Bool

// job is what a worker is told to do.
type job struct {
	place    crashtest.Place
	runs     []string
	workflow string
	pause    time.Duration
	ttl      time.Duration
	hold     bool
	deaf     bool
}

// child is a running worker.
type child struct {
	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr bytes.Buffer
	// lines are what it says, until it has died.
	lines chan string
	began time.Time
	dead  bool
	// frames is the last frame it has acknowledged by run, resumed when it had a run.
	frames map[string]int64
	owned  map[string]time.Time
	said   []string
}

func spawn(t testing.TB, j job) *child {
	t.Helper()
	built.Store(true)
	path, err := program()
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	if j.workflow == "" {
		j.workflow = crashtest.Everything
	}
	if j.workflow != crashtest.Everything {
		input = []byte(`"x"`)
	}
	p := &child{t: t, lines: make(chan string, 1024), frames: map[string]int64{}, owned: map[string]time.Time{}}
	p.cmd = exec.Command(path, "-db", j.place.DB, "-artifacts", j.place.Artifacts, "-log", j.place.Log, "-runs", strings.Join(j.runs, ","),
		"-workflow", j.workflow, "-input", string(input), "-pause", j.pause.String(), "-ttl", j.ttl.String(), "-hold="+strconv.FormatBool(j.hold), "-deaf="+strconv.FormatBool(j.deaf))
	p.cmd.Stderr = &p.stderr
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.began = time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		scan := bufio.NewScanner(stdout)
		for scan.Scan() {
			p.lines <- scan.Text()
		}
	}()
	t.Cleanup(func() {
		if !p.dead {
			p.signal(syscall.SIGKILL)
			p.wait()
		}
	})
	return p
}

func (p *child) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("signal %s: %v", s, err)
	}
}

// tell writes a line to the worker.
func (p *child) tell(line string) {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.stdin, line); err != nil {
		p.t.Error(err)
	}
}

// hear notes what a line acknowledges.
func (p *child) hear(line string) {
	p.said = append(p.said, line)
	words := strings.Fields(line)
	switch {
	case len(words) == 3 && words[0] == crashtest.Acked:
		n, err := strconv.ParseInt(words[2], 10, 64)
		if err != nil {
			p.t.Errorf("the worker said %q", line)
		}
		p.frames[words[1]] = n
	case len(words) == 2 && (words[0] == crashtest.Began || words[0] == crashtest.Resumed):
		p.owned[words[1]] = time.Now()
	}
}

// until reads lines up to one that begins with prefix. False means that the worker has died before.
func (p *child) until(prefix string) bool {
	p.t.Helper()
	for {
		line, ok := p.next()
		if !ok || strings.HasPrefix(line, prefix) {
			return ok
		}
	}
}

// patience is how long a worker may say nothing: much longer than any lease or pause here.
const patience = time.Minute

// next reads a line. A worker that hangs is made to tell where.
func (p *child) next() (line string, ok bool) {
	p.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case line, ok = <-p.lines:
	case <-late.C:
		p.signal(syscall.SIGQUIT)
		for line := range p.lines {
			p.hear(line)
		}
		_ = p.cmd.Wait()
		p.dead = true
		p.t.Fatalf("the worker hangs. It said %q\n%s", p.said, p.stderr.String())
	}
	if ok {
		p.hear(line)
	}
	return line, ok
}

// must is until for a line that has to come.
func (p *child) must(prefix string) {
	p.t.Helper()
	if !p.until(prefix) {
		p.wait()
		p.t.Fatalf("the worker ended without saying %q. It said %q\n%s", prefix, p.said, p.stderr.String())
	}
}

// wait reads what is left, buries the process and returns its exit code, -1 for one that was killed.
func (p *child) wait() int {
	p.t.Helper()
	for ok := true; ok; {
		_, ok = p.next()
	}
	p.dead = true
	p.stdin.Close()
	_ = p.cmd.Wait() // the exit code says it
	return p.cmd.ProcessState.ExitCode()
}

// kill is kill -9.
func (p *child) kill() int {
	_ = p.cmd.Process.Kill() // it may have ended by itself
	return p.wait()
}

// quit expects the worker to end with a code.
func (p *child) quit(code int) {
	p.t.Helper()
	if got := p.wait(); got != code {
		p.t.Fatalf("the worker ended with exit code %d, want %d. It said %q\n%s", got, code, p.said, p.stderr.String())
	}
}

func gather(t testing.TB, j job, run string, final bool) *crashtest.Evidence {
	t.Helper()
	ev, err := crashtest.Gather(context.Background(), j.place, run, final)
	if err != nil {
		t.Fatal(err)
	}
	return ev
}

// report fails the test with what a checker complains about.
func report(t testing.TB, when string, bad []error) {
	t.Helper()
	for _, err := range bad {
		t.Errorf("%s: %v", when, err)
	}
}
