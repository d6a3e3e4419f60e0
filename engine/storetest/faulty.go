package storetest

import (
	"context"
	"sync"
	"time"

	"github.com/cairnrun/cairn/engine"
)

// Moment is when a fault strikes.
type Moment int

const (
	// Before: the call fails and has done nothing.
	Before Moment = iota
	// After: the call has had its effect, and its acknowledgement is lost.
	After
)

// FaultyStore fails at one of its calls and works otherwise. It is safe for concurrent use.
type FaultyStore struct {
	inner engine.Store
	n     int
	when  Moment
	err   error

	mu    sync.Mutex // guards calls
	calls int
}

var _ engine.Store = (*FaultyStore)(nil)

// Faulty returns a store that passes calls on, but whose n-th call, counted from 1, fails with err. A scenario that is
// run with n = 1, 2, … until Reached says false has met a fault at each of its calls:
//
//	for n := 1; ; n++ {
//		store := storetest.Faulty(open(t), n, storetest.After, errDisk)
//		scenario(t, store)
//		if !store.Reached() {
//			break
//		}
//	}
func Faulty(inner engine.Store, n int, when Moment, err error) *FaultyStore {
	return &FaultyStore{inner: inner, n: n, when: when, err: err}
}

// Calls returns how many calls there were.
func (f *FaultyStore) Calls() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls
}

// Reached says whether the failing call was made.
func (f *FaultyStore) Reached() bool { return f.Calls() >= f.n }

// one makes one call. A failing call returns no result.
func one[T any](f *FaultyStore, call func() (T, error)) (T, error) {
	f.mu.Lock()
	f.calls++
	fails := f.calls == f.n
	f.mu.Unlock()
	if !fails {
		return call()
	}
	if f.when == After {
		call() // whatever it said is lost too
	}
	var none T
	return none, f.err
}

// do is one for a call without a result.
func (f *FaultyStore) do(call func() error) error {
	_, err := one(f, func() (struct{}, error) { return struct{}{}, call() })
	return err
}

// Run is Run of the store inside, or the fault.
func (f *FaultyStore) Run(ctx context.Context, id string) (engine.RunInfo, error) {
	return one(f, func() (engine.RunInfo, error) { return f.inner.Run(ctx, id) })
}

// Runs is Runs of the store inside, or the fault.
func (f *FaultyStore) Runs(ctx context.Context, q engine.Query) ([]engine.RunInfo, error) {
	return one(f, func() ([]engine.RunInfo, error) { return f.inner.Runs(ctx, q) })
}

// Claim is Claim of the store inside, or the fault.
func (f *FaultyStore) Claim(ctx context.Context, run string, claim engine.Claim) (engine.Lease, error) {
	return one(f, func() (engine.Lease, error) { return f.inner.Claim(ctx, run, claim) })
}

// Renew is Renew of the store inside, or the fault.
func (f *FaultyStore) Renew(ctx context.Context, leases []engine.Lease, ttl time.Duration) ([]string, error) {
	return one(f, func() ([]string, error) { return f.inner.Renew(ctx, leases, ttl) })
}

// Release is Release of the store inside, or the fault.
func (f *FaultyStore) Release(ctx context.Context, lease engine.Lease) error {
	return f.do(func() error { return f.inner.Release(ctx, lease) })
}

// Create is Create of the store inside, or the fault.
func (f *FaultyStore) Create(ctx context.Context, run engine.NewRun, first engine.Commit, claim engine.Claim) (engine.Lease, error) {
	return one(f, func() (engine.Lease, error) { return f.inner.Create(ctx, run, first, claim) })
}

// Commit is Commit of the store inside, or the fault.
func (f *FaultyStore) Commit(ctx context.Context, lease engine.Lease, c engine.Commit) error {
	return f.do(func() error { return f.inner.Commit(ctx, lease, c) })
}

// Frames is Frames of the store inside, or the fault.
func (f *FaultyStore) Frames(ctx context.Context, run string, n int64, fn func(n int64, body []byte) error) error {
	return f.do(func() error { return f.inner.Frames(ctx, run, n, fn) })
}

// Import is Import of the store inside, or the fault.
func (f *FaultyStore) Import(ctx context.Context, run engine.NewRun, frames []engine.Commit, entries []engine.Entry) error {
	return f.do(func() error { return f.inner.Import(ctx, run, frames, entries) })
}

// Append is Append of the store inside, or the fault.
func (f *FaultyStore) Append(ctx context.Context, run string, item engine.Item) (int64, error) {
	return one(f, func() (int64, error) { return f.inner.Append(ctx, run, item) })
}

// Unread is Unread of the store inside, or the fault.
func (f *FaultyStore) Unread(ctx context.Context, owner string) ([]engine.Item, error) {
	return one(f, func() ([]engine.Item, error) { return f.inner.Unread(ctx, owner) })
}

// Record is Record of the store inside, or the fault.
func (f *FaultyStore) Record(ctx context.Context, lease engine.Lease, e engine.Entry) error {
	return f.do(func() error { return f.inner.Record(ctx, lease, e) })
}

// Entries is Entries of the store inside, or the fault.
func (f *FaultyStore) Entries(ctx context.Context, run, path string) ([]engine.Entry, error) {
	return one(f, func() ([]engine.Entry, error) { return f.inner.Entries(ctx, run, path) })
}

// Due is Due of the store inside, or the fault.
func (f *FaultyStore) Due(ctx context.Context, hold time.Duration, limit int) ([]engine.Delivery, error) {
	return one(f, func() ([]engine.Delivery, error) { return f.inner.Due(ctx, hold, limit) })
}

// Delivered is Delivered of the store inside, or the fault.
func (f *FaultyStore) Delivered(ctx context.Context, id string) error {
	return f.do(func() error { return f.inner.Delivered(ctx, id) })
}

// Postpone is Postpone of the store inside, or the fault.
func (f *FaultyStore) Postpone(ctx context.Context, id string, wait time.Duration, why string) error {
	return f.do(func() error { return f.inner.Postpone(ctx, id, wait, why) })
}

// Lookup is Lookup of the store inside, or the fault.
func (f *FaultyStore) Lookup(ctx context.Context, key string, maxAge time.Duration) (entry engine.CacheEntry, ok bool, err error) {
	err = f.do(func() (err error) { entry, ok, err = f.inner.Lookup(ctx, key, maxAge); return err })
	if err != nil {
		return engine.CacheEntry{}, false, err
	}
	return entry, ok, nil
}

// Hold is Hold of the store inside, or the fault.
func (f *FaultyStore) Hold(ctx context.Context, key, owner string, ttl time.Duration) (bool, error) {
	return one(f, func() (bool, error) { return f.inner.Hold(ctx, key, owner, ttl) })
}

// Free is Free of the store inside, or the fault.
func (f *FaultyStore) Free(ctx context.Context, key, owner string) error {
	return f.do(func() error { return f.inner.Free(ctx, key, owner) })
}

// Cached is Cached of the store inside, or the fault.
func (f *FaultyStore) Cached(ctx context.Context, prefix string, limit int) ([]engine.CacheEntry, error) {
	return one(f, func() ([]engine.CacheEntry, error) { return f.inner.Cached(ctx, prefix, limit) })
}

// Forget is Forget of the store inside, or the fault.
func (f *FaultyStore) Forget(ctx context.Context, prefix string) (int, error) {
	return one(f, func() (int, error) { return f.inner.Forget(ctx, prefix) })
}

// CacheStats is CacheStats of the store inside, or the fault.
func (f *FaultyStore) CacheStats(ctx context.Context) (engine.CacheStats, error) {
	return one(f, func() (engine.CacheStats, error) { return f.inner.CacheStats(ctx) })
}
