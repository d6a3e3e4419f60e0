package sqlite_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// fillAll writes something of every kind that an export has.
func fillAll(t testing.TB, f *fixture) {
	t.Helper()
	f.set(fact("k", `{"z":1,"a":"<&>\u2028ü"}`, func(f *memory.Fact) { f.Tags = []string{"x", "branch:main"} }))
	f.clock.Advance(time.Minute)
	f.set(fact("k", `2`, expires(start.Add(time.Hour)), func(f *memory.Fact) { f.Origin = memory.Origin{Run: "r", Path: "p[1]/q", Attempt: 3} }))
	f.clock.Advance(time.Minute)
	f.set(fact("k", `3`, valid(start.Add(-time.Hour), start.Add(24*time.Hour))))
	f.set(fact("deleted", "1"))
	must(f.DeleteFact(f.ctx, space("w"), "deleted"))(t)
	f.set(fact("dies", "1", expires(start.Add(time.Hour))))
	f.save(note("A", id("a"), func(n *memory.Note) { n.Title, n.Pinned = "About A", true }))
	f.save(note("B", id("b"), supersedes("a"), func(n *memory.Note) { n.Sources = []string{"a"} }))
	f.save(note("A")) // equal to one that is superseded
	f.save(note("C", id("c"), status(memory.Proposed), supersedes("a", "b"), holds(start, start.AddDate(1, 0, 0))))
	_, _, err := f.Retain(f.ctx, memory.Digest{Place: place("b"), Text: "done", Time: start, Origin: memory.Origin{Run: "r", Path: "p"}})
	must(0, err)(t)
	must(f.Retire(f.ctx, space("w"), "c", f.clock.Now()))(t)
	f.thread(user("1", "a"), call("2", "c1", "c2"), answer("3", "c1"), answer("4", "c2"), user("5", "e"), user("6", "f"))
	must(f.Summarize(f.ctx, space("w"), "t", 2, func(context.Context, []memory.Message) (string, error) { return "sum", nil }))(t)
	must(f.Append(f.ctx, space("w"), "t", user("7", "g"), user("8", "h")))(t)
	must(f.Summarize(f.ctx, space("w"), "t", 1, func(context.Context, []memory.Message) (string, error) { return "sum of sums", nil }))(t)
	must(f.LimitTokens(f.ctx, space("w"), "t", memory.Window{Last: 1}))(t)
	must(f.Append(f.ctx, space("w"), "t", user("9", "i"), user("10", "j"), user("11", "k")))(t)
	must(f.Summarize(f.ctx, space("w"), "t", 1, func(context.Context, []memory.Message) (string, error) { return "sum again", nil }))(t)
	f.clock.Advance(2 * time.Hour) // some of it has expired, and is not collected
}

func TestExportsRoundTripByteForByte(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fillAll(t, f)
	want := export(t, f.Store)
	for _, collected := range []bool{false, true} {
		if collected {
			must(f.ExpireFacts(f.ctx, 100))(t)
		}
		equal(t, export(t, f.Store), want)
		for _, keys := range [][]sqlite.Key{nil, {key("k")}} {
			fresh := newFixture(t, keys...)
			fresh.clock.Advance(f.clock.Now().Sub(start))
			n := must(fresh.Import(f.ctx, strings.NewReader(want)))(t)
			if n == 0 {
				t.Error("nothing was imported")
			}
			equal(t, export(t, fresh.Store), want)
			equal(t, fresh.ids(inBank), f.ids(inBank))
			equal(t, len(fresh.find(inBank, "a", "sum", "done", "i")), len(f.find(inBank, "a", "sum", "done", "i")))
			// It goes on as the original would.
			if x := must(fresh.SwapFact(f.ctx, fact("dies", "1"), 0))(t); x.Version <= 1 {
				t.Errorf("an old version is back: %d", x.Version)
			}
			equal(t, must(fresh.Append(f.ctx, space("w"), "t", user("new", "x")))(t)[0].Seq, int64(12))
			_, isNew, err := fresh.SaveNote(f.ctx, note("A"))
			equal(t, []any{isNew, err}, []any{false, nil})
			// A second time it is refused, and nothing of it is written.
			before := export(t, fresh.Store)
			_, err = fresh.Import(f.ctx, strings.NewReader(want))
			refused(t, err, memory.Exists)
			equal(t, export(t, fresh.Store), before)
		}
	}
}

// TestImportsMarkWhatIsFromElsewhere: only on demand, only what has no source yet, within the limit of tags, and everywhere
// that tags are read: lists, filters, versions, messages of a thread.
func TestImportsMarkWhatIsFromElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	tagged := func(tags ...string) func(*memory.Fact) { return func(f *memory.Fact) { f.Tags = tags } }
	f.set(fact("k", "1", tagged("team:a")))
	f.set(fact("k", "2", tagged("team:a")))
	f.set(fact("chat", "1", tagged("source:chat")))
	f.set(fact("gone", "1"))
	must(f.DeleteFact(f.ctx, space("w"), "gone"))(t)
	f.save(note("a quokka", id("n")))
	f.thread(user("1", "quokkas"))
	text := export(t, f.Store)

	plain, marked := newFixture(t), newFixture(t)
	must(plain.Import(plain.ctx, strings.NewReader(text)))(t)
	equal(t, export(t, plain.Store), text)
	must(marked.Import(marked.ctx, strings.NewReader(text), sqlite.MarkImported()))(t)
	equal(t, must(marked.GetFact(marked.ctx, space("w"), "chat"))(t).Tags, []string{"source:chat"})
	for _, v := range must(marked.FactVersions(marked.ctx, space("w"), "k"))(t) {
		equal(t, v.Tags, []string{"source:import", "team:a"})
	}
	equal(t, must(marked.GetNote(marked.ctx, space("w"), "n"))(t).Tags, []string{sqlite.ImportedTag})
	scope := memory.Scope{Namespace: space("w"), Tags: [][]string{{sqlite.ImportedTag}}}
	equal(t, len(must(marked.Search(marked.ctx, scope, []string{"quokka", "quokkas"}, sqlite.Page{}))(t)), 2)
	equal(t, len(must(plain.Search(plain.ctx, scope, []string{"quokka", "quokkas"}, sqlite.Page{}))(t)), 0)
	// Marked once, it is marked: a second round changes nothing.
	again := newFixture(t)
	must(again.Import(again.ctx, strings.NewReader(export(t, marked.Store)), sqlite.MarkImported()))(t)
	equal(t, export(t, again.Store), export(t, marked.Store))

	many := make([]string, memory.MaxTagged)
	for i := range many {
		many[i] = fmt.Sprint("t", i)
	}
	full := newFixture(t)
	full.set(fact("first", "1"))
	full.set(fact("full", "1", tagged(many...)))
	text = export(t, full.Store)
	empty := newFixture(t)
	_, err := empty.Import(empty.ctx, strings.NewReader(text), sqlite.MarkImported())
	refused(t, err, memory.TooLarge)
	refused(t, sqlite.CheckExport(strings.NewReader(text), sqlite.MarkImported()), memory.TooLarge)
	equal(t, export(t, empty.Store), sqlite.EmptyExport)
	must(empty.Import(empty.ctx, strings.NewReader(text)))(t)
}

func TestImportsRefuseWhatTheyDoNotKnow(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const head = "{\"cairn-memory\":1}\n"
	const good = `{"fact":{"namespace":"workflow:w","key":"k","value":1,"version":1,"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}}` + "\n"
	for name, text := range map[string]string{
		"empty":             "",
		"no header":         good,
		"another version":   "{\"cairn-memory\":2}\n" + good,
		"another format":    "{\"mem0\":1}\n",
		"cut off":           head + good + `{"fact":`,
		"no line end":       head + strings.TrimSpace(good),
		"unknown kind":      head + good + `{"graph":{}}` + "\n",
		"unknown field":     head + good + strings.Replace(good, `"value"`, `"score":1,"value"`, 1),
		"twice a field":     head + good + strings.Replace(good, `"value":1`, `"value":1,"value":2`, 1),
		"two items":         head + good + strings.Replace(good, `{"fact"`, `{"note":{},"fact"`, 1),
		"nothing":           head + good + "{}\n",
		"no namespace":      head + good + strings.Replace(good, "workflow:w", "w", 1),
		"another kind":      head + good + strings.Replace(good, "workflow:", "team:", 1),
		"no version":        head + good + strings.Replace(good, `"version":1`, `"version":0`, 1),
		"the same twice":    head + good + good,
		"not JSON":          head + good + "\x00\n",
		"a blank line":      head + "\n" + good,
		"orphan message":    head + good + `{"message":{"namespace":"workflow:w","thread":"t","id":"1","seq":1,"role":"user","created":"2026-01-01T00:00:00Z"}}` + "\n",
		"link to nothing":   head + good + `{"note":{"namespace":"workflow:w","id":"n","type":"semantic","status":"accepted","body":"x","supersedes":["m"],"created":"2026-01-01T00:00:00Z","changed":"2026-01-01T00:00:00Z"}}` + "\n",
		"link to itself":    head + good + `{"note":{"namespace":"workflow:w","id":"n","type":"semantic","status":"accepted","body":"x","supersedes":["n"],"created":"2026-01-01T00:00:00Z","changed":"2026-01-01T00:00:00Z"}}` + "\n",
		"version of future": head + good + `{"version":{"namespace":"workflow:w","key":"k","value":1,"version":1,"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z","ended":"2026-01-01T00:00:00Z"}}` + "\n",
	} {
		_, err := f.Import(f.ctx, strings.NewReader(text))
		if err == nil {
			t.Errorf("%s is accepted", name)
			continue
		}
		refused(t, err, cairn.CodeOf(err, memory.BadImport))
		if got := export(t, f.Store); got != head {
			t.Fatalf("%s left %s", name, got)
		}
	}
}

// Whatever is accepted exports to something that an empty file accepts and exports again.
func FuzzImport(f *testing.F) {
	x := newFixture(f)
	fillAll(f, x)
	f.Add(export(f, x.Store))
	f.Add("{\"cairn-memory\":1}\n{}\n")
	f.Add("{\"cairn-memory\":1}\n{\"namespace\":{\"name\":\"user:a:b\",\"high\":9}}\n{\"thread\":{\"namespace\":\"user:a:b\",\"id\":\"t\",\"created\":\"2026-01-01T00:00:00Z\"}}\n")
	f.Fuzz(func(t *testing.T, text string) {
		a := newFixture(t)
		if _, err := a.Import(a.ctx, strings.NewReader(text)); err != nil {
			if cairn.CodeOf(err, "") == "" {
				t.Fatalf("an error without a code: %v", err)
			}
			if got := export(t, a.Store); got != "{\"cairn-memory\":1}\n" {
				t.Fatalf("a refused import left %s", got)
			}
			return
		}
		once := export(t, a.Store)
		b := newFixture(t)
		if _, err := b.Import(b.ctx, strings.NewReader(once)); err != nil {
			t.Fatalf("%v\n%s", err, once)
		}
		if again := export(t, b.Store); again != once {
			t.Fatalf("exported\n%s\nand then\n%s", once, again)
		}
	})
}

func TestApplyHappensOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	op := memory.Operation{
		Facts:       []memory.Fact{fact("n", "1")},
		Notes:       []memory.Note{note("A lesson.")},
		Digests:     []memory.Digest{{Place: place("b"), Text: "done", Time: start, Origin: memory.Origin{Run: "r", Path: "p"}}},
		Thread:      &memory.Thread{Place: place("b"), ID: "t"},
		Turns:       []memory.Message{user("", "hello"), {Role: memory.Assistant, Content: "hi"}},
		Projections: []memory.Projection{projection("p1", "d", 0)},
	}
	equal(t, must(f.Apply(f.ctx, "op-1", op))(t), true)
	f.clock.Advance(time.Hour)
	once := export(t, f.Store)
	for range 3 {
		equal(t, must(f.Apply(f.ctx, "op-1", op))(t), false)
		f.reopen()
	}
	equal(t, export(t, f.Store), once)
	equal(t, len(must(f.Projections(f.ctx))(t)), 1)
	equal(t, must(f.Apply(f.ctx, "op-2", op))(t), true) // another operation that says the same
	equal(t, must(f.CountMessages(f.ctx, space("w"), "t"))(t), 4)
	equal(t, len(f.ids(inBank)), 2)

	// What fails is not recorded, and nothing of it is written.
	op.Notes = append(op.Notes, note("Another.", supersedes("none")))
	before := export(t, f.Store)
	_, err := f.Apply(f.ctx, "op-3", op)
	refused(t, err, memory.NotFound)
	equal(t, export(t, f.Store), before)
	op.Notes = op.Notes[:1]
	equal(t, must(f.Apply(f.ctx, "op-3", op))(t), true)
	_, err = f.Apply(f.ctx, "op-4", memory.Operation{Turns: op.Turns})
	refused(t, err, memory.InvalidItem)
	f.clock.Advance(time.Hour)
	equal(t, must(f.PruneApplied(f.ctx, f.clock.Now(), 100))(t), 3)
}

// Operations that run side by side, each delivered several times, each count once.
func TestApplyUnderConcurrentReplays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.thread()
	thread := memory.Thread{Place: place("b"), ID: "t"}
	done := make(chan int)
	for w := range 8 {
		go func() {
			n := 0
			for i := range 20 {
				id := fmt.Sprint("op-", (i+w)%20)
				applied, err := f.Apply(f.ctx, id, memory.Operation{Thread: &thread, Turns: []memory.Message{user("", id)}})
				if err != nil {
					t.Error(err)
				}
				if applied {
					n++
				}
			}
			done <- n
		}()
	}
	total := 0
	for range 8 {
		total += <-done
	}
	equal(t, total, 20)
	equal(t, must(f.CountMessages(f.ctx, space("w"), "t"))(t), 20)
}

func TestVectorsFollowTheirText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", `"one"`))
	n := f.save(note("A"))
	elsewhere := f.save(note("B", at(place("c"))))
	list := must(f.Unembedded(f.ctx, inBank, "m", 10))(t)
	equal(t, refs(list), []string{"k", n.ID})
	var vectors []memory.Vector
	for i, item := range append(list, must(f.Item(f.ctx, memory.Ref{Namespace: space("w"), Lane: memory.NoteLane, ID: elsewhere.ID}))(t)) {
		vectors = append(vectors, memory.Vector{Ref: item.Ref, Model: "m", Hash: item.Hash, Values: []float32{float32(i), 0.5}})
	}
	vectors = append(vectors, memory.Vector{Ref: memory.Ref{Namespace: space("w"), Lane: memory.NoteLane, ID: "gone"}, Model: "m", Values: []float32{1}})
	equal(t, must(f.PutVectors(f.ctx, vectors))(t), 3)
	read := func(scope memory.Scope, model string) map[string][]float32 {
		got := map[string][]float32{}
		f.ok(f.Vectors(f.ctx, scope, model, func(v memory.Vector) error {
			got[v.ID] = append([]float32{}, v.Values...)
			return nil
		}))
		return got
	}
	equal(t, read(inBank, "m"), map[string][]float32{"k": {0, 0.5}, n.ID: {1, 0.5}})
	equal(t, read(inBank, "other"), map[string][]float32{})
	equal(t, must(f.Unembedded(f.ctx, inBank, "m", 10))(t), nil)
	f.set(fact("k", `"two"`))
	equal(t, read(inBank, "m"), map[string][]float32{n.ID: {1, 0.5}})
	equal(t, refs(must(f.Unembedded(f.ctx, inBank, "m", 10))(t)), []string{"k"})
	_, err := f.PutVectors(f.ctx, []memory.Vector{{Ref: list[0].Ref, Model: "m"}})
	refused(t, err, memory.InvalidItem)
}

// Random writes export, import and export again to the same bytes.
func TestRandomExportsRoundTrip(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("writes many files")
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			randomStep(rt, f)
		}
		text := export(t, f.Store)
		fresh := newFixture(t)
		fresh.clock.Advance(f.clock.Now().Sub(start))
		if _, err := fresh.Import(f.ctx, strings.NewReader(text)); err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		if again := export(t, fresh.Store); again != text {
			rt.Fatalf("exported\n%s\nand then\n%s", text, again)
		}
	})
}

// randomStep writes, or tries to.
func randomStep(rt *rapid.T, f *fixture) {
	name := rapid.SampledFrom([]string{"a", "b", "c"})
	p := place(rapid.SampledFrom([]string{"", "b", "c"}).Draw(rt, "bank"), rapid.SliceOfN(name, 0, 2).Draw(rt, "tags")...)
	p.Namespace.ID = rapid.SampledFrom([]string{"w", "v"}).Draw(rt, "space")
	key := name.Draw(rt, "name")
	hour := func(label string) time.Time {
		if rapid.Bool().Draw(rt, label+" open") {
			return time.Time{}
		}
		return start.Add(time.Duration(rapid.IntRange(-3, 6).Draw(rt, label)) * time.Hour)
	}
	span := memory.Span{From: hour("from"), To: hour("to")}
	text := rapid.SampledFrom([]string{"x", "y ü", "<z>"}).Draw(rt, "text")
	var links []string
	if rapid.Bool().Draw(rt, "linked") {
		links = []string{name.Draw(rt, "link")}
	}
	f.clock.Advance(time.Duration(rapid.IntRange(0, 40).Draw(rt, "minutes")) * time.Minute)
	switch rapid.IntRange(0, 9).Draw(rt, "step") {
	case 0, 1, 2:
		f.SetFact(f.ctx, memory.Fact{Place: p, Key: key, Value: []byte(fmt.Sprintf("%q", text)), Expires: hour("expires"), Valid: span})
	case 3:
		f.DeleteFact(f.ctx, p.Namespace, key)
	case 4, 5:
		f.SaveNote(f.ctx, memory.Note{Place: p, ID: rapid.SampledFrom([]string{"", key}).Draw(rt, "id"), Body: text, Valid: span, Supersedes: links,
			Status: rapid.SampledFrom([]memory.Status{memory.Proposed, memory.Accepted, memory.Rejected}).Draw(rt, "status")})
	case 6:
		f.SetStatus(f.ctx, p.Namespace, key, rapid.SampledFrom([]memory.Status{memory.Accepted, memory.Rejected}).Draw(rt, "new status"))
	case 7:
		f.CreateThread(f.ctx, memory.Thread{Place: p, ID: key})
		f.Append(f.ctx, p.Namespace, key, user(fmt.Sprint(f.clock.Now().UnixMilli()), text), user(fmt.Sprint(f.clock.Now().UnixMilli(), "b"), text))
	case 8:
		f.Summarize(f.ctx, p.Namespace, key, 1, func(context.Context, []memory.Message) (string, error) { return text, nil })
	case 9:
		f.ForgetItem(f.ctx, memory.Ref{Namespace: p.Namespace, Lane: rapid.SampledFrom([]memory.Lane{memory.FactLane, memory.NoteLane}).Draw(rt, "lane"), ID: key})
		f.ExpireFacts(f.ctx, 1)
	}
}
