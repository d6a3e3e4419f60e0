//go:build unix

package crashtest_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/crashtest"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/dbfile"
)

// More graceful stops under one task than it may have losses leave it as good as new.
func TestTermUnderOneTask(t *testing.T) {
	t.Parallel()
	j := job{place: newPlace(t), runs: []string{"r"}, workflow: crashtest.Gated}
	c := checker(t, j.place, j.workflow, nil)
	const stops = 7
	for i := range stops {
		p := spawn(t, j)
		p.must("start r gate")
		p.signal(syscall.SIGTERM)
		p.quit(3)
		if slices.Contains(p.said, "held r") {
			t.Errorf("I12: life %d had to wait for the lease of a process that has stopped gracefully", i)
		}
		report(t, fmt.Sprint("stop ", i), c.Stopped(t.Context(), gather(t, j, "r", false)))
	}
	p := spawn(t, j)
	p.must(fmt.Sprintf("start r gate %d", stops+1))
	p.tell("go")
	p.quit(0)
	if ev := finish(t, c, j.place, "r"); ev.Info.Status != core.Finished {
		t.Errorf("I12: after %d graceful stops the run is %s: %v", stops, ev.Info.Status, ev.Info.Failure)
	}
}

// Graceful stops anywhere, and kills between them, lead to what peace leads to.
func TestTermAnywhere(t *testing.T) {
	t.Parallel()
	rng := random(t)
	out, took, frames := undisturbed(t)
	stops := 0
	for run := range max(2, kills(t)/40) {
		j := job{place: newPlace(t), runs: []string{fmt.Sprint("run-", run)}, pause: bodyPause}
		c := checker(t, j.place, crashtest.Everything, out)
		for {
			p := spawn(t, j)
			if rng.IntN(2) == 0 {
				p.until(fmt.Sprintf("frame %s %d", j.runs[0], 1+rng.IntN(frames)))
				p.signal(syscall.SIGTERM)
			} else {
				p.must("opened") // before that, nobody listens
				timer := time.AfterFunc(time.Duration(rng.Int64N(int64(took))), func() { _ = p.cmd.Process.Signal(syscall.SIGTERM) })
				p.until("never")
				timer.Stop()
			}
			code := p.wait()
			if code == 0 {
				break
			}
			if code != 3 {
				t.Fatalf("exit code %d, said %q\n%s", code, p.said, p.stderr.String())
			}
			stops++
			report(t, fmt.Sprintf("%s, stop %d", j.runs[0], stops), c.Stopped(t.Context(), gather(t, j, j.runs[0], false)))
		}
		finish(t, c, j.place, j.runs[0])
	}
	t.Logf("%d graceful stops", stops)
}

// The fifth loss of a task fails it, and a kill -9 is a loss.
func TestKillFiveTimesUnderOneTask(t *testing.T) {
	t.Parallel()
	j := job{place: newPlace(t), runs: []string{"r"}, workflow: crashtest.Gated}
	c := checker(t, j.place, j.workflow, nil)
	for i := range 5 {
		p := spawn(t, j)
		p.must(fmt.Sprintf("start r gate %d", i+1))
		p.kill()
		report(t, fmt.Sprint("kill ", i), c.Check(t.Context(), gather(t, j, "r", false)))
	}
	p := spawn(t, j)
	p.must("ended r failed")
	p.quit(0)
	ev := finish(t, c, j.place, "r")
	if !errors.Is(ev.Info.Failure, cairn.WorkerLost) {
		t.Errorf("five losses end the run with %v", ev.Info.Failure)
	}
}

// A process that is stopped for longer than its lease lasts finds, when it goes on, that another one has the run: it
// writes nothing and ends its attempts.
func TestStopPastTheLease(t *testing.T) {
	for _, late := range []bool{false, true} { // the stopped body has something to write as soon as it goes on
		for _, over := range []bool{false, true} { // the run has ended by then
			t.Run(fmt.Sprintf("late write %t, over %t", late, over), func(t *testing.T) {
				t.Parallel()
				testStop(t, late, over)
			})
		}
	}
}

func testStop(t *testing.T, late, over bool) {
	const ttl = time.Second
	j := job{place: newPlace(t), runs: []string{"r"}, workflow: crashtest.Gated, ttl: ttl}
	c := checker(t, j.place, j.workflow, nil)
	// Both are there before the clock of the lease runs.
	heir := spawn(t, job{place: j.place, runs: j.runs, workflow: j.workflow, ttl: ttl, hold: true})
	heir.must("ready")
	j.deaf = late // else a renewal might tell it sooner than the refused write
	zombie := spawn(t, j)
	zombie.must("start r gate 1")
	until := zombie.stop(j.place)

	heir.tell("go") // ends the hold
	heir.must("start r gate 2")
	if now := time.Now(); now.Before(until) {
		t.Errorf("I4: the run was taken over %s before its owner's lease ran out", until.Sub(now))
	}
	if !slices.Contains(heir.said, "held r") {
		t.Logf("the machine is slow: the lease had run out before the heir asked for the first time")
	}
	if over {
		heir.tell("go")
		heir.quit(0)
	}
	before := gather(t, j, "r", false)
	if late {
		zombie.tell("go")
	}
	zombie.signal(syscall.SIGCONT)
	zombie.quit(4)
	after := gather(t, j, "r", false)
	if !slices.EqualFunc(before.Frames, after.Frames, slices.Equal) || before.Info.Epoch != after.Info.Epoch || !reflect.DeepEqual(before.Entries, after.Entries) {
		t.Errorf("I4: the zombie has written: %d frames and %v before, %d and %v after", len(before.Frames), before.Entries, len(after.Frames), after.Entries)
	}
	who := fmt.Sprint(zombie.cmd.Process.Pid)
	if !slices.ContainsFunc(after.Log, func(l crashtest.Line) bool {
		return l.Who == who && l.Kind == crashtest.Quit && l.Value == string(engine.LeaseLost)
	}) {
		t.Errorf("I4: the zombie has not said that its lease is lost; it said %q", zombie.said)
	}
	// Its attempt is over too: told to stop, or failed by a refused write.
	if !slices.ContainsFunc(after.Log, func(l crashtest.Line) bool {
		return l.Who == who && (l.Kind == crashtest.BodyStopped || l.Kind == crashtest.BodyFailed && late)
	}) {
		t.Errorf("I4: the zombie's attempt was not stopped")
	}
	if !over {
		heir.tell("go")
		heir.quit(0)
	}
	finish(t, c, j.place, "r")
}

// stop stops the process where it does not hold the file's write lock, which SQLite would keep from everybody, and
// returns when its lease ends.
func (p *child) stop(place crashtest.Place) time.Time {
	p.t.Helper()
	for range 100 {
		p.signal(syscall.SIGSTOP)
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(p.cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			p.t.Fatalf("the process does not stop: %v, %v", status, err)
		}
		until, err := leaseEnd(place)
		if err == nil {
			return until
		}
		if !errors.Is(err, dbfile.ErrLocked) {
			p.t.Fatal(err)
		}
		p.signal(syscall.SIGCONT)
	}
	p.t.Fatal("the process always holds the lock")
	return time.Time{}
}

// leaseEnd reads a lease, having seen that the file can be written to.
func leaseEnd(place crashtest.Place) (until time.Time, err error) {
	ctx := context.Background()
	db, err := dbfile.Open(ctx, dbfile.Config{Path: place.DB, ApplicationID: sqlite.ApplicationID, BusyTimeout: time.Millisecond})
	if err != nil {
		return until, err
	}
	defer db.Close()
	if err := db.Write(ctx, func(*dbfile.Tx) error { return nil }); err != nil {
		return until, err
	}
	store, err := sqlite.New(ctx, db, nil)
	if err != nil {
		return until, err
	}
	info, err := store.Run(ctx, "r")
	return info.Until, err
}
