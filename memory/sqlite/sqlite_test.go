package sqlite_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	engine "github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// clock is one that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newClock() *clock { return &clock{now: start} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) Advance(d time.Duration) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	return c.now
}

// fixture is a store with its clock.
type fixture struct {
	*sqlite.Store
	t     testing.TB
	ctx   context.Context
	clock *clock
	path  string
}

func newFixture(t testing.TB, keys ...sqlite.Key) *fixture {
	t.Helper()
	f := &fixture{t: t, ctx: context.Background(), clock: newClock(), path: filepath.Join(t.TempDir(), "memory.db")}
	f.Store = f.open(keys...)
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

func (f *fixture) open(keys ...sqlite.Key) *sqlite.Store {
	f.t.Helper()
	s, err := sqlite.Open(f.ctx, sqlite.Config{Path: f.path, Clock: f.clock.Now, Keys: keys, Synchronous: sqlite.Normal})
	if err != nil {
		f.t.Fatal(err)
	}
	return s
}

func (f *fixture) reopen(keys ...sqlite.Key) {
	f.t.Helper()
	if err := f.Close(); err != nil {
		f.t.Fatal(err)
	}
	f.Store = f.open(keys...)
}

// must returns a function that returns v, or fails the test.
func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func refused(t testing.TB, err error, code cairn.Code) {
	t.Helper()
	var e *cairn.Error
	switch {
	case !errors.Is(err, code):
		t.Fatalf("error is %v, want %s", err, code)
	case !errors.As(err, &e) || e.Message == "" || e.Next == "":
		t.Fatalf("error %v says too little", err)
	}
}

func equal(t testing.TB, got, want any) {
	t.Helper()
	if g, w := marshal(got), marshal(want); g != w {
		t.Fatalf("got  %s\nwant %s", g, w)
	}
}

func marshal(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v: %+v", err, v)
	}
	return string(raw)
}

func space(id string) memory.Namespace { return memory.Namespace{Kind: memory.WorkflowKind, ID: id} }

func place(bank string, tags ...string) memory.Place {
	return memory.Place{Namespace: space("w"), Bank: bank, Tags: tags}
}

func fact(key, value string, change ...func(*memory.Fact)) memory.Fact {
	f := memory.Fact{Place: place("b"), Key: key, Value: json.RawMessage(value)}
	for _, fn := range change {
		fn(&f)
	}
	return f
}

func expires(at time.Time) func(*memory.Fact) { return func(f *memory.Fact) { f.Expires = at } }
func valid(from, to time.Time) func(*memory.Fact) {
	return func(f *memory.Fact) { f.Valid = memory.Span{From: from, To: to} }
}

func note(body string, change ...func(*memory.Note)) memory.Note {
	n := memory.Note{Place: place("b"), Body: body}
	for _, fn := range change {
		fn(&n)
	}
	return n
}

func id(s string) func(*memory.Note)              { return func(n *memory.Note) { n.ID = s } }
func status(s memory.Status) func(*memory.Note)   { return func(n *memory.Note) { n.Status = s } }
func supersedes(ids ...string) func(*memory.Note) { return func(n *memory.Note) { n.Supersedes = ids } }
func at(p memory.Place) func(*memory.Note)        { return func(n *memory.Note) { n.Place = p } }
func holds(from, to time.Time) func(*memory.Note) {
	return func(n *memory.Note) { n.Valid = memory.Span{From: from, To: to} }
}

func (f *fixture) save(n memory.Note) memory.Note {
	f.t.Helper()
	saved, _, err := f.SaveNote(f.ctx, n)
	return must(saved, err)(f.t)
}

func (f *fixture) set(x memory.Fact) memory.Fact {
	f.t.Helper()
	return must(f.SetFact(f.ctx, x))(f.t)
}

// ids are those of the notes in a scope.
func (f *fixture) ids(scope memory.Scope) []string {
	f.t.Helper()
	return idsOf(must(f.Notes(f.ctx, scope))(f.t))
}

// find returns the ids of the candidates.
func (f *fixture) find(s memory.Scope, terms ...string) []string {
	f.t.Helper()
	return refs(must(f.Candidates(f.ctx, s, terms, 100))(f.t))
}

var inBank = memory.Scope{Bank: "b"}

func idsOf(notes []memory.Note) []string {
	ids := []string{}
	for _, n := range notes {
		ids = append(ids, n.ID)
	}
	return ids
}

func refs(items []memory.Item) []string {
	ids := []string{}
	for _, i := range items {
		ids = append(ids, i.ID)
	}
	return ids
}

// raw opens the file past the store.
func raw(t testing.TB, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	return db
}

func TestOpenRefusesBadConfigurations(t *testing.T) {
	t.Parallel()
	_, err := sqlite.Open(t.Context(), sqlite.Config{})
	refused(t, err, memory.InvalidItem)
	for _, keys := range [][]sqlite.Key{{{ID: "a", Secret: make([]byte, 31)}}, {{ID: "", Secret: make([]byte, 32)}},
		{{ID: "a", Secret: make([]byte, 32)}, {ID: "a", Secret: make([]byte, 32)}}} {
		path := filepath.Join(t.TempDir(), "m.db")
		if _, err := sqlite.Open(t.Context(), sqlite.Config{Path: path, Keys: keys}); err == nil {
			t.Errorf("opened with %v", keys)
		}
	}
	if sqlite.ApplicationID != engine.ApplicationID {
		t.Error("memory and runs can't share a file")
	}
}

func TestLanesRoundTrip(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	got := f.set(fact("answer", ` { "b" : 1, "a": [1.0, "ü"] } `))
	equal(t, string(got.Value), `{"a":[1,"ü"],"b":1}`)
	equal(t, must(f.GetFact(f.ctx, space("w"), "answer"))(t), got)
	n := f.save(note("Use bun test.", func(n *memory.Note) { n.Title, n.Tags = "runner", []string{"z", "a", "z"} }))
	equal(t, n.Tags, []string{"a", "z"})
	equal(t, must(f.GetNote(f.ctx, space("w"), n.ID))(t), n)
	th := must(f.CreateThread(f.ctx, memory.Thread{Place: place("b", "x"), ID: "t"}))(t)
	equal(t, must(f.GetThread(f.ctx, space("w"), "t"))(t), th)
	m := must(f.Append(f.ctx, space("w"), "t", memory.Message{ID: "1", Role: memory.User, Content: "hello there"}))(t)
	equal(t, must(f.Messages(f.ctx, space("w"), "t", memory.Window{}, 0))(t), m)
	equal(t, f.find(inBank, "bun", "hello", "answer"), []string{"1", n.ID, "answer"})
}
