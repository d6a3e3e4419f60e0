package storetest

import (
	"time"

	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

const hold = 10 * time.Second

// due asks for all that is due and returns the ids.
func (f *fixture) due() []string {
	f.t.Helper()
	list, err := f.Due(f.ctx, hold, 1000)
	f.ok(err)
	var ids []string
	for _, d := range list {
		ids = append(ids, d.ID)
	}
	return ids
}

var outboxRules = []rule{
	{"an effect is due with its commit, whole", func(f *fixture) {
		r := f.create("r", effects("first"))
		r.commit(effects("a", "b"))
		r.commit(status(core.Finished), effects("last"))
		list, err := f.Due(f.ctx, hold, 1000)
		f.ok(err)
		var want []engine.Delivery
		for _, id := range []string{"first", "a", "b", "last"} {
			var c engine.Commit
			effects(id)(&c)
			d := c.Effects[0]
			d.Run = "r"
			want = append(want, d)
		}
		f.equal(byID(list), byID(want))
	}},
	{"what is handed out is hidden until its hold is over", func(f *fixture) {
		r := f.create("r")
		r.commit(effects("a"))
		f.equal(f.due(), []string{"a"})
		f.equal(f.due(), []string(nil))
		f.clock.Advance(hold - time.Millisecond)
		f.equal(f.due(), []string(nil))
		f.clock.Advance(time.Millisecond)
		f.equal(f.due(), []string{"a"})
	}},
	{"the limit holds, and what waited longest comes first", func(f *fixture) {
		r := f.create("r")
		for _, id := range []string{"c", "a", "b"} {
			r.commit(effects(id))
			f.clock.Advance(time.Second)
		}
		for _, want := range []string{"c", "a", "b"} {
			list, err := f.Due(f.ctx, time.Hour, 1)
			f.ok(err)
			f.equal(len(list), 1)
			f.equal(list[0].ID, want)
		}
		list, err := f.Due(f.ctx, hold, 0)
		f.ok(err)
		f.equal(list, nil)
	}},
	{"a delivered effect is gone", func(f *fixture) {
		r := f.create("r")
		r.commit(effects("a", "b"))
		f.ok(f.Delivered(f.ctx, "a"))
		f.ok(f.Delivered(f.ctx, "a"))
		f.ok(f.Delivered(f.ctx, "none"))
		f.clock.Advance(2 * hold)
		f.equal(f.due(), []string{"b"})
	}},
	{"a postponed effect comes later and says why", func(f *fixture) {
		r := f.create("r")
		r.commit(effects("a"))
		for try := 1; try <= 3; try++ {
			f.equal(f.due(), []string{"a"})
			f.ok(f.Postpone(f.ctx, "a", time.Hour, "down"))
			f.clock.Advance(time.Hour - time.Millisecond)
			f.equal(f.due(), []string(nil))
			f.clock.Advance(time.Millisecond)
		}
		list, err := f.Due(f.ctx, hold, 1)
		f.ok(err)
		f.equal([]any{list[0].Tries, list[0].Why}, []any{3, "down"})
		f.ok(f.Postpone(f.ctx, "none", time.Hour, "gone"))
	}},
	{"an operation id is one effect", func(f *fixture) {
		r := f.create("r", effects("a"))
		r.commit(effects("a", "b"))
		f.equal(byName(f.due()), []string{"a", "b"})
	}},
}
