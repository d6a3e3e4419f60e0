package storetest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

var catalogRules = []rule{
	{"a created run is in the catalog with all it was created with", func(f *fixture) {
		r := f.create("r")
		now := f.clock.Now()
		f.equal(r.info(), engine.RunInfo{ID: "r", Workflow: "flow", Version: "v1", Status: core.Running, Head: 1, Hash: r.hash,
			Epoch: 1, Owner: owner("me"), Until: now.Add(ttl), Created: now, Updated: now})
		f.equal(r.lease, engine.Lease{Run: "r", Epoch: 1, Owner: "me", Until: now.Add(ttl)})
	}},
	{"an unknown run is RUN_NOT_FOUND everywhere", func(f *fixture) {
		lease := engine.Lease{Run: "none", Epoch: 1, Owner: "me"}
		_, err := f.Run(f.ctx, "none")
		f.refused(err, engine.RunNotFound, "none")
		_, err = f.Claim(f.ctx, "none", claimBy("me"))
		f.refused(err, engine.RunNotFound, "none")
		_, err = f.Append(f.ctx, "none", engine.Item{})
		f.refused(err, engine.RunNotFound, "none")
		_, err = f.Entries(f.ctx, "none", "")
		f.refused(err, engine.RunNotFound, "none")
		_, err = bodies(f.ctx, f, "none", 1)
		f.refused(err, engine.RunNotFound, "none")
		f.refused(f.Commit(f.ctx, lease, frame("none", 2, "h")), engine.RunNotFound, "none")
		f.refused(f.Record(f.ctx, lease, engine.Entry{Path: "p"}), engine.RunNotFound, "none")
		f.ok(f.Release(f.ctx, lease))
		lost, err := f.Renew(f.ctx, []engine.Lease{lease}, ttl)
		f.ok(err)
		f.equal(lost, []string{"none"})
	}},
	{"a commit updates the catalog", func(f *fixture) {
		r := f.create("r")
		created := f.clock.Now()
		f.clock.Advance(time.Second)
		r.commit()
		info := r.info()
		f.equal([]any{info.Head, info.Hash, info.Created, info.Updated}, []any{2, r.hash, created, f.clock.Now()})
	}},
	{"result and failure are the last commit's", func(f *fixture) {
		r := f.create("r")
		why := &cairn.Failure{Code: cairn.CodeChanged, Message: "differs", Path: "a/b", Attempt: 2, Permanent: true,
			RetryAfter: time.Second, Detail: json.RawMessage(`{"x":1}`), Stack: "s", Cause: &cairn.Failure{Code: cairn.KeyType}}
		r.commit(status(core.Blocked), func(c *engine.Commit) { c.Failure = why })
		f.equal([]any{r.info().Status, r.info().Failure}, []any{core.Blocked, why})
		r.commit(status(core.Blocked))
		f.equal([]any{r.info().Status, r.info().Failure}, []any{core.Blocked, nil})
		r.commit(func(c *engine.Commit) { c.Failure = why })
		f.equal([]any{r.info().Status, r.info().Failure}, []any{core.Running, why})
		r.commit()
		f.equal([]any{r.info().Status, r.info().Failure}, []any{core.Running, nil})
		r.commit(status(core.Finished), func(c *engine.Commit) { c.Result = json.RawMessage(`{"ok":true}`) })
		f.equal([]any{r.info().Status, r.info().Result}, []any{core.Finished, json.RawMessage(`{"ok":true}`)})
	}},
	{"runs come newest first and are selected by workflow and status", func(f *fixture) {
		for i := range 6 {
			id := fmt.Sprintf("r%d", i)
			run := engine.NewRun{ID: id, Workflow: []string{"even", "odd"}[i%2], Created: f.clock.Now()}
			st := []core.Status{core.Running, core.Blocked, core.Paused}[i/2]
			_, err := f.Create(f.ctx, run, frame(id, 1, "", status(st)), claimBy("me"))
			f.ok(err)
			f.clock.Advance(time.Second)
		}
		for _, c := range []struct {
			query engine.Query
			want  []string
		}{
			{engine.Query{}, []string{"r5", "r4", "r3", "r2", "r1", "r0"}},
			{engine.Query{Workflow: "odd"}, []string{"r5", "r3", "r1"}},
			{engine.Query{Status: core.Blocked}, []string{"r3", "r2"}},
			{engine.Query{Workflow: "even", Status: core.Blocked}, []string{"r2"}},
			{engine.Query{Limit: 2}, []string{"r5", "r4"}},
			{engine.Query{Workflow: "odd", Limit: 1}, []string{"r5"}},
			{engine.Query{Status: core.Finished}, nil},
			{engine.Query{Workflow: "none"}, nil},
		} {
			f.equal(f.ids(c.query), c.want)
		}
	}},
	{"a query without a limit gives the newest 100", func(f *fixture) {
		for i := range 103 {
			f.create(fmt.Sprintf("r%03d", i))
		}
		ids := f.ids(engine.Query{})
		f.equal([]any{len(ids), ids[0], ids[99]}, []any{100, "r102", "r003"})
	}},
	{"a query follows the status", func(f *fixture) {
		r := f.create("r")
		r.commit(status(core.Paused))
		f.equal(f.ids(engine.Query{Status: core.Running}), []string(nil))
		f.equal(f.ids(engine.Query{Status: core.Paused}), []string{"r"})
		r.commit()
		f.equal(f.ids(engine.Query{Status: core.Running}), []string{"r"})
	}},
}

func (f *fixture) ids(q engine.Query) []string {
	f.t.Helper()
	infos, err := f.Runs(f.ctx, q)
	f.ok(err)
	var ids []string
	for _, info := range infos {
		ids = append(ids, info.ID)
	}
	return ids
}
