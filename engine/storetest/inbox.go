package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// signal is an inbox item as a sender makes it.
func signal(name, dedupe string) engine.Item {
	return engine.Item{Dedupe: dedupe, Event: core.Event{Kind: core.SignalReceived, Name: name, Payload: json.RawMessage(`{"n":1}`)}}
}

// send appends and wants a number.
func (f *fixture) send(run string, item engine.Item, want int64) {
	f.t.Helper()
	seq, err := f.Append(f.ctx, run, item)
	f.ok(err)
	f.equal(seq, want)
}

// unread lists what an owner has to read, as run:seq:name.
func (f *fixture) unread(owner string) []string {
	f.t.Helper()
	items, err := f.Unread(f.ctx, owner)
	f.ok(err)
	var list []string
	for _, i := range items {
		list = append(list, fmt.Sprintf("%s:%d:%s", i.Run, i.Seq, i.Event.Name))
	}
	return list
}

var inboxRules = []rule{
	{"items are numbered from 1 per run and come back whole, in order", func(f *fixture) {
		f.create("a")
		for i := range 12 { // past 9: numbers are no strings
			f.send("a", signal(fmt.Sprint("s", i), ""), int64(i)+1)
		}
		f.create("b")
		f.send("b", signal("x", "key"), 1)
		items, err := f.Unread(f.ctx, "me")
		f.ok(err)
		per := map[string]int{}
		for _, item := range items {
			per[item.Run]++
			f.equal(item.Seq, per[item.Run])
			want := signal(fmt.Sprint("s", per[item.Run]-1), "")
			if item.Run == "b" {
				want = signal("x", "key")
			}
			want.Run, want.Seq = item.Run, item.Seq
			item.Event.Seq = 0 // a store may set it
			f.equal(item, want)
		}
		f.equal(per, map[string]int{"a": 12, "b": 1})
	}},
	{"anyone may append, whoever drives the run or nobody", func(f *fixture) {
		r := f.create("r")
		f.send("r", signal("a", ""), 1)
		f.ok(f.Release(f.ctx, r.lease))
		f.send("r", signal("b", ""), 2)
		for i, st := range []core.Status{core.Paused, core.Blocked} {
			r.claim(claimBy("me"))
			r.commit(status(st))
			f.ok(f.Release(f.ctx, r.lease))
			f.send("r", signal("c", ""), int64(i)+3)
		}
	}},
	{"only the owner of the lease has it to read", func(f *fixture) {
		r := f.create("r")
		f.send("r", signal("a", ""), 1)
		f.equal(f.unread("me"), []string{"r:1:a"})
		f.equal(f.unread("other"), []string(nil))
		f.ok(f.Release(f.ctx, r.lease))
		f.equal(f.unread("me"), []string(nil))
		f.equal(f.unread(""), []string(nil))
		r.claim(claimBy("other"))
		f.equal(f.unread("me"), []string(nil))
		f.equal(f.unread("other"), []string{"r:1:a"})
		f.clock.Advance(2 * ttl) // run out, but nobody else's yet
		f.equal(f.unread("other"), []string{"r:1:a"})
	}},
	{"a commit consumes, and numbers are never given again", func(f *fixture) {
		r := f.create("r")
		f.send("r", signal("a", ""), 1)
		f.send("r", signal("b", ""), 2)
		f.send("r", signal("c", ""), 3)
		r.commit()
		f.equal(f.unread("me"), []string{"r:1:a", "r:2:b", "r:3:c"})
		r.commit(consumed(2))
		f.equal(f.unread("me"), []string{"r:3:c"})
		r.commit(consumed(1)) // less than before
		f.equal(f.unread("me"), []string{"r:3:c"})
		r.commit(consumed(3), status(core.Paused))
		f.equal(f.unread("me"), []string(nil))
		f.send("r", signal("d", ""), 4)
		r.commit(consumed(4))
		f.reopen()
		f.send("r", signal("e", ""), 5)
		f.equal(f.unread("me"), []string{"r:5:e"})
	}},
	{"a dedupe key counts once for the life of the run", func(f *fixture) {
		r := f.create("r")
		f.create("other")
		f.send("r", signal("a", "k"), 1)
		f.send("r", signal("again", "k"), 1)
		f.send("r", signal("b", "K"), 2)
		f.send("other", signal("a", "k"), 1)
		f.send("r", signal("c", ""), 3)
		f.send("r", signal("c", ""), 4)
		f.equal(f.unread("me"), []string{"r:1:a", "r:2:b", "r:3:c", "r:4:c", "other:1:a"})
		r.commit(consumed(4))
		f.send("r", signal("again", "k"), 1)
		f.reopen()
		f.clock.Advance(time.Hour)
		r.claim(claimBy("me"))
		f.send("r", signal("again", "k"), 1)
		f.send("r", signal("new", "k2"), 5)
		f.equal(f.unread("me"), []string{"r:5:new", "other:1:a"})
	}},
	{"an ended run takes nothing new and has nothing to read", func(f *fixture) {
		r := f.create("r")
		f.send("r", signal("a", "k"), 1)
		f.send("r", signal("b", ""), 2)
		r.commit(status(core.Finished))
		_, err := f.Append(f.ctx, "r", signal("late", ""))
		f.refused(err, engine.RunEnded, "r")
		_, err = f.Append(f.ctx, "r", signal("late", "k2"))
		f.refused(err, engine.RunEnded, "r")
		f.send("r", signal("a", "k"), 1) // this one was acknowledged
		f.equal(f.unread("me"), []string(nil))
	}},
	{"a run that reopens has to read what it had before it failed", func(f *fixture) {
		r := f.create("r")
		f.send("r", signal("a", ""), 1)
		f.send("r", signal("b", "k"), 2)
		f.send("r", signal("c", ""), 3)
		r.commit(consumed(1), status(core.Failed), func(c *engine.Commit) { c.Failure = &cairn.Failure{Code: cairn.BudgetExceeded} })
		_, err := f.Append(f.ctx, "r", signal("late", ""))
		f.refused(err, engine.RunEnded, "r")
		f.equal(f.unread("me"), []string(nil))
		claim := claimBy("me")
		claim.Reopen = true
		r.claim(claim)
		f.equal(f.unread("me"), []string{"r:2:b", "r:3:c"})
		r.commit(consumed(2))
		f.send("r", signal("b", "k"), 2)
		f.send("r", signal("d", ""), 4)
		f.equal(f.unread("me"), []string{"r:3:c", "r:4:d"})
	}},
	{"an event that is no JSON is refused", func(f *fixture) {
		f.create("r")
		bad := signal("a", "k")
		bad.Event.Payload = json.RawMessage(`{`)
		if _, err := f.Append(f.ctx, "r", bad); err == nil {
			f.t.Error("took it")
		}
		f.send("r", signal("a", "k"), 1)
	}},
}

var journalRules = []rule{
	{"an entry is kept and replaced", func(f *fixture) {
		r := f.create("r")
		f.ok(f.Record(f.ctx, r.lease, entry("p", "x", 1, `"old"`)))
		f.ok(f.Record(f.ctx, r.lease, entry("p", "", 1, `1`)))
		f.ok(f.Record(f.ctx, r.lease, entry("p", "x", 2, `"new"`)))
		f.equal(f.entries("r", "p"), []engine.Entry{entry("p", "", 1, `1`), entry("p", "x", 2, `"new"`)})
	}},
	{"entries are a path's, or the whole run's", func(f *fixture) {
		a, b := f.create("a"), f.create("b")
		for _, path := range []string{"p", "p/q", "p[1]", "P"} {
			f.ok(f.Record(f.ctx, a.lease, entry(path, "x", 1, `1`)))
		}
		f.ok(f.Record(f.ctx, b.lease, entry("p", "x", 9, `9`)))
		f.equal(f.entries("a", "p"), []engine.Entry{entry("p", "x", 1, `1`)})
		f.equal(f.entries("a", "p/q"), []engine.Entry{entry("p/q", "x", 1, `1`)})
		f.equal(f.entries("a", "q"), []engine.Entry(nil))
		f.equal(len(f.entries("a", "")), 4)
		f.equal(f.entries("b", ""), []engine.Entry{entry("p", "x", 9, `9`)})
	}},
	{"entries outlive their lease and the run", func(f *fixture) {
		r := f.create("r")
		f.ok(f.Record(f.ctx, r.lease, entry("p", "x", 1, `1`)))
		f.clock.Advance(ttl)
		old := r.lease
		r.claim(claimBy("other"))
		f.refused(f.Record(f.ctx, old, entry("p", "x", 2, `2`)), engine.LeaseLost, "r")
		r.commit(status(core.Failed))
		f.equal(f.entries("r", "p"), []engine.Entry{entry("p", "x", 1, `1`)})
	}},
}

func entry(path, name string, attempt int, value string) engine.Entry {
	return engine.Entry{Path: path, Name: name, Attempt: attempt, Value: json.RawMessage(value)}
}

func (f *fixture) entries(run, path string) []engine.Entry {
	f.t.Helper()
	list, err := f.Entries(f.ctx, run, path)
	f.ok(err)
	return list
}
