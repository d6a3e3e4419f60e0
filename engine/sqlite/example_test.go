package sqlite_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/engine/sqlite"
)

func Example() {
	dir, err := os.MkdirTemp("", "cairn")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	if err := steps(context.Background(), filepath.Join(dir, "runs.db")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// 1 {"n":1}
	// 2 {"n":2}
	// LEASE_LOST run tidy: the lease of epoch 1 has been claimed away: the run is in epoch 2; stop driving the run; nothing was written
}

// steps commits two frames and reads them; then another process takes the run over, because this one is known to be dead.
func steps(ctx context.Context, path string) error {
	store, err := sqlite.Open(ctx, sqlite.Config{Path: path})
	if err != nil {
		return err
	}
	defer store.Close()

	first := engine.Commit{N: 1, Body: []byte(`{"n":1}`), Status: core.Running}
	first.Hash = core.Hash(first.Body)
	me := engine.Claim{Owner: engine.Owner{Token: "process-1"}, TTL: time.Minute}
	lease, err := store.Create(ctx, engine.NewRun{ID: "tidy", Workflow: "housework"}, first, me)
	if err != nil {
		return err
	}
	second := engine.Commit{N: 2, Body: []byte(`{"n":2}`), Prev: first.Hash, Status: core.Running}
	second.Hash = core.Hash(second.Body)
	if err := store.Commit(ctx, lease, second); err != nil {
		return err
	}
	err = store.Frames(ctx, "tidy", 1, func(n int64, body []byte) error {
		fmt.Println(n, string(body))
		return nil
	})
	if err != nil {
		return err
	}

	other := engine.Claim{Owner: engine.Owner{Token: "process-2"}, TTL: time.Minute, Dead: lease.Epoch}
	if _, err := store.Claim(ctx, "tidy", other); err != nil {
		return err
	}
	third := engine.Commit{N: 3, Body: []byte(`{"n":3}`), Prev: second.Hash, Hash: "…", Status: core.Running}
	return store.Commit(ctx, lease, third)
}
