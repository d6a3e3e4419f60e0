package hindsight_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/hindsight"
	"github.com/cairnrun/cairn/memory/hindsight/hindsighttest"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// queues queues items as a backend does, in a real store.
func queues(t *testing.T, s *sqlite.Store) func(hindsight.Item) {
	return func(i hindsight.Item) {
		p := memory.Projection{ID: i.OperationID, Document: i.Bank + "\n" + i.Document, Version: i.Version, Item: memory.Ref{Namespace: known}, Delete: i.Op == hindsight.Delete}
		if !p.Delete {
			p.Body, _ = json.Marshal(map[string]any{"content": i.Content, "context": i.Context, "tags": i.Tags, "metadata": i.Metadata, "time": i.Time})
		}
		if err := s.Enqueue(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
}

// known is a namespace of the store: what is queued for an unknown one was forgotten.
var known = memory.Namespace{Kind: memory.WorkflowKind, ID: "w"}

// TestStoreIsAQueue: what the projector needs of a queue, the store has.
func TestStoreIsAQueue(t *testing.T) {
	hindsighttest.RunQueue(t, func(t *testing.T, _ time.Duration) hindsighttest.Feed {
		s, err := sqlite.Open(context.Background(), sqlite.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		if _, err := s.SetFact(context.Background(), memory.Fact{Place: memory.Place{Namespace: known}, Key: "k", Value: []byte("1")}); err != nil {
			t.Fatal(err)
		}
		return hindsighttest.Feed{Queue: (&hindsight.Backend{Local: s}).Outbox(), Add: queues(t, s)}
	})
}

// TestBackend walks a record's way: kept here, told to the server, recalled from there, and forgotten in both. Without the
// server the local store answers, and the failure is told.
func TestBackend(t *testing.T) {
	server := hindsighttest.NewServer("1.1.0")
	away := true
	client, err := hindsight.New(hindsight.Config{URL: "http://hindsight", BankPrefix: "dev-", HTTP: &http.Client{Transport: &network{handler: server,
		fault: func(*http.Request) (before, after time.Duration, verdict string) {
			if away {
				return 0, 0, "cut before"
			}
			return 0, 0, ""
		}}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "memory.db")
	open := func() *hindsight.Backend {
		s, err := sqlite.Open(t.Context(), sqlite.Config{Path: path})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() })
		return &hindsight.Backend{Local: s, Client: client}
	}
	saved := memory.Saved{ID: "op-1", Bank: "user-1", Tags: []string{"source:run"}, Text: "quokkas like the early deploy", Digest: true, Workflow: "w",
		Origin: memory.Origin{Run: "r", Path: "p", Attempt: 1}}
	b := open()
	for range 2 {
		if err := b.Keep(t.Context(), saved); err != nil {
			t.Fatal(err)
		}
	}
	ask := memory.Query{Bank: "user-1", Text: "quokkas", Filter: memory.Filter{{"source:run"}}}
	found, err := b.Recall(t.Context(), ask)
	if err == nil || len(found.Rows) != 1 || found.Arms[0] != "local" {
		t.Fatalf("without the server: %+v, %v", found, err)
	}
	away = false
	b = open() // the process has died in between
	p := &hindsight.Projector{Client: client, Queue: b.Outbox(), First: 1}
	for range 50 {
		if _, err := p.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(server.Applied()) > 0 {
			break
		}
	}
	if applied := server.Applied(); len(applied) != 1 {
		t.Fatalf("the server has applied %+v", applied)
	}
	if found, err = b.Recall(t.Context(), ask); err != nil || len(found.Rows) != 1 || found.Rows[0].Text != saved.Text || found.Arms[0] != "hindsight" {
		t.Fatalf("from the server: %+v, %v", found, err)
	}
	if _, err := b.Local.(*sqlite.Store).Forget(t.Context(), known); err != nil {
		t.Fatal(err)
	}
	for range 50 {
		if _, err := p.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if found, err = b.Recall(t.Context(), ask); err != nil || len(found.Rows) != 0 {
		t.Fatalf("forgotten, and found: %+v, %v", found, err)
	}
}

// backend is a store with a server that answers.
func backend(t *testing.T) (*hindsight.Backend, *hindsight.Client, *hindsighttest.Server) {
	t.Helper()
	server := hindsighttest.NewServer("1.1.0")
	client, err := hindsight.New(hindsight.Config{URL: "http://hindsight", HTTP: &http.Client{Transport: &network{handler: server}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &hindsight.Backend{Local: s, Client: client}, client, server
}

// drain tells the server what waits, until it has it.
func drain(t *testing.T, b *hindsight.Backend, client *hindsight.Client, told func() bool) {
	t.Helper()
	p := &hindsight.Projector{Client: client, Queue: b.Outbox(), First: 1}
	for n := 0; n < 50 && !told(); n++ {
		if _, err := p.Drain(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTheLocalStoreDecidesWhatCounts: what was rejected, retired or superseded here is not recalled from the server, which is
// not told of that, and what is only here is recalled with what the server has.
func TestTheLocalStoreDecidesWhatCounts(t *testing.T) {
	b, client, server := backend(t)
	s := b.Local.(*sqlite.Store)
	for _, text := range []string{"quokkas are rejected", "quokkas are retired", "quokkas are superseded", "quokkas are fine"} {
		if err := b.Keep(t.Context(), memory.Saved{ID: text, Bank: "team", Text: text, Workflow: "w", Origin: memory.Origin{Run: "r", Path: "p", Attempt: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, b, client, func() bool { return len(server.Applied()) == 4 })
	notes, err := s.Notes(t.Context(), memory.Scope{Bank: "team"})
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, n := range notes {
		ids[n.Body] = n.ID
	}
	recalled := func(filter memory.Filter) string {
		found, err := b.Recall(t.Context(), memory.Query{Bank: "team", Text: "quokkas", Filter: filter})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		for _, r := range found.Rows {
			texts = append(texts, strings.TrimPrefix(r.Text, "quokkas are "))
		}
		slices.Sort(texts)
		return fmt.Sprint(texts, found.Dropped["no longer counts"])
	}
	if got := recalled(nil); got != "[fine rejected retired superseded] 0" {
		t.Fatal(got)
	}
	if _, err := s.SetStatus(t.Context(), known, ids["quokkas are rejected"], memory.Rejected); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retire(t.Context(), known, ids["quokkas are retired"], time.Time{}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.SaveNote(t.Context(), memory.Note{Place: memory.Place{Namespace: known, Bank: "team"}, Body: "quokkas are a rule", Type: memory.Procedural,
		Supersedes: []string{ids["quokkas are superseded"]}}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SetFact(t.Context(), memory.Fact{Place: memory.Place{Namespace: known, Bank: "team"}, Key: "quokkas", Value: []byte("7")}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.SaveNote(t.Context(), memory.Note{Place: memory.Place{Namespace: known, Bank: "other"}, Body: "quokkas are elsewhere"}); err != nil {
		t.Fatal(err)
	}
	if got := recalled(nil); got != "[a rule fine quokkas: 7] 3" {
		t.Error(got)
	}
	if _, err := s.SetStatus(t.Context(), known, ids["quokkas are rejected"], memory.Accepted); err != nil {
		t.Fatal(err)
	}
	if got := recalled(nil); got != "[a rule fine quokkas: 7 rejected] 2" {
		t.Error("accepted again: ", got)
	}
}

// TestWhatAnotherBranchSupersedesCounts: for those who are not shown what supersedes it.
func TestWhatAnotherBranchSupersedesCounts(t *testing.T) {
	b, client, server := backend(t)
	keep := func(workflow string) {
		if err := b.Keep(t.Context(), memory.Saved{ID: workflow, Bank: "project-p", Tags: []string{"scope:main"}, Text: "feed the quokkas", Workflow: workflow,
			Origin: memory.Origin{Run: "r", Path: "p", Attempt: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	keep("w")
	drain(t, b, client, func() bool { return len(server.Applied()) == 1 })
	notes, err := b.Notes(t.Context(), memory.Scope{Bank: "project-p"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.SaveNote(t.Context(), memory.Note{Place: memory.Place{Namespace: known, Bank: "project-p", Tags: []string{"branch:x", "scope:branch"}},
		Body: "pet them", Supersedes: []string{notes[0].ID}}); err != nil {
		t.Fatal(err)
	}
	recalled := func(branches ...string) int {
		found, err := b.Recall(t.Context(), memory.Query{Bank: "project-p", Text: "quokkas", Filter: memory.Filter{append([]string{"scope:main"}, branches...)}})
		if err != nil {
			t.Fatal(err)
		}
		return len(found.Rows)
	}
	if main, branch := recalled(), recalled("branch:x"); main != 1 || branch != 0 {
		t.Errorf("main is told %d rows, the branch %d", main, branch)
	}
	// Another workflow has learnt the same: what it has is its own, and forgetting it takes nothing from this one.
	keep("other")
	drain(t, b, client, func() bool { return len(server.Applied()) == 2 })
	if _, err := b.Local.(*sqlite.Store).Forget(t.Context(), memory.Namespace{Kind: memory.WorkflowKind, ID: "other"}); err != nil {
		t.Fatal(err)
	}
	drain(t, b, client, func() bool { return false })
	if n := recalled(); n != 1 {
		t.Errorf("%d rows are left of this workflow's", n)
	}
}

func TestPrimersOfBoth(t *testing.T) {
	server := hindsighttest.NewServer("1.1.0")
	server.AddModel("project-p", hindsighttest.Model{ID: "remote", Content: "From the server."})
	client, err := hindsight.New(hindsight.Config{URL: "http://hindsight", HTTP: &http.Client{Transport: &network{handler: server}}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), sqlite.Config{Path: filepath.Join(t.TempDir(), "memory.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, _, err := s.SaveNote(t.Context(), memory.Note{Place: memory.Place{Namespace: known, Bank: "project-p"}, ID: "local", Body: "From here.", Pinned: true}); err != nil {
		t.Fatal(err)
	}
	got, err := (&hindsight.Backend{Local: s, Client: client}).Primers(t.Context(), "project-p", []string{"remote", "local", "absent"}, nil)
	if err != nil || len(got) != 2 || got["remote"].Text != "From the server." || got["local"].Text != "From here." {
		t.Fatal(got, err)
	}
}

// TestAPrimerIsNoRowOfTheServersToo: a pinned note that the server was told of stands in the block as a primer, and once. The
// server may say it in words of its own: rows say which note they are of.
func TestAPrimerIsNoRowOfTheServersToo(t *testing.T) {
	b, client, server := backend(t)
	for _, text := range []string{"quokkas like rules", "quokkas like grass"} {
		if err := b.Keep(t.Context(), memory.Saved{ID: text, Bank: "team", Text: text, Workflow: "w", Origin: memory.Origin{Run: "r", Path: "p", Attempt: 1}}); err != nil {
			t.Fatal(err)
		}
	}
	drain(t, b, client, func() bool { return len(server.Applied()) == 2 })
	notes, err := b.Notes(t.Context(), memory.Scope{Bank: "team"})
	if err != nil || len(notes) != 2 {
		t.Fatal(notes, err)
	}
	found, err := b.Recall(t.Context(), memory.Query{Bank: "team", Text: "quokkas"})
	for _, row := range found.Rows {
		at := slices.IndexFunc(notes, func(n memory.Note) bool { return n.Body == row.Text })
		if want := (memory.Ref{Namespace: known, Lane: memory.NoteLane, ID: notes[at].ID}); row.Item != want || err != nil {
			t.Errorf("a row is of %v, not %v: %v", row.Item, want, err)
		}
	}
	pinned := notes[slices.IndexFunc(notes, func(n memory.Note) bool { return n.Body == "quokkas like rules" })]
	spec := cairn.MemorySpec{Banks: []string{"team"}, Primers: []string{pinned.ID}}
	block := func() (string, cairn.Recall) {
		return (&memory.Runtime{Store: b}).Preview(t.Context(), spec, "quokkas")
	}
	if got, report := block(); strings.Count(got, "- [team] quokkas") != 2 || report.Rows != 2 || report.Primers != 0 {
		t.Fatalf("%+v\n%s", report, got)
	}
	if _, err := b.Local.(*sqlite.Store).SetPinned(t.Context(), known, pinned.ID, true); err != nil {
		t.Fatal(err)
	}
	got, report := block()
	if strings.Count(got, "like rules") != 1 || !strings.Contains(got, "- [team] quokkas like grass") || report.Primers != 1 || report.Rows != 1 ||
		report.Banks[0].Arms[0] != "hindsight" || report.Banks[0].Dropped["shown as a primer"] != 1 {
		t.Errorf("%+v\n%s", report, got)
	}
}
