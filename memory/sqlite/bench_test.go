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

// durable is a fixture that waits for the disk, as a user's store does.
func durable(b *testing.B) *fixture {
	f := newFixture(b)
	f.ok(f.Close())
	f.Store = must(sqlite.Open(f.ctx, sqlite.Config{Path: f.path, Clock: f.clock.Now}))(b)
	return f
}

// BenchmarkFacts writes batches of facts.
func BenchmarkFacts(b *testing.B) {
	for _, bench := range []struct {
		name string
		keys int // how many different ones
	}{{"new", 1 << 30}, {"overwritten", 1000}} {
		b.Run(bench.name, func(b *testing.B) {
			f := durable(b)
			const batch = 500
			n := 0
			for b.Loop() {
				facts := make([]memory.Fact, batch)
				for i := range facts {
					facts[i] = fact(fmt.Sprint("totals/package-", n%bench.keys), fmt.Sprintf(`{"files":%d,"lines":%d,"owner":"team checkout"}`, n, n*37))
					n++
				}
				must(f.SetFacts(f.ctx, facts))(b)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "facts/s")
		})
	}
}

func BenchmarkFact(b *testing.B) {
	f := durable(b)
	for n := 0; b.Loop(); n++ {
		f.set(fact(fmt.Sprint("k", n%100), "1"))
	}
}

// corpus are messages of words that are distributed as words are, a few of them often and most seldom.
func corpus(b *testing.B, f *fixture, documents, banks int) (queries [][]string) {
	b.Helper()
	word := words()
	thread := ""
	for i := 0; i < documents; {
		bank := fmt.Sprint("bank", i*banks/documents)
		thread = fmt.Sprint("t", i)
		must(f.CreateThread(f.ctx, memory.Thread{Place: place(bank, "scope:main", "branch:main"), ID: thread}))(b)
		var list []memory.Message
		for range 250 {
			var text []string
			for range 20 {
				text = append(text, word())
			}
			list = append(list, user(fmt.Sprint("m", i), strings.Join(text, " ")))
			i++
		}
		must(f.Append(f.ctx, space("w"), thread, list...))(b)
	}
	return queriesOf(words())
}

// words returns what draws words, always the same ones.
func words() func() string {
	zipf := rand.NewZipf(rand.New(rand.NewPCG(1, 2)), 1.1, 20, 20_000)
	return func() string { return fmt.Sprintf("w%dx", zipf.Uint64()) }
}

func queriesOf(word func() string) (queries [][]string) {
	for range 200 {
		var terms []string
		for range 8 {
			if w := word(); len(w) > 3 { // the most frequent ones are what a stop list takes out
				terms = append(terms, w)
			}
		}
		queries = append(queries, terms)
	}
	return queries
}

// BenchmarkCandidates asks for what recall at Mid asks for: 200 candidates of one bank by eight words, and their neighbours.
func BenchmarkCandidates(b *testing.B) {
	for _, bench := range []struct{ documents, banks int }{{6_000, 1}, {100_000, 10}, {100_000, 1}} {
		b.Run(fmt.Sprintf("%d documents in %d banks", bench.documents, bench.banks), func(b *testing.B) {
			if testing.Short() {
				b.Skip()
			}
			f := newFixture(b)
			queries := corpus(b, f, bench.documents, bench.banks)
			scope := memory.Scope{Bank: "bank0", Tags: [][]string{{"scope:main", "branch:x"}}}
			var took []time.Duration
			found := 0
			b.ResetTimer()
			for n := 0; b.Loop(); n++ {
				begin := time.Now()
				list := must(f.Candidates(f.ctx, scope, queries[n%len(queries)], 200))(b)
				took = append(took, time.Since(begin))
				found += len(list)
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
			b.ReportMetric(float64(took[len(took)*95/100].Microseconds())/1000, "p95-ms")
			b.ReportMetric(float64(found)/float64(len(took)), "found/op")
		})
	}
}
