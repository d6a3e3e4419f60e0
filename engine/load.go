package engine

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// Load folds a run's frames: where it stands, and its plan as of the last rendered frame. It needs no workflow code
// and takes no lease.
func Load(ctx context.Context, store Store, id string) (*core.State, core.Lines, error) {
	state, lines := core.NewState(), core.Lines{}
	_, err := folded(ctx, store, id, func(f *core.Frame, hash string) error {
		lines.Fold(f.Plan)
		return state.Fold(f, hash)
	})
	return state, lines, err
}

// FoldFrames calls fn with a run's frames in order, each with the state after it. The state is one that goes on changing.
// A frame that can't be read is CORRUPT_HISTORY; an error of fn ends the reading and is returned as it is.
func FoldFrames(ctx context.Context, store Store, id string, fn func(state *core.State, f *core.Frame) error) error {
	state := core.NewState()
	return ReadFrames(ctx, store, id, 1, func(f *core.Frame, hash string) error {
		if err := state.Fold(f, hash); err != nil {
			return corrupt(id, f.N, err)
		}
		return fn(state, f)
	})
}

// LoadMachine folds a run's frames into a machine of the workflow's code: to look at, or to go on with under a lease.
func LoadMachine(ctx context.Context, store Store, id string, def cairn.Definition) (*core.Machine, error) {
	m := core.New(def)
	_, err := folded(ctx, store, id, m.Fold)
	return m, err
}

// folded hands a run's frames to a fold, and says how many bytes they have. One that does not follow is a corrupt history,
// as one that can't be read is.
func folded(ctx context.Context, store Store, id string, fold func(f *core.Frame, hash string) error) (bytes int64, err error) {
	err = readFrames(ctx, store, id, 1, func(f *core.Frame, hash string, size int) error {
		if err := fold(f, hash); err != nil {
			return corrupt(id, f.N, err)
		}
		bytes += int64(size)
		return nil
	})
	return bytes, err
}

// decodeBatch is how many frames are decoded in one go.
const decodeBatch = 256

// batch is a run of frames on its way from the store to the fold.
type batch struct {
	first  int64
	bodies [][]byte
	frames []*core.Frame
	hashes []string
	err    error
	done   chan struct{}
}

// ReadFrames calls fn with a run's frames from number n on, in order, as of one moment, each with its hash. A frame that
// can't be read is CORRUPT_HISTORY; an error of fn ends the reading and is returned as it is.
//
// Decoding is what a resume spends its time on, so it goes on in parallel to the reading of rows and to fn, which alone
// sees the frames in order.
func ReadFrames(ctx context.Context, store Store, id string, n int64, fn func(f *core.Frame, hash string) error) error {
	return readFrames(ctx, store, id, n, func(f *core.Frame, hash string, _ int) error { return fn(f, hash) })
}

func readFrames(ctx context.Context, store Store, id string, n int64, fn func(f *core.Frame, hash string, size int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	queue := make(chan *batch, 2*runtime.GOMAXPROCS(0))
	group.Go(func() error {
		defer close(queue)
		return readBatches(ctx, store, id, n, queue)
	})
	group.Go(func() error {
		for b := range queue {
			<-b.done
			for i, f := range b.frames {
				if err := fn(f, b.hashes[i], len(b.bodies[i])); err != nil {
					return err
				}
			}
			if b.err != nil {
				return b.err
			}
		}
		return nil
	})
	return group.Wait()
}

// readBatches reads rows into batches and has each decoded in a goroutine of its own. It has waited for all of them when
// it returns.
func readBatches(ctx context.Context, store Store, id string, from int64, queue chan<- *batch) error {
	var workers errgroup.Group
	workers.SetLimit(runtime.GOMAXPROCS(0))
	send := func(b *batch) error {
		workers.Go(func() error { b.decode(id); return nil })
		select {
		case queue <- b:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	b := &batch{done: make(chan struct{})}
	err := store.Frames(ctx, id, from, func(n int64, body []byte) error {
		if len(b.bodies) == 0 {
			b.first = n
		}
		if b.bodies = append(b.bodies, body); len(b.bodies) < decodeBatch {
			return nil
		}
		full := b
		b = &batch{done: make(chan struct{})}
		return send(full)
	})
	if err == nil && len(b.bodies) > 0 {
		err = send(b)
	}
	_ = workers.Wait()
	return err
}

func (b *batch) decode(id string) {
	defer close(b.done)
	for i, body := range b.bodies {
		f, err := core.Decode(body)
		if err != nil {
			b.err = corrupt(id, b.first+int64(i), err)
			return
		}
		b.frames, b.hashes = append(b.frames, f), append(b.hashes, core.Hash(body))
	}
}

func corrupt(id string, n int64, err error) error {
	return &cairn.Error{Code: CorruptHistory, Run: id, Message: fmt.Sprintf("frame %d can't be read", n), Err: err,
		Next: "restore the database from a copy"}
}
