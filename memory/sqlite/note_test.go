package sqlite_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn/memory"
)

// Case 5: equal notes are one row however many write them at once, and all writers get its id.
func TestCase05EqualNotesAreOneRow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := f.open() // as another process would
	defer other.Close()
	const writers = 64
	ids := make([]string, writers)
	fresh := make([]bool, writers)
	var wg sync.WaitGroup
	for i := range writers {
		store := f.Store
		if i%2 == 1 {
			store = other
		}
		wg.Go(func() {
			n := note("Use bun test.", func(n *memory.Note) {
				if i%3 == 0 {
					n.ID = fmt.Sprint("mine-", i)
				}
			})
			saved, isNew, err := store.SaveNote(f.ctx, n)
			if err != nil {
				t.Error(err)
			}
			ids[i], fresh[i] = saved.ID, isNew
		})
	}
	wg.Wait()
	news := 0
	for i := range writers {
		if ids[i] != ids[0] {
			t.Errorf("ids %s and %s", ids[i], ids[0])
		}
		if fresh[i] {
			news++
		}
	}
	equal(t, news, 1)
	equal(t, f.ids(inBank), []string{ids[0]})
	// What differs in anything but its id and status is another note.
	for _, change := range []func(*memory.Note){
		func(n *memory.Note) { n.Bank = "other" },
		func(n *memory.Note) { n.Namespace.ID = "other" },
		func(n *memory.Note) { n.Namespace.Kind = memory.UserKind },
		func(n *memory.Note) { n.Tags = []string{"branch:x"} },
		func(n *memory.Note) { n.Title = "x" },
		func(n *memory.Note) { n.Type = memory.Procedural },
		func(n *memory.Note) { n.Supersedes = []string{ids[0]} },
		func(n *memory.Note) { n.Sources = []string{ids[0]} },
		func(n *memory.Note) { n.Valid.To = start.AddDate(1, 0, 0) },
	} {
		if _, isNew, err := f.SaveNote(f.ctx, note("Use bun test.", change)); err != nil || !isNew {
			t.Errorf("new is %v, %v", isNew, err)
		}
	}
}

// Case 12: the same text at other times is another note, and supersession needs an id of the same namespace and bank.
func TestCase12IntervalsAndSupersessionAreExplicit(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a := f.save(note("The office is in Bonn.", holds(start.AddDate(-2, 0, 0), start.AddDate(-1, 0, 0))))
	b := f.save(note("The office is in Bonn.", holds(start, start.AddDate(1, 0, 0))))
	if a.ID == b.ID {
		t.Fatal("two intervals became one note")
	}
	equal(t, f.save(note("The office is in Bonn.", holds(a.Valid.From, a.Valid.To))).ID, a.ID)
	equal(t, f.ids(inBank), []string{b.ID})
	// A time zone is no other time.
	zone := time.FixedZone("east", 5*3600)
	equal(t, f.save(note("The office is in Bonn.", holds(b.Valid.From.In(zone), b.Valid.To.In(zone)))).ID, b.ID)

	elsewhere := place("b")
	elsewhere.Namespace.ID = "other"
	_, _, err := f.SaveNote(f.ctx, note("No.", at(elsewhere), supersedes(b.ID)))
	refused(t, err, memory.NotFound)
	_, _, err = f.SaveNote(f.ctx, note("No.", at(place("c")), supersedes(b.ID)))
	refused(t, err, memory.InvalidItem)
	_, _, err = f.SaveNote(f.ctx, note("No.", id("self"), supersedes("self")))
	refused(t, err, memory.InvalidItem)
	_, _, err = f.SaveNote(f.ctx, note("No.", supersedes(b.ID, b.ID)))
	refused(t, err, memory.InvalidItem)
	equal(t, f.ids(inBank), []string{b.ID})
}

func TestSupersessionFollowsTheStatus(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	setStatus := func(id string, s memory.Status) {
		t.Helper()
		must(f.SetStatus(f.ctx, space("w"), id, s))(t)
	}
	a := f.save(note("A", id("a")))
	f.save(note("B", id("b"), status(memory.Proposed), supersedes("a")))
	equal(t, f.ids(inBank), []string{"a"})
	equal(t, f.ids(memory.Scope{Bank: "b", Statuses: []memory.Status{memory.Proposed}}), []string{"b"})
	setStatus("b", memory.Rejected)
	equal(t, f.ids(inBank), []string{"a"})
	setStatus("b", memory.Accepted)
	equal(t, f.ids(inBank), []string{"b"})
	equal(t, must(f.GetNote(f.ctx, space("w"), "a"))(t).Superseded, true)
	equal(t, f.ids(memory.Scope{Bank: "b", Statuses: []memory.Status{memory.Accepted}}), []string{"a", "b"})
	setStatus("b", memory.Rejected)
	equal(t, f.ids(inBank), []string{"a"})
	setStatus("b", memory.Accepted)
	// A chain: who is superseded still supersedes.
	f.save(note("C", id("c"), supersedes("b")))
	equal(t, f.ids(inBank), []string{"c"})
	setStatus("b", memory.Rejected)
	equal(t, f.ids(inBank), []string{"a", "c"})
	setStatus("b", memory.Accepted)
	setStatus("c", memory.Rejected)
	equal(t, f.ids(inBank), []string{"b"})
	// An equal note of one that is superseded is new; when that comes back, there are two.
	again, isNew, err := f.SaveNote(f.ctx, note("A"))
	equal(t, []any{isNew, err}, []any{true, nil})
	equal(t, f.ids(inBank), []string{"b", again.ID})
	setStatus("b", memory.Rejected)
	equal(t, f.ids(inBank), []string{"a", again.ID})
	equal(t, a.Body, again.Body)
	_, err = f.SetStatus(f.ctx, space("w"), "none", memory.Accepted)
	refused(t, err, memory.NotFound)
	_, err = f.SetStatus(f.ctx, space("w"), "a", "good")
	refused(t, err, memory.InvalidItem)
}

func TestWhatWasRejectedIsNotProposedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	n := f.save(note("Deploy on Fridays.", status(memory.Proposed)))
	must(f.SetStatus(f.ctx, space("w"), n.ID, memory.Rejected))(t)
	again, isNew, err := f.SaveNote(f.ctx, note("Deploy on Fridays.", status(memory.Proposed)))
	equal(t, []any{again.ID, again.Status, isNew, err}, []any{n.ID, memory.Rejected, false, nil})
}

func TestSupersessionWaitsForValidity(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("Until then.", id("old")))
	f.save(note("From then.", id("new"), supersedes("old"), holds(start.Add(time.Hour), time.Time{})))
	equal(t, f.ids(inBank), []string{"old"})
	f.clock.Advance(time.Hour)
	equal(t, f.ids(inBank), []string{"new"})
}

func TestRetireEndsWithoutASuccessor(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("A", id("a")))
	f.save(note("B", id("b"), supersedes("a")))
	must(f.Retire(f.ctx, space("w"), "b", start.Add(time.Hour)))(t)
	f.clock.Advance(time.Hour - time.Millisecond)
	equal(t, f.ids(inBank), []string{"b"})
	equal(t, f.find(inBank, "B"), []string{"b"})
	f.clock.Advance(time.Millisecond)
	equal(t, f.ids(inBank), []string{}) // and what it superseded stays so
	equal(t, f.find(inBank, "B"), []string{})
	f.clock.Advance(time.Minute)
	n := must(f.Retire(f.ctx, space("w"), "b", time.Time{}))(t)
	equal(t, n.Valid.To, start.Add(time.Hour)) // earlier stays earlier
	if _, isNew, err := f.SaveNote(f.ctx, note("B", supersedes("a"))); err != nil || !isNew {
		t.Errorf("what is retired stands in the way: %v", err)
	}
}

func TestNotesAreNeverEdited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("A", id("a")))
	f.clock.Advance(time.Hour)
	again, isNew, err := f.SaveNote(f.ctx, note("A", id("a"), status(memory.Proposed)))
	equal(t, []any{again.Created, again.Status, isNew, err}, []any{start, memory.Accepted, false, nil})
	_, _, err = f.SaveNote(f.ctx, note("B", id("a")))
	refused(t, err, memory.Exists)
	_, _, err = f.SaveNote(f.ctx, note(" \n"))
	refused(t, err, memory.InvalidItem)
}

// A superseder hides a note from those readers alone who are shown the superseder.
func TestABranchHidesNothingFromOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("Use npm.", id("main"), at(place("b", "scope:main"))))
	f.save(note("Use bun.", id("branch"), at(place("b", "branch:x", "scope:branch")), supersedes("main")))
	main := memory.Scope{Bank: "b", Tags: [][]string{{"scope:main"}}}
	branch := memory.Scope{Bank: "b", Tags: [][]string{{"scope:main", "branch:x"}}}
	equal(t, f.ids(main), []string{"main"})
	equal(t, f.find(main, "npm", "bun"), []string{"main"})
	equal(t, f.ids(branch), []string{"branch"})
	equal(t, f.find(branch, "npm", "bun"), []string{"branch"})
	equal(t, f.ids(memory.Scope{Bank: "b", Tags: [][]string{{"branch:y", "scope:main"}}}), []string{"main"})
}

// Case 23: a primer is read as it stands, every time.
func TestCase23PrimersAreVerbatim(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	body := "  Rule 1:\n\n\tnever  </force-push>  \n"
	f.save(note(body, id("rules")))
	_, err := f.Primer(f.ctx, "b", "rules")
	refused(t, err, memory.NotFound)
	must(f.SetPinned(f.ctx, space("w"), "rules", true))(t)
	equal(t, must(f.Primer(f.ctx, "b", "rules"))(t), memory.Primer{Bank: "b", ID: "rules", Text: body, Note: memory.Ref{Namespace: space("w"), Lane: memory.NoteLane, ID: "rules"}})
	for _, missing := range [][2]string{{"b", "Rules"}, {"b", "rule%"}, {"B", "rules"}} {
		_, err := f.Primer(f.ctx, missing[0], missing[1])
		refused(t, err, memory.NotFound)
	}
	must(f.SetStatus(f.ctx, space("w"), "rules", memory.Proposed))(t)
	_, err = f.Primer(f.ctx, "b", "rules")
	refused(t, err, memory.NotFound)
}

func TestDigestsAreEpisodes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	d := memory.Digest{Place: place("b"), Text: "12 packages audited.", Time: start.Add(-time.Minute), Origin: memory.Origin{Run: "r", Path: "audit[1]/totals", Attempt: 2}}
	n, isNew, err := f.Retain(f.ctx, d)
	equal(t, []any{n.Type, n.Status, n.Task, n.Time, n.Origin, isNew, err}, []any{memory.Episodic, memory.Accepted, "audit[1]/totals", d.Time, d.Origin, true, nil})
	_, isNew, err = f.Retain(f.ctx, d)
	equal(t, []any{isNew, err}, []any{false, nil})
	for _, bad := range []memory.Digest{{Place: d.Place, Text: "x", Origin: d.Origin}, {Place: d.Place, Text: "x", Time: start}} {
		_, _, err := f.Retain(f.ctx, bad)
		refused(t, err, memory.InvalidItem)
	}
}
