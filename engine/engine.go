package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine/core"
)

// Engine drives runs in this process. It is safe for concurrent use.
type Engine struct {
	cfg       Config
	workflows registry
	slots     *semaphore.Weighted
	flights   flights

	// life ends when Close begins; work ends when Close no longer waits.
	life context.Context
	die  context.CancelFunc
	// background are the keeper and the poller; the courier ends before them, when stop closes.
	background, courier sync.WaitGroup
	stop                chan struct{}
	stopping            sync.Once
	poke                chan struct{}
	posted              chan struct{}
	// starting are calls of Start and Resume that Close must wait for: what they have made durable has to be driven.
	starting sync.WaitGroup

	// mu guards what follows.
	mu     sync.Mutex
	runs   map[string]*Run
	closed bool
}

// Open checks the configuration and starts what an engine does in the background: keeping leases, looking at the
// inbox, emptying the outbox. It resumes nothing by itself.
func Open(ctx context.Context, cfg Config) (*Engine, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	workflows, err := register(cfg.Workflows)
	if err != nil {
		return nil, err
	}
	e := &Engine{
		cfg: cfg, workflows: workflows, slots: semaphore.NewWeighted(int64(cfg.ProcessLimit)),
		poke: make(chan struct{}, 1), posted: make(chan struct{}, 1), stop: make(chan struct{}), runs: map[string]*Run{},
	}
	e.life, e.die = context.WithCancel(context.WithoutCancel(ctx))
	e.background.Go(e.keepLeases)
	e.background.Go(e.readInbox)
	if len(cfg.Deliver) > 0 {
		e.courier.Go(e.emptyOutbox)
	}
	return e, nil
}

// Close stops gracefully: attempts are told to stop and waited for, what finished is committed, and every run is left
// resumable, for this or another process, at once. Closing twice is fine. When ctx ends first, Close returns its
// error while bodies that ignore their context are still running.
func (e *Engine) Close(ctx context.Context) error {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	e.starting.Wait()
	// A run that was just handing over leaves a successor behind.
	for runs := e.all(); len(runs) > 0; runs = e.all() {
		for _, r := range runs {
			r.halt(errStopping)
		}
		for _, r := range runs {
			select {
			case <-r.over:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	e.stopping.Do(func() { close(e.stop) })
	patience := context.AfterFunc(ctx, e.die)
	e.courier.Wait()
	patience()
	e.die()
	e.background.Wait()
	return nil
}

// Workflows lists what is registered, by name.
func (e *Engine) Workflows() []cairn.Definition { return e.workflows.list() }

// enter begins a Start or Resume, unless the engine is closed; the caller ends it with starting.Done.
func (e *Engine) enter() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		return errClosed()
	}
	e.starting.Add(1)
	return nil
}

// drive hands a run with a durable step to a goroutine of its own.
func (e *Engine) drive(r *Run, first core.Step) *Run {
	r.first = first
	e.mu.Lock()
	defer e.mu.Unlock()
	e.runs[r.id] = r
	go r.drive()
	return r
}

// leave forgets a run that is no longer driven.
func (e *Engine) leave(r *Run) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.runs[r.id] == r {
		delete(e.runs, r.id)
	}
}

// driven returns the run if this engine drives it.
func (e *Engine) driven(id string) *Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.runs[id]
}

func (e *Engine) all() []*Run {
	e.mu.Lock()
	defer e.mu.Unlock()
	runs := make([]*Run, 0, len(e.runs))
	for _, r := range e.runs {
		runs = append(runs, r)
	}
	return runs
}

// keepLeases renews the leases of all runs three times per TTL. A run whose lease is lost, or could not be renewed
// in time, stops at once: somebody else may have it.
func (e *Engine) keepLeases() {
	tick := time.NewTicker(e.cfg.LeaseTTL / 3)
	defer tick.Stop()
	for {
		select {
		case <-e.life.Done():
			return
		case <-tick.C:
		}
		runs := e.all()
		if len(runs) == 0 {
			continue
		}
		leases := make([]Lease, len(runs))
		for i, r := range runs {
			leases[i] = r.lease
		}
		asked := time.Now()
		lost, err := e.cfg.Store.Renew(e.life, leases, e.cfg.LeaseTTL)
		gone := map[string]bool{}
		for _, id := range lost {
			gone[id] = true
		}
		for _, r := range runs {
			switch {
			case gone[r.id]:
				r.halt(&cairn.Error{Code: LeaseLost, Run: r.id, Message: "another process has taken this run over"})
			case err == nil:
				r.renewed.Store(asked.UnixNano())
			case asked.UnixNano()-r.renewed.Load() > int64(e.cfg.LeaseTTL):
				r.halt(&cairn.Error{Code: LeaseLost, Run: r.id, Message: "the lease could not be renewed in time", Err: err})
			}
		}
		e.keepHolds()
	}
}

// readInbox brings inbox items to the runs they are for: at once when this process appended them, else by polling.
func (e *Engine) readInbox() {
	tick := time.NewTicker(e.cfg.Poll)
	defer tick.Stop()
	for {
		select {
		case <-e.life.Done():
			return
		case <-tick.C:
		case <-e.poke:
		}
		if len(e.all()) == 0 {
			continue
		}
		items, err := e.cfg.Store.Unread(e.life, e.cfg.Owner.Token)
		if err != nil {
			continue // The next tick asks again; a store that stays away loses the lease.
		}
		for _, item := range items {
			if r := e.driven(item.Run); r != nil {
				ev := item.Event
				ev.Seq = item.Seq
				r.mail.put(ev)
			}
		}
	}
}

// nudge wakes one of the background loops.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// errStopping is the cause of contexts cancelled by Close.
var errStopping = errors.New("the engine is closing")

// token is random and short enough to read aloud.
func token() string { return strings.ToLower(rand.Text()[:12]) }
