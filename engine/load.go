package engine

import (
	"context"
	"fmt"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// Load folds a run's frames: where it stands, and its plan as of the last rendered frame. It needs no workflow code
// and takes no lease.
func Load(ctx context.Context, store Store, id string) (*core.State, core.Lines, error) {
	state, lines := core.NewState(), core.Lines{}
	err := decoded(ctx, store, id, func(f *core.Frame, hash string) error {
		lines.Fold(f.Plan)
		return state.Fold(f, hash)
	})
	return state, lines, err
}

// LoadMachine folds a run's frames into a machine of the workflow's code: to look at, or to go on with under a lease.
func LoadMachine(ctx context.Context, store Store, id string, def cairn.Definition) (*core.Machine, error) {
	m := core.New(def)
	return m, decoded(ctx, store, id, m.Fold)
}

// decoded reads a run's frames in order.
func decoded(ctx context.Context, store Store, id string, fn func(f *core.Frame, hash string) error) error {
	return store.Frames(ctx, id, 1, func(n int64, body []byte) error {
		f, err := core.Decode(body)
		if err == nil {
			err = fn(f, core.Hash(body))
		}
		if err != nil {
			return &cairn.Error{Code: CorruptHistory, Run: id, Message: fmt.Sprintf("frame %d can't be read", n), Err: err,
				Next: "restore the database from a copy"}
		}
		return nil
	})
}
