package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/hindsight"
	lanes "github.com/cairnrun/cairn/memory/sqlite"
)

// remembering is the memory of a session: the store in the file of the runs, and the remote backend, if one is configured.
type remembering struct {
	*memory.Runtime
	// project tells the remote backend what it has yet to learn; nil without one.
	project *hindsight.Projector
	running sync.WaitGroup
	stop    context.CancelFunc
}

// remember opens the memory that lies in the file of the runs. It closes with the file. HINDSIGHT_URL adds the remote backend.
func (a *app) remember(ctx context.Context, store *sqlite.Store) (*remembering, error) {
	keys, err := memoryKeys()
	if err != nil {
		return nil, err
	}
	kept, err := lanes.Open(ctx, lanes.Config{DB: store.DB(), Keys: keys})
	if err != nil {
		return nil, a.keyed(err)
	}
	m := &remembering{Runtime: &memory.Runtime{Store: kept, Primers: a.primerFiles()}, stop: func() {}}
	client, err := remoteClient()
	if err != nil || client == nil {
		return m, err
	}
	remote := &hindsight.Backend{Local: kept, Client: client}
	m.Store, m.project = remote, &hindsight.Projector{Client: client, Queue: remote.Outbox()}
	ctx, m.stop = context.WithCancel(context.WithoutCancel(ctx))
	m.running.Go(func() { m.project.Run(ctx, nil) })
	return m, nil
}

// primerFiles are the files that are primers of every bank: those in the directory primers beside the file of the runs.
func (a *app) primerFiles() fs.FS { return os.DirFS(filepath.Join(filepath.Dir(a.db()), "primers")) }

// remoteClient speaks to the remote backend; nil if none is configured.
func remoteClient() (*hindsight.Client, error) {
	config, ok := hindsight.FromEnv()
	if !ok {
		return nil, nil
	}
	return hindsight.New(config)
}

// close ends the projector, after a last pass: what has just been kept is told before the process ends, if the backend
// answers. What is not told stays queued.
func (m *remembering) close(ctx context.Context) error {
	m.stop()
	m.running.Wait()
	if m.project == nil {
		return nil
	}
	_, err := m.project.Drain(ctx)
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// deliveries takes what tasks leave for memory out of the outbox.
func (m *remembering) deliveries() map[string]engine.Deliver {
	all := map[string]engine.Deliver{}
	for _, kind := range m.Kinds() {
		all[kind] = func(ctx context.Context, d engine.Delivery) error { return m.Deliver(ctx, d.ID, kind, d.Effect.Body) }
	}
	return all
}
