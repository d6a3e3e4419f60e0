//go:build unix

package cli_test

import (
	"bufio"
	"bytes"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/cli"
	"github.com/cairnrun/cairn/engine/core"
)

// process is the program of these tests, running.
type process struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	out bytes.Buffer
	// lines are those of stderr, as they come.
	lines chan string
	seen  []string
}

// spawn starts a command line in a process of its own.
func (p place) spawn(mode string, args ...string) *process {
	p.t.Helper()
	x := &process{t: p.t, cmd: exec.Command(os.Args[0], append(args, "--db", p.db())...), lines: make(chan string, 100)}
	x.cmd.Env = append(os.Environ(), asProgram+"=1", holdEnv+"="+mode)
	x.cmd.Stdout = &x.out
	stderr, err := x.cmd.StderrPipe()
	if err == nil {
		x.in, err = x.cmd.StdinPipe()
	}
	if err == nil {
		err = x.cmd.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { _ = x.cmd.Process.Kill() })
	go func() {
		defer close(x.lines)
		for scan := bufio.NewScanner(stderr); scan.Scan(); {
			x.lines <- scan.Text()
		}
	}()
	return x
}

// until reads lines up to one that begins so.
func (x *process) until(prefix string) {
	x.t.Helper()
	for line := range x.lines {
		x.seen = append(x.seen, line)
		if strings.HasPrefix(line, prefix) {
			return
		}
	}
	x.t.Fatalf("it ended without a line %q: %q", prefix, x.seen)
}

func (x *process) signal(s os.Signal) {
	x.t.Helper()
	if err := x.cmd.Process.Signal(s); err != nil {
		x.t.Fatal(err)
	}
}

// end waits for the exit code, -1 for a killed process, and returns what stderr had.
func (x *process) end(code int) string {
	x.t.Helper()
	for line := range x.lines {
		x.seen = append(x.seen, line)
	}
	_ = x.cmd.Wait()
	text := strings.Join(x.seen, "\n")
	if got := x.cmd.ProcessState.ExitCode(); got != code {
		x.t.Fatalf("exit code %d, want %d; stderr:\n%s", got, code, text)
	}
	return text
}

const holding = "started      held"

// Ctrl-C stops gracefully: the run is left as it is, and goes on.
func TestInterrupt(t *testing.T) {
	for _, sig := range []os.Signal{os.Interrupt, syscall.SIGTERM} {
		p := newPlace(t)
		x := p.spawn("wait", "up", "hold", "--run-id", "r1")
		x.until(holding)
		x.signal(sig)
		text := x.end(130)
		has(t, text, "stopping: ", "cairn: INTERRUPTED run r1", "go on with "+filepath.Base(os.Args[0])+" resume r1 --db "+p.db())
		has(t, p.must(0, "ps").out, "interrupted")
		if got := p.must(0, "resume", "r1"); got.out != "\"held\"\n" {
			t.Errorf("the resumed run gave %q", got.out)
		} else {
			has(t, got.err, "run-resumed", "started      held, attempt 2", "finished     tidy")
			if strings.Contains(got.err, "greet") {
				t.Error("what had finished was done again")
			}
		}
	}
}

// A second Ctrl-C does not wait for what can't be stopped.
func TestInterruptTwice(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("stubborn", "up", "hold", "--run-id", "r1")
	x.until(holding)
	x.signal(os.Interrupt)
	x.until("stopping: ")
	x.signal(os.Interrupt)
	x.end(130)
	p.must(0, "up", "hold", "--run-id", "r1", "--input", `{"name":"x"}`)
}

// A run whose process was killed is told apart from a running one at once, and goes on at once.
func TestKill(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("wait", "up", "hold", "--run-id", "r1")
	x.until(holding)
	has(t, p.must(0, "ps", "--status", "running").out, "r1")
	has(t, p.must(2, "resume", "r1").err, "LEASE_HELD run r1: process", "events r1 --follow")
	has(t, p.must(2, "up", "hold", "--run-id", "r1").err, "LEASE_HELD")
	has(t, p.must(0, "why", "r1", "after").out, "after waits for what comes before it in sequence: held (running).")
	has(t, p.must(0, "why", "r1", "held").out, "held is running, attempt 1.\n")
	x.signal(os.Kill)
	x.end(-1)
	has(t, p.must(0, "ps", "--status", "interrupted").out, "r1")
	has(t, p.must(0, "why", "r1", "held").out, "No live process drives the run: go on with run resume r1")
	has(t, p.must(0, "inspect", "r1").out, "interrupted", "running   held", "next      run resume r1")
	has(t, p.must(2, "up", "hold", "--run-id", "r1", "--input", `{"name":"y"}`).err, "RUN_EXISTS run r1: the run exists with another input")
	has(t, p.must(2, "pause", "r1").err, "NOT_RUNNING run r1: the run is interrupted")
	has(t, p.must(0, "resume", "r1").err, "lost         held, its process is gone")
}

// What other processes say reaches the one that drives the run.
func TestPauseElsewhere(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("stdin", "up", "hold", "--run-id", "r1")
	x.until(holding)
	follower := p.spawn("", "events", "r1", "--follow", "--json")
	asker := p.spawn("", "pause", "r1")
	x.until("pause-asked")
	x.in.Close()
	has(t, x.end(3), "cairn: run r1 is paused; go on with")
	asker.end(0)
	has(t, asker.out.String(), "run r1 is paused")
	has(t, p.must(0, "ps").out, "paused")
	has(t, p.must(0, "why", "r1", "after").out, "the run is paused")
	p.must(0, "resume", "r1")
	follower.end(0)
	all := lines[struct{ Type string }](t, follower.out.String())
	if first, last := all[0].Type, all[len(all)-1].Type; first != "run-started" || last != "run-finished" {
		t.Errorf("followed from %s to %s", first, last)
	}
}

func TestCancelElsewhere(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("wait", "up", "hold", "--run-id", "r1")
	x.until(holding)
	has(t, p.must(0, "cancel", "r1", "--reason", "enough").out, "run r1 is cancelled")
	has(t, x.end(1), "cancelling   held", "finished     tidy", "cairn: CANCELLED run r1: enough; see")
	if strings.Contains(strings.Join(x.seen, "\n"), "started      after") {
		t.Error("a cancelled run went on")
	}
	has(t, p.must(0, "inspect", "r1").out, "cancelled")
}

// A body that can't be stopped is not waited for longer than was asked for; what was asked stays.
func TestCancelStubborn(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("stubborn", "up", "hold", "--run-id", "r1")
	x.until(holding)
	has(t, p.must(1, "cancel", "r1", "--wait", "300ms").err, "STILL_RUNNING run r1: it was asked to cancel")
	x.signal(os.Kill)
	x.end(-1)
	has(t, p.must(0, "cancel", "r1", "--json").out, `{"run":"r1","status":"cancelled"`)
}

// A run that nobody drives is resumed to be cancelled, and its Finally runs.
func TestCancelInterrupted(t *testing.T) {
	t.Setenv(holdEnv, "wait")
	p := newPlace(t)
	x := p.spawn("wait", "up", "hold", "--run-id", "r1")
	x.until(holding)
	x.signal(os.Interrupt)
	x.end(130)
	r := p.must(0, "cancel", "r1")
	has(t, r.out, "run r1 is cancelled")
	has(t, r.err, "finished     tidy")
}

// A run whose code has changed is blocked, shows the difference, and goes on with it once that is accepted.
func TestBlocked(t *testing.T) {
	p := newPlace(t)
	stopped := func(id string) {
		x := p.spawn("wait", "up", "hold", "--run-id", id)
		x.until(holding)
		x.signal(os.Interrupt)
		x.end(130)
	}
	stopped("r1")
	stopped("r2")
	t.Setenv(driftEnv, "yes")
	r := p.must(4, "resume", "r1")
	has(t, r.err, "cairn: CODE_CHANGED run r1: frame", "; see run inspect r1", "then go on with run resume r1")
	if o := p.must(4, "resume", "r1", "--json").out; !strings.Contains(o, `"status":"blocked"`) {
		t.Errorf("stdout: %s", o)
	}
	has(t, p.must(0, "inspect", "r1").out, "blocked", "+ task new")
	has(t, p.must(0, "why", "r1", "held").out, "the run is blocked: CODE_CHANGED")
	has(t, p.must(0, "graph", "r1").out, "held, after try:body: waiting")
	has(t, p.must(0, "resume", "r1", "--adopt").err, "run-adopted")
	p.must(4, "resume", "r2")
	has(t, p.must(0, "cancel", "r2").out, "run r2 is cancelled")
}

// A paused run that is cancelled starts nothing more.
func TestCancelPaused(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("stdin", "up", "hold", "--run-id", "r1")
	x.until(holding)
	asker := p.spawn("", "pause", "r1")
	x.until("pause-asked")
	x.in.Close()
	x.end(3)
	asker.end(0)
	r := p.must(0, "cancel", "r1")
	has(t, r.out, "run r1 is cancelled")
	if strings.Contains(r.err, "started      after") {
		t.Errorf("it went on before it was cancelled:\n%s", r.err)
	}
}

// Another process goes on with a run that was stopped by a budget, and one that is killed meanwhile loses nothing.
func TestRaiseInAnotherProcess(t *testing.T) {
	p := newPlace(t)
	t.Setenv(limitEnv, "220000")
	text := p.spawn("", "up", "costly", "--run-id", "r1").end(cli.ExitFailed)
	has(t, text, "raise the limit and go on with")
	t.Setenv(limitEnv, "300000")
	x := p.spawn("", "resume", "r1")
	x.until("run-reopened")
	x.signal(syscall.SIGKILL)
	x.cmd.Wait()
	t.Setenv(limitEnv, "400000")
	if got := p.must(0, "ps", "--json").out; lines[struct{ Status core.Status }](t, got)[0].Status == core.Finished {
		t.Fatalf("a limit of 300,000 is enough: %s", got)
	}
	x = p.spawn("", "resume", "r1")
	x.end(0)
	if x.out.String() != "\"bye ape\"\n" {
		t.Errorf("result %s", x.out.String())
	}
	counts := map[string]int64{}
	for _, m := range lines[struct {
		Name   string
		Labels map[string]string
		Value  int64
	}](t, p.must(0, "metrics", "r1", "--json").out) {
		counts[m.Name+m.Labels["status"]] += m.Value
	}
	if counts[engine.MetricRunsEnded+"finished"] != 1 || counts[engine.MetricRunsEnded+"failed"] < 1 {
		t.Errorf("%v", counts)
	}
}

// A lease of a killed process is told by doctor, one of a live process is not, and neither is a run that was stopped.
func TestDoctorSeesDeadProcesses(t *testing.T) {
	p := newPlace(t)
	x := p.spawn("wait", "up", "hold", "--run-id", "r1")
	x.until(holding)
	has(t, p.must(0, "doctor").out, "1 run driven by a live process")
	x.signal(syscall.SIGKILL)
	x.cmd.Wait()
	has(t, p.must(cli.ExitFailed, "doctor").out, "WRONG  leases", "run r1 is interrupted: process ", "is gone", "resume r1")
	x = p.spawn("wait", "resume", "r1")
	x.until(holding)
	x.signal(os.Interrupt)
	x.end(130)
	has(t, p.must(0, "doctor").out, "1 stopped and waiting for resume")
}
