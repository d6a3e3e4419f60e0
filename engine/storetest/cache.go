package storetest

import (
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// memo makes a commit store an entry.
func memo(key, output string, ttl time.Duration) func(*engine.Commit) {
	return func(c *engine.Commit) {
		c.Cache = append(c.Cache, engine.CacheWrite{TTL: ttl, Entry: engine.CacheEntry{Key: key, Workflow: "flow", Run: "r", Path: "at/" + key,
			Scope: "global", Identity: "m-1", Schema: "s", Output: []byte(output)}})
	}
}

func used(key string) func(*engine.Commit) {
	return func(c *engine.Commit) {
		c.Cache = append(c.Cache, engine.CacheWrite{Used: true, Entry: engine.CacheEntry{Key: key}})
	}
}

// cached is the output under a key, "" for a miss.
func (f *fixture) cached(key string, maxAge time.Duration) string {
	f.t.Helper()
	e, ok, err := f.Lookup(f.ctx, key, maxAge)
	f.ok(err)
	if !ok {
		f.equal(e, engine.CacheEntry{})
	}
	return string(e.Output)
}

// cachedKeys lists the keys, the last used first.
func (f *fixture) cachedKeys(prefix string, limit int) (keys []string) {
	f.t.Helper()
	list, err := f.Cached(f.ctx, prefix, limit)
	f.ok(err)
	for _, e := range list {
		f.equal(len(e.Output), 0)
		keys = append(keys, e.Key)
	}
	return keys
}

func (f *fixture) held(key, owner string, ttl time.Duration) bool {
	f.t.Helper()
	held, err := f.Hold(f.ctx, key, owner, ttl)
	f.ok(err)
	return held
}

var cacheRules = []rule{
	{"an entry is there with its commit, whole", func(f *fixture) {
		r := f.create("r", memo("first", `1`, 0))
		f.equal(f.cached("a", 0), "")
		c := r.commit(memo("a", `{"x":1}`, time.Hour), func(c *engine.Commit) {
			c.Cache[0].Entry.Artifacts = []cairn.Artifact{{Name: "n", Hash: "h", Size: 3}}
		})
		f.reopen()
		got, ok, err := f.Lookup(f.ctx, "a", 0)
		f.ok(err)
		want := c.Cache[0].Entry
		want.Created, want.Used, want.Expires, want.Bytes = f.clock.Now(), f.clock.Now(), f.clock.Now().Add(time.Hour), got.Bytes
		f.equal(ok, true)
		f.equal(got, want)
		f.equal(f.cached("first", 0), "1")
		f.equal(f.cached("none", 0), "")
	}},
	{"a refused commit stores no entry", func(f *fixture) {
		r := f.create("r")
		c := r.next(memo("a", `1`, 0))
		c.Prev = "another"
		f.refused(f.Commit(f.ctx, r.lease, c), engine.FrameConflict, "r")
		r.lease.Epoch++
		f.refused(f.Commit(f.ctx, r.lease, r.next(memo("a", `1`, 0))), engine.LeaseLost, "r")
		f.equal(f.cached("a", 0), "")
	}},
	{"an imported run brings no entries", func(f *fixture) {
		frames := chain("r", 2)
		memo("a", `1`, 0)(&frames[1])
		f.ok(f.Import(f.ctx, engine.NewRun{ID: "r", Created: f.clock.Now()}, frames, nil))
		f.equal(f.cached("a", 0), "")
	}},
	{"a later entry replaces the one before, whatever the run's status", func(f *fixture) {
		r := f.create("r", memo("a", `1`, 0))
		r.commit(memo("a", `2`, 0))
		f.equal(f.cached("a", 0), "2")
		r.commit(status(core.Finished), memo("a", `3`, 0))
		f.equal(f.cached("a", 0), "3")
		f.equal(f.cachedKeys("", 9), []string{"a"})
		stats, err := f.CacheStats(f.ctx)
		f.ok(err)
		f.equal(stats.Entries, int64(1))
	}},
	{"an entry runs out to the millisecond", func(f *fixture) {
		f.create("r", memo("a", `1`, time.Hour))
		f.clock.Advance(time.Hour - time.Millisecond)
		f.equal(f.cached("a", 0), "1")
		f.clock.Advance(time.Millisecond)
		f.equal(f.cached("a", 0), "")
		f.clock.Advance(time.Millisecond)
		f.equal(f.cached("a", 0), "")
	}},
	{"an entry is too old to the millisecond", func(f *fixture) {
		f.create("r", memo("a", `1`, 0))
		f.clock.Advance(time.Minute - time.Millisecond)
		f.equal(f.cached("a", time.Minute), "1")
		f.clock.Advance(time.Millisecond)
		f.equal(f.cached("a", time.Minute), "")
		f.equal(f.cached("a", time.Minute+time.Millisecond), "1")
		f.equal(f.cached("a", 0), "1")
	}},
	{"a hold keeps others out until it ends", func(f *fixture) {
		f.equal(f.held("a", "me", ttl), true)
		f.equal(f.held("a", "you", ttl), false)
		f.equal(f.held("b", "you", ttl), true)
		f.clock.Advance(ttl - time.Millisecond)
		f.equal(f.held("a", "you", ttl), false)
		f.clock.Advance(time.Millisecond)
		f.equal(f.held("a", "you", ttl), true)
		f.equal(f.held("a", "me", ttl), false)
	}},
	{"an owner holds on", func(f *fixture) {
		f.equal(f.held("a", "me", ttl), true)
		f.clock.Advance(ttl / 2)
		f.equal(f.held("a", "me", ttl), true)
		f.clock.Advance(ttl / 2)
		f.equal(f.held("a", "you", ttl), false)
	}},
	{"a hold can be freed by its owner", func(f *fixture) {
		f.equal(f.held("a", "me", ttl), true)
		f.ok(f.Free(f.ctx, "a", "you"))
		f.equal(f.held("a", "you", ttl), false)
		f.ok(f.Free(f.ctx, "a", "me"))
		f.ok(f.Free(f.ctx, "a", "me"))
		f.equal(f.held("a", "you", ttl), true)
	}},
	{"a hold ends with the commit of its entry", func(f *fixture) {
		r := f.create("r")
		f.equal(f.held("a", "r", ttl), true)
		r.commit(memo("b", `1`, 0))
		f.equal(f.held("a", "you", ttl), false)
		r.commit(memo("a", `1`, 0))
		f.equal(f.held("a", "you", ttl), true)
	}},
	{"what was used last comes first, and the limit holds", func(f *fixture) {
		r := f.create("r", memo("a1", `1`, 0))
		for _, key := range []string{"b2", "a2"} {
			f.clock.Advance(time.Hour)
			r.commit(memo(key, `1`, 0))
		}
		f.equal(f.cachedKeys("", 9), []string{"a2", "b2", "a1"})
		f.clock.Advance(time.Hour)
		r.commit(used("a1"), used("none"))
		f.equal(f.cachedKeys("", 2), []string{"a1", "a2"})
		f.equal(f.cachedKeys("a", 9), []string{"a1", "a2"})
		f.equal(f.cachedKeys("c", 9), []string(nil))
	}},
	{"entries are forgotten by prefix", func(f *fixture) {
		f.create("r", memo("a1", `1`, 0), memo("a2", `1`, 0), memo("b1", `1`, 0))
		for _, c := range []struct {
			prefix string
			gone   int
			left   []string
		}{{"c", 0, []string{"a1", "a2", "b1"}}, {"a1", 1, []string{"a2", "b1"}}, {"a", 1, []string{"b1"}}, {"", 1, nil}} {
			n, err := f.Forget(f.ctx, c.prefix)
			f.ok(err)
			f.equal(n, c.gone)
			f.equal(f.cachedKeys("", 9), c.left)
		}
		stats, err := f.CacheStats(f.ctx)
		f.ok(err)
		f.equal([]any{stats.Entries, stats.Bytes}, []any{int64(0), int64(0)})
	}},
	{"the sums are those of what is there", func(f *fixture) {
		f.create("r", memo("a", `1`, 0), memo("b", `"some more"`, 0))
		f.held("c", "me", ttl)
		f.held("d", "me", 2*ttl)
		f.clock.Advance(ttl)
		stats, err := f.CacheStats(f.ctx)
		f.ok(err)
		f.equal([]any{stats.Entries, stats.Held}, []any{int64(2), int64(1)})
	}},
}
