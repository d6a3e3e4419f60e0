package storetest

import (
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

var leaseRules = []rule{
	{"a live lease is LEASE_HELD, for its own owner too", func(f *fixture) {
		r := f.create("r")
		f.clock.Advance(ttl - time.Millisecond)
		for _, token := range []string{"other", "me"} {
			_, err := f.Claim(f.ctx, "r", claimBy(token))
			f.refused(err, engine.LeaseHeld, "r")
		}
		r.commit()
	}},
	{"a lease that has run out can be claimed, which raises the epoch and nothing else", func(f *fixture) {
		r := f.create("r")
		before := r.info()
		f.clock.Advance(ttl)
		lease, err := f.Claim(f.ctx, "r", claimBy("other"))
		f.ok(err)
		until := f.clock.Now().Add(ttl)
		f.equal(lease, engine.Lease{Run: "r", Epoch: 2, Owner: "other", Until: until})
		before.Epoch, before.Owner, before.Until = 2, owner("other"), until
		f.equal(r.info(), before)
	}},
	{"every claim raises the epoch and fences the lease before, of the same owner too", func(f *fixture) {
		r := f.create("r")
		for epoch := int64(2); epoch < 5; epoch++ {
			old := r.lease
			f.clock.Advance(ttl)
			r.claim(claimBy("me"))
			f.equal(r.lease.Epoch, epoch)
			f.fenced(r, old)
			r.commit()
		}
	}},
	{"an expired lease still writes until somebody claims the run", func(f *fixture) {
		r := f.create("r")
		f.clock.Advance(10 * ttl)
		r.commit()
		f.ok(f.Record(f.ctx, r.lease, engine.Entry{Path: "p", Value: []byte("1")}))
		lost, err := f.Renew(f.ctx, []engine.Lease{r.lease}, ttl)
		f.ok(err)
		f.equal(lost, []string(nil))
		_, err = f.Claim(f.ctx, "r", claimBy("other"))
		f.refused(err, engine.LeaseHeld, "r")
	}},
	{"the epoch of a dead process need not run out", func(f *fixture) {
		r := f.create("r")
		old, claim := r.lease, claimBy("other")
		for _, wrong := range []int64{2, -1} {
			claim.Dead = wrong
			_, err := f.Claim(f.ctx, "r", claim)
			f.refused(err, engine.LeaseHeld, "r")
		}
		claim.Dead = 1
		r.claim(claim)
		f.equal(r.lease.Epoch, int64(2))
		f.fenced(r, old)
		_, err := f.Claim(f.ctx, "r", claim) // that epoch is gone
		f.refused(err, engine.LeaseHeld, "r")
	}},
	{"a released run can be claimed at once, and the released lease writes no more", func(f *fixture) {
		r := f.create("r")
		f.ok(f.Release(f.ctx, r.lease))
		f.equal([]any{r.info().Epoch, r.info().Owner, r.info().Until, r.info().Status}, []any{1, engine.Owner{}, time.Time{}, core.Running})
		f.fenced(r, r.lease)
		f.ok(f.Release(f.ctx, r.lease)) // again
		r.claim(claimBy("other"))
		f.equal(r.lease.Epoch, int64(2))
		r.commit()
	}},
	{"a lease needs its owner", func(f *fixture) {
		r := f.create("r")
		for _, token := range []string{"other", ""} {
			forged := r.lease
			forged.Owner = token
			f.fenced(r, forged)
		}
		f.ok(f.Release(f.ctx, r.lease))
		f.fenced(r, engine.Lease{Run: "r", Epoch: 1})
	}},
	{"releasing a lost lease does nothing", func(f *fixture) {
		r := f.create("r")
		old := r.lease
		f.clock.Advance(ttl)
		r.claim(claimBy("me"))
		before := r.info()
		f.ok(f.Release(f.ctx, old))
		f.equal(r.info(), before)
	}},
	{"renewing extends what is held and names what is lost", func(f *fixture) {
		var leases []engine.Lease
		for i := range 5 {
			leases = append(leases, f.create(fmt.Sprint("r", i)).lease)
		}
		f.clock.Advance(ttl)
		_, err := f.Claim(f.ctx, "r1", claimBy("other"))
		f.ok(err)
		f.ok(f.Release(f.ctx, leases[3]))
		lost, err := f.Renew(f.ctx, leases, 2*ttl)
		f.ok(err)
		f.equal(lost, []string{"r1", "r3"})
		for i, want := range []time.Duration{2 * ttl, ttl, 2 * ttl, 0, 2 * ttl} {
			info, err := f.Run(f.ctx, fmt.Sprint("r", i))
			f.ok(err)
			if want == 0 {
				f.equal(info.Until, time.Time{})
				continue
			}
			f.equal(info.Until, f.clock.Now().Add(want))
		}
		lost, err = f.Renew(f.ctx, nil, ttl)
		f.ok(err)
		f.equal(lost, []string(nil))
	}},
	{"a commit extends the lease if it says so", func(f *fixture) {
		r := f.create("r")
		until := r.info().Until
		f.clock.Advance(time.Second)
		r.commit()
		f.equal(r.info().Until, until)
		r.commit(extend(2 * ttl))
		f.equal(r.info().Until, f.clock.Now().Add(2*ttl))
		r.commit(status(core.Paused), extend(3*ttl))
		f.equal(r.info().Until, f.clock.Now().Add(3*ttl))
	}},
	{"the end of a run ends its lease, and nobody can claim it", func(f *fixture) {
		for _, st := range []core.Status{core.Finished, core.Failed, core.CancelledRun, core.Continued} {
			r := f.create(string(st))
			r.commit(status(st))
			f.equal([]any{r.info().Status, r.info().Owner, r.info().Until}, []any{st, engine.Owner{}, time.Time{}})
			f.fenced(r, r.lease)
			for _, dead := range []int64{0, 1} {
				claim := claimBy("me")
				claim.Dead = dead
				f.clock.Advance(2 * ttl)
				_, err := f.Claim(f.ctx, r.id, claim)
				f.refused(err, engine.RunEnded, r.id)
			}
		}
	}},
	{"a run that failed by its budget can be claimed to be reopened, and goes on; no other ended one can", func(f *fixture) {
		claim := claimBy("me")
		claim.Reopen = true
		for _, st := range []core.Status{core.Finished, core.CancelledRun, core.Continued, core.Failed} {
			r := f.create(string(st))
			r.commit(status(st))
			_, err := f.Claim(f.ctx, r.id, claim)
			f.refused(err, engine.RunEnded, r.id)
		}
		r := f.create("r")
		r.commit(status(core.Failed), func(c *engine.Commit) { c.Failure = &cairn.Failure{Code: cairn.BudgetExceeded} })
		var err error
		r.lease, err = f.Claim(f.ctx, r.id, claim)
		f.ok(err)
		f.equal(r.lease.Epoch, int64(2))
		f.equal(r.info().Status, core.Failed) // until a frame says otherwise
		r.commit()
		f.equal([]any{r.info().Status, r.info().Failure}, []any{core.Running, (*cairn.Failure)(nil)})
		_, err = f.Append(f.ctx, r.id, engine.Item{Event: core.Event{Kind: core.PauseAsked}})
		f.ok(err)
		r.commit(status(core.Finished))
		f.equal(r.info().Status, core.Finished)
	}},
	{"a claim without an owner, or for no time, is refused", func(f *fixture) {
		for _, claim := range []engine.Claim{{TTL: ttl}, {Owner: owner("me")}, {Owner: owner("me"), TTL: -ttl}} {
			if _, err := f.Create(f.ctx, engine.NewRun{ID: "x"}, frame("x", 1, ""), claim); err == nil {
				f.t.Errorf("Create took %+v", claim)
			}
			if _, err := f.Claim(f.ctx, "x", claim); err == nil {
				f.t.Errorf("Claim took %+v", claim)
			}
		}
		f.equal(f.ids(engine.Query{}), []string(nil))
	}},
}

// fenced wants that a lease can't write anything to the run.
func (f *fixture) fenced(r *run, lease engine.Lease) {
	f.t.Helper()
	before := f.everything(r.id)
	f.refused(f.Commit(f.ctx, lease, r.next()), engine.LeaseLost, r.id)
	f.refused(f.Commit(f.ctx, lease, r.next(status(core.Finished), effects("zombie"), consumed(1))), engine.LeaseLost, r.id)
	f.refused(f.Record(f.ctx, lease, engine.Entry{Path: "p", Name: "zombie", Value: []byte("0")}), engine.LeaseLost, r.id)
	lost, err := f.Renew(f.ctx, []engine.Lease{lease}, 100*ttl)
	f.ok(err)
	f.equal(lost, []string{r.id})
	f.equal(f.everything(r.id), before)
}

// everything is what the store knows of a run and can tell without changing it.
func (f *fixture) everything(id string) any {
	f.t.Helper()
	info, err := f.Run(f.ctx, id)
	f.ok(err)
	frames, err := bodies(f.ctx, f, id, 1)
	f.ok(err)
	entries, err := f.Entries(f.ctx, id, "")
	f.ok(err)
	items, err := f.Unread(f.ctx, info.Owner.Token)
	f.ok(err)
	return []any{info, frames, entries, items}
}
