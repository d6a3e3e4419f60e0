package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	engine "github.com/cairnrun/cairn/engine/sqlite"
	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

func TestForgottenNamespacesLeaveNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := place("b")
	other.Namespace.ID = "neighbour"
	kept := f.save(note("A neighbour's text about a shared koala.", at(other)))
	before := export(t, f.Store)

	fill(t, f, "quokkasecret")
	f.save(note("A koala and an ibexword.", id("personal-id"), at(place("b", "private-tag"))))
	f.save(note("Superseded numbatword.", id("older-id"), supersedes("personal-id")))
	for i := range 50 { // the index gets several segments
		f.set(fact("k", `"quokkasecret `+strings.Repeat("x", i)+`"`))
	}
	must(f.DeleteFact(f.ctx, space("w"), "k"))(t)
	must(f.Append(f.ctx, space("w"), "t", user("2", "more"), user("3", "yet more")))(t)
	must(f.Summarize(f.ctx, space("w"), "t", 1, func(context.Context, []memory.Message) (string, error) { return "Sum of the quokkasecret.", nil }))(t)
	must(f.Apply(f.ctx, "op-quokkasecret", memory.Operation{Facts: []memory.Fact{fact("applied", `"quokkasecret"`)}}))(t)
	if !bytes.Contains(bytesOf(t, f.path), []byte("quokkasecret")) {
		t.Fatal("the test looks in the wrong place")
	}

	forgotten := must(f.Forget(f.ctx, space("w")))(t)
	if err := f.VerifyForgotten(f.ctx, forgotten); err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"quokkasecret", "ibexword", "numbatword"} {
		if !slices.Contains(forgotten.Words, word) {
			t.Errorf("%s is not among the words: %v", word, forgotten.Words)
		}
	}
	if slices.Contains(forgotten.Words, "koala") {
		t.Error("a word of a neighbour is taken for forgotten")
	}
	equal(t, forgotten.Documents, []string{"d"})
	equal(t, export(t, f.Store), before)
	equal(t, f.find(inBank, "koala"), []string{kept.ID})
	// Not even the bytes are there, the pages of the -wal file included. Inside the index terms share their beginnings.
	for _, residue := range []string{"quokkasecret", "okkasecret", "ibexword", "numbatword", "personal-id", "private-tag"} {
		if bytes.Contains(bytesOf(t, f.path), []byte(residue)) {
			t.Errorf("the file still has %q", residue)
		}
	}
	// The remote backend is told, and then the document is gone as well.
	due := must(f.Due(f.ctx, time.Minute, 10))(t)
	if len(due) != 1 || !due[0].Delete || due[0].Document != "d" || due[0].Body != nil {
		t.Fatalf("due: %+v", due)
	}
	if err := f.Done(f.ctx, due[0].ID); err != nil {
		t.Fatal(err)
	}
	if n := 0; raw(t, f.path).QueryRow("SELECT count(*) FROM mem_documents").Scan(&n) != nil || n != 0 {
		t.Errorf("%d documents are left", n)
	}
	// What was applied is not applied again.
	equal(t, must(f.Apply(f.ctx, "op-quokkasecret", memory.Operation{Facts: []memory.Fact{fact("applied", `"quokkasecret"`)}}))(t), false)
	again := must(f.Forget(f.ctx, space("w")))(t)
	equal(t, again.Items, 0)
}

func TestVerifyFindsResidue(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]string{
		"item":       "INSERT INTO mem_meta (name, value) VALUES ('left', CAST('a quokkasecret' AS BLOB))",
		"index":      "INSERT INTO mem_fts (rowid, body) VALUES (999, 'Quokkasecret')",
		"projection": `INSERT INTO mem_projections (id, document, version, space, item, gone, seal, body, tries, why, queued, due, dead) VALUES ('p', 'd', 1, 77, '{"id":"a-key"}', 0, '', x'', 0, '', 0, 0, 0)`,
		"space":      "INSERT INTO mem_spaces (kind, id) VALUES ('user', 'w')",
	} {
		f := newFixture(t)
		f.set(fact("a-key", `"quokkasecret"`))
		forgotten := must(f.Forget(f.ctx, space("w")))(t)
		if err := f.VerifyForgotten(f.ctx, forgotten); err != nil {
			t.Fatal(err)
		}
		if _, err := raw(t, f.path).Exec(damage); err != nil {
			t.Fatal(name, err)
		}
		refused(t, f.VerifyForgotten(f.ctx, forgotten), memory.Residue)
	}
}

// Case 16: what is derived from a note is forgotten with it. Case 18: one fact can be forgotten for good.
func TestCase16And18ForgetItem(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("An incident with a quokka.", id("episode")))
	f.save(note("An incident with a wombat.", id("episode-2")))
	f.save(note("Never feed the quokka.", id("rule"), func(n *memory.Note) { n.Sources = []string{"episode", "episode-2"} }))
	f.save(note("A rule of the rule on quokkas.", id("meta"), func(n *memory.Note) { n.Sources = []string{"rule"} }))
	ref := func(lane memory.Lane, id string) memory.Ref {
		return memory.Ref{Namespace: space("w"), Lane: lane, ID: id}
	}
	for _, id := range []string{"episode", "rule"} {
		if err := f.Enqueue(f.ctx, memory.Projection{ID: "p-" + id, Document: "doc-" + id, Item: ref(memory.NoteLane, id), Body: []byte("{}")}); err != nil {
			t.Fatal(err)
		}
	}
	forgotten := must(f.ForgetItem(f.ctx, ref(memory.NoteLane, "episode")))(t)
	if err := f.VerifyForgotten(f.ctx, forgotten); err != nil {
		t.Error(err)
	}
	equal(t, f.ids(inBank), []string{"episode-2"})
	equal(t, []any{forgotten.Items, forgotten.Names, forgotten.Documents}, []any{3, []string{"episode", "rule", "meta"}, []string{"doc-episode", "doc-rule"}})

	f.set(fact("false", `"numbat"`))
	f.set(fact("false", `"numbat!"`))
	f.set(fact("true", `"ibex"`))
	must(f.DeleteFact(f.ctx, space("w"), "false"))(t) // its versions can still be read
	forgotten = must(f.ForgetItem(f.ctx, ref(memory.FactLane, "false")))(t)
	if err := f.VerifyForgotten(f.ctx, forgotten); err != nil {
		t.Error(err)
	}
	if bytes.Contains(bytesOf(t, f.path), []byte("numbat")) {
		t.Error("the bytes are left")
	}
	_, err := f.FactAt(f.ctx, space("w"), "false", memory.Moment{System: start})
	refused(t, err, memory.NotFound)
	equal(t, must(f.GetFact(f.ctx, space("w"), "true"))(t).Value, "ibex")
	// Nobody meets an old version again.
	if x := must(f.SwapFact(f.ctx, fact("false", "1"), 0))(t); x.Version <= 3 {
		t.Errorf("version %d", x.Version)
	}
	equal(t, must(f.ForgetItem(f.ctx, ref(memory.NoteLane, "none")))(t).Items, 0)
	_, err = f.ForgetItem(f.ctx, memory.Ref{Namespace: space("w"), Lane: "x", ID: "a"})
	refused(t, err, memory.InvalidName)
}

func TestForgettingASupersederBringsBackTheOld(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("A", id("a")))
	f.save(note("B", id("b"), supersedes("a")))
	must(f.ForgetItem(f.ctx, memory.Ref{Namespace: space("w"), Lane: memory.NoteLane, ID: "b"}))(t)
	equal(t, f.ids(inBank), []string{"a"})
	equal(t, f.save(note("A")).ID, "a") // which is the equal note again
	f.save(note("C", id("c"), supersedes("a")))
	must(f.ForgetItem(f.ctx, memory.Ref{Namespace: space("w"), Lane: memory.NoteLane, ID: "a"}))(t)
	equal(t, f.ids(inBank), []string{"c"})
	equal(t, must(f.GetNote(f.ctx, space("w"), "c"))(t).Supersedes, nil)
}

func TestMemoryLivesInTheFileOfTheRuns(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "runs.db")
	db := must(dbfile.Open(t.Context(), dbfile.Config{Path: path, ApplicationID: engine.ApplicationID}))(t)
	defer db.Close()
	clock := newClock()
	runs := must(engine.New(t.Context(), db, clock.Now))(t)
	defer runs.Close()
	for range 2 {
		m := must(sqlite.Open(t.Context(), sqlite.Config{DB: db, Clock: clock.Now}))(t)
		must(m.SetFact(t.Context(), fact("k", "1")))(t)
		must(m.Forget(t.Context(), space("w")))(t)
		must(m.SetFact(t.Context(), fact("k", "1")))(t)
		if err := m.Close(); err != nil {
			t.Fatal(err)
		}
	}
	m := must(sqlite.Open(t.Context(), sqlite.Config{DB: db, Clock: clock.Now}))(t)
	equal(t, must(m.GetFact(t.Context(), space("w"), "k"))(t).Version, 1)
}

// A kill between the deletion and the merging of the index leaves work for the next opening.
func TestInterruptedForgettingIsFinished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", `"quokkasecret"`))
	f.reopen() // its words are in a part of the index of their own
	f.set(fact("other", `"koala"`))
	forgotten := sqlite.Forgotten{Names: []string{"k"}, Words: []string{"quokkasecret"}}
	refused(t, f.VerifyForgotten(f.ctx, forgotten), memory.Residue)
	db := raw(t, f.path)
	for _, q := range []string{
		"PRAGMA foreign_keys = 1", "PRAGMA secure_delete = 1",
		"DELETE FROM mem_fts WHERE rowid = 1", "DELETE FROM mem_items WHERE name = 'k'",
		"INSERT INTO mem_meta (name, value) VALUES ('purge', x'01')",
	} {
		must(db.Exec(q))(t)
	}
	db.Close()
	if !bytes.Contains(bytesOf(t, f.path), []byte("quokkasecret")) {
		t.Fatal("the test looks in the wrong place")
	}
	f.reopen()
	if err := f.VerifyForgotten(f.ctx, forgotten); err != nil {
		t.Error(err)
	}
	if bytes.Contains(bytesOf(t, f.path), []byte("okkasecret")) {
		t.Error("the bytes are left")
	}
	equal(t, f.find(inBank, "koala"), []string{"other"})
}

// So does a caller who gives up in between: the items are gone, the rest is for the next opening.
func TestGivenUpForgettingIsFinished(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", `"quokkasecret"`))
	f.reopen() // its words are in a part of the index of their own
	f.set(fact("other", `"koala"`, func(f *memory.Fact) { f.Namespace = space("neighbour") }))
	f.reopen()
	ctx, cancel := context.WithCancel(f.ctx)
	defer cancel()
	looked := 0
	s := must(sqlite.Open(f.ctx, sqlite.Config{Path: f.path, Synchronous: sqlite.Normal, Clock: func() time.Time {
		if looked > 0 { // the deletion is the first to look: it is done, and what comes after it is not
			if looked++; looked == 2 {
				cancel()
			}
		}
		return f.clock.Now()
	}}))(t)
	looked = 1
	if _, err := s.Forget(ctx, space("w")); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	_, err := s.GetFact(f.ctx, space("w"), "k")
	refused(t, err, memory.NotFound)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	f.reopen()
	if err := f.VerifyForgotten(f.ctx, sqlite.Forgotten{Names: []string{"k"}, Words: []string{"quokkasecret"}}); err != nil {
		t.Error(err)
	}
	if bytes.Contains(bytesOf(t, f.path), []byte("okkasecret")) {
		t.Error("the bytes are left")
	}
	equal(t, f.find(inBank, "koala"), []string{"other"})
}

// A word that others have somewhere else, in a path, a lane or within another word, does not tell that something is left.
func TestWordsOfOthersAreNoResidue(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]sqlite.Key{nil, {key("k")}} {
		f := newFixture(t, keys...)
		other := note("Restart it.", at(memory.Place{Namespace: space("neighbour"), Bank: "koalas", Tags: []string{"stream:wombats"}}))
		other.Origin = memory.Origin{Run: "nightly", Path: "last/step", Attempt: 1}
		f.save(other)
		f.set(fact("mine", `"The last step of nightly, rest, koala, wombat, accepted, message, note, version, rank: an ibexword of 2026"`))
		f.set(fact("mine", `"And a numbatword."`))
		f.save(note("An emuword in a note of the same namespace.", id("stays")))
		forgotten := must(f.ForgetItem(f.ctx, memory.Ref{Namespace: space("w"), Lane: memory.FactLane, ID: "mine"}))(t)
		if err := f.VerifyForgotten(f.ctx, forgotten); err != nil {
			t.Error(err)
		}
		slices.Sort(forgotten.Words)
		if !slices.Contains(forgotten.Words, "ibexword") || !slices.Contains(forgotten.Words, "numbatword") {
			t.Errorf("words: %v", forgotten.Words)
		}
		if err := f.VerifyForgotten(f.ctx, must(f.Forget(f.ctx, space("w")))(t)); err != nil {
			t.Error(err)
		}
	}
}
