package sqlite_test

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// tastes is an embedder that knows two things: fruit and machines.
type tastes struct{}

func (tastes) Model() string { return "tastes" }
func (tastes) Dim() int      { return 2 }

func (tastes) Embed(_ context.Context, texts []string) (vectors [][]float32, err error) {
	for _, text := range texts {
		fruit, machine := float32(0.1), float32(0.1)
		if strings.Contains(text, "pie") || strings.Contains(text, "dessert") {
			fruit = 1
		}
		if strings.Contains(text, "laptop") || strings.Contains(text, "computer") {
			machine = 1
		}
		vectors = append(vectors, []float32{fruit, machine})
	}
	return vectors, nil
}

// TestVectorsCountForWhatWordsFind: a row that its words have found is as near as its vector says, and the answer is that of the
// vectors where words can't decide. One that shares no word is found by its vector alone.
func TestVectorsCountForWhatWordsFind(t *testing.T) {
	t.Parallel()
	for _, keys := range [][]sqlite.Key{nil, {key("k")}} {
		f := &fixture{t: t, ctx: t.Context(), clock: newClock(), path: filepath.Join(t.TempDir(), "memory.db")}
		s, err := sqlite.Open(f.ctx, sqlite.Config{Path: f.path, Clock: f.clock.Now, Keys: keys, Synchronous: sqlite.Normal, Embedder: tastes{}})
		f.ok(err)
		f.Store = s
		defer f.Close()
		pie := f.save(note("The apple pie of Rome is sweet.", id("pie")))
		laptop := f.save(note("The apple laptop of Rome is fast.", id("laptop")))
		f.save(note("Nothing is like this one here.", id("other")))
		made, err := f.Embed(f.ctx, inBank, 10)
		if err != nil || made != 3 {
			t.Fatalf("%d vectors, %v", made, err)
		}
		for query, want := range map[string]string{"apple dessert": pie.ID, "apple computer": laptop.ID} {
			found, err := f.Recall(f.ctx, memory.Query{Bank: inBank.Bank, Text: query, Budget: memory.High, Limit: 10})
			if err != nil || len(found.Rows) == 0 || !strings.HasSuffix(found.Rows[0].ID, want) || !slices.Contains(found.Arms, "vectors") {
				t.Errorf("%q finds %+v, %v", query, found, err)
			}
		}
	}
}
