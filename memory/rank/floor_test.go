package rank_test

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"

	"github.com/cairnrun/cairn/internal/recallset"
	"github.com/cairnrun/cairn/memory/rank"
)

// floors are what recall may not fall below, by effort.
type floors map[rank.Effort]struct{ at10, at20, inBlock float64 }

func (want floors) hold(t *testing.T, name string, scopes []recallset.Scope) {
	t.Helper()
	for _, effort := range efforts {
		got, err := recallset.Measure(t.Context(), scopes, effort, "")
		if err != nil {
			t.Fatal(err)
		}
		f := want[effort]
		t.Logf("%s, %s: %d queries, recall %.3f in 5, %.3f in 10, %.3f in 20, %.3f in 2 KiB, MRR %.3f, precision %.3f", name, effort, got.Queries,
			got.At5, got.At10, got.At20, got.InBlock, got.MRR, got.Precision)
		if got.At10 < f.at10 || got.At20 < f.at20 || got.InBlock < f.inBlock {
			t.Errorf("%s, %s: %+v is below %v", name, effort, got, f)
		}
	}
}

// The floors of the set in the repository are what was measured, less .02.
func TestWorkflowFloors(t *testing.T) {
	scopes, err := recallset.Workflow("testdata")
	if err != nil {
		t.Fatal(err)
	}
	docs := 0
	for _, s := range scopes {
		docs += len(s.Docs)
	}
	if docs < 200 {
		t.Errorf("%d documents", docs)
	}
	floors{rank.Low: {.92, .92, .92}, rank.Mid: {.955, .96, .96}, rank.High: {.96, .965, .965}}.hold(t, "workflow", scopes)

	for _, kind := range []string{"identifier", "cjk", "fold", "superseded", "bank", "branch"} {
		got, err := recallset.Measure(t.Context(), scopes, rank.Mid, kind)
		if err != nil || got.At5 < .98 {
			t.Errorf("%s: %+v, %v", kind, got, err)
		}
	}
	if got, err := recallset.Measure(t.Context(), scopes, rank.High, "none"); err != nil || got.NoAnswer == 0 || got.Silent < 1 {
		t.Errorf("queries that nothing answers: %+v, %v", got, err)
	}
}

// The floors of LoCoMo are those of the plan; what is reached is in docs/recall.md.
func TestLoCoMoFloors(t *testing.T) {
	file := cmp.Or(os.Getenv("CAIRN_LOCOMO"), "../../../shared/data/locomo-dev.json")
	scopes, err := recallset.LoCoMo(file)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is absent; CAIRN_LOCOMO names another place", file)
	}
	if err != nil {
		t.Fatal(err)
	}
	want := floors{rank.Low: {.62, .68, .64}, rank.Mid: {.70, .77, .73}, rank.High: {.73, .79, .74}}
	want.hold(t, "all", scopes)
	_, held := recallset.Split(scopes)
	want.hold(t, "held out", held)
}

func BenchmarkRank(b *testing.B) {
	for _, n := range []int{6_000, 100_000} {
		if n > 10_000 && testing.Short() {
			continue
		}
		docs, queries := recallset.Many(n)
		index := rank.NewIndex(docs)
		for _, effort := range efforts {
			b.Run(strings.Join([]string{effort.String(), map[bool]string{true: "6k", false: "100k"}[n == 6_000]}, "-"), func(b *testing.B) {
				for i := range b.N {
					if _, err := rank.Rank(b.Context(), index, rank.Query{Text: queries[i%len(queries)], Effort: effort, Limit: 50}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkTerms(b *testing.B) {
	const text = "During the spring sale every pod opened 50 connections and the database hit max_connections; PgBouncer sits in front since v1.2.3."
	b.SetBytes(int64(len(text)))
	for range b.N {
		rank.Terms(text)
	}
}
