// Package engine runs workflows durably: it drives the pure core over a Store, executes tasks, and keeps what they
// gave, so that a process killed at any instant goes on where it was.
//
//	db, err := sqlite.Open(ctx, sqlite.Config{Path: "cairn.db"})
//	e, err := engine.Open(ctx, engine.Config{Store: db, Workflows: []cairn.Definer{Hello}})
//	defer e.Close(ctx)
//	run, err := e.Start(ctx, "hello", json.RawMessage(`"world"`), engine.StartOptions{})
//	outcome, err := run.Wait(ctx)
//
// # The loop
//
//  1. A run's state is folded from its frames and rendered.
//  2. What happened since (results, timers, the inbox) goes into one step of the core.
//  3. The step's frame is committed, in one transaction.
//  4. Only then are its commands carried out: attempts start, others are cancelled, timers are set.
//  5. Meanwhile events queue; the next step takes all that have arrived and never waits for more.
//  6. The run ends, or parks: paused, blocked, or left for another process by a graceful stop.
//
// One goroutine owns a run. A lease, raised to a new epoch by each claim and checked by each write, keeps it the only
// one among all processes that share the store.
//
// # What is not safe
//
// Task bodies run at least once: a kill between an effect and its frame repeats the body, under the same idempotency
// key. A body that ignores its context can't be stopped: timeouts, cancellation and Close wait for it.
package engine
