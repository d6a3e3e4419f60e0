package storetest

import (
	"bytes"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/engine"
	"github.com/cairnrun/cairn/engine/core"
)

// odd are strings that stores like to cut, fold, quote or mend.
var odd = []string{"a\x00b", "\x00", "\xff\xfe", "'; DROP TABLE runs; --", "%_\\", "é", "e\u0301", "日本", " ", "1", "NULL", strings.Repeat("long", 1000)}

func random(n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(n), byte(n >> 8), byte(n >> 16)})
	r.Read(b)
	return b
}

// same compares without going through JSON, which mends strings.
func (f *fixture) same(what string, got, want any) {
	f.t.Helper()
	switch w := want.(type) {
	case []byte:
		if !bytes.Equal(got.([]byte), w) {
			f.t.Errorf("%s: %d bytes differ from the %d stored", what, len(got.([]byte)), len(w))
		}
	default:
		if got != want {
			f.t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
}

var valueRules = []rule{
	{"strings come back byte by byte", func(f *fixture) {
		for _, s := range odd {
			run := engine.NewRun{ID: s, Workflow: s, Version: s, Created: f.clock.Now()}
			by := engine.Owner{Token: s, Host: s, PID: 1, Started: s}
			first := frame(s, 1, "")
			first.Hash = s
			lease, err := f.Create(f.ctx, run, first, engine.Claim{Owner: by, TTL: ttl})
			f.ok(err)
			r := &oddRun{f, lease, s}
			r.check()
		}
		f.equal(len(f.ids(engine.Query{})), len(odd))
		for _, s := range odd {
			infos, err := f.Runs(f.ctx, engine.Query{Workflow: s})
			f.ok(err)
			f.equal(len(infos), 1)
			f.same("id", infos[0].ID, s)
		}
	}},
	{"bytes come back as they are, whatever their number", func(f *fixture) {
		r := f.create("r")
		sizes := []int{1, 100, 4000, 4096, 5000, 70_000, 1 << 20}
		for _, n := range sizes {
			c := r.commit(body(random(n)), func(c *engine.Commit) {
				c.Effects = []engine.Delivery{{ID: string(random(8)), Effect: cairn.Effect{Kind: "k", Body: random(n)}}}
			})
			f.ok(f.Record(f.ctx, r.lease, engine.Entry{Path: "p", Name: string(random(n % 50)), Value: random(n)}))
			f.ok(f.Frames(f.ctx, "r", c.N, func(_ int64, got []byte) error {
				f.same("frame", got, random(n))
				return nil
			}))
			list, err := f.Due(f.ctx, hold, 1)
			f.ok(err)
			f.same("effect id", list[0].ID, string(random(8)))
			f.same("effect", []byte(list[0].Effect.Body), random(n))
			f.ok(f.Delivered(f.ctx, list[0].ID))
		}
		for _, e := range f.entries("r", "p") {
			if !slices.ContainsFunc(sizes, func(n int) bool { return e.Name == string(random(n%50)) && bytes.Equal(e.Value, random(n)) }) {
				f.t.Errorf("entry of %d bytes differs", len(e.Value))
			}
		}
	}},
	{"no value is no value", func(f *fixture) {
		r := f.create("r")
		f.ok(f.Record(f.ctx, r.lease, engine.Entry{Path: "p"}))
		f.equal(len(f.entries("r", "p")[0].Value), 0)
		r.commit(func(c *engine.Commit) { c.Effects = []engine.Delivery{{ID: "e"}} })
		list, err := f.Due(f.ctx, hold, 1)
		f.ok(err)
		f.equal(len(list[0].Effect.Body), 0)
		f.send("r", engine.Item{}, 1)
		f.equal(r.info().Result == nil, true)
	}},
	{"a large result and a large event come back", func(f *fixture) {
		r := f.create("r")
		big := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
		f.send("r", engine.Item{Event: core.Event{Kind: core.SignalReceived, Payload: big}}, 1)
		items, err := f.Unread(f.ctx, "me")
		f.ok(err)
		f.same("payload", []byte(items[0].Event.Payload), big)
		r.commit(consumed(1), status(core.Finished), func(c *engine.Commit) { c.Result = big })
		f.same("result", []byte(r.info().Result), big)
	}},
}

// oddRun is a run all of whose strings are s.
type oddRun struct {
	f     *fixture
	lease engine.Lease
	s     string
}

func (r *oddRun) check() {
	f, s := r.f, r.s
	f.t.Helper()
	info, err := f.Run(f.ctx, s)
	f.ok(err)
	for what, got := range map[string]string{"id": info.ID, "workflow": info.Workflow, "version": info.Version, "hash": info.Hash,
		"token": info.Owner.Token, "host": info.Owner.Host, "started": info.Owner.Started, "lease run": r.lease.Run, "lease owner": r.lease.Owner} {
		f.same(what, got, s)
	}
	c := frame(s, 2, s)
	c.Effects = []engine.Delivery{{ID: s, Path: s, Effect: cairn.Effect{Kind: s, Body: []byte(s)}}}
	f.ok(f.Commit(f.ctx, r.lease, c))

	f.ok(f.Record(f.ctx, r.lease, engine.Entry{Path: s, Name: s, Value: []byte(s)}))
	entries, err := f.Entries(f.ctx, s, s)
	f.ok(err)
	f.equal(len(entries), 1)
	f.same("entry path", entries[0].Path, s)
	f.same("entry name", entries[0].Name, s)
	f.same("entry value", []byte(entries[0].Value), []byte(s))

	f.send(s, engine.Item{Dedupe: s}, 1)
	f.send(s, engine.Item{Dedupe: s}, 1)
	items, err := f.Unread(f.ctx, s)
	f.ok(err)
	f.equal(len(items), 1)
	f.same("item run", items[0].Run, s)
	f.same("dedupe", items[0].Dedupe, s)

	f.ok(f.Postpone(f.ctx, s, 0, s))
	list, err := f.Due(f.ctx, hold, 1)
	f.ok(err)
	f.equal(len(list), 1)
	for what, got := range map[string]string{"effect id": list[0].ID, "effect run": list[0].Run, "effect path": list[0].Path,
		"effect kind": list[0].Effect.Kind, "effect body": string(list[0].Effect.Body), "why": list[0].Why} {
		f.same(what, got, s)
	}
	f.ok(f.Delivered(f.ctx, s))
}
