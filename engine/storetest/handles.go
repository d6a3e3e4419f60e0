package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

var handleRules = []rule{
	{"everything is there after opening again", func(f *fixture) {
		r := f.create("r")
		f.send("r", signal("a", "k"), 1)
		r.commit(effects("a"))
		f.ok(f.Record(f.ctx, r.lease, entry("p", "x", 1, `1`)))
		before := f.everything("r")
		f.reopen()
		f.equal(f.everything("r"), before)
		f.equal(f.due(), []string{"a"})
		r.commit(consumed(1)) // the lease is still good
	}},
	{"two stores of one place see each other's writes at once", func(f *fixture) {
		one, two := f.Store, f.another()
		r := f.create("r")
		for i := range 10 {
			f.Store = []engine.Store{one, two}[i%2]
			r.commit(effects(fmt.Sprint("e", i)))
			f.send("r", signal("s", fmt.Sprint(i)), int64(i)+1)
			f.ok(f.Record(f.ctx, r.lease, entry("p", fmt.Sprint(i), 1, `1`)))
			f.Store = []engine.Store{two, one}[i%2]
			f.equal(r.info().Hash, r.hash)
			f.equal(len(f.unread("me")), i+1)
			f.equal(len(f.entries("r", "p")), i+1)
			f.equal(f.due(), []string{fmt.Sprint("e", i)})
		}
	}},
	{"a claim through one store fences a lease of the other", func(f *fixture) {
		two := f.another()
		r := f.create("r")
		r.commit()
		f.clock.Advance(ttl)
		lease, err := two.Claim(f.ctx, "r", claimBy("other"))
		f.ok(err)
		f.fenced(r, r.lease)
		f.ok(two.Commit(f.ctx, lease, r.next()))
	}},
	{"of claimants that race exactly one wins", func(f *fixture) {
		stores := []engine.Store{f.Store, f.another()}
		r := f.create("r")
		for round := range 200 {
			claim := claimBy("me")
			switch round % 3 {
			case 0:
				f.ok(stores[round%2].Release(f.ctx, r.lease))
			case 1:
				f.clock.Advance(ttl)
			case 2:
				claim.Dead = r.lease.Epoch
			}
			leases, errs := make([]engine.Lease, 2), make([]error, 2)
			var wg sync.WaitGroup
			for i := range 2 {
				wg.Go(func() { leases[i], errs[i] = stores[i].Claim(f.ctx, "r", claim) })
			}
			wg.Wait()
			winner := 0
			if errs[0] != nil {
				winner = 1
			}
			f.ok(errs[winner])
			f.refused(errs[1-winner], engine.LeaseHeld, "r")
			f.equal(leases[winner].Epoch, r.lease.Epoch+1)
			r.lease = leases[winner]
		}
	}},
	{"64 goroutines commit to runs of their own", func(f *fixture) {
		stores := []engine.Store{f.Store, f.another()}
		const frames = 10
		f.parallel(64, func(i int) error {
			id, s := fmt.Sprint("r", i), stores[i%2]
			c := frame(id, 1, "")
			lease, err := s.Create(f.ctx, engine.NewRun{ID: id}, c, claimBy("me"))
			for n := int64(2); err == nil && n <= frames; n++ {
				c = frame(id, n, c.Hash, effects(fmt.Sprint(id, "/", n)))
				err = s.Commit(f.ctx, lease, c)
			}
			return err
		})
		for i := range 64 {
			id := fmt.Sprint("r", i)
			got, err := bodies(f.ctx, f, id, 1)
			f.ok(err)
			var want []string
			for _, c := range chain(id, frames) {
				want = append(want, string(c.Body))
			}
			f.equal(got, want)
		}
		f.equal(len(f.due()), 64*(frames-1))
	}},
	{"zombies and claimants leave one chain", func(f *fixture) {
		stores := []engine.Store{f.Store, f.another()}
		r := f.create("r")
		f.parallel(8, func(i int) error {
			s := stores[i%2]
			for range 30 {
				info, err := s.Run(f.ctx, "r")
				if err != nil {
					return err
				}
				claim := claimBy(fmt.Sprint("o", i))
				claim.Dead = info.Epoch
				lease, err := s.Claim(f.ctx, "r", claim)
				if errors.Is(err, engine.LeaseHeld) {
					continue
				}
				for err == nil { // until somebody else claims
					if info, err = s.Run(f.ctx, "r"); err != nil || info.Head > 300 {
						break
					}
					err = s.Commit(f.ctx, lease, frame("r", info.Head+1, info.Hash, body(fmt.Appendf(nil, "%s %d", info.Hash, info.Head+1))))
				}
				if err != nil && !errors.Is(err, engine.LeaseLost) && !errors.Is(err, engine.FrameConflict) {
					return err
				}
			}
			return nil
		})
		prev := ""
		f.ok(f.Frames(f.ctx, "r", 1, func(n int64, body []byte) error {
			if want := fmt.Sprintf("%s %d", prev, n); n > 1 && string(body) != want {
				return fmt.Errorf("frame %d is %q, want %q", n, body, want)
			}
			prev = core.Hash(body)
			return nil
		}))
		f.equal(r.info().Hash, prev)
	}},
	{"concurrent appends get numbers of their own, and one per dedupe key", func(f *fixture) {
		stores := []engine.Store{f.Store, f.another()}
		f.create("r")
		var mu sync.Mutex
		numbers, keys := map[int64]bool{}, map[string]int64{}
		f.parallel(16, func(i int) error {
			for k := range 10 {
				key := fmt.Sprint(k)
				seq, err := stores[i%2].Append(f.ctx, "r", signal("s", key))
				if err != nil {
					return err
				}
				alone, err := stores[i%2].Append(f.ctx, "r", signal("s", ""))
				if err != nil {
					return err
				}
				mu.Lock()
				if numbers[alone] || keys[key] != 0 && keys[key] != seq {
					err = fmt.Errorf("number %d or key %s twice", alone, key)
				}
				numbers[alone], keys[key] = true, seq
				mu.Unlock()
				if err != nil {
					return err
				}
			}
			return nil
		})
		f.equal(len(f.unread("me")), 16*10+10)
	}},
	{"callers of Due share the effects", func(f *fixture) {
		stores := []engine.Store{f.Store, f.another()}
		r := f.create("r")
		for i := range 100 {
			r.commit(effects(fmt.Sprint("e", i)))
		}
		var mu sync.Mutex
		times := map[string]int{}
		f.parallel(8, func(i int) error {
			for {
				list, err := stores[i%2].Due(f.ctx, hold, 3)
				if err != nil || len(list) == 0 {
					return err
				}
				mu.Lock()
				for _, d := range list {
					times[d.ID]++
				}
				mu.Unlock()
			}
		})
		f.equal(len(times), 100)
		for id, n := range times {
			if n != 1 {
				f.t.Errorf("effect %s was handed out %d times", id, n)
			}
		}
	}},
}

// parallel runs n goroutines and wants no error of any.
func (f *fixture) parallel(n int, work func(i int) error) {
	f.t.Helper()
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = work(i) })
	}
	wg.Wait()
	f.ok(errors.Join(errs...))
}
