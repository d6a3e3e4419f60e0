package sqlite_test

import (
	"testing"

	"github.com/cairnrun/cairn/memory"
)

func pinned(n *memory.Note) { n.Pinned = true }

func by(run string) func(*memory.Note) { return func(n *memory.Note) { n.Origin.Run = run } }

// A primer keeps its id in all of its versions. What is called like a version of another, or of a name that only begins alike,
// is none.
func TestPrimersHaveVersions(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	given := func(id string, filter memory.Filter) string {
		t.Helper()
		return must(f.Primers(f.ctx, "b", []string{id}, filter))(t)[id].Text
	}
	f.save(note("first", id("rules"), pinned))
	for _, other := range []string{"rules@", "rules@1", "rules@02", "rules@x", "rules@9/x", "rules@2@x", "rulesA", "rule", "rules/2"} {
		f.save(note("of "+other, id(other), pinned))
	}
	equal(t, given("rules", nil), "first")
	f.save(note("second", id("rules@2"), pinned, supersedes("rules")))
	f.save(note("tenth", id("rules@10"), pinned, supersedes("rules@2")))
	equal(t, given("rules", nil), "tenth")
	equal(t, given("rules@10", nil), "tenth") // by its own id it is one, too
	must(f.SetStatus(f.ctx, space("w"), "rules@10", memory.Rejected))(t)
	equal(t, given("rules", nil), "second")
	equal(t, must(f.Primer(f.ctx, "b", "rules"))(t), memory.Primer{Bank: "b", ID: "rules", Text: "second", Note: memory.Ref{Namespace: space("w"), Lane: memory.NoteLane, ID: "rules@2"}})

	// What a person pinned is for all readers, what a run wrote for those who recall it.
	f.save(note("a person's", id("team"), pinned))
	f.save(note("of a", id("team@2"), pinned, supersedes("team"), at(place("b", "team:a")), by("r")))
	equal(t, given("team", memory.Filter{{"team:a"}}), "of a")
	equal(t, given("team", memory.Filter{{"team:b"}}), "a person's")
	f.save(note("only of a", id("own"), pinned, at(place("b", "team:a")), by("r")))
	equal(t, given("own", memory.Filter{{"team:a"}}), "only of a")
	equal(t, given("own", memory.Filter{{"team:b"}}), "")

	// Of several namespaces it is the oldest, and one that was edited since.
	other := place("b")
	other.Namespace.ID = "other"
	f.clock.Advance(1e9)
	f.save(note("the younger", id("rules"), pinned, at(other)))
	f.save(note("another team", id("team"), pinned, at(other)))
	equal(t, given("team", nil), "of a")
	must(f.SetStatus(f.ctx, space("w"), "rules@2", memory.Rejected))(t)
	equal(t, given("rules", nil), "first")
}

// An operation that expects something else is not carried out, nor known as such.
func TestOperationsCompareBeforeTheySwap(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("first", id("rules"), pinned))
	edit := func(id string, seen ...string) memory.Operation {
		op := memory.Operation{Expect: []memory.Expected{{Bank: "b", ID: "rules"}}, Notes: []memory.Note{note("by "+id, func(n *memory.Note) { n.ID, n.Pinned, n.Supersedes = id, true, seen })}}
		for _, s := range seen {
			op.Expect[0].Notes = append(op.Expect[0].Notes, memory.Ref{Namespace: space("w"), ID: s})
		}
		return op
	}
	_, err := f.Apply(f.ctx, "op", edit("rules@2"))
	refused(t, err, memory.VersionConflict)
	equal(t, must(f.Applied(f.ctx, "op"))(t), false)
	equal(t, must(f.Apply(f.ctx, "op", edit("rules@2", "rules")))(t), true)
	equal(t, must(f.Applied(f.ctx, "op"))(t), true)
	equal(t, must(f.Apply(f.ctx, "op", edit("rules@3", "rules")))(t), false) // done already, whatever is there now
	for _, stale := range [][]string{{"rules"}, {}, {"rules", "rules@2"}, {"rules@3"}} {
		_, err := f.Apply(f.ctx, "op-2", edit("rules@4", stale...))
		refused(t, err, memory.VersionConflict)
	}
	equal(t, f.ids(inBank), []string{"rules@2"})
	_, err = f.Applied(f.ctx, "")
	refused(t, err, memory.InvalidName)
}
