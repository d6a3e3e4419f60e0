// Command worker runs workflows over a SQLite file until they have ended, and tells on standard output what has become
// durable. It is made to be killed: package crashtest says how.
//
// It starts the runs it is given, or goes on with them, and waits for those that another process holds. SIGTERM stops
// it gracefully. It reads standard input: the line "go" opens the gate of workflow gated, the end of input ends the
// process, so that none outlives the test that started it.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/crashtest"
	"github.com/cairnrun/cairn/engine/sqlite"
)

// Exit codes of the worker.
const (
	exitError       = 1
	exitInterrupted = 3
	exitLeaseLost   = 4
	exitOrphan      = 5
)

var (
	db        = flag.String("db", "", "the database file")
	artifacts = flag.String("artifacts", "", "the directory of artifacts")
	logFile   = flag.String("log", "", "the side-effect log")
	runs      = flag.String("runs", "", "the runs' ids, separated by commas")
	workflow  = flag.String("workflow", crashtest.Everything, "what to run")
	input     = flag.String("input", "null", "its input")
	pause     = flag.Duration("pause", 0, "how long a body works")
	ttl       = flag.Duration("ttl", 0, "the lease's time to live")
	deaf      = flag.Bool("deaf", false, "never hear that the lease is lost, but from a refused write")
	hold      = flag.Bool("hold", false, "wait for a line on standard input before touching the database")
)

func main() {
	flag.Parse()
	code, err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
	}
	os.Exit(code)
}

func run() (code int, err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	lines := stdin()
	if *hold {
		say("ready")
		<-lines
	}
	gate := make(chan struct{})
	go func() {
		<-lines
		close(gate)
	}()
	log, err := crashtest.OpenLog(*logFile, fmt.Sprint(os.Getpid()))
	if err != nil {
		return exitError, err
	}
	world := &crashtest.World{Log: log, Pause: *pause, Say: say, Gate: gate}
	store, err := sqlite.Open(ctx, sqlite.Config{Path: *db})
	if err != nil {
		return exitError, err
	}
	files, err := artifact.Open(*artifacts)
	if err != nil {
		return exitError, err
	}
	var used engine.Store = store
	if *deaf {
		used = deafStore{store}
	}
	e, err := engine.Open(context.WithoutCancel(ctx), engine.Config{Store: used, Artifacts: files, Workflows: world.Workflows(),
		Deliver: world.Deliver(), Observe: world.Observe, LeaseTTL: *ttl})
	if err != nil {
		return exitError, err
	}
	log.Add(crashtest.Line{Kind: crashtest.Opened})
	say("opened")
	code = driveAll(ctx, &driver{e: e, log: log})
	return code, errors.Join(e.Close(context.WithoutCancel(ctx)), store.Close())
}

// driveAll drives all runs side by side, and closes the engine on a signal. The exit code is the gravest.
func driveAll(ctx context.Context, d *driver) int {
	var wg sync.WaitGroup
	codes := make(chan int, strings.Count(*runs, ",")+1)
	for id := range strings.SplitSeq(*runs, ",") {
		wg.Go(func() { codes <- d.drive(ctx, id) })
	}
	over := make(chan struct{})
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		select {
		case <-ctx.Done():
			_ = d.e.Close(context.WithoutCancel(ctx))
		case <-over:
		}
	}()
	wg.Wait()
	close(over)
	<-closed
	close(codes)
	worst := 0
	for code := range codes {
		worst = max(worst, code)
	}
	return worst
}

// driver drives one run after another to its end.
type driver struct {
	e   *engine.Engine
	log *crashtest.Log
}

func (d *driver) drive(ctx context.Context, id string) int {
	r, code := d.take(ctx, id)
	if r == nil {
		return code
	}
	out, err := r.Wait(context.WithoutCancel(ctx))
	if err != nil {
		quit := cairn.CodeOf(err, "?")
		d.log.Add(crashtest.Line{Kind: crashtest.Quit, Run: id, Value: string(quit)})
		say("quit", id, quit, err)
		switch {
		case errors.Is(err, engine.LeaseLost):
			return exitLeaseLost
		case errors.Is(err, engine.Closing):
			return exitInterrupted
		}
		return exitError
	}
	d.log.Add(crashtest.Line{Kind: crashtest.Ended, Run: id, Value: string(out.Status)})
	say("ended", id, out.Status)
	return 0
}

// take starts the run or goes on with it, as soon as no other process has it. Without a run it gives the exit code.
func (d *driver) take(ctx context.Context, id string) (*engine.Run, int) {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for held := false; ; {
		r, err := d.e.Start(ctx, *workflow, json.RawMessage(*input), engine.StartOptions{ID: id})
		kind := crashtest.Began
		if errors.Is(err, engine.RunExists) {
			kind = crashtest.Resumed
			r, err = d.e.Resume(ctx, id, engine.ResumeOptions{})
		}
		switch {
		case err == nil:
			d.log.Add(crashtest.Line{Kind: kind, Run: id})
			say(kind, id)
			return r, 0
		case errors.Is(err, engine.RunEnded):
			say("over", id)
			return nil, 0
		case errors.Is(err, engine.LeaseHeld):
			if !held {
				held = true
				d.log.Add(crashtest.Line{Kind: crashtest.Held, Run: id})
				say("held", id)
			}
		case errors.Is(err, engine.Closing), ctx.Err() != nil:
			return nil, exitInterrupted
		default:
			say("error", id, err)
			return nil, exitError
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil, exitInterrupted
		}
	}
}

// deafStore keeps from the engine what renewing would tell it, as if it had not asked yet: what is left between a zombie
// and the run is the fence of the writes.
type deafStore struct{ engine.Store }

func (deafStore) Renew(context.Context, []engine.Lease, time.Duration) ([]string, error) {
	return nil, nil
}

// stdin passes on the lines of standard input. Its end ends the process.
func stdin() <-chan string {
	lines := make(chan string)
	go func() {
		scan := bufio.NewScanner(os.Stdin)
		for scan.Scan() {
			lines <- scan.Text()
		}
		os.Exit(exitOrphan)
	}()
	return lines
}

var out sync.Mutex // one line at a time

func say(words ...any) {
	out.Lock()
	defer out.Unlock()
	fmt.Fprintln(os.Stdout, words...)
}
