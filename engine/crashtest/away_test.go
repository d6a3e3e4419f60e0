package crashtest_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/crashtest"
)

// away is a store that takes no more writes of some kinds: a full disk.
type away struct {
	engine.Store
	commits, records, entries bool
}

func (a *away) Commit(ctx context.Context, lease engine.Lease, c engine.Commit) error {
	if a.commits && c.N > 20 {
		return errFault
	}
	return a.Store.Commit(ctx, lease, c)
}

func (a *away) Record(ctx context.Context, lease engine.Lease, e engine.Entry) error {
	if a.records {
		return errFault
	}
	return a.Store.Record(ctx, lease, e)
}

func (a *away) Entries(ctx context.Context, run, path string) ([]engine.Entry, error) {
	if a.entries {
		return nil, errFault
	}
	return a.Store.Entries(ctx, run, path)
}

// A store that stays away ends the driving, and nothing else: no attempt is used up, no task and no run fails, and as
// soon as the store is back the run goes on.
func TestStoreStaysAway(t *testing.T) {
	input, err := json.Marshal(order)
	if err != nil {
		t.Fatal(err)
	}
	_, want := peace(t)
	for name, store := range map[string]*away{"commit": {commits: true}, "record": {records: true}, "entries": {entries: true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := context.Background()
				place := newPlace(t)
				healthy, db, err := place.Open(ctx, 0)
				if err != nil {
					t.Fatal(err)
				}
				store.Store = healthy
				in := &inside{t: t, place: place, store: store}
				l := in.open()
				run, err := l.Start(ctx, crashtest.Everything, input, engine.StartOptions{ID: "r"})
				if err != nil {
					t.Fatal(err)
				}
				out, err := run.Wait(ctx)
				if !errors.Is(err, errFault) {
					t.Errorf("the run has come to %s, %v, and the error does not say why: %v", out.Status, out.Failure, err)
				}
				l.close(t)
				info, err := healthy.Run(ctx, "r")
				if err != nil || info.Status != core.Running || info.Owner.Token != "" {
					t.Errorf("the run is %s and owned by %+v, %v", info.Status, info.Owner, err)
				}
				in.store = healthy
				if waits := in.goOn(ctx, input); waits > 0 {
					t.Error("the lease had to run out")
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
				finish(t, checker(t, place, crashtest.Everything, want), place, "r")
			})
		})
	}
}
