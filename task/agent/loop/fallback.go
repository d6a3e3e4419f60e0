package loop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/task"
)

// Fallback is a Model that asks the first of several that works. A rate limit, an overload, a used up quota or a broken
// stream goes to the next one at once; any other error is returned. Use one value for all runs of a process: it remembers
// which providers fail. It is safe for concurrent use and must not be copied.
//
// Each turn begins at the first model again. What only one provider understands, such as thinking, is left out for the
// others, and their prompt caches know nothing of the conversation: a change in the middle costs its whole input.
type Fallback struct {
	// Models are asked in this order. There must be one at least.
	Models []Model
	// Failures in a row open the circuit of a provider: it is not asked for the time of Cooldown, or for as long as it has
	// asked to be left alone, whichever is longer. Then one call tries it. They default to DefaultFailures and
	// DefaultCooldown.
	Failures int
	Cooldown time.Duration

	mu       sync.Mutex // guards circuits
	circuits map[string]*circuit
}

// Defaults of Fallback.
const (
	DefaultFailures = 3
	DefaultCooldown = time.Minute
)

// circuit is what is known of a provider.
type circuit struct {
	failures int
	// until is when it may be tried again; the zero time is a closed circuit. trying is a call that does so.
	until  time.Time
	trying bool
}

// Info is that of all models together, with the provider and the cache of the first, and the smallest window.
func (f *Fallback) Info() Info {
	var out Info
	var identities []string
	for i, m := range f.Models {
		info := m.Info()
		if i == 0 {
			out.Provider, out.Cache, out.Window, out.Reduces = info.Provider, info.Cache, info.Window, info.Reduces
		}
		if info.Window > 0 && (out.Window == 0 || info.Window < out.Window) {
			out.Window = info.Window
		}
		out.Reduces = out.Reduces && info.Reduces
		for _, name := range info.Models {
			if !slices.Contains(out.Models, name) {
				out.Models = append(out.Models, name)
			}
		}
		identities = append(identities, info.Identity)
	}
	if !slices.Contains(identities, "") {
		out.Identity = "fallback [" + strings.Join(identities, ", ") + "]"
	}
	return out
}

// Structures says whether all of the models do.
func (f *Fallback) Structures(schema json.RawMessage) bool {
	for _, m := range f.Models {
		if s, ok := m.(Structurer); !ok || !s.Structures(schema) {
			return false
		}
	}
	return len(f.Models) > 0
}

// Call asks the models in turn. Usage has the failed calls too.
func (f *Fallback) Call(ctx context.Context, w Window) (Turn, error) {
	if len(f.Models) == 0 {
		return Turn{}, task.Permanent(errors.New("loop: a Fallback without Models"))
	}
	var spent []cairn.Usage
	var failed error
	soonest := time.Duration(-1)
	for _, m := range f.Models {
		provider := m.Info().Provider
		wait, trial := f.enter(provider)
		if wait > 0 {
			if soonest < 0 || wait < soonest {
				soonest = wait
			}
			continue
		}
		turn, err := f.call(ctx, m, provider, trial, failed != nil, w)
		turn.Usage = append(spent, turn.Usage...)
		if err == nil || ctx.Err() != nil || !elsewhere(err) {
			return turn, err
		}
		spent, failed = turn.Usage, err
	}
	if failed == nil {
		failed = &cairn.Failure{Code: ModelUnavailable, RetryAfter: soonest,
			Message: fmt.Sprintf("all providers have failed %d times in a row and are left alone for another %s", f.most(), soonest.Round(time.Second))}
	}
	return Turn{Usage: spent}, failed
}

// call asks one model, and first the budgets if it is a further call. A panic leaves the circuit as it was.
func (f *Fallback) call(ctx context.Context, m Model, provider string, trial, further bool, w Window) (turn Turn, err error) {
	said := false // whether the provider has
	defer func() { f.leave(provider, trial, said, err) }()
	if further {
		if err := task.Admit(ctx); err != nil {
			return Turn{}, err
		}
	}
	if m.Info().Cache.Marks > 0 && f.Models[0].Info().Cache.Marks == 0 {
		w.Marks = nil // they were planned for one that has no use for them: it has its own
	}
	turn, err = m.Call(ctx, w)
	said = err == nil || ctx.Err() == nil
	return turn, err
}

// elsewhere says whether another provider may do better.
func elsewhere(err error) bool {
	switch cairn.CodeOf(err, "") {
	case RateLimited, ModelOverloaded, ModelUnavailable:
		return true
	}
	return false
}

func (f *Fallback) most() int { return orDefault(f.Failures, DefaultFailures, DefaultFailures) }

// enter says how long the provider is not to be asked; 0 is now. The call is a trial where it was left alone until now.
func (f *Fallback) enter(provider string) (wait time.Duration, trial bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.circuits == nil {
		f.circuits = map[string]*circuit{}
	}
	c := f.circuits[provider]
	if c == nil {
		c = &circuit{}
		f.circuits[provider] = c
	}
	switch wait := time.Until(c.until); {
	case c.until.IsZero():
		return 0, false
	case wait > 0:
		return wait, false
	case c.trying:
		return time.Second, false // another call finds out
	}
	c.trying = true
	return 0, true
}

// leave takes down how a call has ended, if the provider has said anything. Calls that were under way when it was left alone end
// no trial.
func (f *Fallback) leave(provider string, trial, said bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := f.circuits[provider]
	c.trying = c.trying && !trial
	switch {
	case !said:
	case err == nil || !elsewhere(err):
		*c = circuit{}
	default:
		if c.failures++; c.failures >= f.most() {
			pause := max(orDefault(f.Cooldown, DefaultCooldown, DefaultCooldown), cairn.FailureOf(err).RetryAfter)
			c.until = time.Now().Add(pause)
		}
	}
}
