package memory

import (
	"context"
	"time"
)

// Store is what a task's body may do with memory. *sqlite.Store of package memory/sqlite is one. It is safe for
// concurrent use.
//
// Writes take effect at once and at least once: they are no part of the frame that the task ends with, and a task that runs
// again writes again. Give items ids, and compare and swap, where that matters. What a later task of the run needs belongs
// into an output: a render can't read memory, because what it reads must be what the frames say, at every replay.
type Store interface {
	SetFact(ctx context.Context, f Fact) (Fact, error)
	SwapFact(ctx context.Context, f Fact, expected int64) (Fact, error)
	PatchFact(ctx context.Context, ns Namespace, key string, p FactPatch, expected int64) (Fact, error)
	GetFact(ctx context.Context, ns Namespace, key string) (Fact, error)
	Facts(ctx context.Context, ns Namespace) ([]Fact, error)
	DeleteFact(ctx context.Context, ns Namespace, key string) (deleted bool, err error)

	CreateThread(ctx context.Context, t Thread) (Thread, error)
	Append(ctx context.Context, ns Namespace, thread string, messages ...Message) ([]Message, error)
	Messages(ctx context.Context, ns Namespace, thread string, w Window, before int64) ([]Message, error)

	SaveNote(ctx context.Context, n Note) (saved Note, isNew bool, err error)
	GetNote(ctx context.Context, ns Namespace, id string) (Note, error)
	Notes(ctx context.Context, scope Scope) ([]Note, error)
	SetStatus(ctx context.Context, ns Namespace, id string, status Status) (Note, error)
	Retire(ctx context.Context, ns Namespace, id string, at time.Time) (Note, error)

	Apply(ctx context.Context, id string, op Operation) (applied bool, err error)
	Applied(ctx context.Context, id string) (bool, error)
	Recaller
	Keeper
}

type storeKey struct{}

// From returns the store that a task's body runs with; false where none was configured.
func From(ctx context.Context) (Store, bool) {
	s, ok := ctx.Value(storeKey{}).(Store)
	return s, ok
}

// With returns a context that carries the store, for tests of bodies.
func With(ctx context.Context, s Store) context.Context { return context.WithValue(ctx, storeKey{}, s) }
