package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/artifact"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/crashtest"
	"github.com/cairnrun/cairn/engine/storetest"
)

var errFault = errors.New("the store is out of order")

// inside is a run in this process, in virtual time.
type inside struct {
	t     testing.TB
	place crashtest.Place
	store engine.Store
	// lives counts engines; each is somebody of its own in the log.
	lives int
}

// life is an engine of one name.
type life struct {
	*engine.Engine
	log *crashtest.Log
	// at closes when the frame of that number is durable.
	at map[int64]chan struct{}
}

func (in *inside) open(frames ...int64) *life {
	in.t.Helper()
	in.lives++
	log, err := crashtest.OpenLog(in.place.Log, fmt.Sprint("engine ", in.lives))
	if err != nil {
		in.t.Fatal(err)
	}
	l := &life{log: log, at: map[int64]chan struct{}{}}
	for _, n := range frames {
		l.at[n] = make(chan struct{})
	}
	w := &crashtest.World{Log: log, Pause: bodyPause}
	files, err := artifact.Open(in.place.Artifacts)
	if err != nil {
		in.t.Fatal(err)
	}
	deliver := w.Deliver()
	deliver["note"] = func(ctx context.Context, d engine.Delivery) error {
		if err := w.Deliver()["note"](ctx, d); err != nil || d.Tries > 0 || string(d.Effect.Body) != `"swept"` {
			return err
		}
		return errors.New("the world is not ready for it")
	}
	l.Engine, err = engine.Open(context.Background(), engine.Config{Store: in.store, Artifacts: files, Workflows: w.Workflows(), Deliver: deliver,
		LeaseTTL: leaseTTL, Poll: leaseTTL / 3,
		Observe: func(run string, f *core.Frame) {
			w.Observe(run, f)
			if c := l.at[f.N]; c != nil {
				close(c)
				delete(l.at, f.N)
			}
		}})
	if err != nil {
		in.t.Fatal(err)
	}
	return l
}

// close stops the engine, which no fault of the store may prevent.
func (l *life) close(t testing.TB) {
	if err := l.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
	l.log.Close()
}

// leaseTTL makes leases be renewed several times within a run in virtual time.
const leaseTTL = 60 * time.Millisecond

// bodyPause is how long a body works: long enough for kills to fall into bodies, short enough for hundreds.
const bodyPause = 2 * time.Millisecond

// scenario starts a run, stops it gracefully, goes on, pauses, and goes on to the end: most of what an engine asks of
// its store. The first error ends it.
func (in *inside) scenario(ctx context.Context, input json.RawMessage) (out engine.Outcome, err error) {
	first := in.open(9)
	stopped := first.at[9]
	run, err := first.Start(ctx, crashtest.Everything, input, engine.StartOptions{ID: "r"})
	if err == nil {
		select {
		case <-stopped:
		case <-run.Done():
		}
		first.close(in.t)
		if _, err = run.Wait(ctx); errors.Is(err, engine.Closing) {
			err = nil
		}
	} else {
		first.close(in.t)
	}
	if err != nil {
		return out, err
	}
	second := in.open(18)
	defer second.close(in.t)
	paused := second.at[18]
	if run, err = second.Resume(ctx, "r", engine.ResumeOptions{}); err != nil {
		return out, err
	}
	select {
	case <-paused:
		if err := second.Pause(ctx, "r"); err != nil {
			return out, err
		}
	case <-run.Done():
	}
	if out, err = run.Wait(ctx); err != nil || out.Status != core.Paused {
		return out, err
	}
	if run, err = second.Resume(ctx, "r", engine.ResumeOptions{}); err != nil {
		return out, err
	}
	return run.Wait(ctx)
}

// goOn drives the run to its end with an engine on a healthy store, and says how often it had to wait for a lease.
func (in *inside) goOn(ctx context.Context, input json.RawMessage) (waits int) {
	in.t.Helper()
	l := in.open()
	defer l.close(in.t)
	for range 5 {
		run, err := l.Start(ctx, crashtest.Everything, input, engine.StartOptions{ID: "r"})
		if errors.Is(err, engine.RunExists) {
			run, err = l.Resume(ctx, "r", engine.ResumeOptions{})
		}
		switch {
		case errors.Is(err, engine.RunEnded):
			return waits
		case errors.Is(err, engine.LeaseHeld):
			waits++
			time.Sleep(leaseTTL) // virtual: the process whose lease it is lives
			continue
		case err != nil:
			in.t.Fatalf("on a healthy store: %v", err)
		}
		out, err := run.Wait(ctx)
		if err != nil {
			in.t.Fatalf("on a healthy store: %v", err)
		}
		if out.Status.Terminal() {
			return waits
		}
	}
	in.t.Fatal("the run does not end on a healthy store")
	return waits
}

// TestFaults fails each store operation of a run once, before it has its effect and after it. The run ends as if nothing
// had happened, or the engine says why it does not go on and a later one finishes it.
func TestFaults(t *testing.T) {
	input, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	_, want := peace(t)
	for _, method := range methods {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			for _, when := range []storetest.Moment{storetest.Before, storetest.After} {
				f := &faults{method: method, when: when, input: input, want: want}
				for n := 1; f.one(t, n); n++ {
					if t.Failed() {
						t.Fatalf("call %d, moment %d", n, when)
					}
					if (testing.Short() || raced) && n > 3 {
						n += 4
					}
				}
				if f.met == 0 {
					t.Error("the scenario never calls it")
				}
				t.Logf("moment %d: of %d faults %d did no harm, %d ended the driving, after %d of which the lease had to run out",
					when, f.met, f.met-f.resumed, f.resumed, f.waited)
			}
		})
	}
}

// faults counts what the faults of a method at a moment did.
type faults struct {
	method string
	when   storetest.Moment
	input  json.RawMessage
	want   *crashtest.Outcome

	met, resumed, waited int
}

// one lets the n-th call fail. It reports whether there was one.
func (f *faults) one(t *testing.T, n int) (reached bool) {
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		place := newPlace(t)
		healthy, db, err := place.Open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		faulty := storetest.Faulty(healthy, n, f.when, errFault)
		in := &inside{t: t, place: place, store: &oneMethod{Store: healthy, faulty: faulty, method: f.method}}
		out, err := in.scenario(ctx, f.input)
		if reached = faulty.Reached(); reached {
			f.met++
		}
		switch {
		case err == nil && out.Status == core.Finished:
		case errors.Is(err, errFault):
			f.resumed++
			in.store = healthy
			if in.goOn(ctx, f.input) > 0 {
				f.waited++
			}
		default:
			t.Errorf("the run has come to %s (%v), and the error does not say why: %v", out.Status, out.Failure, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		finish(t, checker(t, place, crashtest.Everything, f.want), place, "r")
	})
	return reached
}

// peace runs the scenario without a fault.
func peace(t *testing.T) (ev *crashtest.Evidence, out *crashtest.Outcome) {
	t.Helper()
	input, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		place := newPlace(t)
		store, db, err := place.Open(ctx, 0)
		if err != nil {
			t.Fatal(err)
		}
		in := &inside{t: t, place: place, store: store}
		if got, err := in.scenario(ctx, input); err != nil || got.Status != core.Finished {
			t.Fatalf("in peace: %+v, %v", got, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		ev = finish(t, checker(t, place, crashtest.Everything, nil), place, "r")
		if out, err = crashtest.OutcomeOf(ev); err != nil {
			t.Fatal(err)
		}
	})
	return ev, out
}
