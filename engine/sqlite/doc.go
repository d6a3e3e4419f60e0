// Package sqlite keeps runs in one SQLite database file: the engine.Store of a single machine, for one process or
// several.
//
// A workflow engine that needs a server needs someone who runs the server. Here a run is as durable as a file on a
// local disk: a method that has returned nil has waited for the disk, a kill at any instant loses nothing that was
// acknowledged, and a copy of the file is a copy of all runs.
//
//	store, err := sqlite.Open(ctx, sqlite.Config{Path: "runs.db"})
//	if err != nil {
//		return err
//	}
//	defer store.Close()
//	lease, err := store.Create(ctx, run, first, engine.Claim{Owner: me, TTL: time.Minute})
//	…
//	err = store.Commit(ctx, lease, next) // one frame, one transaction
//	…
//	err = store.Frames(ctx, "run-1", 1, func(n int64, body []byte) error { … })
//
// # What a step costs
//
// A commit writes the last page of its run's frames and the page that holds its row of the catalog: 9 KB of WAL, and
// one fsync, which commits of other runs share. Effects and consumed inbox items add a page each, a cache entry
// three or four, a use of one nothing but once a minute. In the file a step
// takes its frame's bytes and a fifth more when one run is written, two fifths when many are written at once.
//
// # How writes are fenced
//
// The epoch is the fence. Every claim raises it, and every write under a lease compares epoch and owner in the
// transaction that it writes in. That a lease has run out does not by itself refuse a write: as long as nobody has
// claimed the run there is no rival to protect it from, and whoever claims it raises the epoch in a transaction, which
// comes before the write or after it. Refusing by the clock would lose work whenever a machine sleeps, and protect
// nothing. A release, and the commit of a terminal status, clear the owner and so end the lease.
//
// # Repeating what may have happened
//
// When the outcome of a call is unknown (the process was killed, a context ended), call again. Commit, Record, Renew,
// Release, Delivered and an Append with a Dedupe key then do nothing twice. Three say instead that the run is there,
// and Run tells whether it is the caller's: Create and Import give RUN_EXISTS, because two starts of one run in the
// same millisecond look just like a repeated one; Claim gives LEASE_HELD by the caller's own owner, and a claim that
// names that epoch as Dead gets the lease. A repeated Postpone counts one try too many, and an Append without Dedupe
// appends again.
//
// # What is not safe
//
//   - Network file systems: SQLite's locks do not hold there.
//   - Clocks of processes that differ by more than a lease lasts. They share a machine, so they should not.
//   - Slow work in the function given to Frames: while it runs the WAL can't be reset and grows. Calling the store's
//     other methods from it is fine.
//   - Import of very long runs while others are driven: it is one transaction, and everyone waits for it.
//   - A process that is stopped (SIGSTOP, a debugger) in the middle of a write transaction: it holds the file's write lock, and
//     all other processes wait until it goes on or dies. A killed one holds nothing.
//   - Cache entries are written whole with their frame, and evicted a few at a time by commits that write others: after the
//     limits were lowered, or with entries of very different sizes, the cache is larger than its limit for a while.
//   - Large effects: each attempt to deliver one writes it again.
//   - A status that is terminal is final for this store, and the run's unread inbox items are dropped with it, unless it is
//     a failure that reopens.
//   - Strings are kept byte by byte, except those inside of an inbox event or a failure, which are JSON: there, bytes
//     that are not UTF-8 become U+FFFD.
package sqlite
