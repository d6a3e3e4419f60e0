package sqlite_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cairnrun/cairn/memory"
	"github.com/cairnrun/cairn/memory/sqlite"
)

// BenchmarkRecall asks one bank of a file by prompts of some sentences, at Mid, no prompt twice, and reports the 95th percentile:
// of a store that was just opened, of one that others have asked before, and of one that is written to between any two recalls.
func BenchmarkRecall(b *testing.B) {
	for _, docs := range []int{6_000, 100_000} {
		b.Run(fmt.Sprint(docs), func(b *testing.B) {
			bank := &prose{path: b.TempDir() + "/memory.db", zipf: rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 20, 50_000)}
			s := bank.open(b)
			for bank.notes < docs {
				bank.write(b, s, 1000)
			}
			b.Run("opened", func(b *testing.B) {
				bank.measure(b, func() *sqlite.Store {
					if err := s.Close(); err != nil {
						b.Fatal(err)
					}
					s = bank.open(b)
					return s
				})
			})
			for range 200 {
				bank.recall(b, s, bank.text(25))
			}
			b.Run("asked", func(b *testing.B) {
				bank.measure(b, func() *sqlite.Store { return s })
			})
			b.Run("written", func(b *testing.B) {
				bank.measure(b, func() *sqlite.Store {
					bank.write(b, s, 1)
					return s
				})
			})
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
		})
	}
}

// prose is a bank of notes whose words are distributed as words are: few are frequent, most are rare; stop words are none of them.
type prose struct {
	path  string
	zipf  *rand.Zipf
	notes int
}

func (p *prose) open(b *testing.B) *sqlite.Store {
	s, err := sqlite.Open(context.Background(), sqlite.Config{Path: p.path})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func (p *prose) text(words int) string {
	var out []string
	for range words {
		out = append(out, fmt.Sprintf("word%d", p.zipf.Uint64()))
	}
	return strings.Join(out, " ")
}

func (p *prose) write(b *testing.B, s *sqlite.Store, notes int) {
	var op memory.Operation
	for range notes {
		op.Notes = append(op.Notes, memory.Note{Place: memory.Place{Namespace: memory.Namespace{Kind: memory.WorkflowKind, ID: "w"}, Bank: "project-p",
			Tags: []string{"scope:main", fmt.Sprintf("stream:%d", p.notes%7)}}, Body: fmt.Sprintf("%d %s", p.notes, p.text(30)),
			Time: time.UnixMilli(int64(p.notes)), Status: memory.Accepted})
		p.notes++
	}
	if _, err := s.Apply(b.Context(), fmt.Sprint("op", p.notes), op); err != nil {
		b.Fatal(err)
	}
}

func (p *prose) recall(b *testing.B, s *sqlite.Store, text string) {
	found, err := s.Recall(b.Context(), memory.Query{Bank: "project-p", Text: text, Filter: memory.RecallFilter("project-p", nil, nil), Budget: memory.Mid})
	if err != nil || len(found.Rows) == 0 {
		b.Fatal(len(found.Rows), err)
	}
}

// measure times recalls alone, each of the store that next returns.
func (p *prose) measure(b *testing.B, next func() *sqlite.Store) {
	var took []time.Duration
	for b.Loop() {
		b.StopTimer()
		s, text := next(), p.text(25)
		b.StartTimer()
		began := time.Now()
		p.recall(b, s, text)
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
}
