package storetest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// Open opens a store in one place, say a file. Further calls give further stores of the same place, as another process
// would have, or the same process after a restart. A store that is an io.Closer is closed by the suite. The clock is
// what leases and due times must be told by.
type Open func(t testing.TB, clock func() time.Time) engine.Store

// Test runs the suite. Each call of place makes a new, empty place.
func Test(t *testing.T, place func(t testing.TB) Open) {
	for _, group := range []struct {
		name  string
		rules []rule
	}{
		{"Catalog", catalogRules},
		{"Leases", leaseRules},
		{"Frames", frameRules},
		{"Successors", successorRules},
		{"Import", importRules},
		{"Inbox", inboxRules},
		{"Journal", journalRules},
		{"Outbox", outboxRules},
		{"Cache", cacheRules},
		{"Values", valueRules},
		{"Handles", handleRules},
	} {
		t.Run(group.name, func(t *testing.T) {
			for _, r := range group.rules {
				t.Run(r.name, func(t *testing.T) { r.check(newFixture(t, place(t))) })
			}
		})
	}
	t.Run("Model", func(t *testing.T) { testModel(t, place) })
	t.Run("Faults", func(t *testing.T) { testFaults(t, place) })
}

// rule is one promise of the interface.
type rule struct {
	name  string
	check func(f *fixture)
}

// Clock is a clock that a test moves.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// NewClock returns a clock that stands at a fixed moment.
func NewClock() *Clock { return &Clock{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)} }

// Now is the clock's time.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock, forwards or backwards.
func (c *Clock) Advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a store under test with what the rules need around it.
type fixture struct {
	engine.Store
	t     testing.TB
	ctx   context.Context
	open  Open
	clock *Clock
}

func newFixture(t testing.TB, open Open) *fixture {
	f := &fixture{t: t, ctx: context.Background(), open: open, clock: NewClock()}
	f.Store = f.another()
	return f
}

// another opens one more store in the same place.
func (f *fixture) another() engine.Store {
	f.t.Helper()
	s := f.open(f.t, f.clock.Now)
	f.t.Cleanup(func() { closeStore(f.t, s) })
	return s
}

func (f *fixture) reopen() {
	f.t.Helper()
	closeStore(f.t, f.Store)
	f.Store = f.another()
}

func closeStore(t testing.TB, s engine.Store) {
	if c, ok := s.(io.Closer); ok {
		if err := c.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// ok fails the test at once: a rule can't go on after a call that should have worked.
func (f *fixture) ok(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatalf("unexpected error: %v", err)
	}
}

// refused wants an error with the code, the run, and words on what is wrong and what to do.
func (f *fixture) refused(err error, code cairn.Code, run string) {
	f.t.Helper()
	var e *cairn.Error
	switch {
	case !errors.Is(err, code):
		f.t.Fatalf("error is %v, want %s", err, code)
	case !errors.As(err, &e):
		f.t.Fatalf("error is a %T, want a *cairn.Error", err)
	case e.Run != run || e.Message == "" || e.Next == "":
		f.t.Errorf("error %q names run %q, want %q, a message and what to do next", err, e.Run, run)
	}
}

func (f *fixture) equal(got, want any) {
	f.t.Helper()
	if g, w := show(got), show(want); g != w {
		f.t.Fatalf("got  %s\nwant %s", g, w)
	}
}

const ttl = time.Minute

// owner is a process of a test.
func owner(token string) engine.Owner {
	return engine.Owner{Token: token, Host: "host", PID: 42, Started: "boot-1"}
}

func claimBy(token string) engine.Claim { return engine.Claim{Owner: owner(token), TTL: ttl} }

// run is a run that a test writes to.
type run struct {
	f     *fixture
	id    string
	lease engine.Lease
	n     int64
	hash  string
}

// frame builds commit n after prev.
func frame(run string, n int64, prev string, change ...func(*engine.Commit)) engine.Commit {
	c := engine.Commit{N: n, Body: fmt.Appendf(nil, `{"n":%d,"run":%q}`, n, run), Prev: prev, Status: core.Running}
	for _, f := range change {
		f(&c)
	}
	c.Hash = core.Hash(c.Body)
	return c
}

// create makes a run with its first frame, driven by the owner "me".
func (f *fixture) create(id string, change ...func(*engine.Commit)) *run {
	f.t.Helper()
	first := frame(id, 1, "", change...)
	lease, err := f.Create(f.ctx, engine.NewRun{ID: id, Workflow: "flow", Version: "v1", Created: f.clock.Now()}, first, claimBy("me"))
	f.ok(err)
	return &run{f: f, id: id, lease: lease, n: 1, hash: first.Hash}
}

// next is the commit that follows.
func (r *run) next(change ...func(*engine.Commit)) engine.Commit {
	return frame(r.id, r.n+1, r.hash, change...)
}

// commit writes the commit that follows, and must be let.
func (r *run) commit(change ...func(*engine.Commit)) engine.Commit {
	r.f.t.Helper()
	c := r.next(change...)
	r.f.ok(r.f.Commit(r.f.ctx, r.lease, c))
	r.n, r.hash = c.N, c.Hash
	return c
}

// claim leases the run anew.
func (r *run) claim(c engine.Claim) {
	r.f.t.Helper()
	lease, err := r.f.Claim(r.f.ctx, r.id, c)
	r.f.ok(err)
	r.lease = lease
}

func (r *run) info() engine.RunInfo {
	r.f.t.Helper()
	info, err := r.f.Run(r.f.ctx, r.id)
	r.f.ok(err)
	return info
}

// bodies reads the run's frames from n on.
func bodies(ctx context.Context, s engine.Frames, run string, n int64) ([]string, error) {
	var list []string
	next := max(n, 1)
	err := s.Frames(ctx, run, n, func(n int64, body []byte) error {
		if n != next {
			return fmt.Errorf("frame %d follows frame %d", n, next-1)
		}
		next++
		list = append(list, string(body))
		return nil
	})
	return list, err
}

// Shorthands for what a commit may have.
func status(s core.Status) func(*engine.Commit)   { return func(c *engine.Commit) { c.Status = s } }
func consumed(seq int64) func(*engine.Commit)     { return func(c *engine.Commit) { c.Consumed = seq } }
func extend(d time.Duration) func(*engine.Commit) { return func(c *engine.Commit) { c.TTL = d } }
func body(b []byte) func(*engine.Commit)          { return func(c *engine.Commit) { c.Body = b } }
func effects(ids ...string) func(c *engine.Commit) {
	return func(c *engine.Commit) {
		for _, id := range ids {
			c.Effects = append(c.Effects, engine.Delivery{ID: id, Path: "at/" + id, Effect: cairn.Effect{Kind: "mail", Body: []byte(`{"to":"x"}`)}})
		}
	}
}
