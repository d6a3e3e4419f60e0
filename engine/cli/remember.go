package cli

import (
	"context"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/memory"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// remember opens the memory that lies in the file of the runs. It closes with the file.
func (a *app) remember(ctx context.Context, store *sqlite.Store) (*memory.Runtime, error) {
	keys, err := memoryKeys()
	if err != nil {
		return nil, err
	}
	kept, err := lanes.Open(ctx, lanes.Config{DB: store.DB(), Keys: keys})
	if err != nil {
		return nil, a.keyed(err)
	}
	return &memory.Runtime{Store: kept}, nil
}

// deliveries takes what tasks leave for memory out of the outbox.
func deliveries(r *memory.Runtime) map[string]engine.Deliver {
	all := map[string]engine.Deliver{}
	for _, kind := range r.Kinds() {
		all[kind] = func(ctx context.Context, d engine.Delivery) error { return r.Deliver(ctx, d.ID, kind, d.Effect.Body) }
	}
	return all
}
