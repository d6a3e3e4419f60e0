package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

var errFault = errors.New("the store is out of order")

// testFaults drives a run through all methods over a store that fails at its n-th call, for every n, before the call's
// effect or after it. Whoever repeats a failed call as the interface allows ends with the same store.
func testFaults(t *testing.T, place func(t testing.TB) Open) {
	var want string
	for _, when := range []Moment{Before, After} {
		for n := 0; ; n++ { // number 0 never fails
			f := newFixture(t, place(t))
			store := Faulty(f.Store, n, when, errFault)
			f.ok(stubborn(f, store))
			got := show(f.everything("r")) + show(f.everything("heir")) + show(f.everything("imported")) + show(f.due()) + show(f.cached("k", 0))
			if want == "" {
				want = got
			}
			if got != want {
				t.Fatalf("fault %d, moment %d:\ngot  %s\nwant %s", n, when, got, want)
			}
			closeStore(t, f.Store)
			if n > 0 && !store.Reached() {
				break
			}
		}
	}
}

// stubborn is a process that repeats what fails for an unknown reason.
func stubborn(f *fixture, s engine.Store) error {
	again := func(call func() error) error {
		err := call()
		if errors.Is(err, errFault) {
			err = call()
		}
		return err
	}
	// mine is what a repeated Create or Claim does that finds the run taken: by itself, as nobody else is here.
	mine := func(lease *engine.Lease, code error, call func() (engine.Lease, error)) error {
		err := again(func() (err error) { *lease, err = call(); return err })
		if !errors.Is(err, code) {
			return err
		}
		info, err := s.Run(f.ctx, "r")
		if err != nil {
			return err
		}
		if info.Owner.Token != "me" {
			return fmt.Errorf("the run is %q's", info.Owner.Token)
		}
		*lease = engine.Lease{Run: "r", Epoch: info.Epoch, Owner: "me", Until: info.Until}
		return nil
	}
	var lease engine.Lease
	frames := chain("r", 5)
	succeeded(f, "heir", effects("e5"))(&frames[4])
	effects("e2", "f2")(&frames[1])
	consumed(1)(&frames[1])
	frames[3].Status = core.Paused
	effects("e4")(&frames[3])
	memo("k", `1`, 0)(&frames[2])

	steps := []func() error{
		func() error {
			return mine(&lease, engine.RunExists, func() (engine.Lease, error) {
				return s.Create(f.ctx, engine.NewRun{ID: "r", Created: f.clock.Now()}, frames[0], claimBy("me"))
			})
		},
		func() error { _, err := s.Append(f.ctx, "r", signal("a", "k")); return err },
		func() error { _, err := s.Unread(f.ctx, "me"); return err },
		func() error { return s.Commit(f.ctx, lease, frames[1]) },
		func() error { return s.Record(f.ctx, lease, entry("p", "x", 1, `1`)) },
		func() error { _, err := s.Hold(f.ctx, "k", "r", ttl); return err },
		func() error { return s.Commit(f.ctx, lease, frames[2]) },
		func() error { _, _, err := s.Lookup(f.ctx, "k", 0); return err },
		func() error { return s.Free(f.ctx, "k", "r") },
		func() error { return s.Commit(f.ctx, lease, frames[3]) },
		func() error { _, err := s.Renew(f.ctx, []engine.Lease{lease}, ttl); return err },
		func() error { return s.Release(f.ctx, lease) },
		func() error {
			return mine(&lease, engine.LeaseHeld, func() (engine.Lease, error) { return s.Claim(f.ctx, "r", claimBy("me")) })
		},
		func() error { _, err := bodies(f.ctx, s, "r", 1); return err },
		func() error { _, err := s.Entries(f.ctx, "r", ""); return err },
		func() error { _, err := s.Append(f.ctx, "r", signal("b", "l")); return err },
		func() error { return s.Commit(f.ctx, lease, frames[4]) },
		func() error { _, err := s.Append(f.ctx, "r", signal("b", "l")); return err },
		func() error {
			return s.Commit(f.ctx, engine.Lease{Run: "heir", Epoch: 1, Owner: "me"}, frame("heir", 2, frames[4].Successor.First.Hash, consumed(2)))
		},
		func() error { _, err := s.Due(f.ctx, 0, 10); return err },
		func() error { return s.Delivered(f.ctx, "e2") },
		func() error {
			err := s.Import(f.ctx, engine.NewRun{ID: "imported", Created: f.clock.Now()}, chain("imported", 3), nil)
			if errors.Is(err, engine.RunExists) {
				return nil
			}
			return err
		},
		func() error { _, err := s.Runs(f.ctx, engine.Query{}); return err },
	}
	for i, step := range steps {
		if err := again(step); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}
