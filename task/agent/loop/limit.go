package loop

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/cairnrun/cairn/task"
)

// Limit bounds the calls to a provider. All models and runs of a process that share one value share the bounds:
//
//	var anthropicLimit = &loop.Limit{Concurrent: 20, PerMinute: 1000}
//
// It must not be copied, nor changed after its first use.
type Limit struct {
	// Concurrent is the most calls at once; 0 is no limit.
	Concurrent int
	// PerMinute is the most calls begun in a minute, spread evenly but for a Burst of them. 0 is no limit; Burst defaults to 1.
	PerMinute, Burst int

	once  sync.Once
	slots chan struct{}
	pace  *rate.Limiter
}

// Limited is a Model whose calls wait until By lets them through.
type Limited struct {
	Model Model
	By    *Limit
}

// Info is the model's.
func (l Limited) Info() Info { return l.Model.Info() }

// Structures says whether the model does.
func (l Limited) Structures(schema json.RawMessage) bool {
	s, ok := l.Model.(Structurer)
	return ok && s.Structures(schema)
}

// Call waits and calls. Who has waited asks the budgets once more.
func (l Limited) Call(ctx context.Context, w Window) (Turn, error) {
	if l.By == nil {
		return l.Model.Call(ctx, w)
	}
	begin := time.Now()
	if err := l.By.enter(ctx, w.Observe); err != nil {
		return Turn{}, err
	}
	defer l.By.leave()
	if time.Since(begin) > time.Second {
		if err := task.Admit(ctx); err != nil {
			return Turn{}, err
		}
	}
	return l.Model.Call(ctx, w)
}

func (l *Limit) init() {
	if l.Concurrent > 0 {
		l.slots = make(chan struct{}, l.Concurrent)
	}
	if l.PerMinute > 0 {
		l.pace = rate.NewLimiter(rate.Limit(float64(l.PerMinute)/60), max(l.Burst, 1))
	}
}

// signs is how often a call that waits shows that it lives: no heartbeat must run out while nothing is wrong.
const signs = time.Second

// enter waits for a slot first, and then for its turn: a turn must not be lost to a call that can't begin.
func (l *Limit) enter(ctx context.Context, observe func(Event)) error {
	l.once.Do(l.init)
	alive := time.NewTicker(signs)
	defer alive.Stop()
	wait := func(ready <-chan time.Time) error {
		for {
			var slots chan<- struct{}
			if ready == nil {
				slots = l.slots
			}
			select {
			case slots <- struct{}{}:
				return nil
			case <-ready:
				return nil
			case <-alive.C:
				if observe != nil {
					observe(Event{Kind: Progress})
				}
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
	}
	if l.slots != nil {
		if err := wait(nil); err != nil {
			return err
		}
	}
	if l.pace == nil {
		return nil
	}
	turn := l.pace.Reserve()
	if turn.Delay() == 0 {
		return nil
	}
	timer := time.NewTimer(turn.Delay())
	defer timer.Stop()
	if err := wait(timer.C); err != nil {
		turn.Cancel()
		l.leave()
		return err
	}
	return nil
}

func (l *Limit) leave() {
	if l.slots != nil {
		<-l.slots
	}
}
