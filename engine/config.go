package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/aspects"
	"github.com/cairnrun/cairn/engine/core"
	"github.com/cairnrun/cairn/internal/process"
)

// Config sets up an Engine. Store is required; every other zero value is a default.
type Config struct {
	// Store keeps the runs. The engine does not close it.
	Store Store
	// Workflows are what this process can run.
	Workflows []cairn.Definer
	// Models are the prices that budgets and metrics count with, and the sizes of the models' windows. Defaults to
	// aspects.DefaultModels.
	Models aspects.Models
	// Artifacts stores the files that tasks write. Without it, writing one fails.
	Artifacts cairn.Artifacts
	// RunLimit is the most attempts of one run at once, fixed when the run starts. Defaults to 64.
	RunLimit int
	// ProcessLimit is the most attempts of this engine at once, over all runs. One that waits for a place counts as
	// started. Defaults to 256.
	ProcessLimit int
	// LeaseTTL is how long a run stays with a process that no longer shows life, and can't be seen to be dead. Shorter
	// means faster takeover from other hosts, and less patience with slow disks. Defaults to 15 s.
	LeaseTTL time.Duration
	// Poll is how often the inbox is looked at for what other processes have put there. Defaults to 250 ms.
	Poll time.Duration
	// Grace is how long the Finally parts of a cancelled run may take. Defaults to 30 s.
	Grace time.Duration
	// MaxGenerations is the most runs of a chain, each of which hands over to the next: a handoff beyond it fails with
	// TOO_MANY_GENERATIONS. Defaults to 100; cairn.Unbounded is no limit, for chains that are meant to be endless.
	MaxGenerations int
	// SuggestFrames and SuggestBytes are how long a run's history may get, in frames and in bytes of frames, before the run
	// is told once, by the event history-long, that it should hand over. Nothing else comes of it. They default to 10,000
	// and 64 MiB.
	SuggestFrames, SuggestBytes int64
	// Middleware goes around every attempt, the first one outermost.
	Middleware []Middleware
	// Deliver takes effects out of the outbox, by kind. Delivery is at least once, by the operation id. Without any,
	// this engine leaves the outbox to others.
	Deliver map[string]Deliver
	// Observe is told of every frame after it is durable, by the goroutine that owns the run: it must be quick, and must
	// not change the frame. Frames of several runs may come at once; a successor's first comes after its predecessor's last.
	Observe func(run string, frame *core.Frame)
	// Metrics counts what happens in every frame after it is durable, where Observe is told of it. Nil counts nothing.
	// Frames committed by a process that was killed right after are missing from it: MeasureRun counts all.
	Metrics Metrics
	// Owner identifies this engine's leases. Defaults to this process and a random token.
	Owner Owner
}

// Middleware wraps an attempt. What it returns beside the output (usage, artifacts, effects) is committed with the frame.
type Middleware func(next cairn.Run) cairn.Run

// Deliver hands an effect to the outside world. It must be idempotent by Delivery.ID.
type Deliver func(ctx context.Context, d Delivery) error

// Defaults of Config.
const (
	DefaultRunLimit     = 64
	DefaultProcessLimit = 256
	DefaultLeaseTTL     = 15 * time.Second
	DefaultPoll         = 250 * time.Millisecond
	DefaultGrace        = 30 * time.Second

	DefaultMaxGenerations = 100
	DefaultSuggestFrames  = 10_000
	DefaultSuggestBytes   = 64 << 20
)

func (c Config) withDefaults() Config {
	for _, d := range []struct {
		field *time.Duration
		value time.Duration
	}{{&c.LeaseTTL, DefaultLeaseTTL}, {&c.Poll, DefaultPoll}, {&c.Grace, DefaultGrace}} {
		if *d.field == 0 {
			*d.field = d.value
		}
	}
	if c.Models == nil {
		c.Models = aspects.DefaultModels()
	}
	if c.RunLimit == 0 {
		c.RunLimit = DefaultRunLimit
	}
	if c.ProcessLimit == 0 {
		c.ProcessLimit = DefaultProcessLimit
	}
	if c.MaxGenerations == 0 {
		c.MaxGenerations = DefaultMaxGenerations
	}
	if c.SuggestFrames == 0 {
		c.SuggestFrames = DefaultSuggestFrames
	}
	if c.SuggestBytes == 0 {
		c.SuggestBytes = DefaultSuggestBytes
	}
	if c.Owner == (Owner{}) {
		self := process.Self()
		c.Owner = Owner{Token: token(), Host: self.Host, PID: self.PID, Started: self.Started}
	}
	return c
}

func (c Config) validate() error {
	var errs []error
	if c.Store == nil {
		errs = append(errs, errors.New("a Store is required"))
	}
	for name, n := range map[string]int64{
		"RunLimit": int64(c.RunLimit), "ProcessLimit": int64(c.ProcessLimit),
		"LeaseTTL": int64(c.LeaseTTL), "Poll": int64(c.Poll), "Grace": int64(c.Grace),
		"SuggestFrames": c.SuggestFrames, "SuggestBytes": c.SuggestBytes,
	} {
		if n < 0 {
			errs = append(errs, fmt.Errorf("%s must not be negative", name))
		}
	}
	if err := c.Models.Validate(); err != nil {
		errs = append(errs, fmt.Errorf("the prices of Models: %w", err))
	}
	if c.Owner.Token == "" {
		errs = append(errs, errors.New("the Owner needs a Token of its own"))
	}
	if c.MaxGenerations < 0 && c.MaxGenerations != cairn.Unbounded {
		errs = append(errs, errors.New("MaxGenerations must not be negative, unless it is cairn.Unbounded"))
	}
	if len(errs) > 0 {
		return &cairn.Error{Code: BadConfig, Message: "the configuration can't work", Err: errors.Join(errs...)}
	}
	return nil
}
