package sqlite_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// BenchmarkRecall asks one bank of a file, and reports the 95th percentile: Mid, by prompts of some sentences.
func BenchmarkRecall(b *testing.B) {
	for _, docs := range []int{6_000, 100_000} {
		b.Run(fmt.Sprint(docs), func(b *testing.B) {
			s, err := sqlite.Open(b.Context(), sqlite.Config{Path: b.TempDir() + "/memory.db"})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			rng := rand.New(rand.NewPCG(1, 2))
			zipf := rand.NewZipf(rng, 1.1, 20, 50_000) // few words are frequent, most are rare; stop words are none of them
			text := func(words int) string {
				var out []string
				for range words {
					out = append(out, fmt.Sprintf("word%d", zipf.Uint64()))
				}
				return strings.Join(out, " ")
			}
			for from := 0; from < docs; from += 1000 {
				var op memory.Operation
				for i := from; i < from+1000; i++ {
					op.Notes = append(op.Notes, memory.Note{Place: memory.Place{Namespace: memory.Namespace{Kind: memory.WorkflowKind, ID: "w"}, Bank: "project-p",
						Tags: []string{"scope:main", fmt.Sprintf("stream:%d", i%7)}}, Body: fmt.Sprintf("%d %s", i, text(30)), Time: time.UnixMilli(int64(i)), Status: memory.Accepted})
				}
				if _, err := s.Apply(b.Context(), fmt.Sprint(from), op); err != nil {
					b.Fatal(err)
				}
			}
			filter := memory.RecallFilter("project-p", nil, nil)
			var took []time.Duration
			for b.Loop() {
				began := time.Now()
				found, err := s.Recall(b.Context(), memory.Query{Bank: "project-p", Text: text(25), Filter: filter, Budget: memory.Mid})
				if err != nil || len(found.Rows) == 0 {
					b.Fatal(len(found.Rows), err)
				}
				took = append(took, time.Since(began))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
		})
	}
}
