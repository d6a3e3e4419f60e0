package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
	"pgregory.net/rapid"
)

// testModel makes random calls to a store, through two handles and with restarts between, and to the model, and wants
// the same answers. Names come from small pools, so that calls meet.
func testModel(t *testing.T, place func(t testing.TB) Open) {
	rapid.Check(t, func(rt *rapid.T) {
		clock := NewClock()
		p := &pair{t: rt, ctx: context.Background(), clock: clock, model: &model{clock: clock.Now}}
		open := place(t)
		for i := range p.stores {
			p.stores[i] = open(t, clock.Now)
		}
		defer func() {
			for _, s := range p.stores {
				closeStore(t, s)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"create": p.create, "import": p.imports, "claim": p.claim, "renew": p.renew, "release": p.release,
			"commit": p.commit, "commit again": p.commit, "commit more": p.commit, "append": p.append, "record": p.record,
			"due": p.due, "delivered": p.delivered, "postpone": p.postpone,
			"hold": p.hold, "free": p.free, "lookup": p.lookup, "forget": p.forget,
			"advance": func(rt *rapid.T) {
				clock.Advance(rapid.SampledFrom([]time.Duration{time.Millisecond, time.Second, hold, ttl, -time.Second}).Draw(rt, "by"))
			},
			"reopen": func(rt *rapid.T) {
				i := rapid.IntRange(0, 1).Draw(rt, "store")
				if _, is := p.stores[i].(*model); is {
					return
				}
				closeStore(t, p.stores[i])
				p.stores[i] = open(t, clock.Now)
			},
			"": p.compareSome,
		})
		for _, s := range p.stores {
			p.compare(rt, s, "a", "b", "c")
		}
	})
}

// pair is a store under test beside the model.
type pair struct {
	t      *rapid.T
	ctx    context.Context
	clock  *Clock
	stores [2]engine.Store
	model  *model
	leases []engine.Lease // all there ever were
	past   []engine.Commit
	turn   int
}

var cacheKeys = rapid.SampledFrom([]string{"k1", "k2", "other"})

var (
	ids    = rapid.SampledFrom([]string{"a", "b", "c"})
	owners = rapid.SampledFrom([]string{"me", "you", ""})
	names  = rapid.SampledFrom([]string{"", "x", "y"})
	times  = rapid.SampledFrom([]time.Duration{0, time.Second, ttl, -time.Second})
)

func (p *pair) store(t *rapid.T) engine.Store {
	return p.stores[rapid.IntRange(0, 1).Draw(t, "store")]
}

// agree wants the same answer of both. Codes of engine.Store have to be the same, other errors only to be errors.
func agree(t *rapid.T, what string, got, want any, err, wantErr error) {
	t.Helper()
	if (err == nil) != (wantErr == nil) {
		t.Fatalf("%s: error %v, want %v", what, err, wantErr)
	}
	for _, code := range []cairn.Code{engine.RunNotFound, engine.RunExists, engine.RunEnded, engine.LeaseHeld, engine.LeaseLost, engine.FrameConflict} {
		if errors.Is(err, code) != errors.Is(wantErr, code) {
			t.Fatalf("%s: error %v, want %v", what, err, wantErr)
		}
	}
	if g, w := show(got), show(want); g != w && err == nil {
		t.Fatalf("%s:\ngot  %s\nwant %s", what, g, w)
	}
}

func (p *pair) drawClaim(t *rapid.T) engine.Claim {
	return engine.Claim{Owner: owner(owners.Draw(t, "owner")), TTL: times.Draw(t, "ttl"), Dead: int64(rapid.IntRange(0, 3).Draw(t, "dead")), Reopen: rapid.Bool().Draw(t, "reopen")}
}

func (p *pair) drawLease(t *rapid.T) engine.Lease {
	if len(p.leases) == 0 {
		t.Skip("no leases yet")
	}
	// The last ones most of the time, or hardly a commit would be let.
	back := rapid.IntRange(0, min(len(p.leases), 4)-1).Draw(t, "leases back")
	return p.leases[len(p.leases)-1-back]
}

// drawCommit draws a commit that mostly follows.
func (p *pair) drawCommit(t *rapid.T, run string) engine.Commit {
	info, _ := p.model.Run(p.ctx, run)
	c := frame(run, info.Head+1, info.Hash, body([]byte(rapid.StringN(1, 20, -1).Draw(t, "body"))))
	switch rapid.IntRange(0, 11).Draw(t, "kind") {
	case 0:
		c.N += int64(rapid.IntRange(-2, 2).Draw(t, "off"))
	case 1:
		c.Prev = "another"
	case 2:
		if len(p.past) > 0 {
			return rapid.SampledFrom(p.past).Draw(t, "past")
		}
	case 3:
		c.Status = rapid.SampledFrom([]core.Status{core.Finished, core.Failed, core.Continued}).Draw(t, "status")
		c.Result = []byte(`{"done":1}`)
		if c.Status == core.Failed {
			c.Failure = &cairn.Failure{Code: rapid.SampledFrom([]cairn.Code{cairn.BudgetExceeded, cairn.CodeChanged}).Draw(t, "code"), Message: "over"}
		}
	case 6:
		succeeded(&fixture{clock: p.clock}, ids.Draw(t, "successor"))(&c)
		c.Successor.Claim = engine.Claim{Owner: owner(owners.Draw(t, "heir's owner")), TTL: ttl}
	case 4, 5:
		c.Status = rapid.SampledFrom([]core.Status{core.Paused, core.Blocked, core.Running}).Draw(t, "status")
		c.Failure = &cairn.Failure{Code: cairn.CodeChanged, Message: "differs"}
	}
	items, _ := p.model.Unread(p.ctx, info.Owner.Token)
	for _, item := range items {
		if item.Run == run && rapid.Bool().Draw(t, "take") {
			c.Consumed = item.Seq
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "effects") {
		effects(rapid.StringMatching(`[a-d]`).Draw(t, "effect"))(&c)
	}
	for range rapid.IntRange(0, 2).Draw(t, "memos") {
		memo(cacheKeys.Draw(t, "memo"), rapid.StringMatching(`[1-9]{1,3}`).Draw(t, "output"), max(times.Draw(t, "memo's ttl"), 0))(&c)
	}
	c.TTL = max(times.Draw(t, "ttl"), 0)
	p.past = append(p.past, c)
	return c
}

func (p *pair) create(t *rapid.T) {
	run := engine.NewRun{ID: ids.Draw(t, "run"), Workflow: names.Draw(t, "workflow"), Created: p.clock.Now()}
	first, claim := p.drawCommit(t, run.ID), p.drawClaim(t)
	first.Consumed, first.Successor = 0, nil
	got, err := p.store(t).Create(p.ctx, run, first, claim)
	want, wantErr := p.model.Create(p.ctx, run, first, claim)
	agree(t, "Create", got, want, err, wantErr)
	if err == nil {
		p.leases = append(p.leases, got)
	}
}

func (p *pair) imports(t *rapid.T) {
	run := engine.NewRun{ID: ids.Draw(t, "run"), Created: p.clock.Now()}
	frames := chain(run.ID, rapid.IntRange(0, 3).Draw(t, "frames"))
	if len(frames) > 0 {
		at := rapid.IntRange(0, len(frames)-1).Draw(t, "at")
		frames[at].Consumed = int64(rapid.IntRange(0, 3).Draw(t, "consumed"))
		frames[at].N += int64(max(rapid.IntRange(-3, 1).Draw(t, "off"), 0))
	}
	entries := []engine.Entry{entry("p", "x", 1, `1`)}
	err := p.store(t).Import(p.ctx, run, frames, entries)
	agree(t, "Import", nil, nil, err, p.model.Import(p.ctx, run, frames, entries))
}

func (p *pair) claim(t *rapid.T) {
	run, claim := ids.Draw(t, "run"), p.drawClaim(t)
	got, err := p.store(t).Claim(p.ctx, run, claim)
	want, wantErr := p.model.Claim(p.ctx, run, claim)
	if claim.Owner.Token == "" || claim.TTL <= 0 {
		if err == nil || wantErr == nil {
			t.Fatalf("Claim took %+v", claim)
		}
		return
	}
	agree(t, "Claim", got, want, err, wantErr)
	if err == nil {
		p.leases = append(p.leases, got)
	}
}

func (p *pair) renew(t *rapid.T) {
	leases := []engine.Lease{p.drawLease(t), p.drawLease(t)}
	got, err := p.store(t).Renew(p.ctx, leases, ttl)
	want, wantErr := p.model.Renew(p.ctx, leases, ttl)
	agree(t, "Renew", got, want, err, wantErr)
}

func (p *pair) release(t *rapid.T) {
	lease := p.drawLease(t)
	agree(t, "Release", nil, nil, p.store(t).Release(p.ctx, lease), p.model.Release(p.ctx, lease))
}

func (p *pair) commit(t *rapid.T) {
	lease := p.drawLease(t)
	c := p.drawCommit(t, lease.Run)
	before, _ := p.model.Run(p.ctx, lease.Run)
	err := p.store(t).Commit(p.ctx, lease, c)
	agree(t, "Commit", nil, nil, err, p.model.Commit(p.ctx, lease, c))
	if next := c.Successor; err == nil && next != nil && !before.Status.Terminal() {
		p.leases = append(p.leases, engine.Lease{Run: next.Run.ID, Epoch: 1, Owner: next.Claim.Owner.Token})
	}
}

func (p *pair) append(t *rapid.T) {
	run, item := ids.Draw(t, "run"), signal(names.Draw(t, "signal"), names.Draw(t, "dedupe"))
	got, err := p.store(t).Append(p.ctx, run, item)
	want, wantErr := p.model.Append(p.ctx, run, item)
	agree(t, "Append", got, want, err, wantErr)
}

func (p *pair) record(t *rapid.T) {
	lease := p.drawLease(t)
	e := entry(rapid.SampledFrom([]string{"p", "p/q"}).Draw(t, "path"), names.Draw(t, "name"), 1, rapid.StringN(0, 3, -1).Draw(t, "value"))
	agree(t, "Record", nil, nil, p.store(t).Record(p.ctx, lease, e), p.model.Record(p.ctx, lease, e))
}

func (p *pair) due(t *rapid.T) {
	got, err := p.store(t).Due(p.ctx, hold, 100)
	want, wantErr := p.model.Due(p.ctx, hold, 100)
	agree(t, "Due", byID(got), byID(want), err, wantErr)
}

func (p *pair) delivered(t *rapid.T) {
	id := rapid.StringMatching(`[a-d]`).Draw(t, "effect")
	agree(t, "Delivered", nil, nil, p.store(t).Delivered(p.ctx, id), p.model.Delivered(p.ctx, id))
}

func (p *pair) postpone(t *rapid.T) {
	id, wait := rapid.StringMatching(`[a-d]`).Draw(t, "effect"), times.Draw(t, "wait")
	agree(t, "Postpone", nil, nil, p.store(t).Postpone(p.ctx, id, wait, "why"), p.model.Postpone(p.ctx, id, wait, "why"))
}

func (p *pair) hold(t *rapid.T) {
	key, owner, ttl := cacheKeys.Draw(t, "key"), owners.Draw(t, "owner"), times.Draw(t, "ttl")
	got, err := p.store(t).Hold(p.ctx, key, owner, ttl)
	want, wantErr := p.model.Hold(p.ctx, key, owner, ttl)
	agree(t, "Hold", got, want, err, wantErr)
}

func (p *pair) free(t *rapid.T) {
	key, owner := cacheKeys.Draw(t, "key"), owners.Draw(t, "owner")
	agree(t, "Free", nil, nil, p.store(t).Free(p.ctx, key, owner), p.model.Free(p.ctx, key, owner))
}

func (p *pair) lookup(t *rapid.T) {
	key, age := cacheKeys.Draw(t, "key"), max(times.Draw(t, "age"), 0)
	got, ok, err := p.store(t).Lookup(p.ctx, key, age)
	want, wantOK, wantErr := p.model.Lookup(p.ctx, key, age)
	got.Bytes = 0 // the store's own affair
	agree(t, "Lookup", []any{got, ok}, []any{want, wantOK}, err, wantErr)
}

func (p *pair) forget(t *rapid.T) {
	prefix := rapid.SampledFrom([]string{"", "k", "k1"}).Draw(t, "prefix")
	got, err := p.store(t).Forget(p.ctx, prefix)
	want, wantErr := p.model.Forget(p.ctx, prefix)
	agree(t, "Forget", got, want, err, wantErr)
}

// compareSome compares another part after each call: all of it each time takes most of a test's time.
func (p *pair) compareSome(t *rapid.T) {
	p.turn++
	p.compare(t, p.stores[p.turn%2], []string{"a", "b", "c"}[p.turn%3])
}

// compare compares the catalog, what there is to read, and all of some runs.
func (p *pair) compare(t *rapid.T, s engine.Store, runs ...string) {
	got, err := s.Runs(p.ctx, engine.Query{})
	want, wantErr := p.model.Runs(p.ctx, engine.Query{})
	agree(t, "Runs", got, want, err, wantErr)
	for _, o := range []string{"me", "you"} {
		got, err := s.Unread(p.ctx, o)
		want, wantErr := p.model.Unread(p.ctx, o)
		agree(t, "Unread of "+o, perRun(got), perRun(want), err, wantErr)
	}
	for _, run := range runs {
		got, err := bodies(p.ctx, s, run, 1)
		want, wantErr := bodies(p.ctx, p.model, run, 1)
		agree(t, "Frames of "+run, got, want, err, wantErr)
		for _, path := range []string{"", "p"} {
			got, err := s.Entries(p.ctx, run, path)
			want, wantErr := p.model.Entries(p.ctx, run, path)
			agree(t, "Entries of "+run, values(got), values(want), err, wantErr)
		}
	}
}

// values makes entries comparable whose values are no JSON.
func values(list []engine.Entry) [][]any {
	var out [][]any
	for _, e := range list {
		out = append(out, []any{e.Path, e.Name, e.Attempt, string(e.Value)})
	}
	return out
}

// perRun groups items: the order of runs is nobody's business. A store may set the event's number.
func perRun(list []engine.Item) map[string][]engine.Item {
	out := map[string][]engine.Item{}
	for _, item := range list {
		item.Event.Seq = 0
		out[item.Run] = append(out[item.Run], item)
	}
	return out
}
