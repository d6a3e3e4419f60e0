package sqlite_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// Case 11: what is searched for is text and never syntax.
func TestCase11TermsAreNeverSyntax(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]sqlite.Key{nil, {key("k")}} {
		f := newFixture(t, keys...)
		n := f.save(note("Ticket POL-358 isn't NEAR done: title:x AND y* (café)"))
		f.save(note("Nothing of that."))
		for _, term := range []string{"POL-358", "NEAR", "y*", "title:x", "(café)", "cafe", `"café"`, "pol-358", "done"} {
			if got := f.find(inBank, term); !slices.Equal(got, []string{n.ID}) {
				t.Errorf("%s finds %v", term, got)
			}
		}
		for _, term := range []string{"", " ", "\x00", "***", `"`, `""`, "-", "colour:", "NOT", "{title} : x", "^", "\xff", "NEAR(a b)", "' OR 1=1 --"} {
			if got := must(f.Candidates(f.ctx, inBank, []string{term}, 10))(t); len(got) > 0 && strings.TrimSpace(term) != "NOT" && term != "{title} : x" {
				t.Errorf("%q finds %v", term, refs(got))
			}
		}
		equal(t, f.find(inBank), []string{})
	}
}

func FuzzTerms(f *testing.F) {
	for _, seed := range []string{"POL-358", `a" OR "b`, "NEAR(", "\x00", "备份", "*", "a AND NOT b", `"""`, "{body}:", strings.Repeat("x ", 300)} {
		f.Add(seed, seed)
	}
	x := newFixture(f)
	x.save(note("Something to be found."))
	elsewhere := x.save(note("Something that must not be found.", at(place("secret"))))
	f.Fuzz(func(t *testing.T, a, b string) {
		list, err := x.Candidates(x.ctx, inBank, append([]string{a, b, "something"}, strings.Fields(a)...), 10)
		if err != nil || len(list) == 0 {
			t.Fatalf("%q, %q: %v, %v", a, b, list, err)
		}
		for _, i := range list {
			if i.ID == elsewhere.ID {
				t.Fatalf("%q, %q: left the bank", a, b)
			}
		}
	})
}

func TestCandidatesAreRanked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("The deploy of the parser failed.", id("one")))
	f.save(note("Parser, parser, parser: it parses.", id("three")))
	f.save(note(strings.Repeat("Other words. ", 30)+"And the parser.", id("long")))
	f.save(note("Nothing.", id("none")))
	f.set(fact("parser", `"in the key"`))
	list := must(f.Candidates(f.ctx, inBank, []string{"parser"}, 10))(t)
	if len(list) != 4 || list[0].ID != "three" || list[3].ID != "long" {
		t.Errorf("order: %v", refs(list))
	}
	for i, x := range list {
		if i > 0 && x.Score > list[i-1].Score || x.Score <= 0 {
			t.Errorf("score %d: %v", i, x.Score)
		}
	}
	equal(t, must(f.Candidates(f.ctx, inBank, []string{"parser"}, 2))(t), list[:2])
	equal(t, f.find(memory.Scope{Bank: "b", Lanes: []memory.Lane{memory.FactLane}}, "parser"), []string{"parser"})
	equal(t, len(f.find(memory.Scope{Namespace: space("w")}, "parser")), 4)
	equal(t, f.find(memory.Scope{Namespace: space("other")}, "parser"), []string{})
	for _, unscoped := range []memory.Scope{{}, {Tags: [][]string{{"x"}}}, {Run: "r"}} {
		_, err := f.Candidates(f.ctx, unscoped, []string{"parser"}, 10)
		refused(t, err, memory.Unscoped)
		_, _, err = f.Items(f.ctx, unscoped, sqlite.Page{})
		refused(t, err, memory.Unscoped)
		_, err = f.Notes(f.ctx, unscoped)
		refused(t, err, memory.Unscoped)
	}
}

func TestNewestVersionIsSearched(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", `"quokka"`))
	f.set(fact("k", `"wombat"`))
	equal(t, f.find(inBank, "quokka"), []string{})
	equal(t, f.find(inBank, "wombat"), []string{"k"})
	f.set(fact("k", `"wombat"`, func(f *memory.Fact) { f.Bank = "c" }))
	equal(t, f.find(inBank, "wombat"), []string{})
	equal(t, f.find(memory.Scope{Bank: "c"}, "wombat"), []string{"k"})
	f.set(fact("k", `"koala"`, valid(start.Add(time.Hour), time.Time{})))
	equal(t, f.find(inBank, "koala"), []string{})
	f.clock.Advance(time.Hour)
	equal(t, f.find(inBank, "koala"), []string{"k"})
	must(f.DeleteFact(f.ctx, space("w"), "k"))(t)
	equal(t, f.find(inBank, "koala"), []string{})
}

// The query must end at its limit instead of ranking in a temporary table.
func TestCandidatesUseTheIndexsOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("x"))
	rows := must(raw(t, f.path).Query(`EXPLAIN QUERY PLAN SELECT i.no, f.rank FROM mem_fts f CROSS JOIN mem_items i ON i.no = f.rowid CROSS JOIN mem_spaces p ON p.no = i.space
		WHERE mem_fts MATCH 'x' AND i.bank = 'b' AND NOT EXISTS (SELECT 1 FROM mem_supersedes e JOIN mem_items o ON o.no = e.note WHERE e.old = i.no) ORDER BY f.rank LIMIT 5`))(t)
	defer rows.Close()
	for rows.Next() {
		var a, b, c int
		var detail string
		if err := rows.Scan(&a, &b, &c, &detail); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(detail, "TEMP B-TREE") || strings.HasPrefix(detail, "SCAN i") {
			t.Error(detail)
		}
	}
}

func TestNeighbours(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread(user("1", "a"), user("2", "b"), user("3", "quokka"), user("4", "d"), user("5", "e"))
	from := func(path string) func(*memory.Note) {
		return func(n *memory.Note) { n.Origin = memory.Origin{Run: "r", Path: path} }
	}
	f.save(note("First of a task.", id("n1"), from("p")))
	f.save(note("A wombat in the second, beside seven other animals of many kinds.", id("n2"), from("p")))
	f.save(note("Another task.", id("n3"), from("q")))
	f.save(note("Another bank.", id("n4"), from("p"), at(place("c"))))
	list := must(f.Candidates(f.ctx, inBank, []string{"quokka", "wombat"}, 10))(t)
	equal(t, refs(list), []string{"3", "n2"})
	equal(t, refs(must(f.Neighbours(f.ctx, inBank, list, 1))(t)), []string{"2", "4", "n1"})
	equal(t, refs(must(f.Neighbours(f.ctx, inBank, list[:1], 9))(t)), []string{"2", "1", "4", "5"})
	equal(t, refs(must(f.Neighbours(f.ctx, memory.Scope{Bank: "b", Tags: [][]string{{"x"}}}, list, 1))(t)), []string{})
}

func TestPagesAreStableUnderWrites(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var want []string
	for i := range 25 {
		n := f.save(note(fmt.Sprint("note ", i), id(fmt.Sprint("n", i))))
		want = append(want, n.ID)
		if i%3 == 0 {
			f.clock.Advance(time.Millisecond)
		}
	}
	slices.Reverse(want)
	var got []string
	next := ""
	for page := 0; page == 0 || next != ""; page++ {
		list, after, err := f.Items(f.ctx, inBank, sqlite.Page{After: next, Limit: 4})
		got, next = append(got, refs(must(list, err)(t))...), after
		f.clock.Advance(time.Millisecond)
		f.save(note(fmt.Sprint("written meanwhile ", page)))
	}
	equal(t, got, want)
	_, _, err := f.Items(f.ctx, inBank, sqlite.Page{After: "x"})
	refused(t, err, memory.InvalidItem)
}

func TestScopeNarrows(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.save(note("one word", id("sem"), at(place("b", "a", "b"))))
	f.save(note("two word", id("proc"), at(place("b", "a")), func(n *memory.Note) { n.Type = memory.Procedural }))
	f.save(note("three word", id("prop"), status(memory.Proposed), at(place("b", "b"))))
	f.clock.Advance(time.Hour)
	f.save(note("four word", id("late"), func(n *memory.Note) { n.Pinned, n.Origin = true, memory.Origin{Run: "r", Path: "p"} }))
	for _, tt := range []struct {
		scope memory.Scope
		want  string
	}{
		{memory.Scope{}, "late proc sem"},
		{memory.Scope{Tags: [][]string{{"a"}}}, "proc sem"},
		{memory.Scope{Tags: [][]string{{"a"}, {"b"}}}, "sem"},
		{memory.Scope{Tags: [][]string{{"b", "none"}}}, "sem"},
		{memory.Scope{Tags: [][]string{{"a"}, {}}}, ""},
		{memory.Scope{Tags: [][]string{{"A"}}}, ""},
		{memory.Scope{Types: []memory.Type{memory.Procedural}}, "proc"},
		{memory.Scope{Statuses: []memory.Status{memory.Proposed}}, "prop"},
		{memory.Scope{Statuses: []memory.Status{memory.Proposed, memory.Accepted}, Tags: [][]string{{"b"}}}, "prop sem"},
		{memory.Scope{Pinned: true}, "late"},
		{memory.Scope{Run: "r"}, "late"},
		{memory.Scope{Run: "r", Path: "q"}, ""},
		{memory.Scope{Since: start.Add(time.Hour)}, "late"},
		{memory.Scope{Before: start.Add(time.Hour)}, "proc sem"},
		{memory.Scope{Lanes: []memory.Lane{memory.FactLane}}, ""},
	} {
		tt.scope.Bank = "b"
		for name, got := range map[string][]string{"find": f.find(tt.scope, "word"), "items": itemsIn(t, f, tt.scope)} {
			slices.Sort(got)
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("%s in %+v: %q, want %q", name, tt.scope, s, tt.want)
			}
		}
	}
}

func itemsIn(t testing.TB, f *fixture, s memory.Scope) []string {
	t.Helper()
	list, _, err := f.Items(f.ctx, s, sqlite.Page{Limit: 1000})
	return refs(must(list, err)(t))
}

// Nothing of another namespace, bank or branch ever comes back, by any read.
func TestNothingLeaks(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	run := 0
	rapid.Check(t, func(rt *rapid.T) {
		run++ // each check has namespaces and banks of its own
		names := []string{"p", "p_", "p%", "P", "pp"}
		spaces, banks := []memory.Namespace{}, []string{}
		for _, n := range names {
			spaces = append(spaces, memory.Namespace{Kind: memory.Kinds[len(spaces)%2], ID: fmt.Sprint(n, run)})
			banks = append(banks, fmt.Sprint(n, run))
		}
		tags := []string{"branch:main", "branch:ma", "branch:%", "scope:main", "stream:x"}
		anyPlace := rapid.Custom(func(rt *rapid.T) memory.Place {
			return memory.Place{Namespace: rapid.SampledFrom(spaces).Draw(rt, "space"), Bank: rapid.SampledFrom(append(banks, "")).Draw(rt, "bank"),
				Tags: rapid.SliceOfDistinct(rapid.SampledFrom(tags), rapid.ID[string]).Draw(rt, "tags")}
		})
		type placed struct {
			memory.Place
			id string
		}
		var all []placed
		for i := range rapid.IntRange(1, 12).Draw(rt, "items") {
			p, err := anyPlace.Draw(rt, "place").Resolve()
			if err != nil {
				rt.Fatal(err)
			}
			name := fmt.Sprint("i", i)
			switch rapid.IntRange(0, 2).Draw(rt, "lane") {
			case 0:
				_, err = f.SetFact(f.ctx, memory.Fact{Place: p, Key: name, Value: []byte(`"shared word"`)})
			case 1:
				_, _, err = f.SaveNote(f.ctx, memory.Note{Place: p, ID: name, Body: "shared word " + name})
			default:
				if _, err = f.CreateThread(f.ctx, memory.Thread{Place: p, ID: "t" + name}); err == nil {
					_, err = f.Append(f.ctx, p.Namespace, "t"+name, user(name, "shared word"))
				}
			}
			if err != nil {
				rt.Fatal(err)
			}
			all = append(all, placed{p, name})
		}
		scope := memory.Scope{Bank: rapid.SampledFrom(append(banks, "")).Draw(rt, "in bank"),
			Tags: rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(tags), 0, 2), 0, 2).Draw(rt, "with tags")}
		if scope.Bank == "" || rapid.Bool().Draw(rt, "both") {
			scope.Namespace = rapid.SampledFrom(spaces).Draw(rt, "in space")
		}
		want := []string{}
		for _, p := range all {
			ok := (scope.Bank == "" || p.Bank == scope.Bank) && (scope.Namespace == (memory.Namespace{}) || p.Namespace == scope.Namespace)
			for _, group := range scope.Tags {
				ok = ok && slices.ContainsFunc(group, func(tag string) bool { return slices.Contains(p.Tags, tag) })
			}
			if ok {
				want = append(want, p.id)
			}
		}
		slices.Sort(want)
		candidates, err := f.Candidates(f.ctx, scope, []string{"shared", "word"}, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		items, _, err := f.Items(f.ctx, scope, sqlite.Page{Limit: 1000})
		if err != nil {
			rt.Fatal(err)
		}
		unembedded, err := f.Unembedded(f.ctx, scope, "m", 1000)
		if err != nil {
			rt.Fatal(err)
		}
		for name, list := range map[string][]memory.Item{"candidates": candidates, "items": items, "unembedded": unembedded} {
			got := refs(list)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				rt.Fatalf("%s in %+v: %v, want %v", name, scope, got, want)
			}
		}
	})
}

// A page ends where the next begins, whatever is written in between, and what has more of the words comes first.
func TestSearchPages(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]sqlite.Key{nil, {key("k")}} {
		f := newFixture(t, keys...)
		for i := range 5 {
			f.save(note(fmt.Sprintf("a parser, number %d", i), id(fmt.Sprint("one", i))))
			f.clock.Advance(time.Second)
		}
		f.save(note("The parser of the deploys.", id("both")))
		f.save(note("Nothing of it.", id("none")))
		f.save(note("A parser elsewhere.", at(place("other"))))
		var got []string
		page := sqlite.Page{Limit: 2}
		for n := 0; ; n++ {
			list := must(f.Search(f.ctx, inBank, []string{"parser", "deploy", "parsers"}, page))(t)
			if len(list) == 0 {
				break
			}
			for _, h := range list {
				got = append(got, h.ID)
			}
			page.After = list[len(list)-1].After
			// What comes in between is of a later page, or of none.
			f.clock.Advance(time.Second)
			f.save(note(fmt.Sprintf("parser, deploy and parser in between %d", n), id(fmt.Sprint("new", n))))
		}
		equal(t, got, []string{"both", "one4", "one3", "one2", "one1", "one0"})
		for _, terms := range [][]string{nil, {""}, {"***"}} {
			equal(t, len(must(f.Search(f.ctx, inBank, terms, sqlite.Page{}))(t)), 0)
		}
		_, err := f.Search(f.ctx, inBank, []string{"parser"}, sqlite.Page{After: "1.2.x"})
		refused(t, err, memory.InvalidItem)
		_, err = f.Search(f.ctx, memory.Scope{}, []string{"parser"}, sqlite.Page{})
		refused(t, err, memory.Unscoped)
		equal(t, len(must(f.Search(f.ctx, memory.Scope{Namespace: space("nobody")}, []string{"parser"}, sqlite.Page{}))(t)), 0)
		equal(t, must(f.Shares(f.ctx))(t)[0].Notes > 6, true)
	}
}

func TestEmptyExport(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var b strings.Builder
	if err := f.Export(f.ctx, &b); err != nil {
		t.Fatal(err)
	}
	equal(t, b.String(), sqlite.EmptyExport)
	if err := sqlite.CheckExport(strings.NewReader(b.String())); err != nil {
		t.Error(err)
	}
	refused(t, sqlite.CheckExport(strings.NewReader("{}\n")), memory.BadImport)
}
