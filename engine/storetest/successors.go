package storetest

import (
	"fmt"
	"slices"
	"sync"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// succeeded ends a run as continued by another.
func succeeded(f *fixture, id string, change ...func(*engine.Commit)) func(*engine.Commit) {
	return func(c *engine.Commit) {
		c.Status = core.Continued
		c.Successor = &engine.Successor{First: frame(id, 1, "", change...), Claim: claimBy("me"),
			Run: engine.NewRun{ID: id, Workflow: "flow", Version: "v1", Created: f.clock.Now(), Generation: 2, Parent: "r"}}
	}
}

// heir is the run that came with a commit.
func (r *run) heir(c engine.Commit) *run {
	next := c.Successor
	return &run{f: r.f, id: next.Run.ID, lease: engine.Lease{Run: next.Run.ID, Epoch: 1, Owner: next.Claim.Owner.Token}, n: 1, hash: next.First.Hash}
}

var successorRules = []rule{
	{"a run that is continued and its successor are written together", func(f *fixture) {
		r := f.create("r")
		c := r.commit(succeeded(f, "r.2", effects("e")), effects("end"))
		now := f.clock.Now()
		info := r.info()
		f.equal([]any{info.Status, info.Successor, info.Owner, info.Head}, []any{core.Continued, "r.2", engine.Owner{}, 2})
		next := r.heir(c)
		f.equal(next.info(), engine.RunInfo{ID: "r.2", Workflow: "flow", Version: "v1", Status: core.Running, Head: 1, Hash: next.hash,
			Epoch: 1, Owner: owner("me"), Until: now.Add(ttl), Created: now, Updated: now, Generation: 2, Parent: "r"})
		due := f.due() // of two runs, in any order
		slices.Sort(due)
		f.equal(due, []string{"e", "end"})
		f.fenced(r, r.lease)
		next.commit()
	}},
	{"a commit with a successor that was written may be repeated", func(f *fixture) {
		r := f.create("r")
		c := r.commit(succeeded(f, "r.2"))
		before := f.everything("r.2")
		f.ok(f.Commit(f.ctx, r.lease, c))
		f.equal(f.everything("r.2"), before)
		r.heir(c).commit()
		f.ok(f.Commit(f.ctx, r.lease, c))
		f.equal(r.heir(c).info().Head, 2)
	}},
	{"a successor whose id is taken leaves all as it was", func(f *fixture) {
		r, other := f.create("r"), f.create("r.2")
		f.send("r", signal("a", "k"), 1)
		before := []any{f.everything("r"), f.everything("r.2"), f.unread("me")}
		f.refused(f.Commit(f.ctx, r.lease, r.next(succeeded(f, "r.2"), effects("e"))), engine.RunExists, "r.2")
		f.equal([]any{f.everything("r"), f.everything("r.2"), f.unread("me")}, before)
		f.equal(f.due(), []string(nil))
		r.commit()
		other.commit()
	}},
	{"a lost lease makes no successor", func(f *fixture) {
		r := f.create("r")
		old := r.lease
		f.ok(f.Release(f.ctx, old))
		r.claim(claimBy("other"))
		f.refused(f.Commit(f.ctx, old, r.next(succeeded(f, "r.2"))), engine.LeaseLost, "r")
		_, err := f.Run(f.ctx, "r.2")
		f.refused(err, engine.RunNotFound, "r.2")
	}},
	{"only a continued run has a successor, and that is a plain new run", func(f *fixture) {
		r := f.create("r")
		for _, change := range []func(*engine.Commit){
			status(core.Running), status(core.Finished),
			func(c *engine.Commit) { c.Successor.Run.ID = "r" },
			func(c *engine.Commit) { c.Successor.First.N = 2 },
			func(c *engine.Commit) { c.Successor.First.Consumed = 1 },
			func(c *engine.Commit) { c.Successor.First.Successor = c.Successor },
			func(c *engine.Commit) { c.Successor.Claim.TTL = 0 },
		} {
			if err := f.Commit(f.ctx, r.lease, r.next(succeeded(f, "r.2"), change)); err == nil {
				f.t.Error("the commit was let")
			}
		}
		_, err := f.Run(f.ctx, "r.2")
		f.refused(err, engine.RunNotFound, "r.2")
		r.commit()
	}},
	{"what is unread goes to the successor under its numbers", func(f *fixture) {
		r := f.create("r")
		for i := range 5 {
			f.send("r", signal(fmt.Sprint("s", i), fmt.Sprint("k", i)), int64(i)+1)
		}
		r.commit(consumed(1))
		c := r.commit(succeeded(f, "r.2"), consumed(3))
		f.equal(f.unread("me"), []string{"r.2:4:s3", "r.2:5:s4"})
		next := r.heir(c)
		next.commit(consumed(4))
		f.equal(f.unread("me"), []string{"r.2:5:s4"})
		f.send("r.2", signal("more", ""), 6)
	}},
	{"numbers and dedupe keys hold for the chain", func(f *fixture) {
		r := f.create("r")
		f.send("r", signal("a", "k"), 1)
		f.send("r", signal("b", "l"), 2)
		r.commit(consumed(2))
		next := r.heir(r.commit(succeeded(f, "r.2")))
		f.send("r.2", signal("a", "k"), 1)
		f.send("r", signal("c", "m"), 3)
		last := next.heir(next.commit(succeeded(f, "r.3")))
		for _, run := range []string{"r", "r.2", "r.3"} {
			f.send(run, signal("b", "l"), 2)
			f.send(run, signal("c", "m"), 3)
		}
		f.equal(f.unread("me"), []string{"r.3:3:c"})
		f.send("r", signal("d", ""), 4)
		f.equal(f.unread("me"), []string{"r.3:3:c", "r.3:4:d"})
		last.commit(status(core.Finished))
		f.send("r", signal("b", "l"), 2)
		_, err := f.Append(f.ctx, "r", signal("e", ""))
		f.refused(err, engine.RunEnded, "r.3")
	}},
	{"a successor may end with its first frame", func(f *fixture) {
		r := f.create("r")
		f.send("r", signal("a", ""), 1)
		next := r.heir(r.commit(succeeded(f, "r.2", status(core.Finished))))
		f.equal([]any{next.info().Status, next.info().Owner}, []any{core.Finished, engine.Owner{}})
		f.equal(f.unread("me"), []string(nil))
		_, err := f.Append(f.ctx, "r", engine.Item{})
		f.refused(err, engine.RunEnded, "r.2")
	}},
	{"an imported run knows its chain", func(f *fixture) {
		frames := chain("r", 2)
		frames[1].Status = core.Continued
		f.ok(f.Import(f.ctx, engine.NewRun{ID: "r", Created: f.clock.Now(), Generation: 4, Parent: "p", Successor: "s"}, frames, nil))
		info, err := f.Run(f.ctx, "r")
		f.ok(err)
		f.equal([]any{info.Generation, info.Parent, info.Successor}, []any{4, "p", "s"})
		_, err = f.Append(f.ctx, "r", engine.Item{}) // its successor is not here
		f.refused(err, engine.RunEnded, "r")
	}},
	{"what is sent while a run hands over reaches the chain once", func(f *fixture) {
		stores := []engine.Store{f.Store, f.another()}
		r := f.create("r")
		const senders, each, generations = 4, 25, 10
		var wg sync.WaitGroup
		for i := range senders {
			wg.Go(func() {
				for k := range each {
					if _, err := stores[i%2].Append(f.ctx, "r", signal(fmt.Sprint(i, "/", k), "")); err != nil {
						f.t.Error(err)
					}
				}
			})
		}
		for g := range generations {
			r = r.heir(r.commit(succeeded(f, fmt.Sprint("r.", g+2))))
		}
		wg.Wait()
		items, err := f.Unread(f.ctx, "me")
		f.ok(err)
		f.equal(len(items), senders*each)
		for i, item := range items {
			f.equal([]any{item.Run, item.Seq}, []any{r.id, i + 1})
		}
	}},
}
