package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/task"
)

// unrenewed is a store that a process with a stopped clock sees: leases are not renewed, and nobody says so.
type unrenewed struct{ engine.Store }

func (unrenewed) Renew(context.Context, []engine.Lease, time.Duration) ([]string, error) {
	return nil, nil
}

func TestAZombieWritesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		release := make(chan struct{})
		var cancelled error
		slow := workflow(func(*cairn.View) cairn.Node {
			return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) {
				<-release // deaf to its context, as a stopped process is
				cancelled = context.Cause(ctx)
				return 1, nil
			}}
		})
		quick := workflow(func(*cairn.View) cairn.Node { return task.Task[int]{ID: second, Do: do(2)} })
		zombie := open(t, engine.Config{Store: unrenewed{store}, Workflows: []cairn.Definer{slow}, LeaseTTL: 10 * time.Second})
		rival := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{quick}})
		run := begin(t, zombie)
		if _, err := rival.Resume(t.Context(), "r", engine.ResumeOptions{}); !errors.Is(err, engine.LeaseHeld) {
			t.Fatalf("resuming a run that is driven: %v", err)
		}
		time.Sleep(11 * time.Second)
		taken, err := rival.Resume(t.Context(), "r", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if out := wait(t, taken, core.Finished); string(out.Result) != "2" {
			t.Errorf("result %s", out.Result)
		}
		close(release)
		if _, err := run.Wait(t.Context()); !errors.Is(err, engine.LeaseLost) && !errors.Is(err, engine.RunEnded) {
			t.Errorf("the zombie ended with %v", err)
		}
		_ = cancelled
		info, err := store.Run(t.Context(), "r")
		if err != nil || string(info.Result) != "2" || info.Head != 3 {
			t.Errorf("the zombie has written: %+v, %v", info, err)
		}
	})
}

func TestALostLeaseCancelsAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		begun, cause := make(chan struct{}, 1), make(chan error, 1)
		wf := workflow(func(*cairn.View) cairn.Node {
			return task.Task[int]{ID: second, Do: func(ctx context.Context) (int, error) {
				begun <- struct{}{}
				<-ctx.Done()
				cause <- context.Cause(ctx)
				return 0, ctx.Err()
			}}
		})
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}, LeaseTTL: 9 * time.Second})
		run := begin(t, e)
		<-begun
		info, err := store.Run(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Claim(t.Context(), "r", engine.Claim{Owner: engine.Owner{Token: "rival"}, TTL: time.Minute, Dead: info.Epoch}); err != nil {
			t.Fatal(err)
		}
		if err := <-cause; !errors.Is(err, engine.LeaseLost) {
			t.Errorf("the attempt was cancelled because of %v", err)
		}
		if _, err := run.Wait(t.Context()); !errors.Is(err, engine.LeaseLost) {
			t.Errorf("the run ended with %v", err)
		}
	})
}

func TestADeadProcessIsSucceededAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := openStore(t, filepath.Join(t.TempDir(), "cairn.db"))
		wf := workflow(func(*cairn.View) cairn.Node { return task.Task[int]{ID: second, Do: do(2)} })
		e := open(t, engine.Config{Store: store, Workflows: []cairn.Definer{wf}})
		run := begin(t, e)
		wait(t, run, core.Finished)

		// A second run is left by a process that can't be there any more: this one's host, a start that is not its own.
		begun := make(chan struct{}, 1)
		stuck := workflow(func(*cairn.View) cairn.Node { return task.Task[int]{ID: second, Do: hang(begun)} })
		gone := engine.Config{Store: store, Workflows: []cairn.Definer{stuck}, LeaseTTL: time.Hour}
		gone.Owner = engine.Owner{Token: "gone", Host: selfHost(t), PID: 1 << 30, Started: "0"}
		dead := open(t, gone)
		if _, err := dead.Start(t.Context(), "w", json.RawMessage(`{}`), engine.StartOptions{ID: "left"}); err != nil {
			t.Fatal(err)
		}
		<-begun
		run, err := e.Resume(t.Context(), "left", engine.ResumeOptions{})
		if err != nil {
			t.Fatal(err)
		}
		wait(t, run, core.Finished)
	})
}
