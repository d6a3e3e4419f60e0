package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// key makes a key that is the same for the same id.
func key(id string) sqlite.Key {
	return sqlite.Key{ID: id, Secret: bytes.Repeat([]byte(id[:1]), 32)}
}

func export(t testing.TB, s *sqlite.Store) string {
	t.Helper()
	var b strings.Builder
	if err := s.Export(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// bytesOf is all that a store has on the disk.
func bytesOf(t testing.TB, path string) []byte {
	t.Helper()
	var all []byte
	names, err := filepath.Glob(path + "*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "-shm") {
			continue
		}
		part, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, part...)
	}
	return all
}

// fill writes one text into every place that can hold one.
func fill(t testing.TB, f *fixture, secret string) {
	t.Helper()
	f.set(fact("k", `"old `+secret+`"`))
	f.set(fact("k", `"`+secret+`"`))
	n := f.save(note("The "+secret+" body", func(n *memory.Note) { n.Title = secret + " title" }))
	must(f.CreateThread(f.ctx, memory.Thread{Place: place("b"), ID: "t", Title: secret}))(t)
	must(f.Append(f.ctx, space("w"), "t", memory.Message{Role: memory.User, Content: secret, Data: []byte(`"` + secret + `"`)}))(t)
	ref := memory.Ref{Namespace: space("w"), Lane: memory.NoteLane, ID: n.ID}
	item := must(f.Item(f.ctx, ref))(t)
	equal(t, must(f.PutVectors(f.ctx, []memory.Vector{{Ref: ref, Model: "m", Hash: item.Hash, Values: []float32{1.5, -2}}}))(t), 1)
	if err := f.Enqueue(f.ctx, memory.Projection{ID: "p", Document: "d", Item: ref, Body: []byte(`"` + secret + `"`)}); err != nil {
		t.Fatal(err)
	}
}

func TestSealedFilesHoldNoText(t *testing.T) {
	t.Parallel()
	f := newFixture(t, key("one"))
	fill(t, f, "quokkasecret")
	if all := bytesOf(t, f.path); bytes.Contains(all, []byte("okkasec")) || bytes.Contains(all, []byte{0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}) {
		t.Fatal("the file has the text, or the vector")
	}
	equal(t, len(f.find(inBank, "quokkasecret")), 3)
	equal(t, must(f.GetFact(f.ctx, space("w"), "k"))(t).Value, "quokkasecret")
	vectors := 0
	err := f.Vectors(f.ctx, inBank, "m", func(v memory.Vector) error { vectors++; equal(t, v.Values, []float32{1.5, -2}); return nil })
	equal(t, []any{vectors, err}, []any{1, nil})

	// Equal notes are still one, and a moved text does not open.
	a := f.save(note("Same."))
	equal(t, f.save(note("Same.")).ID, a.ID)
	b := f.save(note("Other."))
	if _, err := raw(t, f.path).Exec("UPDATE mem_items SET body = (SELECT body FROM mem_items WHERE name = ?) WHERE name = ?", a.ID, b.ID); err != nil {
		t.Fatal(err)
	}
	_, err = f.GetNote(f.ctx, space("w"), b.ID)
	refused(t, err, memory.KeyWrong)
}

func TestWrongAndMissingKeysAreToldAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, key("one"))
	fill(t, f, "secret")
	for _, tt := range []struct {
		keys []sqlite.Key
		want error
	}{
		{nil, memory.KeyMissing},
		{[]sqlite.Key{key("two")}, memory.KeyMissing},
		{[]sqlite.Key{{ID: "one", Secret: make([]byte, 32)}}, memory.KeyWrong},
		{[]sqlite.Key{key("two"), {ID: "one", Secret: make([]byte, 32)}}, memory.KeyWrong},
	} {
		s, err := sqlite.Open(f.ctx, sqlite.Config{Path: f.path, Keys: tt.keys})
		if err == nil {
			s.Close()
		}
		if code, ok := tt.want.(interface{ Error() string }); !ok || err == nil || !strings.Contains(err.Error(), code.Error()) {
			t.Errorf("%v: %v, want %v", tt.keys, err, tt.want)
		}
	}
}

func TestRotation(t *testing.T) {
	t.Parallel()
	f := newFixture(t) // plain at first
	fill(t, f, "quokkasecret")
	before := export(t, f.Store)
	equal(t, len(f.find(inBank, "quokkasecret")), 3)
	for _, keys := range [][]sqlite.Key{{key("one")}, {key("two"), key("one")}, {key("three"), key("two")}} {
		f.reopen(keys...)
		equal(t, export(t, f.Store), before)
		same := note("The quokkasecret body", func(n *memory.Note) { n.Title = "quokkasecret title" })
		if _, isNew, err := f.SaveNote(f.ctx, same); isNew || err != nil {
			t.Fatalf("an equal note is new: %v", err)
		}
		for n, rounds := 1, 0; n > 0; rounds++ {
			n = must(f.Rekey(f.ctx, 2))(t)
			if rounds == 1 {
				f.reopen(keys...) // in the middle
			}
		}
		if st := must(f.Stats(f.ctx))(t); st.Unsealed != 0 || !st.Encrypted || st.Indexed != 0 {
			t.Fatalf("after rotation: %+v", st)
		}
		f.reopen(keys[:1]...) // the old key can go
		equal(t, export(t, f.Store), before)
		equal(t, len(f.find(inBank, "quokkasecret")), 3)
		if _, isNew, err := f.SaveNote(f.ctx, same); isNew || err != nil {
			t.Fatalf("an equal note is new: %v", err)
		}
		vectors := 0
		err := f.Vectors(f.ctx, inBank, "m", func(memory.Vector) error { vectors++; return nil })
		equal(t, []any{vectors, err}, []any{1, nil})
		list := must(f.Projections(f.ctx))(t)
		equal(t, list[0].Body, "quokkasecret")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(bytesOf(t, f.path), []byte("okkasec")) {
		t.Error("the file has the text")
	}
	f.Store = f.open(key("three"))
}
