package sqlite_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cairnrun/cairn"
	"github.com/cairnrun/cairn/internal/dbfile"
	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// Case 1: names are compared byte by byte, never as patterns or prefixes, and a namespace has nothing of another.
func TestCase01NamespacesNeverCollide(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ids := []string{"john-doe", "john_doe", "%", "_", "a.b", "A", "a", "acme", "acme-corp", "a:b", "workflow:a", "ä", "a\u0308", "b' OR 1=1 --"}
	var spaces []memory.Namespace
	for _, kind := range memory.Kinds {
		for _, id := range ids {
			spaces = append(spaces, memory.Namespace{Kind: kind, ID: id})
		}
	}
	for _, ns := range spaces {
		for _, key := range ids {
			value := json.RawMessage(fmt.Sprintf("%q", ns.String()+" "+key))
			f.set(memory.Fact{Place: memory.Place{Namespace: ns}, Key: key, Value: value})
		}
	}
	for _, ns := range spaces {
		list := must(f.Facts(f.ctx, ns))(t)
		if len(list) != len(ids) {
			t.Fatalf("%s has %d facts, want %d", ns, len(list), len(ids))
		}
		for _, x := range list {
			if want := fmt.Sprintf("%q", ns.String()+" "+x.Key); string(x.Value) != string(must(json.Marshal(json.RawMessage(want)))(t)) && string(x.Value) != want {
				t.Fatalf("%s %s is %s", ns, x.Key, x.Value)
			}
		}
		parsed := must(memory.ParseNamespace(ns.String()))(t)
		equal(t, parsed, ns)
	}
	equal(t, len(must(f.Namespaces(f.ctx))(t)), len(spaces))
}

// Case 3: what expires is gone at that millisecond, in every read, collected or not.
func TestCase03ExpiryIsExactInEveryRead(t *testing.T) {
	t.Parallel()
	for _, sealed := range []bool{false, true} {
		t.Run(fmt.Sprintf("sealed=%v", sealed), func(t *testing.T) {
			var keys []sqlite.Key
			if sealed {
				keys = []sqlite.Key{key("k")}
			}
			f := newFixture(t, keys...)
			written := f.set(fact("dies", `"quokka"`, expires(start.Add(time.Hour))))
			f.set(fact("lives", `"wombat"`))
			reads := map[string]func() bool{
				"get":      func() bool { _, err := f.GetFact(f.ctx, space("w"), "dies"); return err == nil },
				"list":     func() bool { return len(must(f.Facts(f.ctx, space("w")))(t)) == 2 },
				"versions": func() bool { return len(must(f.FactVersions(f.ctx, space("w"), "dies"))(t)) == 1 },
				"item": func() bool {
					_, err := f.Item(f.ctx, memory.Ref{Namespace: space("w"), Lane: memory.FactLane, ID: "dies"})
					return err == nil
				},
				"past": func() bool {
					_, err := f.FactAt(f.ctx, space("w"), "dies", memory.Moment{System: start})
					return err == nil
				},
				"candidates": func() bool { return len(f.find(inBank, "quokka")) == 1 },
				"items": func() bool {
					list, _, err := f.Items(f.ctx, inBank, sqlite.Page{})
					return len(must(list, err)(t)) == 2
				},
				"unembedded": func() bool { return len(must(f.Unembedded(f.ctx, inBank, "m", 10))(t)) == 2 },
				"export":     func() bool { return strings.Contains(export(t, f.Store), "quokka") },
				"patch": func() bool {
					_, err := f.PatchFact(f.ctx, space("w"), "dies", memory.FactPatch{}, 99) // a conflict says that it is there
					return !strings.Contains(fmt.Sprint(err), string(memory.NotFound))
				},
			}
			for _, step := range []struct {
				advance time.Duration
				alive   bool
			}{{time.Hour - time.Millisecond, true}, {time.Millisecond, false}, {time.Millisecond, false}} {
				f.clock.Advance(step.advance)
				for range 2 { // a read revives nothing
					for name, read := range reads {
						if read() != step.alive {
							t.Errorf("%s at %s: alive is %v", name, f.clock.Now(), !step.alive)
						}
					}
				}
			}
			// A new one is new, and no writer meets the old version again.
			again := must(f.SwapFact(f.ctx, fact("dies", `"again"`), 0))(t)
			if again.Version <= written.Version || !again.Created.Equal(f.clock.Now()) {
				t.Errorf("after %+v came %+v", written, again)
			}
		})
	}
}

// TestExpiryIsExactInWrites: in the millisecond in which a fact ends there is none to compare with, to patch or to delete,
// and what is written begins anew.
func TestExpiryIsExactInWrites(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, key := range []string{"swapped", "patched", "deleted", "set"} {
		f.set(fact(key, "1", expires(start.Add(time.Hour))))
	}
	f.clock.Advance(time.Hour - time.Millisecond)
	_, err := f.SwapFact(f.ctx, fact("swapped", "2"), 0)
	refused(t, err, memory.VersionConflict)
	end := f.clock.Advance(time.Millisecond)
	_, err = f.SwapFact(f.ctx, fact("swapped", "2"), 1)
	refused(t, err, memory.VersionConflict)
	must(f.SwapFact(f.ctx, fact("swapped", "2"), 0))(t)
	_, err = f.PatchFact(f.ctx, space("w"), "patched", memory.FactPatch{Merge: json.RawMessage("2")}, 0)
	refused(t, err, memory.NotFound)
	equal(t, must(f.DeleteFact(f.ctx, space("w"), "deleted"))(t), false)
	anew := f.set(fact("set", "2"))
	equal(t, []any{anew.Created, anew.Version > 1}, []any{end, true})
}

func TestCollectingChangesNoRead(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", "1"))
	f.clock.Advance(time.Minute)
	f.set(fact("k", "2", expires(start.Add(time.Hour))))
	f.clock.Advance(time.Minute)
	f.set(fact("k", "3", valid(start.Add(3*time.Hour), time.Time{})))
	f.set(fact("gone", "1", expires(start.Add(time.Hour))))
	equal(t, must(f.GetFact(f.ctx, space("w"), "k"))(t).Value, 2)
	f.clock.Advance(time.Hour)
	seen := func() string {
		now, err := f.GetFact(f.ctx, space("w"), "k")
		then, thenErr := f.FactAt(f.ctx, space("w"), "k", memory.Moment{System: start})
		return marshal([]any{now, fmt.Sprint(err), then, fmt.Sprint(thenErr), must(f.Facts(f.ctx, space("w")))(t)}) + export(t, f.Store)
	}
	before := seen()
	if !strings.Contains(before, string(memory.NotFound)) {
		t.Fatalf("what had expired shows what it replaced: %s", before)
	}
	equal(t, must(f.ExpireFacts(f.ctx, 100))(t), 2)
	equal(t, must(f.ExpireFacts(f.ctx, 100))(t), 0)
	equal(t, seen(), before)
	f.clock.Advance(3 * time.Hour)
	equal(t, must(f.GetFact(f.ctx, space("w"), "k"))(t).Value, 3)
}

// Case 7: absent keeps, null clears; null, "", {} and missing are four different things.
func TestCase07PatchTellsNullFromMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.set(fact("k", `{"null":null,"empty":"","object":{},"n":12345678901234567890}`, expires(start.Add(time.Hour)), func(f *memory.Fact) { f.Tags = []string{"t"} }))
	patch := func(s string) memory.Fact {
		t.Helper()
		var p memory.FactPatch
		if err := json.Unmarshal([]byte(s), &p); err != nil {
			t.Fatal(err)
		}
		equal(t, must(json.Marshal(p))(t), []byte(s)) // a patch survives the outbox
		return must(f.PatchFact(f.ctx, space("w"), "k", p, 0))(t)
	}
	for _, step := range []struct{ patch, value, rest string }{
		{`{}`, `{"empty":"","n":12345678901234567890,"null":null,"object":{}}`, "b t hour"},
		{`{"merge":{"empty":null,"new":""}}`, `{"n":12345678901234567890,"new":"","null":null,"object":{}}`, "b t hour"},
		{`{"merge":{"object":{"a":{}}}}`, `{"n":12345678901234567890,"new":"","null":null,"object":{"a":{}}}`, "b t hour"},
		{`{"tags":[]}`, `{"n":12345678901234567890,"new":"","null":null,"object":{"a":{}}}`, "b  hour"},
		{`{"expires":"0001-01-01T00:00:00Z"}`, `{"n":12345678901234567890,"new":"","null":null,"object":{"a":{}}}`, "b  "},
		{`{"value":{"x":1},"merge":{"y":null}}`, `{"x":1}`, "b  "},
		{`{"bank":""}`, `{"x":1}`, "  "},
		{`{"value":""}`, `""`, "  "},
	} {
		got := patch(step.patch)
		hour := ""
		if !got.Expires.IsZero() {
			hour = "hour"
		}
		if rest := got.Bank + " " + strings.Join(got.Tags, ",") + " " + hour; string(got.Value) != step.value || rest != step.rest {
			t.Errorf("%s: %s, %q", step.patch, got.Value, rest)
		}
	}
	var p memory.FactPatch
	if err := json.Unmarshal([]byte(`{"value":null,"tags":null,"bank":null,"expires":null,"valid":null}`), &p); err != nil {
		t.Fatal(err)
	}
	got := must(f.PatchFact(f.ctx, space("w"), "k", p, 0))(t)
	equal(t, got.Value, nil)
	_, err := f.PatchFact(f.ctx, space("w"), "none", memory.FactPatch{}, 0)
	refused(t, err, memory.NotFound)
	_, err = f.PatchFact(f.ctx, space("w"), "k", memory.FactPatch{}, got.Version-1)
	refused(t, err, memory.VersionConflict)
}

// Case 10: what can't be marshaled fails before a transaction begins, and leaves nobody waiting.
func TestCase10BadValuesHoldNoLock(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	other := must(dbfile.Open(f.ctx, dbfile.Config{Path: f.path, ApplicationID: sqlite.ApplicationID, BusyTimeout: time.Nanosecond}))(t)
	defer other.Close()
	second := must(sqlite.Open(f.ctx, sqlite.Config{DB: other, Clock: f.clock.Now}))(t)
	for _, value := range []string{"", "{", "1 2", `{"a":1,"a":2}`, "\x00", `"` + "\xff" + `"`, "nil"} {
		_, err := f.SetFact(f.ctx, fact("k", value))
		refused(t, err, memory.InvalidItem)
		_, err = f.SetFacts(f.ctx, []memory.Fact{fact("first", "1"), fact("k", value)})
		refused(t, err, memory.InvalidItem)
		must(second.SetFact(f.ctx, fact("free", "1")))(t)
	}
	_, err := f.GetFact(f.ctx, space("w"), "first")
	refused(t, err, memory.NotFound)
}

func TestCompareAndSet(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one := must(f.SwapFact(f.ctx, fact("k", "1"), 0))(t)
	equal(t, one.Version, 1)
	_, err := f.SwapFact(f.ctx, fact("k", "2"), 0)
	refused(t, err, memory.VersionConflict)
	f.clock.Advance(time.Second)
	two := must(f.SwapFact(f.ctx, fact("k", "2"), 1))(t)
	if two.Version != 2 || !two.Created.Equal(start) || !two.Updated.Equal(start.Add(time.Second)) {
		t.Errorf("second version: %+v", two)
	}
	_, err = f.SwapFact(f.ctx, fact("k", "3"), 1)
	refused(t, err, memory.VersionConflict)
	_, err = f.SwapFact(f.ctx, fact("none", "3"), 1)
	refused(t, err, memory.VersionConflict)
	// A version never comes back: not by deleting, pruning, or both.
	equal(t, must(f.DeleteFact(f.ctx, space("w"), "k"))(t), true)
	equal(t, must(f.DeleteFact(f.ctx, space("w"), "k"))(t), false)
	f.clock.Advance(time.Second)
	for must(f.PruneVersions(f.ctx, f.clock.Now(), 1))(t) > 0 {
	}
	if st := must(f.Stats(f.ctx))(t); st.Versions != 0 || st.Facts != 0 {
		t.Errorf("left after pruning: %+v", st)
	}
	if four := must(f.SwapFact(f.ctx, fact("k", "4"), 0))(t); four.Version <= 3 {
		t.Errorf("version %d comes back", four.Version)
	}
}

func TestCountersAddUpUnderConcurrentSwaps(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	const writers, each = 8, 10
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				for {
					var n int
					have, err := f.GetFact(f.ctx, space("w"), "n")
					if err == nil {
						err = json.Unmarshal(have.Value, &n)
					} else if cairn.CodeOf(err, "") == memory.NotFound {
						err = nil
					}
					if err != nil {
						t.Error(err)
						return
					}
					_, err = f.SwapFact(f.ctx, fact("n", fmt.Sprint(n+1)), have.Version)
					if err == nil {
						break
					}
					if cairn.CodeOf(err, "") != memory.VersionConflict {
						t.Error(err)
						return
					}
				}
			}
		})
	}
	wg.Wait()
	got := must(f.GetFact(f.ctx, space("w"), "n"))(t)
	equal(t, string(got.Value), fmt.Sprint(writers*each))
	equal(t, got.Version, writers*each)
}

func TestFactsLookBackInBothTimes(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	day := func(n int) time.Time { return start.AddDate(0, 0, n) }
	get := func(m memory.Moment) string {
		t.Helper()
		x, err := f.FactAt(f.ctx, space("w"), "k", m)
		list := must(f.FactsAt(f.ctx, space("w"), m))(t)
		if err != nil {
			refused(t, err, memory.NotFound)
			if len(list) > 0 {
				t.Fatalf("the list has %v", list)
			}
			return ""
		}
		equal(t, list, []memory.Fact{x})
		return string(x.Value)
	}
	f.set(fact("k", `"A"`))
	f.clock.Advance(time.Hour)
	f.set(fact("k", `"B"`, valid(day(10), time.Time{})))
	f.clock.Advance(time.Hour)
	f.set(fact("k", `"C"`, valid(day(2), day(4))))
	for _, tt := range []struct {
		valid, system time.Time
		want          string
	}{
		{time.Time{}, time.Time{}, "A"},
		{day(1), time.Time{}, "A"},
		{day(2), time.Time{}, "C"},
		{day(4).Add(-time.Millisecond), time.Time{}, "C"},
		{day(4), time.Time{}, "A"},
		{day(10).Add(-time.Millisecond), time.Time{}, "A"},
		{day(10), time.Time{}, "B"},
		{day(3), start.Add(time.Hour), "A"},
		{day(10), start.Add(time.Hour - time.Millisecond), "A"},
		{day(10), start.Add(time.Hour), "B"},
		{day(10), start.Add(-time.Millisecond), ""},
	} {
		want := tt.want
		if want != "" {
			want = `"` + want + `"`
		}
		if got := get(memory.Moment{Valid: tt.valid, System: tt.system}); got != want {
			t.Errorf("valid %s, system %s: %q, want %q", tt.valid, tt.system, got, want)
		}
	}
	// What still holds is not pruned.
	f.clock.Advance(time.Hour)
	must(f.PruneVersions(f.ctx, f.clock.Now(), 100))(t)
	equal(t, get(memory.Moment{}), `"A"`)
	equal(t, get(memory.Moment{Valid: day(10)}), `"B"`)
	// A deletion ends all of it, and leaves the past.
	must(f.DeleteFact(f.ctx, space("w"), "k"))(t)
	for _, v := range []time.Time{{}, day(3), day(11)} {
		equal(t, get(memory.Moment{Valid: v}), "")
	}
	equal(t, get(memory.Moment{Valid: day(11), System: start.Add(2 * time.Hour)}), `"B"`)
	f.set(fact("k", `"D"`, valid(day(20), time.Time{})))
	equal(t, get(memory.Moment{}), "")
	equal(t, get(memory.Moment{Valid: day(20)}), `"D"`)
}

// Case 21: the limits hold whatever path a write takes.
func TestCase21LimitsHoldOnEveryPath(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	must(f.CreateThread(f.ctx, memory.Thread{Place: place("b"), ID: "t"}))(t)
	f.set(fact("there", "1"))
	var tags []string
	for i := range memory.MaxTagged + 1 {
		tags = append(tags, fmt.Sprint("tag-", i))
	}
	text := func(n int) string { return strings.Repeat("x", n) }
	digest := func(n int) memory.Digest {
		return memory.Digest{Place: place("b"), Text: text(n), Time: start, Origin: memory.Origin{Run: "r", Path: "p"}}
	}
	paths := map[string]func(size int) error{
		"set": func(n int) error { _, err := f.SetFact(f.ctx, fact("k", `"`+text(n-2)+`"`)); return err },
		"batch": func(n int) error {
			_, err := f.SetFacts(f.ctx, []memory.Fact{fact("k", `"`+text(n-2)+`"`)})
			return err
		},
		"swap": func(n int) error {
			_, err := f.SwapFact(f.ctx, fact(fmt.Sprint("k", n), `"`+text(n-2)+`"`), 0)
			return err
		},
		"patch": func(n int) error {
			_, err := f.PatchFact(f.ctx, space("w"), "there", memory.FactPatch{Value: memory.To(json.RawMessage(`"` + text(n-2) + `"`))}, 0)
			return err
		},
		"note": func(n int) error { _, _, err := f.SaveNote(f.ctx, note(text(n))); return err },
		"append": func(n int) error {
			_, err := f.Append(f.ctx, space("w"), "t", memory.Message{Role: memory.User, Content: text(n)})
			return err
		},
		"data": func(n int) error {
			_, err := f.Append(f.ctx, space("w"), "t", memory.Message{Role: memory.User, Content: "x", Data: json.RawMessage(`"` + text(n-3) + `"`)})
			return err
		},
		"apply": func(n int) error {
			_, err := f.Apply(f.ctx, fmt.Sprint("op", n), memory.Operation{Facts: []memory.Fact{fact("applied", `"`+text(n-2)+`"`)}})
			return err
		},
		"import": func(n int) error {
			_, err := f.Import(f.ctx, strings.NewReader(fmt.Sprintf("{\"cairn-memory\":1}\n{\"note\":{\"namespace\":\"user:x\",\"id\":\"n%d\",\"type\":\"semantic\",\"status\":\"accepted\",\"body\":%q,\"created\":\"2026-01-01T00:00:00Z\",\"changed\":\"2026-01-01T00:00:00Z\"}}\n", n, text(n))))
			return err
		},
		"summary": func(n int) error {
			for range 2 {
				must(f.Append(f.ctx, space("w"), "t", memory.Message{Role: memory.User, Content: "x"}))(t)
			}
			_, err := f.Summarize(f.ctx, space("w"), "t", 0, func(context.Context, []memory.Message) (string, error) { return text(n), nil })
			return err
		},
	}
	for name, write := range paths {
		if err := write(memory.MaxText); err != nil {
			t.Errorf("%s at the limit: %v", name, err)
		}
		for _, n := range []int{memory.MaxText + 1, 16 << 20} {
			err := write(n)
			if code := cairn.CodeOf(err, ""); code != memory.TooLarge && !(name == "import" && code == memory.BadImport) {
				t.Errorf("%s of %d bytes: %v", name, n, err)
			}
		}
	}
	_, _, err := f.Retain(f.ctx, digest(memory.MaxDigest))
	must(0, err)(t)
	_, _, err = f.Retain(f.ctx, digest(memory.MaxDigest+1))
	refused(t, err, memory.TooLarge)
	_, err = f.Apply(f.ctx, "digest", memory.Operation{Digests: []memory.Digest{digest(memory.MaxDigest + 1)}})
	refused(t, err, memory.TooLarge)
	for name, f := range map[string]func(memory.Place, string) error{
		"fact": func(p memory.Place, name string) error {
			_, err := f.SetFact(f.ctx, memory.Fact{Place: p, Key: name, Value: json.RawMessage("1")})
			return err
		},
		"note": func(p memory.Place, name string) error {
			_, _, err := f.SaveNote(f.ctx, memory.Note{Place: p, ID: name, Body: "x"})
			return err
		},
		"thread": func(p memory.Place, name string) error {
			_, err := f.CreateThread(f.ctx, memory.Thread{Place: p, ID: name})
			return err
		},
	} {
		refused(t, f(place("b", tags...), "x"), memory.TooLarge)
		refused(t, f(place(text(memory.MaxName+1)), "x"), memory.TooLarge)
		refused(t, f(place("b"), text(memory.MaxName+1)), memory.TooLarge)
		refused(t, f(place("b", "a\nb"), "x"), memory.InvalidName)
		refused(t, f(place("b\x00"), "x"), memory.InvalidName)
		refused(t, f(place("b", ""), "x"), memory.InvalidName)
		if err := f(place(text(memory.MaxName), append(tags[:memory.MaxTagged:memory.MaxTagged], tags[0])...), text(memory.MaxName)); err != nil {
			t.Errorf("%s at the limits: %v", name, err)
		}
	}
}
